import { describe, expect, test } from 'vitest';
import { placedPods, planDocument, pool } from '../../../kit/cli/plan-manifests.ts';

const key = 'kubernetes.azure.com/cluster';
const pod = (name: string, spec: string): string =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name} }, spec: { ${spec}, containers: [{ name: main, image: x, resources: { requests: { cpu: 500m, memory: 512Mi } } }] } }`;
const selecting = (name: string, cluster: string): string => pod(name, `nodeSelector: { ${key}: ${cluster} }`);
const node = (cluster: string): string =>
  `{ apiVersion: v1, kind: Node, metadata: { name: n, labels: { ${key}: ${cluster} } }, status: { allocatable: { cpu: 100m, memory: 1Gi, pods: 30 } } }`;
const taken = (name: string, among = ''): string =>
  `${key}: ${name} is taken to be the name of this cluster${among}: AKS gives its nodes that of the node resource group`;

describe('the name of a cluster that is not there', () => {
  test('is what its pods ask for, which is told', async () => {
    const notIn = `affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: ${key}, operator: NotIn, values: [MC_c] }] }] } } }`;
    const plan = await planDocument([pool, selecting('a', 'MC_a'), pod('b', notIn)]);
    expect(placedPods(plan)).toEqual(['default/a', 'default/b']);
    expect(plan.notes).toEqual([taken('MC_a')]);
  });

  test('is what its pools ask for', async () => {
    const plan = await planDocument([
      pool.replace('requirements:', `requirements:\n        - { key: ${key}, operator: In, values: [MC_a] }`),
      pod('a', 'priority: 0'),
    ]);
    expect(placedPods(plan)).toEqual(['default/a']);
    expect(plan.notes).toEqual([taken('MC_a')]);
  });

  test('is one: of several that are asked for the first', async () => {
    const plan = await planDocument([pool, selecting('a', 'MC_b'), selecting('b', 'MC_a')]);
    expect(placedPods(plan)).toEqual(['default/b']);
    expect(plan.notes).toEqual([taken('MC_a', ', the first of 2 that are asked for (MC_a, MC_b)')]);
  });

  test('is what nodes that are given have, whatever pods ask for', async () => {
    const plan = await planDocument([pool, node('MC_z'), selecting('a', 'MC_a'), selecting('z', 'MC_z')]);
    expect(placedPods(plan)).toEqual(['default/z']);
    expect(plan.notes).toEqual([]);
  });

  test('is told by nobody where nobody asks for it', async () => {
    expect((await planDocument([pool, pod('a', 'priority: 0')])).notes).toEqual([]);
  });
});
