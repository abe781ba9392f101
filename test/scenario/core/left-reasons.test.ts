import { expect, test } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Requirement } from '../../../shared/kubernetes/manifest.ts';
import { renderLeftReason } from '../../../shared/core/telling/reasons/render-left-reason.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import {
  daemonSet,
  input,
  node,
  offering,
  onDemand,
  pods,
  pool,
  requirement,
  shape,
  size,
  spec,
  zones,
} from '../../kit/core/build.ts';

const types = [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_D8s_v5', 8, 32, 390_000)];
const refused = size('Standard_D2s_v5', 2, 8, 100_000, {
  offerings: zones.map((zone) => offering(zone, 'on-demand', 100_000, false)),
});
const zoneKey = 'topology.kubernetes.io/zone';
const small = shape(spec('1', '1Gi'));
const web = { matchLabels: { app: 'web' } };
const volume = (name: string) => ({ name, persistentVolumeClaim: { claimName: name } });
const claimOf = (name: string, more: object) => ({ metadata: { name, namespace: 'default' }, ...more });

/** What is said of the first pod that the plan leaves: pool, detail and fix. The plan passes its audit. */
function said(parts: Parameters<typeof input>[0]): ReadonlyArray<string> {
  const given = input({ types, pods: pods(0, 1), ...parts });
  const plan = planProvisioning(given, instant(0));
  expect(auditPlan(plan, given)).toEqual([]);
  return (plan.left[0]?.refusals ?? []).map((reason) => {
    const { detail, fix } = renderLeftReason(reason);
    return `${reason.nodePool ?? '-'}: ${detail} -> ${fix}`;
  });
}

const familyKey = 'karpenter.azure.com/sku-family';
const cpuKey = 'karpenter.azure.com/sku-cpu';
const required = (...matchExpressions: ReadonlyArray<Requirement>) => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
});

const foreign = {
  metadata: { name: 'theirs' },
  spec: {
    template: {
      spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements: [] },
    },
  },
};

const cases: ReadonlyArray<readonly [string, Parameters<typeof input>[0], string]> = [
  ['without any pool', { shapes: [small] }, '-: there is no NodePool -> create a NodePool'],
  [
    'whose node selector and node affinity contradict each other, whatever pools there are',
    {
      shapes: [
        shape(
          spec('1', '1Gi', { nodeSelector: { [zoneKey]: 'a' }, affinity: required(requirement(zoneKey, 'In', 'b')) }),
        ),
      ],
    },
    '-: the pod asks for topology.kubernetes.io/zone In [a] and topology.kubernetes.io/zone In [b], which no node has at once -> correct the node selector or the node affinity of the pod',
  ],
  [
    'where the requirements of the pool contradict each other',
    {
      nodePools: [
        pool('a', {
          requirements: [requirement(cpuKey, 'Gt', '5'), { ...requirement(cpuKey, 'Lt', '3'), minValues: 2 }],
        }),
      ],
      shapes: [small],
    },
    'a: the NodePool asks for karpenter.azure.com/sku-cpu Gt [5] and karpenter.azure.com/sku-cpu Lt [3], which no node has at once -> keep one of them: let the NodePool have karpenter.azure.com/sku-cpu Gt [5], or let the NodePool have karpenter.azure.com/sku-cpu Lt [3]',
  ],
  [
    'where a label of the pool contradicts its requirement',
    {
      nodePools: [
        pool('a', {
          requirements: [requirement('example.com/team', 'In', 'red')],
          labels: { 'example.com/team': 'blue' },
        }),
      ],
      shapes: [small],
    },
    'a: the NodePool asks for example.com/team In [red] and example.com/team In [blue], which no node has at once -> remove the requirements on example.com/team from the NodePool',
  ],
  [
    'that asks for what contradicts the pool, with both',
    {
      nodePools: [
        pool('a', { requirements: [onDemand, { ...requirement(zoneKey, 'In', 'westeurope-1'), minValues: 1 }] }),
      ],
      shapes: [shape(spec('1', '1Gi', { nodeSelector: { [zoneKey]: 'westeurope-2' } }))],
    },
    'a: the pod asks for topology.kubernetes.io/zone In [westeurope-2], and the NodePool for topology.kubernetes.io/zone In [westeurope-1] -> let the NodePool have topology.kubernetes.io/zone In [westeurope-1, westeurope-2], or remove topology.kubernetes.io/zone from what the pod asks of nodes',
  ],
  [
    'that asks for what the pool allows and no size has',
    {
      nodePools: [pool('a', { requirements: [onDemand, requirement(familyKey, 'In', 'D', 'E')] })],
      shapes: [shape(spec('1', '1Gi', { nodeSelector: { [familyKey]: 'E' } }))],
    },
    'a: the pod asks for karpenter.azure.com/sku-family In [E], which no node of the NodePool has -> remove karpenter.azure.com/sku-family from what the pod asks of nodes',
  ],
  [
    'where the only pool is another provider’s',
    { foreignPools: [foreign], shapes: [small] },
    'theirs: the NodePool uses EC2NodeClass of karpenter.k8s.aws, which is not ours -> create a NodePool whose nodeClassRef names an AKSNodeClass of karpenter.azure.com',
  ],
  [
    'that has resource claims while these are ignored',
    { nodePools: [pool('a')], shapes: [shape(spec('1', '1Gi', { resourceClaims: [{ name: 'gpu' }] }))] },
    '-: the pod has resource claims (DRA), and IGNORE_DRA_REQUESTS is true -> set IGNORE_DRA_REQUESTS to false, or remove the resource claims from the pod',
  ],
  [
    'whose volume claim is missing',
    { nodePools: [pool('a')], shapes: [shape(spec('1', '1Gi', { volumes: [volume('data')] }))] },
    '-: the volume claim default/data does not exist -> create the PersistentVolumeClaim',
  ],
  [
    'whose volume claim is lost',
    {
      nodePools: [pool('a')],
      shapes: [shape(spec('1', '1Gi', { volumes: [volume('data')] }))],
      persistentVolumeClaims: [claimOf('data', { status: { phase: 'Lost' } })],
    },
    '-: the volume claim default/data is being deleted or lost -> replace the PersistentVolumeClaim',
  ],
  [
    'whose volume is missing',
    {
      nodePools: [pool('a')],
      shapes: [shape(spec('1', '1Gi', { volumes: [volume('data')] }))],
      persistentVolumeClaims: [claimOf('data', { spec: { volumeName: 'disk-1' }, status: { phase: 'Bound' } })],
    },
    '-: the volume disk-1 of claim default/data does not exist or is being deleted -> bind another volume',
  ],
  [
    'whose storage class is missing',
    {
      nodePools: [pool('a')],
      shapes: [shape(spec('1', '1Gi', { volumes: [volume('data')] }))],
      persistentVolumeClaims: [claimOf('data', { spec: { storageClassName: 'fast' } })],
    },
    '-: the volume claim default/data names the storage class fast, which does not exist -> create the StorageClass fast, or set storageClassName of the claim to an existing one',
  ],
  [
    'on a pool that is not ready as its class is not there',
    {
      nodePools: [
        {
          ...pool('a'),
          status: {
            conditions: [
              { type: 'NodeClassReady', status: 'False', message: 'AKSNodeClass nope does not exist: create it' },
              { type: 'Ready', status: 'False', message: 'NodeClassReady=False' },
            ],
          },
        },
      ],
      shapes: [small],
    },
    'a: the NodePool is not ready: AKSNodeClass nope does not exist: create it -> see the conditions of the NodePool and its node class',
  ],
  [
    'on a pool that is not ready',
    {
      nodePools: [
        { ...pool('a'), status: { conditions: [{ type: 'Ready', status: 'False', message: 'NodeClassReady=False' }] } },
      ],
      shapes: [small],
    },
    'a: the NodePool is not ready: NodeClassReady=False -> see the conditions of the NodePool and its node class',
  ],
  [
    'on a pool of fixed size',
    { nodePools: [{ ...pool('a'), spec: { ...pool('a').spec, replicas: 3 } }], shapes: [small] },
    'a: the NodePool is static: it has a fixed number of nodes -> create another NodePool without spec.replicas, or let the pod use one',
  ],
  [
    'that does not tolerate the pool',
    { nodePools: [pool('a', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] })], shapes: [small] },
    'a: taint gpu=yes:NoSchedule is not tolerated -> add a toleration for gpu=yes:NoSchedule',
  ],
  [
    'on a pool that allows no size',
    { nodePools: [pool('a', { requirements: [requirement(zoneKey, 'In', 'mars-1')] })], shapes: [small] },
    'a: no available instance type has topology.kubernetes.io/zone In [mars-1] -> let the NodePool have topology.kubernetes.io/zone In [westeurope-1, westeurope-2, westeurope-3]',
  ],
  [
    'on a pool whose sizes have all been refused',
    {
      nodePools: [pool('a', { requirements: [onDemand, requirement(cpuKey, 'In', '2')] })],
      types: [refused, ...types.slice(1)],
      shapes: [small],
    },
    'a: every instance type with karpenter.azure.com/sku-cpu In [2] is unavailable: Azure has refused it lately, or quota does not allow it -> wait, raise the quota of the subscription, or let the NodePool have karpenter.azure.com/sku-cpu In [2, 8]',
  ],
  [
    'while nothing at all is available',
    { nodePools: [pool('a')], types: [refused], shapes: [small] },
    'a: no instance type is available: Azure has refused all of them lately, or quota does not allow any -> wait, or raise the quota of the subscription',
  ],
  [
    'that asks for a label no node has',
    { nodePools: [pool('a')], shapes: [shape(spec('1', '1Gi', { nodeSelector: { 'example.com/disk': 'fast' } }))] },
    'a: the pod asks for example.com/disk In [fast], which no node of the NodePool has -> give the NodePool the label example.com/disk: "fast", or remove example.com/disk from what the pod asks of nodes',
  ],
  [
    'whose labels no one size has together',
    {
      nodePools: [pool('a')],
      shapes: [
        shape(
          spec('1', '1Gi', {
            nodeSelector: {
              'karpenter.azure.com/sku-cpu': '8',
              'node.kubernetes.io/instance-type': 'Standard_D2s_v5',
            },
          }),
        ),
      ],
    },
    'a: the pod asks for karpenter.azure.com/sku-cpu In [8] and node.kubernetes.io/instance-type In [Standard_D2s_v5], which no instance type has at once -> remove karpenter.azure.com/sku-cpu from what the pod asks of nodes, or remove node.kubernetes.io/instance-type from what the pod asks of nodes',
  ],
  [
    'that is larger than the largest node beside its daemons',
    {
      nodePools: [pool('a')],
      daemonSets: [daemonSet('agent', spec('150m', '64Mi'))],
      shapes: [shape(spec('8', '1Gi'))],
    },
    'a: the pod requests 8 cpu, and a node of the NodePool has at most 7.85 beside its daemonsets (the largest size has 8) -> lower the pod’s requests of cpu to 7.85',
  ],
  [
    'that asks for more memory than there is, told in figures that differ',
    { nodePools: [pool('a')], shapes: [shape(spec('1', String(32 * 2 ** 30 + 1)))] },
    'a: the pod requests 32.1Gi memory, and a node of the NodePool has at most 32Gi beside its daemonsets -> lower the pod’s requests of memory to 32Gi',
  ],
  [
    'that no one size has room for, though each resource can be had',
    {
      nodePools: [pool('a')],
      types: [size('Standard_F8s_v9', 8, 8, 300_000), size('Standard_E2s_v5', 2, 64, 200_000)],
      shapes: [shape(spec('6', '32Gi'))],
    },
    'a: no instance type has room for all that the pod requests, with its host ports free, beside the daemonsets -> allow other sizes in the NodePool, or lower the pod’s requests',
  ],
  [
    'beyond the pool’s limits',
    { nodePools: [pool('a', { limits: { cpu: '1500m' } })], shapes: [small] },
    'a: no size that holds the pod is within the limits: one takes 2 cpu, and 1.5 is left -> raise spec.limits of the NodePool for cpu to 2',
  ],
  [
    'for which minValues leaves too few sizes',
    {
      nodePools: [
        pool('a', {
          requirements: [onDemand, { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 2 }],
        }),
      ],
      shapes: [shape(spec('4', '1Gi'))],
    },
    'a: too few instance types that hold the pod are left for minValues of node.kubernetes.io/instance-type -> widen the NodePool, use BestEffort, or remove minValues of node.kubernetes.io/instance-type from the NodePool',
  ],
  [
    'whose spread has no room in the zones of the pool',
    {
      nodePools: [pool('a', { requirements: [requirement(zoneKey, 'In', 'westeurope-1')] })],
      shapes: [
        shape(
          spec('1', '1Gi', {
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                minDomains: 2,
                topologyKey: zoneKey,
                whenUnsatisfiable: 'DoNotSchedule',
                labelSelector: web,
              },
            ],
          }),
          { app: 'web' },
        ),
      ],
      pods: pods(0, 2),
    },
    'a: its topology spread allows no topology.kubernetes.io/zone that the NodePool can give a node -> let the NodePool offer more of them, or relax the rule',
  ],
  [
    'that wants to be near pods that are nowhere',
    {
      nodePools: [pool('a')],
      shapes: [
        shape(
          spec('1', '1Gi', {
            affinity: {
              podAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: zoneKey, labelSelector: web }],
              },
            },
          }),
        ),
      ],
    },
    'a: its pod affinity allows no topology.kubernetes.io/zone that the NodePool can give a node -> let the NodePool offer more of them, or relax the rule',
  ],
  [
    'that a running pod keeps away from the whole region',
    {
      nodePools: [pool('a', { labels: { 'example.com/site': 'ams' } })],
      nodes: [node('n', 2, 8, { 'example.com/site': 'ams' })],
      shapes: [
        shape(spec('3', '1Gi'), { app: 'web' }),
        shape(
          spec('1', '1Gi', {
            affinity: {
              podAntiAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: [
                  { topologyKey: 'example.com/site', labelSelector: web },
                ],
              },
            },
          }),
        ),
      ],
      pods: [...pods(0, 1), ...pods(1, 1, { nodeName: 'n' })],
    },
    'a: the anti-affinity of other pods allows no example.com/site that the NodePool can give a node -> let the NodePool offer more of them, or relax the rule',
  ],
];

test.each(cases)('a pod %s is left with the rule and the mend in words', (_, parts, sentence) => {
  expect(said(parts)).toEqual([sentence]);
});

test('each pool has its own first reason, in the order of their names', () => {
  const nodePools = [pool('b', { limits: { nodes: '0' } }), pool('a', { taints: [{ key: 'x', effect: 'NoExecute' }] })];
  expect(said({ nodePools, shapes: [small] })).toEqual([
    'a: taint x:NoExecute is not tolerated -> add a toleration for x:NoExecute',
    'b: no size that holds the pod is within the limits: one takes 1 nodes, and 0 is left -> raise spec.limits of the NodePool for nodes to 1',
  ]);
});

test('of a static pool is told last, whatever its name', () => {
  const fixed = { ...pool('a'), spec: { ...pool('a').spec, replicas: 2 } };
  const narrow = pool('b', { requirements: [requirement(zoneKey, 'In', 'elsewhere-1')] });
  const told = said({ nodePools: [fixed, narrow], shapes: [small] });
  expect(told.map((text) => text.slice(0, 2))).toEqual(['b:', 'a:']);
  expect(told[1]).toContain('the NodePool is static');
});

test('of a resource that no node of the pool has asks for sizes that have it, and not for larger ones', () => {
  const reason = {
    kind: 'resource',
    nodePool: 'a',
    resource: 'nvidia.com/gpu',
    wanted: '1',
    largest: '8',
    remedies: [],
  };
  const fixWith = (most: string) => renderLeftReason({ ...reason, most } as never).fix;
  expect(fixWith('0')).toBe('allow sizes with nvidia.com/gpu in the NodePool, or lower the pod’s requests');
  expect(fixWith('1')).toBe('allow larger sizes in the NodePool, or lower the pod’s requests');
});
