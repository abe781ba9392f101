import { renderLeftReason } from '../../telling/reasons/render-left-reason.ts';
import { renderCount } from '../../quantity/render-count.ts';
import { renderMoney } from '../../quantity/render-usd.ts';
import type { Brake, Rollout } from '../../model/disruption-input.ts';
import type { KeptReason } from './kept-reason.ts';

type Kind = KeptReason['kind'];

type Sentence<K extends Kind> = (reason: Extract<KeptReason, { kind: K }>, currency: string) => string;

/** One sentence per kind, without its end. */
const sentences: { readonly [K in Kind]: Sentence<K> } = {
  unmanaged: () => 'it is not a node of a NodePool',
  'no-such-pool': ({ nodePool }) => `its NodePool ${nodePool} does not exist`,
  leaving: () => 'it is being removed already',
  'not-initialized': () => 'it is not initialized yet',
  'write-denied': () =>
    'a policy of the cluster does not allow Nodewright to change it: see WriteDenied of its NodeClaim',
  'do-not-disrupt': () => 'it is annotated karpenter.sh/do-not-disrupt',
  'one-by-one': ({ nodePool }) => `another node of the static NodePool ${nodePool} is being replaced`,
  'static-pool': ({ nodePool }) => `NodePool ${nodePool} is static: it has a fixed number of nodes`,
  'consolidation-off': ({ nodePool }) => `NodePool ${nodePool} does not consolidate (consolidateAfter: Never)`,
  'not-consolidatable': ({ consolidateAfter }) =>
    `its NodeClaim is not Consolidatable yet (consolidateAfter: ${consolidateAfter})`,
  'only-when-empty': ({ nodePool, pods }) =>
    `NodePool ${nodePool} consolidates only empty nodes (WhenEmpty), and this node has ${renderCount(pods, 'pod')}`,
  'unknown-price': ({ instanceType }) => `the price of its ${instanceType} is not known`,
  'pool-braked': ({ nodePool, brake }) => renderBrake(nodePool, brake),
  'node-budget': ({ nodePool, allowed, disrupting, error }) =>
    error === null
      ? `the budgets of NodePool ${nodePool} allow ${renderCount(allowed, 'disrupted node')} at a time, and ${disrupting === 1 ? '1 is' : `${disrupting} are`} being disrupted`
      : `a budget of NodePool ${nodePool} cannot be read: ${error}`,
  'too-many-unhealthy': ({ unhealthy, nodes, nodePool }) =>
    `${unhealthy} of ${renderCount(nodes, 'node')} of NodePool ${nodePool} are unhealthy, too many for node repair to act`,
  'pod-do-not-disrupt': ({ pod }) => `pod ${pod} is annotated karpenter.sh/do-not-disrupt`,
  'pod-budget': ({ budget, pod, known }) =>
    known
      ? `PodDisruptionBudget ${budget} does not allow evicting pod ${pod} right now`
      : `the status of PodDisruptionBudget ${budget} does not say whether pod ${pod} may be evicted`,
  'two-pod-budgets': ({ pod, budgets }) =>
    `pod ${pod} is selected by ${budgets.length} PodDisruptionBudgets (${budgets.join(', ')}), and Kubernetes does not evict such pods`,
  'awaits-pods': ({ pods }) => `${renderCount(pods, 'pending pod')} will be scheduled on it`,
  'pods-first': () => 'nodes for pending pods are created first',
  'holds-buffer': ({ buffer }) => `it holds room for CapacityBuffer ${buffer}`,
  'pod-devices': ({ pod }) => `pod ${pod} uses devices, which another node may not have`,
  'no-place': ({ pod }) => `no other node has room for pod ${pod}`,
  'empty-first': () => 'only empty nodes have room for its pods, and those are removed first',
  'not-replaced': renderNotReplaced,
  receives: ({ pods }) => `${renderCount(pods, 'pod')} will move to it from nodes that are removed`,
  'not-worth': ({ saving, least }, currency) =>
    `removing it saves ${roundedMoney(saving, 'down', currency)} an hour for each pod that moves, and its NodePool requires ${roundedMoney(least, 'up', currency)} (annotation nodewright.dev/move-cost)`,
  'nothing-cheaper': () => 'no cheaper arrangement saves more than moving its pods would cost',
  'plan-refused': ({ finding }) =>
    `the plan to remove it broke a rule of the audit and was not carried out (${finding})`,
  'no-order': () => 'no sequence of removals respects budgets, topology spread and cost at every step',
};

/** The reason as a sentence without its end. `currency`: what prices are in (ISO 4217). */
export function renderKept<K extends Kind>(reason: Extract<KeptReason, { kind: K }>, currency: string): string {
  const sentence: Sentence<K> = sentences[reason.kind];
  return sentence(reason, currency);
}

const HAS_TO_GO: Readonly<Record<string, string>> = {
  Drifted: 'it has drifted',
  Expired: 'it has expired',
  Unhealthy: 'it is not healthy',
};

function renderNotReplaced({ because, pod, refusals }: Extract<KeptReason, { kind: 'not-replaced' }>): string {
  const has = HAS_TO_GO[because] ?? 'it has to go';
  if (pod === null) return `${has}, and no nodes that can be created have room for all its pods together`;
  const whys = refusals.map(
    (one) => `${one.nodePool === null ? '' : `NodePool ${one.nodePool}: `}${renderLeftReason(one).detail}`,
  );
  return `${has}, but no other node has room for pod ${pod}, and no new node can be created for it (${whys.join('; ')})`;
}

function renderBrake(nodePool: string, brake: Brake): string {
  if (brake.kind === 'rollout') return renderRollout(nodePool, brake.rollout);
  if (brake.kind === 'paused') {
    const until = brake.until === null ? '' : ` until ${brake.until}`;
    return `NodePool ${nodePool} is annotated nodewright.dev/pause-disruption${until}`;
  }
  if (brake.kind === 'pause-unread') {
    return (
      `nodewright.dev/pause-disruption of NodePool ${nodePool} is ${JSON.stringify(brake.given)}, which counts as true ` +
      '(write true, false, or a time such as 2026-12-01T06:00:00Z)'
    );
  }
  const until = brake.until === null ? '' : ` until ${brake.until}`;
  return `disruption of NodePool ${nodePool} is suspended${until}: ${brake.why}`;
}

/** What the nodes with an older image or Kubernetes version wait for, as a sentence without its end. */
export function renderRollout(nodePool: string, rollout: Rollout): string {
  switch (rollout.kind) {
    case 'canary':
      return `another node of NodePool ${nodePool} is replaced first, as the canary of a new image or Kubernetes version`;
    case 'starting':
      return `NodeClaim ${rollout.claim}, the first of NodePool ${nodePool} with a new image or Kubernetes version, is not initialized yet`;
    case 'baking':
      return `NodeClaim ${rollout.claim}, the first of NodePool ${nodePool} with a new image or Kubernetes version, is watched until ${rollout.until}`;
    case 'halted':
      return (
        `the rollout in NodePool ${nodePool} is halted: ${rollout.why} (to try again: kubectl annotate nodepool ${nodePool} ` +
        'nodewright.dev/rollout-halted-; to continue without a canary, remove nodewright.dev/bake-time too)'
      );
    default:
      return rollout satisfies never;
  }
}

/**
 * To three digits, so that the figure is read at a glance; what is saved rounds down and what is required up, so that
 * the two never look equal.
 */
function roundedMoney(micro: number, rounding: 'up' | 'down', currency: string): string {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(micro)))) - 2);
  const steps = rounding === 'up' ? Math.ceil(micro / step) : Math.floor(micro / step);
  return renderMoney(steps * step, currency);
}
