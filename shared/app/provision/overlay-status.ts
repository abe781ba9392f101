import type { Condition, NodeOverlay } from '../../kubernetes/manifest.ts';
import { overlayConflicts } from '../../core/offerings/overlays.ts';
import { overlayProblems } from '../facts/api-rules.ts';
import { type ConditionChange, sameConditions, setConditions } from '../facts/conditions.ts';
import type { Gathered } from '../gather/gather.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { tellUnwritten } from '../tell/tell-unwritten.ts';

/** Status patches in flight at once: about 5 ms each. */
const WRITES_AT_ONCE = 8;

const TYPE = 'ValidationSucceeded';

/**
 * Says on every NodeOverlay whether it is valid and at odds with no other, by the pools and catalogs of one view. As
 * Karpenter (karpenter-core.md §1.4, §2.19). What already says so is not written; an overlay that has changed meanwhile
 * has its next look.
 */
export async function writeOverlayStatuses(ports: Ports, { snapshot, input }: Gathered): Promise<void> {
  if (!input.policy.gates.nodeOverlay || snapshot.nodeOverlays.length === 0) return;
  const conflicts = overlayConflicts(input);
  const nextOf = (overlay: NodeOverlay): ReadonlyArray<Condition> =>
    overlayConditions(overlay, conflicts.get(overlay.metadata.name) ?? null, ports.now());
  const isOutdated = (overlay: NodeOverlay): boolean => !sameConditions(overlay.status?.conditions, nextOf(overlay));
  const outdated = snapshot.nodeOverlays.filter(isOutdated);
  const settled = await eachAlone(outdated, WRITES_AT_ONCE, async ({ metadata: { name, generation } }) => {
    const key = { name, namespace: null };
    // The snapshot may be older than our own last write: what is there now decides, or transition times would move.
    const fresh = await ports.kubernetes.get('NodeOverlay', key);
    if (fresh === null || fresh.metadata.generation !== generation || !isOutdated(fresh)) return null;
    const { resourceVersion } = fresh.metadata;
    const patch = { metadata: { resourceVersion }, status: { conditions: nextOf(fresh) } };
    return ports.kubernetes.patchStatus('NodeOverlay', key, patch);
  });
  await tellUnwritten(
    ports,
    outdated.map(({ metadata }) => metadata.name),
    settled,
  );
}

/** The conditions of an overlay that another, if not null, of the same weight beats. */
export function overlayConditions(
  overlay: NodeOverlay,
  beatenBy: string | null,
  nowMs: number,
): ReadonlyArray<Condition> {
  return setConditions(overlay.status?.conditions, [validation(overlay, beatenBy)], {
    dependents: [TYPE],
    generation: overlay.metadata.generation ?? 1,
    nowMs,
    createdAt: overlay.metadata.creationTimestamp ?? '',
  });
}

function validation(overlay: NodeOverlay, beatenBy: string | null): ConditionChange {
  const problems = overlayProblems(overlay);
  if (problems.length > 0) {
    return { type: TYPE, status: 'False', reason: 'RuntimeValidation', message: problems.join('; ') };
  }
  if (beatenBy === null) return { type: TYPE, status: 'True', reason: TYPE, message: '' };
  const message = `conflict with another overlay: ${beatenBy} changes the same with the same weight; give one of them more`;
  return { type: TYPE, status: 'False', reason: 'Conflict', message };
}
