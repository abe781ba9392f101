import { KARPENTER_GROUP, annotation, finalizer, label } from '../../contract/names.ts';
import type { NodeClaim, NodePool } from '../../kubernetes/manifest.ts';
import type { InstanceType } from '../../core/model/catalog.ts';
import type { PlannedClaim } from '../../core/model/plan.ts';
import type { NodeClass } from '../../ports/kubernetes.ts';
import { POOL_HASH_VERSION, poolHash } from '../facts/api-rules.ts';
import { labelsWith, renderOffering } from '../facts/machine-labels.ts';
import { renderSizeReason } from '../../core/telling/cheaper/size-reason.ts';
import { renderPrice } from '../facts/machine-price.ts';

/**
 * The planned claim with the hash of the pool that it was planned from, and what the pool said of evictions: a launch
 * that is refused ranks what is left by it. A pool that changes before the claim is created must show as drift: the
 * claim's labels and taints are of before.
 */
export function withPoolStamps(planned: PlannedClaim, pools: ReadonlyArray<NodePool>): PlannedClaim {
  const pool = pools.find(({ metadata }) => metadata.name === planned.nodePool);
  if (pool === undefined) return planned;
  const stamps = { [annotation.nodePoolHash]: poolHash(pool), [annotation.nodePoolHashVersion]: POOL_HASH_VERSION };
  const evictionCost = pool.metadata.annotations?.[annotation.evictionCost];
  const said = evictionCost === undefined ? {} : { [annotation.evictionCost]: evictionCost };
  return { ...planned, annotations: { ...planned.annotations, ...said, ...stamps } };
}

/**
 * What the NodeClaims of a pool are made of, as it is now. `types`: the sizes that `nodeClass` can have; empty without
 * one.
 */
export interface ClaimParts {
  readonly pool: NodePool;
  readonly nodeClass: NodeClass | null;
  readonly types: ReadonlyArray<InstanceType>;
}

/**
 * The NodeClaim that a planned one becomes, under its name in the decision. It says already what its launch as planned
 * would make it say, so that the launch need not; Karpenter's have their machine's labels from their launch on.
 * `currency`: what prices are in (ISO 4217).
 */
export function toNodeClaim(
  decision: string,
  planned: PlannedClaim,
  { name, currency, pool, nodeClass, types }: ClaimParts & { readonly name: string; readonly currency: string },
): NodeClaim & { readonly apiVersion: string; readonly kind: string } {
  const { expireAfter, terminationGracePeriod, nodeClassRef } = pool.spec.template.spec;
  return {
    apiVersion: `${KARPENTER_GROUP}/v1`,
    kind: 'NodeClaim',
    metadata: {
      name,
      labels: {
        ...labelsWith(types, planned.offering, planned.labels),
        [label.nodePool]: planned.nodePool,
        [label.nodeClass]: nodeClassRef.name,
      },
      annotations: {
        // Records of decisions made before the hash was part of them have none.
        [annotation.nodePoolHash]: poolHash(pool),
        [annotation.nodePoolHashVersion]: POOL_HASH_VERSION,
        ...planned.annotations,
        ...classStamps(nodeClass),
        [annotation.decision]: decision,
        [annotation.plannedOffering]: renderOffering(planned.offering),
        [annotation.pricePerHour]: renderPrice(planned.offering.price, currency),
        [annotation.sizeReason]: renderSizeReason(planned, currency),
        ...(planned.pods.length > 0 ? { [annotation.plannedPods]: String(planned.pods.length) } : {}),
      },
      finalizers: [finalizer],
      ownerReferences: [
        {
          apiVersion: `${KARPENTER_GROUP}/v1`,
          kind: 'NodePool',
          name: pool.metadata.name,
          uid: pool.metadata.uid ?? '',
          blockOwnerDeletion: true,
        } as NonNullable<NodeClaim['metadata']['ownerReferences']>[number],
      ],
    },
    spec: {
      nodeClassRef,
      requirements: planned.requirements,
      ...(planned.taints.length > 0 ? { taints: planned.taints } : {}),
      ...(planned.startupTaints.length > 0 ? { startupTaints: planned.startupTaints } : {}),
      ...(expireAfter === undefined ? {} : { expireAfter }),
      ...(terminationGracePeriod === undefined ? {} : { terminationGracePeriod }),
      resources: { requests: planned.requests },
    },
  };
}

/** What a claim has of the class that its machine is made with, by which drift is judged. */
export function classStamps(nodeClass: NodeClass | null): Readonly<Record<string, string>> {
  const { annotations = {} } = nodeClass?.metadata ?? {};
  return Object.fromEntries(
    [annotation.nodeClassHash, annotation.nodeClassHashVersion].flatMap((key) => {
      const value = annotations[key];
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
}
