import { planStaticPools } from '../../finishing/static-pools.ts';
import type { PlannedClaim } from '../../model/plan.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { withoutNodes } from '../../present/without-nodes.ts';
import type { Slot } from './arena.ts';
import { isOfferingOf, type PoolOffering } from './pool-offerings.ts';

/** The NodePools with a fixed number of nodes, by name: what they offer comes only in place of a node of theirs. */
export function fixedPools({ cluster, policy }: ProvisioningInput): ReadonlySet<string> {
  if (!policy.gates.staticCapacity) return new Set();
  return new Set(cluster.nodePools.flatMap(({ metadata, spec }) => (spec.replicas === undefined ? [] : metadata.name)));
}

/** The input as if these were pools like any other, so that what they offer is known. */
export function withFixedOfferings(input: ProvisioningInput): ProvisioningInput {
  const fixed = fixedPools(input);
  // Stryker disable next-line ConditionalExpression: a shortcut, without such pools the input stays as it is
  if (fixed.size === 0) return input;
  const { cluster } = input;
  const nodePools = cluster.nodePools.map((pool) => {
    const { replicas: _, ...spec } = pool.spec;
    return fixed.has(pool.metadata.name) ? { ...pool, spec } : pool;
  });
  return { ...input, cluster: { ...cluster, nodePools } };
}

/**
 * What comes in place of a node of such a pool, as provisioning will have it; null for a node of another, and where
 * none can be had.
 */
export type SuccessorOf = (slot: Slot) => PoolOffering | null;

/** `offerings`: those of pools with a fixed number of nodes. */
export function successorsOf(input: ProvisioningInput, offerings: ReadonlyArray<PoolOffering>): SuccessorOf {
  const known = new Map<string, PoolOffering | null>();
  return ({ room, pool }) => {
    // Stryker disable next-line ConditionalExpression: a shortcut, where there are none none is found
    if (offerings.length === 0) return null;
    const { name } = room.capacity;
    // Stryker disable next-line ConditionalExpression: what is known is the same when it is worked out again
    if (!known.has(name)) known.set(name, successorIn(offerings, nextOf(input, name, pool)));
    return known.get(name) ?? null;
  };
}

/** The claim that provisioning would make if the node were gone; undefined for none. */
function nextOf(input: ProvisioningInput, node: string, pool: string | null): PlannedClaim | undefined {
  const { claims } = planStaticPools(withoutNodes(input, [node]));
  return claims.find(({ nodePool }) => nodePool === pool);
}

function successorIn(offerings: ReadonlyArray<PoolOffering>, next: PlannedClaim | undefined): PoolOffering | null {
  if (next === undefined) return null;
  return offerings.find((one) => isOfferingOf(one, next.nodePool, next.offering)) ?? null;
}
