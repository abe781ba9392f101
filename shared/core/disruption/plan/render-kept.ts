import { renderLeftReason } from '../../telling/reasons/render-left-reason.ts';
import { renderMoney } from '../../quantity/render-usd.ts';
import type { Brake, Rollout } from '../../model/disruption-input.ts';
import type { KeptReason } from './kept-reason.ts';

type Kind = KeptReason['kind'];

type Sentence<K extends Kind> = (reason: Extract<KeptReason, { kind: K }>, currency: string) => string;

/** One sentence per kind, without its end. */
const sentences: { readonly [K in Kind]: Sentence<K> } = {
  unmanaged: () => 'it is not a node of a NodePool',
  'no-such-pool': (reason) => `its NodePool ${reason.nodePool} is not there`,
  leaving: () => 'it is being removed already',
  'not-initialized': () => 'it is not initialized yet',
  'write-denied': () => 'a policy of the cluster does not let Nodewright write it: see WriteDenied of its NodeClaim',
  'do-not-disrupt': () => 'it is annotated karpenter.sh/do-not-disrupt',
  'one-by-one': ({ nodePool }) => `another node of NodePool ${nodePool}, which has a fixed number, is being replaced`,
  'static-pool': (reason) => `NodePool ${reason.nodePool} has a fixed number of nodes`,
  'consolidation-off': (reason) => `NodePool ${reason.nodePool} says consolidateAfter: Never`,
  'not-consolidatable': (reason) =>
    `its NodeClaim is not Consolidatable, with consolidateAfter: ${reason.consolidateAfter}`,
  'only-when-empty': (reason) =>
    `NodePool ${reason.nodePool} says WhenEmpty, and it has ${countOf(reason.pods, 'pod')}`,
  'unknown-price': (reason) => `the catalog has no price for ${reason.instanceType} as it is`,
  'pool-braked': ({ nodePool, brake }) => renderBrake(nodePool, brake),
  'node-budget': (reason) =>
    reason.error === null
      ? `budgets of NodePool ${reason.nodePool} let ${reason.allowed} nodes go at a time, and ${reason.disrupting} are in disruption`
      : `a budget of NodePool ${reason.nodePool} cannot be read: ${reason.error}`,
  'too-many-unhealthy': (reason) =>
    `${reason.unhealthy} of ${reason.nodes} nodes of NodePool ${reason.nodePool} are sick: the cause is hardly the nodes'`,
  'pod-do-not-disrupt': (reason) => `pod ${reason.pod} is annotated karpenter.sh/do-not-disrupt`,
  'pod-budget': (reason) =>
    reason.known
      ? `PodDisruptionBudget ${reason.budget} lets pod ${reason.pod} not go now`
      : `PodDisruptionBudget ${reason.budget} does not say whether pod ${reason.pod} may go`,
  'two-pod-budgets': (reason) =>
    `pod ${reason.pod} has ${reason.budgets.length} PodDisruptionBudgets (${reason.budgets.join(', ')}), so that it cannot be evicted`,
  'awaits-pods': (reason) => `${countOf(reason.pods, 'pod')} that wait${reason.pods === 1 ? 's' : ''} will come to it`,
  'pods-first': () => 'pods that wait get their nodes first',
  'holds-buffer': (reason) => `room on it is kept for CapacityBuffer ${reason.buffer}`,
  'pod-devices': (reason) => `pod ${reason.pod} uses devices, which another node may not have`,
  'no-place': (reason) => `pod ${reason.pod} finds no place elsewhere`,
  'empty-first': () => 'its pods have room only on empty nodes, which are removed first',
  'not-replaced': renderNotReplaced,
  receives: (reason) => `${countOf(reason.pods, 'pod')} of nodes that go will move to it`,
  'not-worth': (reason, currency) =>
    `it would save ${renderMoney(reason.saving, currency)} an hour per disrupted pod, and ${renderMoney(reason.least, currency)} is asked for`,
  'nothing-cheaper': () => 'nothing cheaper holds its pods for what moving them costs',
  'plan-refused': ({ finding }) =>
    `a plan in which it goes broke a rule of its audit and was not carried out (${finding})`,
  'no-order': () => 'no order of steps keeps budgets, spreads and prices on the way',
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
  if (pod === null) return `${has}, and no nodes can be had that take all its pods together`;
  const whys = refusals.map(
    (one) => `${one.nodePool === null ? '' : `NodePool ${one.nodePool}: `}${renderLeftReason(one).detail}`,
  );
  return `${has}, and pod ${pod} has no room elsewhere and gets no new node (${whys.join('; ')})`;
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
  return `disruption of NodePool ${nodePool} has stopped itself${until}: ${brake.why}`;
}

/** What nodes behind a new image or Kubernetes version wait for, as a sentence without its end. */
export function renderRollout(nodePool: string, rollout: Rollout): string {
  switch (rollout.kind) {
    case 'canary':
      return `another node of NodePool ${nodePool} goes first, as the canary of a new image or Kubernetes version`;
    case 'starting':
      return `NodeClaim ${rollout.claim}, the first of NodePool ${nodePool} with a new image or Kubernetes version, is not initialized yet`;
    case 'baking':
      return `NodeClaim ${rollout.claim}, the first of NodePool ${nodePool} with a new image or Kubernetes version, is watched until ${rollout.until}`;
    case 'halted':
      return (
        `what is new in NodePool ${nodePool} does worse: ${rollout.why} (kubectl annotate nodepool ${nodePool} ` +
        'nodewright.dev/rollout-halted- tries again; nodewright.dev/bake-time- too goes on without a canary)'
      );
    default:
      return rollout satisfies never;
  }
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
