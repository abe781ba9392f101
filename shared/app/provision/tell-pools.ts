import type { Plan, PlannedClaim } from '../../core/model/plan.ts';
import { plainCostOf } from '../../core/model/weighed-cost.ts';
import { renderCount, renderFirst } from '../../core/quantity/render-count.ts';
import { renderMoney } from '../../core/quantity/render-usd.ts';
import { eventAboutPool } from '../tell/event-about.ts';
import { publish } from '../tell/events.ts';
import type { Gathered } from '../gather/gather.ts';
import { inParallel } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';

const TOLD_AT_ONCE = 8;
/** Sizes that an event names before it counts the rest. */
const SIZES_MAX = 4;

/**
 * Tells each NodePool what the last decision made of it: how many nodes of which sizes, for how many pods, at what
 * cost. `claimNames`: of the plan's claims, null for one that was not created.
 */
export async function tellPools(
  ports: Ports,
  { snapshot }: Pick<Gathered, 'snapshot'>,
  { claims }: Pick<Plan, 'claims'>,
  { decision, claimNames }: { readonly decision: string; readonly claimNames: ReadonlyArray<string | null> },
): Promise<void> {
  const created = claims.filter((_, index) => (claimNames[index] ?? null) !== null);
  const perPool = Map.groupBy(created, ({ nodePool }) => nodePool);
  const pools = snapshot.nodePools.filter(({ metadata }) => perPool.has(metadata.name));
  await inParallel(pools, TOLD_AT_ONCE, (pool) => {
    const message = `Decision ${decision} creates ${renderNodes(perPool.get(pool.metadata.name) ?? [], ports.catalogs.currency)}`;
    return publish(ports.kubernetes, eventAboutPool(pool, 'Normal', 'Provisioned', message), ports.now());
  });
}

/** `2 nodes (Standard_D4als_v6, Standard_D8ls_v5) for 10 pods at $0.582 an hour`. */
function renderNodes(claims: ReadonlyArray<PlannedClaim>, currency: string): string {
  const sizes = [...Map.groupBy(claims, ({ offering }) => offering.instanceType)]
    .toSorted(([a, own], [b, other]) => other.length - own.length || (a < b ? -1 : 1))
    .map(([size, own]) => (own.length === 1 ? size : `${own.length} × ${size}`));
  const named = renderFirst(sizes, SIZES_MAX, 'size');
  const pods = claims.reduce((sum, one) => sum + one.pods.length, 0);
  return `${renderCount(claims.length, 'node')} (${named}) for ${renderCount(pods, 'pod')} at ${renderMoney(plainCostOf(claims), currency)} an hour`;
}
