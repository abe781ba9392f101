import { describe, expect, test } from 'vitest';
import { suspicionsOf } from '../../../../../cli/input/check/suspicions.ts';
import { placedPods, planDocument, pool, problemsOf, workload } from '../../../../kit/cli/plan-manifests.ts';

const ZONES = 'topology.kubernetes.io/zones';
const MEANT = `no size has a label ${ZONES} (did you mean topology.kubernetes.io/zone?)`;

describe('a label key that is nearly a well-known one is told', () => {
  const matchExpressions = [
    { key: 'example.com/team', operator: 'Exists' },
    { key: ZONES, operator: 'Exists' },
  ];

  test('of a pod, wherever it is asked for', () => {
    const spec = {
      nodeSelector: { [ZONES]: 'a', 'kubernetes.io/arch': 'amd64' },
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
      },
      topologySpreadConstraints: [{ topologyKey: 'kubernetes.io/hostname' }, { topologyKey: ZONES }],
      tolerations: [{ key: ZONES, operator: 'Exists' }],
    };
    const found = (prefix: string): ReadonlyArray<string> => [
      `${prefix}.nodeSelector[${ZONES}]: ${MEANT}`,
      `${prefix}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].key: ${MEANT}`,
      `${prefix}.topologySpreadConstraints[1].topologyKey: ${MEANT}`,
    ];
    expect(suspicionsOf('Pod', { spec })).toEqual(found('spec'));
    expect(suspicionsOf('Job', { spec: { template: { spec } } })).toEqual(found('spec.template.spec'));
    const cron = { spec: { jobTemplate: { spec: { template: { spec } } } } };
    expect(suspicionsOf('CronJob', cron)).toEqual(found('spec.jobTemplate.spec.template.spec'));
    expect(suspicionsOf('Service', { spec })).toEqual([]);
  });

  test('of a pool, beside the plan', async () => {
    const { notes } = await planDocument(
      pool.replace('requirements:', `requirements:\n        - { key: ${ZONES}, operator: Exists }`),
    );
    expect(notes).toEqual([
      `standard input, document 1: NodePool general: spec.template.spec.requirements[0].key: ${MEANT}`,
    ]);
  });
});

describe('a label by which another cloud chooses machines is told, with Azure’s', () => {
  test('of a pool, whose node is planned all the same, as Karpenter does', async () => {
    const key = 'eks.amazonaws.com/instance-category';
    const plan = await planDocument([
      pool.replace('requirements:', `requirements:\n        - { key: ${key}, operator: In, values: [c, m] }`),
      workload('Deployment', 'web', 1),
    ]);
    expect(placedPods(plan)).toEqual(['default/web-0']);
    expect(plan.notes).toEqual([
      `standard input, document 1: NodePool general: spec.template.spec.requirements[0].key: ${key} is a label of your own here, and chooses no size (on Azure it is karpenter.azure.com/sku-family)`,
    ]);
  });

  test('of a pod, also where Azure has none like it', () => {
    expect(
      suspicionsOf('Pod', { spec: { nodeSelector: { 'karpenter.k8s.aws/instance-hypervisor': 'nitro' } } }),
    ).toEqual([
      'spec.nodeSelector[karpenter.k8s.aws/instance-hypervisor]: karpenter.k8s.aws/instance-hypervisor is a label of your own here, and chooses no size (no label of Azure’s sizes is like it)',
    ]);
  });
});

describe('thousandths of a byte', () => {
  test('are told, of memory and of storage, and thousandths of a CPU are not', async () => {
    const { notes } = await planDocument([pool, workload('Deployment', 'web', 1, '{ cpu: 100m, memory: 100m }')]);
    expect(notes).toEqual([
      'standard input, document 3: Deployment default/web: spec.template.spec.containers[0].resources.requests[memory]: 100m is thousandths of a byte (did you mean 100M or 100Mi?)',
    ]);
  });

  test('are told of each container', () => {
    const container = {
      resources: { limits: { 'ephemeral-storage': '5m', 'hugepages-2Mi': '4Mi', 'x.com/gpu': '2m' } },
    };
    expect(suspicionsOf('Pod', { spec: { containers: [{}, container], initContainers: [container] } })).toEqual([
      'spec.initContainers[0].resources.limits[ephemeral-storage]: 5m is thousandths of a byte (did you mean 5M or 5Mi?)',
      'spec.containers[1].resources.limits[ephemeral-storage]: 5m is thousandths of a byte (did you mean 5M or 5Mi?)',
    ]);
  });
});

describe('amounts that cannot be counted are refused with the field', () => {
  test.each([
    ['{ cpu: 1e30 }', '[cpu]: 1e+30 is more than any node has (lower it to less than 9e12)'],
    ['{ cpu: "1e13" }', '[cpu]: "1e13" is more than any node has (lower it to less than 9e12)'],
    ['{ memory: 1Ei }', '[memory]: "1Ei" is more than any node has (lower it to less than 8Pi)'],
  ])('%s', async (requests, said) => {
    expect(await problemsOf([pool, workload('Deployment', 'web', 1, requests)])).toEqual([
      `standard input, document 3: Deployment default/web: spec.template.spec.containers[0].resources.requests${said}`,
    ]);
  });

  test('and those that can are taken', async () => {
    const { left } = await planDocument([pool, workload('Deployment', 'web', 1, '{ cpu: 8e12, memory: 7Pi }')]);
    expect(left).toMatchObject([{ reasons: [{ kind: 'resource', resource: 'cpu' }] }]);
  });
});

test.each([
  [
    'Provisioner',
    'karpenter.sh/v1alpha5',
    /^write a NodePool of karpenter.sh\/v1, with a nodeClassRef to an AKSNodeClass/,
  ],
  ['NodePool', 'karpenter.sh/v1beta1', /^write a NodePool of karpenter.sh\/v1, with a nodeClassRef to an AKSNodeClass/],
  ['AWSNodeTemplate', 'karpenter.k8s.aws/v1alpha1', /^write an AKSNodeClass of karpenter.azure.com\/v1beta1/],
  ['EC2NodeClass', 'karpenter.k8s.aws/v1beta1', /^write an AKSNodeClass of karpenter.azure.com\/v1beta1/],
])('a %s of %s, which Karpenter once read, is told how to go on', async (kind, apiVersion, fix) => {
  const [problem = '', ...more] = await problemsOf([
    pool,
    `{ apiVersion: ${apiVersion}, kind: ${kind}, metadata: { name: old }, spec: {} }`,
  ]);
  const start = `standard input, document 3: ${kind} old: apiVersion: ${kind} of ${apiVersion} is no longer read (`;
  expect([problem.slice(0, start.length), more]).toEqual([start, []]);
  expect(problem.slice(start.length)).toMatch(fix);
});
