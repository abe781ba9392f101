import { renderUsd } from '../../quantity/render-usd.ts';
import type { KeptReason } from './kept-reason.ts';

/** The reason as a sentence without its end. */
export function renderKept(reason: KeptReason): string {
  return byOthers(reason) ?? byPods(reason) ?? byPlan(reason) ?? reason.kind;
}

/** What the node itself, its pool or its operator says. */
function byOthers(reason: KeptReason): string | null {
  switch (reason.kind) {
    case 'unmanaged':
      return 'it is not a node of a NodePool';
    case 'no-such-pool':
      return `its NodePool ${reason.nodePool} is not there`;
    case 'leaving':
      return 'it is being removed already';
    case 'not-initialized':
      return 'it is not initialized yet';
    case 'do-not-disrupt':
      return 'it is annotated karpenter.sh/do-not-disrupt';
    case 'static-pool':
      return `NodePool ${reason.nodePool} has a fixed number of nodes`;
    case 'consolidation-off':
      return `NodePool ${reason.nodePool} says consolidateAfter: Never`;
    case 'not-consolidatable':
      return `its NodeClaim is not Consolidatable, with consolidateAfter: ${reason.consolidateAfter}`;
    case 'only-when-empty':
      return `NodePool ${reason.nodePool} says WhenEmpty, and it has ${countOf(reason.pods, 'pod')}`;
    case 'unknown-price':
      return `the catalog has no price for ${reason.instanceType} as it is`;
    case 'node-budget':
      return reason.error === null
        ? `budgets of NodePool ${reason.nodePool} let ${reason.allowed} nodes go at a time, and ${reason.disrupting} are in disruption`
        : `a budget of NodePool ${reason.nodePool} cannot be read: ${reason.error}`;
    case 'too-many-unhealthy':
      return `${reason.unhealthy} of ${reason.nodes} nodes of NodePool ${reason.nodePool} are sick: the cause is hardly the nodes'`;
    default:
      return null;
  }
}

function byPods(reason: KeptReason): string | null {
  switch (reason.kind) {
    case 'pod-do-not-disrupt':
      return `pod ${reason.pod} is annotated karpenter.sh/do-not-disrupt`;
    case 'pod-budget':
      return reason.known
        ? `PodDisruptionBudget ${reason.budget} lets pod ${reason.pod} not go now`
        : `PodDisruptionBudget ${reason.budget} does not say whether pod ${reason.pod} may go`;
    case 'two-pod-budgets':
      return `pod ${reason.pod} has ${reason.budgets.length} PodDisruptionBudgets (${reason.budgets.join(', ')}), so that it cannot be evicted`;
    case 'awaits-pods':
      return `${countOf(reason.pods, 'pod')} that wait${reason.pods === 1 ? 's' : ''} will come to it`;
    case 'pod-devices':
      return `pod ${reason.pod} uses devices, which another node may not have`;
    case 'no-place':
      return `pod ${reason.pod} finds no place elsewhere`;
    default:
      return null;
  }
}

function byPlan(reason: KeptReason): string | null {
  switch (reason.kind) {
    case 'receives':
      return `${countOf(reason.pods, 'pod')} of nodes that go will move to it`;
    case 'not-worth':
      return `it would save ${renderUsd(reason.saving)} $/h per disrupted pod, and ${renderUsd(reason.least)} is asked for`;
    case 'nothing-cheaper':
      return 'nothing cheaper holds its pods for what moving them costs';
    case 'no-order':
      return 'no order of steps keeps budgets, spreads and prices on the way';
    default:
      return null;
  }
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
