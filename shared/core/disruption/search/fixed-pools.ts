import { planStaticPools } from '../../finishing/static-pools.ts';
import type { PlannedOffering } from '../../model/plan.ts';
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
  return ({ node, pool }) => {
    if (offerings.length === 0 || node === null || pool === null) return null;
    if (!known.has(node.name)) {
      const next = nextOf(input, node.name, pool);
      known.set(node.name, (next !== null && offerings.find((offering) => isOfferingOf(offering, pool, next))) || null);
    }
    return known.get(node.name) ?? null;
  };
}

function nextOf(input: ProvisioningInput, node: string, pool: string): PlannedOffering | null {
  const { claims } = planStaticPools(withoutNodes(input, [node]));
  return claims.find(({ nodePool }) => nodePool === pool)?.offering ?? null;
}
