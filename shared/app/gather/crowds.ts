import { annotation } from '../../contract/names.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { conditionIn } from '../../core/disruption/candidates/claim-conditions.ts';
import { WAITED_FOR } from '../../core/disruption/plan/disruption-plan.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import type { Crowd, Decision } from '../../ports/store.ts';
import { shapeDigest } from './movers/planned.ts';

/**
 * Hosts that go are waited for by pods that spread over them for so long: as their claims have been deleted, or what
 * replaces them has joined. They drain, and their machines are removed. One that is there later may be there for hours
 * and counts as any other, so that pods get nodes of their own. Meanwhile nobody else may take their room.
 */
export const HELD_BACK_MS = 15 * 60_000;

/** Claims of nodes that go so: their decisions, by `annotation.disruption`, say for whose pods they are waited for. */
export function goneSoon({ nodeClaims }: Pick<Snapshot, 'nodeClaims'>, nowMs: number): ReadonlyArray<NodeClaim> {
  return nodeClaims.filter(({ metadata, status }) => {
    if (metadata.annotations?.[annotation.disruption] === undefined) return false;
    if (!WAITED_FOR.has(conditionIn(status?.conditions, 'DisruptionReason')?.reason ?? '')) return false;
    return isSince(metadata.deletionTimestamp, nowMs);
  });
}

/**
 * Claims that have come in place of such: by `annotation.decision`. Also once their nodes are open to all: pods that
 * have just been let in by the last node that went are seen waiting for a moment.
 */
export function replacingSome({ nodeClaims }: Pick<Snapshot, 'nodeClaims'>, nowMs: number): ReadonlyArray<NodeClaim> {
  return nodeClaims.filter(({ metadata, status }) => {
    if (!WAITED_FOR.has(metadata.annotations?.[annotation.createdFor] ?? '')) return false;
    const registered = conditionIn(status?.conditions, 'Registered');
    return registered?.status !== 'True' || isSince(registered.lastTransitionTime, nowMs);
  });
}

/** Not at all yet, or not longer ago than pods wait. */
function isSince(time: string | undefined, nowMs: number): boolean {
  return time === undefined || nowMs < Date.parse(time) + HELD_BACK_MS;
}

/** What a decision notes of pods that hosts which it removes hold back: they have owners, whose next pods are alike. */
export function crowdsFor(
  { shapes }: Pick<Snapshot, 'shapes'>,
  crowds: ReadonlyMap<number, number> | undefined,
): ReadonlyArray<Crowd> {
  return [...(crowds ?? [])].flatMap(([index, most]) => {
    const shape = shapes[index];
    return shape?.owner === undefined || shape.owner === null
      ? []
      : [{ owner: shape.owner.uid, shape: shapeDigest(shape), most }];
  });
}

/** What decisions have noted, of the shapes that there are now. By index of shape. */
export function crowdsOf(
  { shapes }: Pick<Snapshot, 'shapes'>,
  decisions: Iterable<Decision>,
): ReadonlyMap<number, number> {
  const noted = [...decisions].flatMap(({ crowds = [] }) => crowds);
  const byOwner = Map.groupBy(noted, ({ owner }) => owner);
  const found = new Map<number, number>();
  if (noted.length === 0) return found;
  for (const [index, shape] of shapes.entries()) {
    const own = byOwner.get(shape.owner?.uid ?? '') ?? [];
    const digest = own.length === 0 ? '' : shapeDigest(shape);
    const most = Math.max(0, ...own.filter((one) => one.shape === digest).map((one) => one.most));
    if (most > 0) found.set(index, most);
  }
  return found;
}
