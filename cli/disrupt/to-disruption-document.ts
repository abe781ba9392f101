import type { DisruptionPlan } from '../../shared/core/disruption/plan/disruption-plan.ts';
import { renderKept } from '../../shared/core/disruption/plan/render-kept.ts';
import { renderUsd } from '../../shared/core/quantity/render-usd.ts';
import type { DisruptionDocument } from '../documents/disruption-format.ts';

/** The plan in its public form. `currency`: what prices are in (ISO 4217). */
export function toDisruptionDocument(plan: DisruptionPlan, solveMs: number, currency: string): DisruptionDocument {
  const { steps, replacements, kept, before, after, lowerBound } = plan;
  return {
    apiVersion: 'nodewright.dev/v1alpha1',
    kind: 'DisruptionPlan',
    steps: steps.map(({ reason, remove, create, moves, saved }) => ({
      reason,
      remove: [...remove],
      create: [...create],
      moves: moves.map(({ pod, from, to }) => ({
        pod,
        from,
        to: { kind: to.kind === 'node' ? 'Node' : 'NodeClaim', name: to.name },
      })),
      savedPerHour: renderSigned(saved),
    })),
    nodeClaims: replacements.map(({ price, ...node }) => ({ ...node, pricePerHour: renderUsd(price) })),
    kept: kept.map(({ node, nodePool, reason }) => {
      const { kind, ...data } = reason;
      return { node, nodePool, reason: kind, detail: renderKept(reason, currency), data };
    }),
    before: { nodes: before.nodes, costPerHour: renderUsd(before.cost) },
    after: { nodes: after.nodes, costPerHour: renderUsd(after.cost), lowerBoundPerHour: renderUsd(lowerBound) },
    summary: {
      currency,
      savedPerHour: renderSigned(before.cost - after.cost),
      nodesRemoved: steps.reduce((sum, { remove }) => sum + remove.length, 0),
      nodesCreated: replacements.length,
      podsMoved: steps.reduce((sum, { moves }) => sum + moves.length, 0),
      solveMs: Math.round(solveMs * 10) / 10,
    },
  };
}

function renderSigned(micro: number): string {
  return micro < 0 ? `-${renderUsd(-micro)}` : renderUsd(micro);
}
