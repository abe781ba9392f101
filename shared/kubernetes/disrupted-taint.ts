import { markTaint } from './marks.ts';

/** A node as far as its taints go; null where there is none. */
interface Tainted {
  readonly spec?: { readonly taints?: ReadonlyArray<{ readonly key: string; readonly effect: string }> };
}

/** The node's taints but for those of that key. */
export function otherTaints<Taint extends { readonly key: string }>(node: {
  readonly spec?: { readonly taints?: ReadonlyArray<Taint> };
}): ReadonlyArray<Taint> {
  return (node.spec?.taints ?? []).filter(({ key }) => key !== markTaint.disrupted.key);
}

/**
 * True when the node has the taint by which Karpenter marks a node for removal. Key and effect must both fit, as
 * Karpenter compares them: with another effect the scheduler would still send pods there, and nothing of ours has put
 * it there.
 */
export function isDisrupted(node: Tainted | null): boolean {
  const { key, effect } = markTaint.disrupted;
  return node?.spec?.taints?.some((one) => one.key === key && one.effect === effect) === true;
}
