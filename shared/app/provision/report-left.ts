import type { LeftPod } from '../../core/model/plan.ts';
import { renderLeftReason } from '../../core/telling/reasons/render-left-reason.ts';
import { publish } from '../tell/events.ts';
import { inParallel } from '../ports/in-parallel.ts';
import { aboutPod } from '../tell/pod-key.ts';
import type { Ports } from '../ports/ports.ts';

/** Events about pods that cannot be placed, at most so many per plan; the decision record has them all. */
const REPORTED_MAX = 100;
const REPORTS_AT_ONCE = 8;

/**
 * Tells each pod's owner, where `kubectl describe pod` shows it, which rule keeps the pod out and what would let it in. Not
 * while it may turn out that one of the pools takes it: that is looked at again when the pool has been judged.
 */
export async function reportLeft(
  ports: Ports,
  left: ReadonlyArray<LeftPod>,
  unjudged: Pick<ReadonlySet<string>, 'has'>,
): Promise<void> {
  const told = left.filter(({ refusals }) => !refusals.some(({ nodePool }) => unjudged.has(nodePool ?? '')));
  tellReasons(ports, left);
  await inParallel(told.slice(0, REPORTED_MAX), REPORTS_AT_ONCE, async ({ pod, refusals }) => {
    const reasons = refusals.map((reason) => {
      const { detail, fix } = renderLeftReason(reason);
      return `${reason.nodePool ?? 'all pools'}: ${detail}; ${fix}`;
    });
    const message = `Failed to schedule pod, ${reasons.join(' | ')}`;
    const note = { regarding: aboutPod(pod), type: 'Warning', reason: 'FailedScheduling', message } as const;
    await publish(ports.kubernetes, note, ports.now());
  });
}

/** How many pods each kind of reason keeps out, for the portal. A pod counts once for each kind among its pools. */
function tellReasons(ports: Ports, left: ReadonlyArray<LeftPod>): void {
  if (left.length === 0) return;
  const kinds = left.flatMap(({ refusals }) => [...new Set(refusals.map(({ kind }) => kind))]).toSorted();
  const reasons = Object.fromEntries([...Map.groupBy(kinds, (kind) => kind)].map(([kind, own]) => [kind, own.length]));
  ports.log('pods-left', { pods: left.length, reasons: JSON.stringify(reasons) });
}
