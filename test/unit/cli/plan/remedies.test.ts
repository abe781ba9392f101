import { describe, expect, test } from 'vitest';
import { Reason } from '../../../../cli/documents/reason-format.ts';
import { applyRemedy, renderManifests, type Manifests, type Remedy } from '../../../kit/cli/apply-remedy.ts';
import { planDocument } from '../../../kit/cli/plan-manifests.ts';

const family = 'karpenter.azure.com/sku-family';
const version = 'karpenter.azure.com/sku-version';
const cpu = 'karpenter.azure.com/sku-cpu';
const capacityType = 'karpenter.sh/capacity-type';
const zone = 'topology.kubernetes.io/zone';
const region = 'topology.kubernetes.io/region';
const instanceType = 'node.kubernetes.io/instance-type';
const team = 'example.com/team';
const of = (key: string, operator: string, ...values: ReadonlyArray<string>) => ({ key, operator, values });
const onDemand = of(capacityType, 'In', 'on-demand');
const small = { cpu: '500m', memory: '512Mi' };

interface Parts {
  readonly requirements?: Manifests['pool']['requirements'];
  readonly pool?: Partial<Manifests['pool']>;
  readonly nodeClass?: Manifests['nodeClass'];
  readonly pod?: Partial<Manifests['pod']>;
}

/** An on-demand pool of D sizes and a small pod, but for what is said. */
function manifests({ requirements, pool = {}, nodeClass = {}, pod = {} }: Parts): Manifests {
  return {
    pool: { requirements: requirements ?? [of(family, 'In', 'D'), onDemand], ...pool },
    nodeClass,
    pod: { requests: small, ...pod },
  };
}

/** Kind, words and remedies of the one reason for which the pod is left. */
async function reasonFor(given: Manifests) {
  const { left } = await planDocument(renderManifests(given));
  const [reason] = left[0]?.reasons ?? [];
  if (reason === undefined) throw new Error('the pod was placed');
  const remedies: ReadonlyArray<Remedy> = 'remedies' in reason ? reason.remedies : [];
  return { kind: reason.kind, said: `${reason.detail} -> ${reason.fix}`, remedies };
}

const pools: ReadonlyArray<readonly [string, Parts, string]> = [
  [
    'zones of another region',
    { requirements: [of(zone, 'In', 'eastus-1', 'eastus-2'), onDemand] },
    'no available instance type has topology.kubernetes.io/zone In [eastus-1, eastus-2] -> let the NodePool have topology.kubernetes.io/zone In [westeurope-1, westeurope-2, westeurope-3]',
  ],
  [
    'a zone by its number',
    { requirements: [of(family, 'In', 'D'), of(zone, 'In', '1')] },
    'no available instance type has topology.kubernetes.io/zone In [1] -> let the NodePool have topology.kubernetes.io/zone In [westeurope-1]',
  ],
  [
    'a family with the letters behind it',
    { requirements: [of(family, 'In', 'NC')] },
    'no available instance type has karpenter.azure.com/sku-family In [NC] -> let the NodePool have karpenter.azure.com/sku-family In [N]',
  ],
  [
    'a family in small letters',
    { requirements: [of(family, 'In', 'd'), onDemand] },
    'no available instance type has karpenter.azure.com/sku-family In [d] -> let the NodePool have karpenter.azure.com/sku-family In [D]',
  ],
  [
    'a version as the name has it',
    { requirements: [of(family, 'In', 'D'), of(version, 'In', 'v5')] },
    'no available instance type has karpenter.azure.com/sku-version In [v5] -> let the NodePool have karpenter.azure.com/sku-version In [5]',
  ],
  [
    'a size in another case',
    { requirements: [of(instanceType, 'In', 'Standard_d4s_v5')] },
    'no available instance type has node.kubernetes.io/instance-type In [Standard_d4s_v5] -> let the NodePool have node.kubernetes.io/instance-type In [Standard_D4s_v5]',
  ],
  [
    'a size without its beginning',
    { requirements: [of('karpenter.azure.com/sku-name', 'In', 'D4s_v5')] },
    'no available instance type has karpenter.azure.com/sku-name In [D4s_v5] -> let the NodePool have karpenter.azure.com/sku-name In [Standard_D4s_v5]',
  ],
  [
    'a size of another cloud',
    { requirements: [of(instanceType, 'In', 'm5.large')] },
    'no available instance type has node.kubernetes.io/instance-type In [m5.large] -> remove the requirements on node.kubernetes.io/instance-type from the NodePool',
  ],
  [
    'burstable sizes on spot',
    { requirements: [of(family, 'In', 'B'), of(capacityType, 'In', 'spot')] },
    'no available instance type has karpenter.azure.com/sku-family In [B] and karpenter.sh/capacity-type In [spot] at once -> let the NodePool have karpenter.azure.com/sku-family In [B, D], or let the NodePool have karpenter.sh/capacity-type In [on-demand, spot]',
  ],
  [
    'another region',
    { requirements: [of(region, 'In', 'eastus'), onDemand] },
    'no available instance type has topology.kubernetes.io/region In [eastus] -> let the NodePool have topology.kubernetes.io/region In [westeurope]',
  ],
  [
    'another operating system',
    { requirements: [of('kubernetes.io/os', 'In', 'windows'), onDemand] },
    'no available instance type has kubernetes.io/os In [windows]: nodes with Windows are not supported -> let the NodePool have kubernetes.io/os In [linux]',
  ],
  [
    'more vCPUs than there are',
    { requirements: [of(family, 'In', 'D'), of(cpu, 'Gt', '1000')] },
    'no available instance type has karpenter.azure.com/sku-cpu Gt [1000] -> let the NodePool have karpenter.azure.com/sku-cpu Gt [191]',
  ],
  [
    'fewer vCPUs than there are',
    { requirements: [of(family, 'In', 'D'), of(cpu, 'Lt', '2')] },
    'no available instance type has karpenter.azure.com/sku-cpu Lt [2] -> let the NodePool have karpenter.azure.com/sku-cpu Lt [3]',
  ],
  [
    'a family and a generation that it never had',
    { requirements: [of(family, 'In', 'L'), of(version, 'In', '6', '7'), of(cpu, 'In', '2')] },
    'no available instance type has karpenter.azure.com/sku-family In [L] and karpenter.azure.com/sku-version In [6, 7] at once -> let the NodePool have karpenter.azure.com/sku-family In [D, L], or let the NodePool have karpenter.azure.com/sku-version In [4, 6, 7]',
  ],
  [
    'two things that do not exist',
    { requirements: [of(zone, 'In', 'mars-1'), of(family, 'In', 'Q'), onDemand] },
    'no available instance type has topology.kubernetes.io/zone In [mars-1], and none has karpenter.azure.com/sku-family In [Q] -> let the NodePool have topology.kubernetes.io/zone In [westeurope-1, westeurope-2, westeurope-3] and let the NodePool have karpenter.azure.com/sku-family In [A, B, D, E, F, G, H, L, M, N]',
  ],
  [
    'all families but those that there are',
    { requirements: [of(family, 'NotIn', 'A', 'B', 'D', 'E', 'F', 'G', 'H', 'L', 'M', 'N')] },
    'no available instance type has karpenter.azure.com/sku-family NotIn [A, B, D, E, F, G, H, L, M, N] -> let the NodePool have karpenter.azure.com/sku-family NotIn [A, B, E, F, G, H, L, M, N]',
  ],
  [
    'no label that every size has',
    { requirements: [{ key: family, operator: 'DoesNotExist' }, onDemand] },
    'no available instance type has karpenter.azure.com/sku-family DoesNotExist -> remove the requirements on karpenter.azure.com/sku-family from the NodePool',
  ],
  [
    'nodes of a reservation, of which there are none',
    { requirements: [of(family, 'In', 'D'), of(capacityType, 'In', 'reserved')] },
    'no available instance type has karpenter.sh/capacity-type In [reserved]: no capacity reservation has room for a node -> let the NodePool have karpenter.sh/capacity-type In [on-demand, spot]',
  ],
  [
    'bounds with nothing between them',
    { requirements: [of(cpu, 'Gt', '5'), of(cpu, 'Lt', '3'), onDemand] },
    'the NodePool asks for karpenter.azure.com/sku-cpu Gt [5] and karpenter.azure.com/sku-cpu Lt [3], which no node has at once -> keep one of them: let the NodePool have karpenter.azure.com/sku-cpu Gt [5], or let the NodePool have karpenter.azure.com/sku-cpu Lt [3]',
  ],
  [
    'two families at once',
    { requirements: [of(family, 'In', 'D'), of(family, 'In', 'E'), onDemand] },
    'the NodePool asks for karpenter.azure.com/sku-family In [D] and karpenter.azure.com/sku-family In [E], which no node has at once -> keep one of them: let the NodePool have karpenter.azure.com/sku-family In [D], or let the NodePool have karpenter.azure.com/sku-family In [E]',
  ],
  [
    'a label that it gives another value',
    { requirements: [of(team, 'In', 'red'), onDemand], pool: { labels: { [team]: 'blue' } } },
    'the NodePool asks for example.com/team In [red] and example.com/team In [blue], which no node has at once -> remove the requirements on example.com/team from the NodePool',
  ],
  [
    'a family by its labels',
    { requirements: [onDemand], pool: { labels: { [family]: 'd' } } },
    'no available instance type has karpenter.azure.com/sku-family In [d] -> give the NodePool the label karpenter.azure.com/sku-family: "D"',
  ],
];

const pods: ReadonlyArray<readonly [string, Parts, string]> = [
  [
    'a taint',
    {
      pool: {
        taints: [
          { key: 'gpu', value: 'yes', effect: 'NoSchedule' },
          { key: 'spare', effect: 'NoExecute' },
        ],
      },
    },
    'taint gpu=yes:NoSchedule is not tolerated -> add a toleration for gpu=yes:NoSchedule and add a toleration for spare:NoExecute',
  ],
  [
    'a zone by its number',
    { pod: { nodeSelector: { [zone]: '1' } } },
    'the pod asks for topology.kubernetes.io/zone In [1], which no node of the NodePool has -> let the pod ask for topology.kubernetes.io/zone In [westeurope-1]',
  ],
  [
    'another zone',
    { requirements: [of(zone, 'In', 'westeurope-1'), onDemand], pod: { nodeSelector: { [zone]: 'westeurope-2' } } },
    'the pod asks for topology.kubernetes.io/zone In [westeurope-2], and the NodePool for topology.kubernetes.io/zone In [westeurope-1] -> let the NodePool have topology.kubernetes.io/zone In [westeurope-1, westeurope-2], or remove topology.kubernetes.io/zone from what the pod asks of nodes',
  ],
  [
    'a zone that its pool shuts out',
    { requirements: [of(zone, 'NotIn', 'westeurope-2'), onDemand], pod: { nodeSelector: { [zone]: 'westeurope-2' } } },
    'the pod asks for topology.kubernetes.io/zone In [westeurope-2], and the NodePool for topology.kubernetes.io/zone NotIn [westeurope-2] -> remove the requirements on topology.kubernetes.io/zone from the NodePool, or remove topology.kubernetes.io/zone from what the pod asks of nodes',
  ],
  [
    'spot',
    { pod: { nodeSelector: { [capacityType]: 'spot' } } },
    'the pod asks for karpenter.sh/capacity-type In [spot], and the NodePool for karpenter.sh/capacity-type In [on-demand] -> let the NodePool have karpenter.sh/capacity-type In [on-demand, spot], or remove karpenter.sh/capacity-type from what the pod asks of nodes',
  ],
  [
    'a node pool of AKS',
    { pod: { nodeSelector: { agentpool: 'gpu' } } },
    'the pod asks for agentpool In [gpu], which no node of the NodePool has: no NodePool can provide such a node, as none may name agentpool (a pod asks for a NodePool by karpenter.sh/nodepool) -> remove agentpool from what the pod asks of nodes',
  ],
  [
    'an accelerator',
    { pod: { nodeSelector: { accelerator: 'nvidia' } } },
    'the pod asks for accelerator In [nvidia], which no node of the NodePool has: no NodePool can provide such a node, as none may name accelerator (a pod gets a GPU by its requests, and asks for a kind of it by karpenter.azure.com/sku-gpu-name) -> remove accelerator from what the pod asks of nodes',
  ],
  [
    'a node',
    { pod: { nodeSelector: { 'kubernetes.io/hostname': 'node-1' } } },
    'the pod asks for kubernetes.io/hostname In [node-1], which no node of the NodePool has: the name of a new node is not known before -> remove kubernetes.io/hostname from what the pod asks of nodes',
  ],
  [
    'a node by its field',
    { pod: { required: [{ matchFields: [of('metadata.name', 'In', 'node-1')] }] } },
    'the pod asks for metadata.name In [node-1], which no node of the NodePool has: the name of a new node is not known before -> remove metadata.name from what the pod asks of nodes',
  ],
  [
    'another pool',
    { pod: { nodeSelector: { 'karpenter.sh/nodepool': 'gpu' } } },
    'the pod asks for karpenter.sh/nodepool In [gpu], and the NodePool for karpenter.sh/nodepool In [general] -> remove karpenter.sh/nodepool from what the pod asks of nodes',
  ],
  [
    'a mistyped pool',
    { pod: { nodeSelector: { 'karpenter.sh/nodepool': 'genral' } } },
    'the pod asks for karpenter.sh/nodepool In [genral], and the NodePool for karpenter.sh/nodepool In [general] -> let the pod ask for karpenter.sh/nodepool In [general]',
  ],
  [
    'AzureLinux',
    { pod: { nodeSelector: { 'kubernetes.azure.com/os-sku': 'AzureLinux' } } },
    'the pod asks for kubernetes.azure.com/os-sku In [AzureLinux], which no node of the NodePool has -> set spec.imageFamily of the AKSNodeClass to AzureLinux, or remove kubernetes.azure.com/os-sku from what the pod asks of nodes',
  ],
  [
    'FIPS',
    {
      nodeClass: { imageFamily: 'Ubuntu2404' },
      pod: { nodeSelector: { 'kubernetes.azure.com/fips_enabled': 'true' } },
    },
    'the pod asks for kubernetes.azure.com/fips_enabled In [true], which no node of the NodePool has -> set spec.imageFamily of the AKSNodeClass to Ubuntu and set spec.fipsMode of the AKSNodeClass to FIPS, or remove kubernetes.azure.com/fips_enabled from what the pod asks of nodes',
  ],
  [
    'windows',
    { pod: { nodeSelector: { 'kubernetes.io/os': 'windows' } } },
    'the pod asks for kubernetes.io/os In [windows], which no node of the NodePool has: nodes with Windows are not supported -> give the cluster such nodes by other means, or change the pod',
  ],
  [
    'a label of the user’s',
    { pod: { nodeSelector: { [team]: 'red' } } },
    'the pod asks for example.com/team In [red], which no node of the NodePool has -> give the NodePool the label example.com/team: "red", or remove example.com/team from what the pod asks of nodes',
  ],
  [
    'an empty label',
    { pod: { nodeSelector: { [team]: '' } } },
    'the pod asks for example.com/team In [""], which no node of the NodePool has -> give the NodePool the label example.com/team: "", or remove example.com/team from what the pod asks of nodes',
  ],
  [
    'any value of a label',
    { pod: { required: [{ matchExpressions: [{ key: team, operator: 'Exists' }] }] } },
    'the pod asks for example.com/team Exists, which no node of the NodePool has -> let the NodePool have example.com/team Exists, or remove example.com/team from what the pod asks of nodes',
  ],
  [
    'another value of a label',
    { pool: { labels: { [team]: 'blue' } }, pod: { nodeSelector: { [team]: 'red' } } },
    'the pod asks for example.com/team In [red], and the NodePool for example.com/team In [blue] -> give the NodePool the label example.com/team: "red", or remove example.com/team from what the pod asks of nodes',
  ],
  [
    'one more value of a label',
    { requirements: [of(team, 'In', 'blue', 'green'), onDemand], pod: { nodeSelector: { [team]: 'red' } } },
    'the pod asks for example.com/team In [red], and the NodePool for example.com/team In [blue, green] -> let the NodePool have example.com/team In [blue, green, red], or remove example.com/team from what the pod asks of nodes',
  ],
  [
    'no value of a label',
    {
      requirements: [of(team, 'In', 'blue'), onDemand],
      pod: { required: [{ matchExpressions: [of(team, 'NotIn', 'blue')] }] },
    },
    'the pod asks for example.com/team NotIn [blue], and the NodePool for example.com/team In [blue] -> remove the requirements on example.com/team from the NodePool, or remove example.com/team from what the pod asks of nodes',
  ],
  [
    'a family that the pool has not',
    { pod: { required: [{ matchExpressions: [of(family, 'In', 'E')] }] } },
    'the pod asks for karpenter.azure.com/sku-family In [E], and the NodePool for karpenter.azure.com/sku-family In [D] -> let the NodePool have karpenter.azure.com/sku-family In [D, E], or remove karpenter.azure.com/sku-family from what the pod asks of nodes',
  ],
  [
    'a size and what it has not',
    { pod: { nodeSelector: { [cpu]: '8', [instanceType]: 'Standard_D2s_v5' } } },
    'the pod asks for karpenter.azure.com/sku-cpu In [8] and node.kubernetes.io/instance-type In [Standard_D2s_v5], which no instance type has at once -> remove karpenter.azure.com/sku-cpu from what the pod asks of nodes, or remove node.kubernetes.io/instance-type from what the pod asks of nodes',
  ],
  [
    'more than the largest size has',
    { pod: { requests: { cpu: '4000' } } },
    'the pod requests 4000 cpu, and a node of the NodePool has at most 189.98 beside its daemonsets (the largest size has 411.74) -> lower the pod’s requests of cpu to 189.98',
  ],
  [
    'more than the pool’s largest size has',
    { requirements: [of(cpu, 'Lt', '9'), onDemand], pod: { requests: { cpu: '12' } } },
    'the pod requests 12 cpu, and a node of the NodePool has at most 7.82 beside its daemonsets (the largest size has 411.74) -> let the NodePool have karpenter.azure.com/sku-cpu Lt [17], or lower the pod’s requests of cpu to 7.82',
  ],
  [
    'more than the pool’s sizes have together',
    {
      requirements: [of(instanceType, 'In', 'Standard_F16s_v2', 'Standard_E8s_v5')],
      pod: { requests: { cpu: '12', memory: '40Gi' } },
    },
    'no instance type has room for all that the pod requests, with its host ports free, beside the daemonsets -> let the NodePool have node.kubernetes.io/instance-type In [Standard_D16ps_v5, Standard_E8s_v5, Standard_F16s_v2]',
  ],
  [
    'a GPU',
    { pod: { requests: { ...small, 'nvidia.com/gpu': '1' } } },
    'the pod requests 1 nvidia.com/gpu, and a node of the NodePool has at most 0 beside its daemonsets (the largest size has 8) -> let the NodePool have karpenter.azure.com/sku-family In [D, N], or remove the pod’s requests of nvidia.com/gpu',
  ],
  [
    'huge pages',
    { pod: { requests: { ...small, 'hugepages-2Mi': '64Mi' } } },
    'the pod requests 64Mi hugepages-2Mi, and no instance type has any: nodes are made without huge pages -> remove the pod’s requests of hugepages-2Mi',
  ],
  [
    'a large disk',
    { pod: { requests: { ...small, 'ephemeral-storage': '500Gi' } } },
    'the pod requests 500Gi ephemeral-storage, and a node of the NodePool has at most 119Gi beside its daemonsets -> set spec.osDiskSizeGB of the AKSNodeClass to 537, or lower the pod’s requests of ephemeral-storage to 119Gi',
  ],
  [
    'a disk larger than any',
    { pod: { requests: { ...small, 'ephemeral-storage': '5Ti' } } },
    'the pod requests 5Ti ephemeral-storage, and a node of the NodePool has at most 119Gi beside its daemonsets -> lower the pod’s requests of ephemeral-storage to 119Gi',
  ],
  [
    'more than limits leave',
    { pool: { limits: { cpu: '1', memory: '1Gi' } } },
    'no size that holds the pod is within the limits: one takes 2 cpu, and 1 is left -> raise spec.limits of the NodePool for cpu to 2 and raise spec.limits of the NodePool for memory to 3.7Gi',
  ],
  [
    'sizes of which there must be more',
    { requirements: [{ ...of(family, 'Exists'), minValues: 11 }, onDemand] },
    'too few instance types that hold the pod are left for minValues of karpenter.azure.com/sku-family -> widen the NodePool, use BestEffort, or remove minValues of karpenter.azure.com/sku-family from the NodePool',
  ],
];

/** Reasons for which no change of a field is a remedy. */
const WITHOUT = new Set(['windows']);

describe.each([
  ['a pool that asks for', pools],
  ['a pod that asks for', pods],
])('%s', (_, cases) => {
  test.each(cases)('%s is told which change would do, and each does', async (title, parts, said) => {
    const given = manifests(parts);
    const reason = await reasonFor(given);
    expect(reason.said).toBe(said);
    expect(reason.remedies.length > 0).toBe(!WITHOUT.has(title));
    for (const remedy of reason.remedies) {
      const { left } = await planDocument(renderManifests(applyRemedy(given, remedy)));
      expect.soft(left, JSON.stringify(remedy)).toEqual([]);
    }
  });
});

test('each kind of reason that has remedies is among these', async () => {
  const withRemedies = Reason.anyOf
    .filter(({ properties }) => 'remedies' in properties)
    .map(({ properties }) => properties.kind.const);
  const kinds = await Promise.all(
    [...pools, ...pods].map(async ([, parts]) => (await reasonFor(manifests(parts))).kind),
  );
  expect(withRemedies.filter((kind) => !kinds.includes(kind))).toEqual([]);
});
