import { allowsNode } from '../state/existing-nodes.ts';
import type { Need } from '../state/compile-shape.ts';
import { settledValue } from '../state/open-claim.ts';
import { guardFor } from './place.ts';
import { allowsDomain, allowsHost } from '../state/topology-guard.ts';
import type { Workspace } from '../state/workspace.ts';

/**
 * What pods of a spread must find where they are when all others are there: themselves included, no more than maxSkew.
 */
export function lastComers({ needs }: Workspace): ReadonlyArray<Need> {
  return [...needs.values()].flatMap((levels): ReadonlyArray<Need> => {
    const need = levels.at(-1);
    if (need === undefined || need.terms.spread.length === 0) return [];
    const spread = need.terms.spread.map((term) => ({ ...term, self: 0 as const }));
    return [{ ...need, terms: { spread, affinity: [], affinityToSelf: false, antiAffinity: [] }, exclusions: [] }];
  });
}

/**
 * Would every pod with a spread be let in where it is, were it the last to come? kube-scheduler binds in an order of
 * its own: a place that is only right while others are not there yet is one that the pod may never get.
 */
export function needsNoOrder(workspace: Workspace, needs: ReadonlyArray<Need>): boolean {
  const { nodes, claims } = workspace;
  return needs.every((need) => {
    const guard = guardFor(workspace, need, false);
    const has = ({ pods }: { readonly pods: ReadonlyArray<{ readonly shape: number }> }): boolean =>
      pods.some(({ shape }) => shape === need.shape.index);
    if (!nodes.every((node) => !has(node) || allowsNode(guard, node))) return false;
    return claims.filter(has).every((claim) => {
      if (!allowsHost(guard, claim)) return false;
      return guard.rules.keys.every((key) => allowsDomain(guard, key, settledValue(claim, key) ?? undefined));
    });
  });
}
