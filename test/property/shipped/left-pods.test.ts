import { expect, test } from 'vitest';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import type { NodePool } from '../../../shared/kubernetes/manifest.ts';
import { everyPlan, slow } from './every-plan.ts';
import { amountOf } from './own-reading.ts';
import { specOf } from './planned-node.ts';
import type { ReadWorld } from './read-world.ts';
import { singleNodes } from './single-nodes.ts';

test('a pool that is said not to have the pod has no size that could hold it alone', slow, () =>
  everyPlan((plan, { input }) => {
    const told = new Set<string>();
    for (const { pod, refusals } of plan.left) {
      const spec = specOf(input, pod.uid);
      for (const reason of refusals) {
        const pool = input.cluster.nodePools.find(({ metadata }) => metadata.name === reason.nodePool);
        // Pods of one workload are told the same.
        const id = `${input.cluster.pods.find(({ uid }) => uid === pod.uid)?.shape} ${reason.nodePool} ${reason.kind}`;
        if (pool === undefined || ABOUT_OTHERS.has(reason.kind) || told.has(id)) continue;
        told.add(id);
        const [first] = singleNodes(input, pool, [spec]);
        expect(first && { reason, pod: pod.name, on: `${first.type.name} ${first.offering.zone}` }).toBeUndefined();
      }
    }
  }),
);

test('a limit is said to keep a pod out only where every size that could hold it alone goes beyond it', slow, () =>
  everyPlan((plan, read) => {
    const { input } = read;
    for (const pool of input.cluster.nodePools) {
      const { limits = {}, template } = pool.spec;
      // With minValues a claim takes as much of a limit as the largest size that it needs to list.
      if (template.spec.requirements.some(({ minValues }) => minValues !== undefined)) continue;
      const about = plan.left.filter(({ refusals }) =>
        refusals.some(({ kind, nodePool }) => kind === 'limit' && nodePool === pool.metadata.name),
      );
      const used = about.length === 0 ? new Map<string, number>() : usedOf(pool, plan, read);
      for (const spec of new Set(about.map(({ pod }) => specOf(input, pod.uid)))) {
        const isWithin = ({ capacity }: InstanceType): boolean =>
          Object.entries(limits).every(
            ([name, limit]) =>
              (used.get(name) ?? 0) + amountOf(name === 'nodes' ? 1 : (capacity[name] ?? 0)) <= amountOf(limit),
          );
        const [first] = singleNodes(input, pool, [spec], isWithin);
        expect(first && { pool: pool.metadata.name, on: first.type.name, used }).toBeUndefined();
      }
    }
  }),
);

/** Reasons that are not of the pod and the pool alone. */
const ABOUT_OTHERS = new Set([
  'limit',
  'min-values',
  'topology-spread',
  'pod-affinity',
  'pod-anti-affinity',
  'anti-affinity-of-others',
  'topology-together',
]);

/** What nodes of the pool have of each resource, planned ones included; and how many they are. */
function usedOf({ metadata }: NodePool, plan: Plan, { input, types }: ReadWorld): ReadonlyMap<string, number> {
  const planned = plan.claims
    .filter(({ nodePool }) => nodePool === metadata.name)
    .map(({ offering }) => types.find(({ name }) => name === offering.instanceType)?.capacity ?? {});
  const there = input.cluster.nodes
    .filter((node) => node.metadata.labels?.['karpenter.sh/nodepool'] === metadata.name)
    .map(({ status }) => status?.capacity ?? {});
  const used = new Map([['nodes', planned.length + there.length]]);
  for (const [name, quantity] of [...planned, ...there].flatMap((capacity) => Object.entries(capacity))) {
    used.set(name, (used.get(name) ?? 0) + amountOf(quantity));
  }
  return used;
}
