import * as fc from 'fast-check';
import { readShippedSizes } from '../../../cli/catalog/shipped-sizes.ts';
import { nodePoolKind } from '../../../shared/contract/api/kinds/node-pool.ts';
import { inspect } from '../../../shared/contract/api/parse.ts';
import type { NodePool, Requirement } from '../../../shared/kubernetes/manifest.ts';
import { requirement } from '../../kit/core/build.ts';

/** NodePools as people write them, over the sizes that the command ships with. */

/** A pool as a manifest. */
export type PoolManifest = NodePool & { readonly apiVersion: string; readonly kind: string };

const SKU = 'karpenter.azure.com/sku-';

/** None of it mostly: one in `rarity` draws has it. */
export function seldom<T>(value: fc.Arbitrary<T>, rarity: number): fc.Arbitrary<ReadonlyArray<T>> {
  return fc.oneof(
    { weight: rarity - 1, arbitrary: fc.constant<ReadonlyArray<T>>([]) },
    { weight: 1, arbitrary: value.map((one) => [one]) },
  );
}

const some = (...values: ReadonlyArray<string>): fc.Arbitrary<ReadonlyArray<string>> =>
  fc.subarray([...values], { minLength: 1, maxLength: Math.min(4, values.length) });

const oneOfThese = (key: string, operators: ReadonlyArray<string>, ...values: ReadonlyArray<string>) =>
  fc.tuple(fc.constantFrom(...operators), some(...values)).map(([operator, own]) => requirement(key, operator, ...own));

const bound = (key: string, operator: string, ...values: ReadonlyArray<string>): fc.Arbitrary<Requirement> =>
  fc.constantFrom(...values).map((value) => requirement(key, operator, value));

const either = ['In', 'NotIn'];
const families = oneOfThese(`${SKU}family`, ['In', 'In', 'NotIn'], 'D', 'E', 'F', 'B', 'A', 'L', 'M', 'N', 'H', 'NC');
const versions = fc.oneof(
  oneOfThese(`${SKU}version`, ['In'], '3', '4', '5', '6', '7'),
  bound(`${SKU}version`, 'Gt', '2', '4', '5', '6'),
  bound(`${SKU}version`, 'Lt', '4', '6', '7'),
);
const seriesNames = ['Dads_v5', 'Das_v5', 'Ds_v5', 'D_v5', 'Es_v5', 'Fs_v2', 'Dps_v6', 'Bs_v2', 'NCas_v3', 'NCads_v5'];
const series = oneOfThese(`${SKU}series`, either, ...seriesNames);

/** What people name, with sizes of one region only, a retired one and one that does not exist among them. */
const NAMED = [
  'Standard_D2s_v3',
  'Standard_D4s_v5',
  'Standard_D8ds_v5',
  'Standard_D16ads_v5',
  'Standard_D4ps_v5',
  'Standard_DS2_v2',
  'Standard_E4s_v5',
  'Standard_E16as_v5',
  'Standard_F4s_v2',
  'Standard_F16s_v2',
  'Standard_B2s',
  'Standard_B4ms',
  'Standard_L8s_v3',
  'Standard_M64s',
  'Standard_NC6s_v3',
  'Standard_NC4as_T4_v3',
  'Standard_NC24ads_A100_v4',
  'Standard_NV6ads_A10_v5',
  'Standard_X2s_v1',
];
function namesOf(region: string): fc.Arbitrary<Requirement> {
  const all = [...NAMED, ...readShippedSizes(region).skus.map(({ name }) => name)];
  return fc
    .constantFrom('node.kubernetes.io/instance-type', `${SKU}name`)
    .chain((key) => oneOfThese(key, ['In', 'In', 'NotIn'], ...all));
}

const cpus = fc
  .constantFrom(`${SKU}cpu`, 'kubernetes.azure.com/sku-cpu')
  .chain((key) =>
    fc.oneof(
      bound(key, 'Gt', '1', '3', '7', '15'),
      bound(key, 'Lt', '5', '9', '17', '65'),
      oneOfThese(key, ['In'], '2', '4', '8', '16', '32'),
    ),
  );
const memories = fc.oneof(
  bound(`${SKU}memory`, 'Gt', '4095', '8191', '16383', '65535'),
  bound(`${SKU}memory`, 'Lt', '16385', '65537', '524289'),
);
const gpus = fc.oneof(
  bound(`${SKU}gpu-count`, 'Gt', '0', '1'),
  bound(`${SKU}gpu-count`, 'Lt', '1', '5'),
  oneOfThese(`${SKU}gpu-manufacturer`, ['In', 'NotIn'], 'nvidia'),
  oneOfThese(`${SKU}gpu-name`, either, 'T4', 'A10', 'A100', 'V100'),
  fc.constant(requirement(`${SKU}gpu-name`, 'Exists')),
  fc.constant(requirement(`${SKU}gpu-name`, 'DoesNotExist')),
);
const facts = fc.oneof(
  oneOfThese(`${SKU}networking-accelerated`, ['In'], 'true', 'false'),
  oneOfThese(`${SKU}storage-premium-capable`, ['In'], 'true'),
  bound(`${SKU}storage-ephemeralos-maxsize`, 'Gt', '64', '128', '300'),
);
const archs = oneOfThese('kubernetes.io/arch', ['In'], 'amd64', 'arm64');
const systems = fc.constant(requirement('kubernetes.io/os', 'In', 'linux'));
const capacityTypes = oneOfThese('karpenter.sh/capacity-type', ['In'], 'on-demand', 'spot');
const scopes = oneOfThese('karpenter.azure.com/placement-scope', ['In'], 'zonal', 'regional');

/** Keys of other providers, and of the user's own. */
const FOREIGN = [
  'karpenter.k8s.aws/instance-category',
  'karpenter.k8s.aws/instance-generation',
  'karpenter.x/pool',
  'eks.amazonaws.com/instance-family',
  'cloud.google.com/machine-family',
  'example.com/team',
  'team',
];
const foreign = fc
  .constantFrom(...FOREIGN)
  .chain((key) =>
    fc.oneof(
      oneOfThese(key, ['In', 'In', 'NotIn'], 'c', 'm', '5', 'red'),
      fc.constant(requirement(key, 'Exists')),
      fc.constant(requirement(key, 'DoesNotExist')),
      bound(key, 'Gt', '2', '4'),
      bound(key, 'Lt', '4', '9'),
    ),
  );

/** Zones of the region and, now and then, none, that of machines without one, or one of elsewhere. */
function zonesOf(region: string): fc.Arbitrary<Requirement> {
  const [first, second, third] = [1, 2, 3].map((zone) => `${region}-${zone}`) as [string, string, string];
  const lists = [[first], [second], [first, second], [first, second, third], ['0'], ['0', first], ['elsewhere-1']];
  return fc
    .tuple(fc.constantFrom('In', 'In', 'In', 'NotIn'), fc.constantFrom(...lists))
    .map(([operator, values]) => requirement('topology.kubernetes.io/zone', operator, ...values));
}

const TAINTS = [
  { key: 'dedicated', value: 'batch', effect: 'NoSchedule' },
  { key: 'nvidia.com/gpu', effect: 'NoSchedule' },
  { key: 'kubernetes.azure.com/scalesetpriority', value: 'spot', effect: 'NoSchedule' },
  { key: 'soft', effect: 'PreferNoSchedule' },
];
const LABELS = [
  {},
  {},
  { 'example.com/team': 'red' },
  { workload: 'batch' },
  { 'kubernetes.azure.com/mode': 'user' },
  { 'karpenter.sh/capacity-type': 'spot' },
  { 'karpenter.azure.com/sku-family': 'D' },
];
const LIMITS = [{ cpu: '16' }, { cpu: '100' }, { memory: '64Gi' }, { cpu: '64', memory: '256Gi' }, { nodes: '2' }];
const choices = fc
  .tuple(fc.constantFrom(`${SKU}family`, 'node.kubernetes.io/instance-type', `${SKU}cpu`), fc.constantFrom(2, 3, 5, 15))
  .map(([key, minValues]) => ({ key, operator: 'Exists', minValues }));

/** A pool of that region that admission lets in. */
export function drawnPools(region: string): fc.Arbitrary<PoolManifest> {
  return fc
    .record({
      requirements: fc
        .tuple(
          seldom(families, 2),
          seldom(versions, 4),
          seldom(series, 8),
          seldom(namesOf(region), 6),
          seldom(cpus, 3),
          seldom(memories, 5),
          seldom(gpus, 6),
          seldom(facts, 8),
          seldom(archs, 2),
          seldom(systems, 3),
          fc.oneof(
            capacityTypes.map((one) => [one]),
            seldom(capacityTypes, 3),
          ),
          seldom(zonesOf(region), 3),
          seldom(scopes, 6),
          seldom(foreign, 4),
          seldom(foreign, 12),
          seldom(choices, 8),
        )
        .map((lists) => lists.flat()),
      labels: fc.constantFrom(...LABELS),
      taints: fc.oneof(fc.constant([]), fc.constant([]), fc.subarray(TAINTS, { maxLength: 2 })),
      startupTaints: seldom(fc.constant({ key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' }), 5),
      limits: seldom(fc.constantFrom(...LIMITS), 4),
      weight: seldom(fc.constantFrom(1, 10, 100), 4),
    })
    .map((draw): PoolManifest => {
      const [limits, weight] = [draw.limits[0], draw.weight[0]];
      return {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        metadata: { name: 'drawn' },
        spec: {
          template: {
            metadata: { labels: draw.labels },
            spec: {
              nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
              requirements: draw.requirements,
              taints: draw.taints,
              startupTaints: draw.startupTaints,
            },
          },
          disruption: { consolidateAfter: '30s' },
          ...(limits === undefined ? {} : { limits }),
          ...(weight === undefined ? {} : { weight }),
        },
      };
    })
    .filter((pool) => inspect(nodePoolKind, pool).problems.length === 0);
}

/** A pool that meets anybody's wish for a plain machine: so that a plan has something to buy. */
export function plainPool(name: string): PoolManifest {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
          requirements: [requirement('karpenter.sh/capacity-type', 'In', 'on-demand')],
        },
      },
      disruption: { consolidateAfter: '30s' },
    },
  };
}
