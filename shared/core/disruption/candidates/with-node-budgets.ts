import type { JudgedNode } from './judged-node.ts';
import type { Pools } from './pools.ts';

/**
 * Nodes of pools whose number is fixed go one by one. Nodes of pools whose budgets let none go for their reason stay;
 * the others go as far as budgets last, step by step.
 */
export function withNodeBudgets(nodes: ReadonlyArray<JudgedNode>, pools: Pools): ReadonlyArray<JudgedNode> {
  return nodes.map((node): JudgedNode => {
    const { verdict } = node;
    if (verdict.kind === 'stays') return node;
    const name = node.nodePool?.metadata.name ?? '';
    if (pools.replaceable(name, verdict.reason) < 1) {
      return { ...node, verdict: { kind: 'stays', reason: { kind: 'one-by-one', nodePool: name } } };
    }
    if (pools.allowed(name, verdict.reason) >= 1) return node;
    const reason = {
      kind: 'node-budget',
      nodePool: name,
      allowed: pools.budget(name, verdict.reason),
      disrupting: pools.disrupting(name),
      error: pools.error(name),
    } as const;
    return { ...node, verdict: { kind: 'stays', reason } };
  });
}
