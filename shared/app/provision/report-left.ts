import type { LeftPod } from '../../core/model/plan.ts';
import { renderLeftReason } from '../../core/telling/reasons/render-left-reason.ts';
import { digest } from '../../contract/digest.ts';
import type { Ports } from '../ports/ports.ts';
import { tellWaitingPods } from './tell-waiting-pods.ts';

/**
 * While a refusal holds it is published again after this time: Karpenter's own `FailedScheduling` has the same five
 * minutes.
 */
const AGAIN_MS = 5 * 60_000;

/**
 * Publishes for each pod, where `kubectl describe pod` shows it, which rule keeps the pod out and what would let it in.
 * Not while it may turn out that one of the pools takes it: that is looked at again when the pool has been judged.
 *
 * A refusal is never deleted. `Nominated` comes behind it when help is on its way; a refusal that holds again comes
 * behind that.
 */
export async function reportLeft(
  ports: Ports,
  left: ReadonlyArray<LeftPod>,
  unjudged: Pick<ReadonlySet<string>, 'has'>,
): Promise<void> {
  const judged = left.filter(({ refusals }) => !refusals.some(({ nodePool }) => unjudged.has(nodePool ?? '')));
  tellReasons(ports, left);
  const textOf = oncePerList(renderRefusals);
  await tellWaitingPods(
    ports,
    judged.map(({ pod, refusals }) => {
      const { message, mark } = textOf(refusals);
      const key = `left/${pod.uid}/${mark}`;
      return { pod, key, type: 'Warning', reason: 'FailedScheduling', message, againMs: AGAIN_MS } as const;
    }),
  );
}

/** What a pod is told, and what tells it from other texts. */
function renderRefusals(refusals: LeftPod['refusals']): { readonly message: string; readonly mark: string } {
  const reasons = refusals.map((reason) => {
    const { detail, fix } = renderLeftReason(reason);
    return `${reason.nodePool ?? 'all pools'}: ${detail}; ${fix}`;
  });
  const message = `Failed to schedule pod, ${reasons.join(' | ')}`;
  return { message, mark: digest(message) };
}

/** Pods alike share their list of refusals, so that ten thousand of them have some dozen texts. */
function oncePerList<Text>(render: (refusals: LeftPod['refusals']) => Text): (refusals: LeftPod['refusals']) => Text {
  const known = new Map<LeftPod['refusals'], Text>();
  return (refusals) => {
    const text = known.get(refusals) ?? render(refusals);
    known.set(refusals, text);
    return text;
  };
}

/** How many pods each kind of reason keeps out, for the portal. A pod counts once for each kind among its pools. */
function tellReasons(ports: Ports, left: ReadonlyArray<LeftPod>): void {
  if (left.length === 0) return;
  const kinds = left.flatMap(({ refusals }) => [...new Set(refusals.map(({ kind }) => kind))]).toSorted();
  const reasons = Object.fromEntries([...Map.groupBy(kinds, (kind) => kind)].map(([kind, own]) => [kind, own.length]));
  ports.log('pods-left', { pods: left.length, reasons: JSON.stringify(reasons) });
}
