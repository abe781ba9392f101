import { describe, expect, test } from 'vitest';
import { placedPods, planDocument, pool, workload } from '../../../kit/cli/plan-manifests.ts';

const pod = workload('Deployment', 'web', 1);
const [poolAlone = ''] = pool.split('---');
const nodeClass = (name: string): string =>
  `{ apiVersion: karpenter.azure.com/v1beta1, kind: AKSNodeClass, metadata: { name: ${name} }, spec: {} }`;

describe('a pool whose class is not among those that are given', () => {
  test('is not used, as in the cluster, and its pods are told the class that was meant', async () => {
    const plan = await planDocument([pool.replace('name: default }\n      req', 'name: defualt }\n      req'), pod]);
    expect(placedPods(plan)).toEqual([]);
    expect(plan.left).toMatchObject([
      {
        pod: 'default/web-0',
        reasons: [
          {
            nodePool: 'general',
            detail:
              'the NodePool is not ready: AKSNodeClass defualt does not exist: create it, or correct spec.template.spec.nodeClassRef.name (did you mean default?)',
          },
        ],
      },
    ]);
    expect(plan.notes).toEqual([]);
  });

  test('is told without a guess where none is near', async () => {
    const plan = await planDocument([poolAlone, nodeClass('gpu'), pod]);
    expect(plan.left[0]?.reasons[0]?.detail).toMatch(/AKSNodeClass default does not exist: .*nodeClassRef.name$/);
  });

  test('leaves the pods to other pools', async () => {
    const other = poolAlone.replace('name: general', 'name: other').replace('name: default', 'name: gpu');
    const plan = await planDocument([poolAlone, other, nodeClass('gpu'), pod]);
    expect(plan.nodeClaims.map(({ nodePool }) => nodePool)).toEqual(['other']);
  });

  test('has a class with default settings where none is given at all', async () => {
    expect(placedPods(await planDocument([poolAlone, pod]))).toEqual(['default/web-0']);
  });
});

test.each([
  ['kind', 'kind: AKSNodeClass, name', 'kind: EC2NodeClass, name', 'EC2NodeClass of karpenter.azure.com'],
  ['group', 'group: karpenter.azure.com', 'group: karpenter.k8s.aws', 'AKSNodeClass of karpenter.k8s.aws'],
])(
  'a pool with a class of another %s is planned nothing for, and its pods are told so',
  async (_, own, other, said) => {
    const plan = await planDocument([pool.replace(own, other), pod]);
    expect(placedPods(plan)).toEqual([]);
    expect(plan.left[0]?.reasons[0]?.detail).toBe(`the NodePool uses ${said}, which is not ours`);
  },
);

test('a pool whose requirements contradict each other is told of, also where another takes the pods', async () => {
  const torn = poolAlone
    .replace('name: general', 'name: torn')
    .replace(
      'values: [D] }',
      'values: [D] }\n        - { key: karpenter.azure.com/sku-family, operator: In, values: [E] }',
    );
  const plan = await planDocument([pool, torn, pod]);
  expect(plan.nodeClaims.map(({ nodePool }) => nodePool)).toEqual(['general']);
  expect(plan.notes).toEqual([
    'NodePool torn gets no nodes: it asks for karpenter.azure.com/sku-family In [D] and karpenter.azure.com/sku-family In [E], which no node has at once',
  ]);
});
