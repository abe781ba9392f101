import { expect, test } from 'vitest';
import {
  clusterLabel,
  kubeReservedCpu,
  kubeReservedMemory,
  toInstanceTypeNames,
  toInstanceTypes,
  type InstanceTypeSettings,
} from '../../../../../shared/adapters/azure/catalog/instance-types.ts';
import type { InstanceType } from '../../../../../shared/core/model/catalog.ts';
import type { Sku } from '../../../../../shared/adapters/azure/catalog/sku.ts';
import { sku } from '../../../../kit/azure/sku.ts';

const settings: InstanceTypeSettings = {
  location: 'westeurope',
  nodeResourceGroup: 'MC_group_cluster_westeurope',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  memoryOverhead: 0.075,
};

function types(
  skus: ReadonlyArray<Sku>,
  spec: Readonly<Record<string, unknown>> = {},
  more: Partial<InstanceTypeSettings> = {},
): ReadonlyArray<InstanceType> {
  return toInstanceTypes(skus, { metadata: { name: 'default' }, spec }, { ...settings, ...more }, () => false);
}

const names = (list: ReadonlyArray<InstanceType>): ReadonlyArray<string> => list.map(({ name }) => name);

test.for([
  [4, 7, 140, 1638],
  [2, 8, 100, 1843],
  [3, 64, 120, 5611],
] as const)('AKS reserves of %s vCPUs and %s GiB %s m and %s MiB', ([vCpus, gib, cpu, memory]) => {
  expect([kubeReservedCpu(vCpus), kubeReservedMemory(gib)]).toEqual([cpu, memory]);
});

test('capacity is what the operating system shows, overhead what the kubelet keeps', () => {
  const [type] = types([sku('Standard_D2s_v5', { vCpus: 2, memoryGib: 8 })]);
  expect(type).toMatchObject({
    capacity: { cpu: '2', memory: '7577Mi', 'ephemeral-storage': '128G', pods: '250' },
    overhead: { cpu: '100m', memory: `${1843 + 750}Mi` },
  });
});

test('memory counts in whole GiB: 3.5 GiB begin as 3', () => {
  const [type] = types([sku('Standard_A2_v2', { vCpus: 2, memoryGib: 3.5 })]);
  expect(type?.capacity['memory']).toBe('2841Mi');
});

test.for([
  ['azure', 'overlay', '250'],
  ['azure', '', '30'],
  ['none', '', '250'],
  ['kubenet', '', '110'],
] as const)('with network plugin %s %s a node holds %s pods', ([networkPlugin, networkPluginMode, pods]) => {
  const [type] = types([sku('Standard_D4s_v5')], {}, { networkPlugin, networkPluginMode });
  expect(type?.capacity['pods']).toBe(pods);
});

test('the class has the last word on pods and on the disk', () => {
  const [type] = types([sku('Standard_D4s_v5')], { maxPods: 42, osDiskSizeGB: 64 });
  expect(type?.capacity).toMatchObject({ pods: '42', 'ephemeral-storage': '64G' });
});

test('each zone and the whole region are offered, on demand and as spot', () => {
  const [type] = types([sku('Standard_D4s_v5')]);
  const offered = type?.offerings.map(({ zone, capacityType, price, labels }) => [
    zone,
    capacityType,
    price,
    labels['karpenter.azure.com/placement-scope'],
  ]);
  expect(offered).toEqual([
    ['westeurope-1', 'on-demand', 200_000, 'zonal'],
    ['westeurope-1', 'spot', 40_000, 'zonal'],
    ['westeurope-2', 'on-demand', 200_000, 'zonal'],
    ['westeurope-2', 'spot', 40_000, 'zonal'],
    ['0', 'on-demand', 200_000, 'regional'],
    ['0', 'spot', 40_000, 'regional'],
  ]);
});

test('a size without a spot price has no spot offerings, and one without any price costs what nobody pays by accident', () => {
  const [type] = types([sku('Standard_D4s_v5', { onDemandMicroUsd: null, spotMicroUsd: null, zones: [] })]);
  expect(type?.offerings.map(({ capacityType, price }) => [capacityType, price])).toEqual([['on-demand', 999_000_000]]);
});

test('a size without a price is no bargain in a currency of which a dollar is a thousand', () => {
  const unpriced = sku('Standard_D2s_v5', { onDemandMicroUsd: null, spotMicroUsd: null });
  const dear = sku('Standard_D4s_v5', { onDemandMicroUsd: 280_000_000_000 });
  const [first] = types([unpriced, dear]);
  expect(first?.offerings.map(({ price }) => price)).toEqual(first?.offerings.map(() => 280_000_000_000));
});

test('what Azure has refused is there and not available', () => {
  const [type] = toInstanceTypes(
    [sku('Standard_D4s_v5', { zones: [] })],
    { metadata: { name: 'default' }, spec: {} },
    settings,
    (_, zone, capacityType) => zone === '0' && capacityType === 'spot',
  );
  expect(type?.offerings.map(({ available }) => available)).toEqual([true, false]);
});

test('confidential sizes, sizes with fewer cores than they have, and unknown names are no nodes', () => {
  expect(
    names(types([sku('Standard_DC2s_v3'), sku('Standard_E8-4s_v5'), sku('Basic_A1'), sku('Standard_D4s_v5')])),
  ).toEqual(['Standard_D4s_v5']);
});

test('a class that wants encryption at the host or a trusted launch gets sizes that can', () => {
  const plain = sku('Standard_D4_v3', { encryptionAtHost: false, trustedLaunch: false });
  expect(names(types([plain], { security: { encryptionAtHost: true } }))).toEqual([]);
  expect(names(types([plain], { security: { trustedLaunch: { secureBoot: true } } }))).toEqual([]);
  expect(names(types([plain]))).toEqual(['Standard_D4_v3']);
});

test('a GPU size is a node where the image knows it, and says how many GPUs of whom it has', () => {
  const gpu = sku('Standard_NC24ads_A100_v4', { gpus: 1, vCpus: 24, memoryGib: 220 });
  const [type] = types([gpu]);
  expect(type?.capacity['nvidia.com/gpu']).toBe('1');
  expect(type?.labels['karpenter.azure.com/sku-gpu-name']).toEqual(['A100']);
  expect(names(types([sku('Standard_NC999_v9', { gpus: 1 })]))).toEqual([]);
});

test('local DNS that is required wants four vCPUs', () => {
  const two = sku('Standard_D2s_v5', { vCpus: 2 });
  expect(names(types([two, sku('Standard_D4s_v5')], { localDNS: { mode: 'Required' } }))).toEqual(['Standard_D4s_v5']);
});

test.for([
  {},
  { localDNS: { mode: 'Required' } },
  { security: { encryptionAtHost: true } },
  { imageFamily: 'AzureLinux', artifactStreaming: { enabled: true } },
  { gpu: { mode: 'None' } },
])('the names of what the class %j can be are those of its instance types', (spec) => {
  const skus = [
    sku('Standard_D2s_v5', { vCpus: 2 }),
    sku('Standard_D4s_v5', { encryptionAtHost: false }),
    sku('Standard_D4ps_v5', { arch: 'arm64' }),
    sku('Standard_DC4as_v5'),
    sku('Standard_E8-4s_v5'),
    sku('Standard_NC24ads_A100_v4', { gpus: 1 }),
    sku('Standard_NV4as_v4', { gpus: 1 }),
    sku('Special'),
  ];
  const found = toInstanceTypeNames(skus, { metadata: { name: 'default' }, spec });
  expect([...found]).toEqual(names(types(skus, spec)));
  expect(found.size).toBeGreaterThan(0);
});

test('a resource group is a label value: short, without parentheses, ending in a letter or digit', () => {
  expect(clusterLabel('MC_(a)_b')).toBe('MC_-a-_b');
  expect(clusterLabel(`${'x'.repeat(62)}-tail`)).toBe(`${'x'.repeat(62)}z`);
});

test('a size is labelled as Karpenter’s Azure provider labels it, and AKS', () => {
  const [type] = types([sku('Standard_D4s_v5', { memoryGib: 15.5, acceleratedNetworking: false })]);
  expect(type?.labels).toEqual({
    'node.kubernetes.io/instance-type': ['Standard_D4s_v5'],
    'kubernetes.io/arch': ['amd64'],
    'kubernetes.io/os': ['linux'],
    'topology.kubernetes.io/region': ['westeurope'],
    'karpenter.azure.com/sku-name': ['Standard_D4s_v5'],
    'karpenter.azure.com/sku-family': ['D'],
    'karpenter.azure.com/sku-series': ['Ds_v5'],
    'karpenter.azure.com/sku-version': ['5'],
    'karpenter.azure.com/sku-cpu': ['4'],
    'karpenter.azure.com/sku-memory': ['15872'],
    'kubernetes.azure.com/sku-cpu': ['4'],
    'kubernetes.azure.com/sku-memory': ['15872'],
    'karpenter.azure.com/sku-networking-accelerated': ['false'],
    'karpenter.azure.com/sku-storage-premium-capable': ['true'],
    'karpenter.azure.com/sku-gpu-count': ['0'],
    'kubernetes.azure.com/cluster': ['MC_group_cluster_westeurope'],
    'kubernetes.azure.com/mode': ['system', 'user'],
    'kubernetes.azure.com/os-sku': ['Ubuntu'],
  });
});

test('what a size has beside that is in its labels too: a local disk, GPUs, an image family, FIPS', () => {
  const large = sku('Standard_NC24ads_A100_v4', { gpus: 1, ephemeralOsDisk: { maxGb: 64, placement: 'NvmeDisk' } });
  const [type] = types([large], { imageFamily: 'AzureLinux', fipsMode: 'FIPS' });
  expect(type?.labels).toMatchObject({
    'karpenter.azure.com/sku-storage-ephemeralos-maxsize': ['64'],
    'karpenter.azure.com/sku-gpu-count': ['1'],
    'karpenter.azure.com/sku-gpu-manufacturer': ['nvidia'],
    'karpenter.azure.com/sku-gpu-name': ['A100'],
    'kubernetes.azure.com/os-sku': ['AzureLinux'],
    'kubernetes.azure.com/fips_enabled': ['true'],
  });
  const [old] = types([sku('Standard_NC6', { gpus: 1 })]);
  expect(old?.labels).toHaveProperty(['karpenter.azure.com/sku-gpu-manufacturer']);
  expect(old?.labels).not.toHaveProperty(['karpenter.azure.com/sku-gpu-name']);
  expect(types([large], { fipsMode: 'Disabled' })[0]?.labels).not.toHaveProperty(['kubernetes.azure.com/fips_enabled']);
});

test('a size whose name has a GPU and that has none is a node without any', () => {
  const [type] = types([sku('Standard_NC24ads_A100_v4', { gpus: 0 })]);
  expect(type?.labels).not.toHaveProperty(['karpenter.azure.com/sku-gpu-manufacturer']);
  expect(type?.capacity).not.toHaveProperty(['nvidia.com/gpu']);
});

test('a GPU is of use where the image knows it, and where its driver can be installed if that is wanted', () => {
  const [both, ubuntu, amd] = [
    sku('Standard_NC24ads_A100_v4', { gpus: 1 }),
    sku('Standard_NC6', { gpus: 1 }),
    sku('Standard_NV4ads_V710_v5', { gpus: 1 }),
  ];
  const all = [both, ubuntu, amd];
  expect(names(types(all, { imageFamily: 'AzureLinux' }))).toEqual([both.name]);
  expect(names(types(all))).toEqual([both.name, ubuntu.name]);
  expect(names(types(all, { gpu: { mode: 'Driver' } }))).toEqual([both.name, ubuntu.name]);
  expect(names(types(all, { gpu: { mode: 'None' } }))).toEqual(all.map(({ name }) => name));
});

test('a class that wants a trusted launch in part gets sizes that can, and no class is refused what it does not want', () => {
  const [plain, trusted] = [sku('Standard_D4_v3', { trustedLaunch: false }), sku('Standard_D4_v5')];
  const launching = (trustedLaunch: object) => names(types([plain, trusted], { security: { trustedLaunch } }));
  expect(launching({ vtpm: true })).toEqual(['Standard_D4_v5']);
  expect(launching({ secureBoot: true })).toEqual(['Standard_D4_v5']);
  expect(launching({ vtpm: false, secureBoot: false })).toEqual(['Standard_D4_v3', 'Standard_D4_v5']);
  expect(launching({})).toEqual(['Standard_D4_v3', 'Standard_D4_v5']);
  const open = sku('Standard_D4_v3', { encryptionAtHost: false });
  expect(names(types([open], { security: { encryptionAtHost: false } }))).toEqual(['Standard_D4_v3']);
});

test('artifacts are streamed to no ARM node, and local DNS that is only preferred wants nothing', () => {
  const [arm, two] = [sku('Standard_D4ps_v5', { arch: 'arm64' }), sku('Standard_D2s_v5', { vCpus: 2 })];
  expect(names(types([arm, two], { artifactStreaming: { enabled: true } }))).toEqual(['Standard_D2s_v5']);
  expect(names(types([arm, two], { artifactStreaming: { enabled: false } }))).toHaveLength(2);
  expect(names(types([arm, two], { localDNS: { mode: 'Preferred' } }))).toHaveLength(2);
});

test('an offering says what is known of it: its price, its quota, and of spot alone how often it is evicted', () => {
  const storm = { evicted: 3, of: 4, evictionsPerHour: 20, until: '2026-03-01T12:30:00Z' };
  const [type] = toInstanceTypes(
    [sku('Standard_D4s_v5', { zones: [] })],
    { metadata: { name: 'default' }, spec: {} },
    settings,
    () => false,
    {
      useOfQuota: (_, capacityType) => (capacityType === 'spot' ? null : { cores: 4, of: [] }),
      evictionsPerHour: () => 0.1,
      stormOf: (_, zone) => (zone === '0' ? storm : null),
    },
  );
  const [onDemand, spot] = type?.offerings ?? [];
  expect(onDemand).toMatchObject({ capacityType: 'on-demand', price: 200_000, quota: { cores: 4, of: [] } });
  expect(onDemand).not.toHaveProperty('evictionsPerHour');
  expect(onDemand).not.toHaveProperty('storm');
  expect(spot).toMatchObject({ capacityType: 'spot', price: 40_000, evictionsPerHour: 0.1, storm, available: true });
  expect(spot).not.toHaveProperty('quota');
  expect([onDemand?.labels, spot?.labels]).toEqual(
    ['regular', 'spot'].map((priority) => ({
      'karpenter.azure.com/placement-scope': 'regional',
      'kubernetes.azure.com/scalesetpriority': priority,
      'kubernetes.azure.com/priority': priority,
    })),
  );
});

test('a size that Azure sells no spot of has none, and one without a spot price neither', () => {
  const offered = (parts: Partial<Sku>) =>
    types([sku('Standard_D4s_v5', { zones: [], ...parts })])[0]?.offerings.map(({ capacityType }) => capacityType);
  expect(offered({})).toEqual(['on-demand', 'spot']);
  expect(offered({ spot: false })).toEqual(['on-demand']);
  expect(offered({ spotMicroUsd: null })).toEqual(['on-demand']);
});

test('what AKS keeps grows by steps of cores and memory', () => {
  expect([1, 2, 4, 8].map((vCpus) => kubeReservedCpu(vCpus))).toEqual([60, 100, 140, 180]);
  expect([4, 8, 16, 128, 256].map((gib) => kubeReservedMemory(gib))).toEqual([1024, 1843, 2662, 9543, 12_165]);
});

test('a label value ends in what it may end in, whatever was cut', () => {
  for (const sign of ['-', '_', '.']) expect(clusterLabel(`a${sign}`)).toBe(`a${sign}z`);
  expect(clusterLabel('a-b_c.d')).toBe('a-b_c.d');
  expect(clusterLabel('x'.repeat(64))).toBe('x'.repeat(63));
});
