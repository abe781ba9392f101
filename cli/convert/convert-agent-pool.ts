import type { Fields, Manifest } from '../documents/converted-manifest.ts';
import { checked, compact, fieldsOf, textOf, type Converted } from './converted.ts';

/** How long Cluster Autoscaler waits before it removes a node, unless told otherwise. */
const UNNEEDED_FOR = '10m';

/** Labels that AKS sets by itself, and that no NodePool may set. */
const OWN_LABELS = /^kubernetes\.azure\.com\/|^(?:.*\.)?kubernetes\.io\/|^agentpool$/;

/** Whether it looks like an entry of `az aks nodepool list -o json`. */
export function isAgentPool(value: Fields): boolean {
  return textOf(value['vmSize']) !== null && value['kind'] === undefined;
}

/**
 * A node pool of AKS as a NodePool with the same size, labels, taints and greatest number of nodes, and an AKSNodeClass
 * where it has settings of one. `region`: zones are named by it; null: they are left out.
 */
export function convertAgentPool(pool: Fields, region: string | null): Converted {
  const name = textOf(pool['name']) ?? 'pool';
  const named = `node pool ${name}`;
  if (pool['osType'] === 'Windows') return { manifests: [], notes: [`${named} is left out: Windows is not supported`] };
  if (pool['mode'] === 'System') {
    return { manifests: [], notes: [`${named} is left out: AKS needs a system node pool, so keep it as it is`] };
  }
  const { spec: classSpec, notes } = toClass(pool);
  const ownClass: ReadonlyArray<Manifest> =
    Object.keys(classSpec).length === 0
      ? []
      : [{ apiVersion: 'karpenter.azure.com/v1beta1', kind: 'AKSNodeClass', metadata: { name }, spec: classSpec }];
  const nodePool: Manifest = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: toSpec(pool, ownClass.length === 0 ? 'default' : name, region),
  };
  const parts = [...ownClass, nodePool].map(checked);
  return {
    manifests: parts.flatMap(({ manifests }) => manifests),
    notes: [
      ...[...lostOf(pool, region), ...notes].map((note) => `${named}: ${note}`),
      ...parts.flatMap((part) => part.notes),
    ],
  };
}

function toSpec(pool: Fields, className: string, region: string | null): Fields {
  const zones = region === null ? [] : zonesOf(pool).map((zone) => `${region}-${zone}`);
  const nodes = mostNodes(pool);
  return compact({
    template: compact({
      metadata: compact({ labels: ownLabels(pool['nodeLabels']) }),
      spec: compact({
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: className },
        requirements: [
          requirement('node.kubernetes.io/instance-type', [String(pool['vmSize'])]),
          requirement('karpenter.sh/capacity-type', [pool['scaleSetPriority'] === 'Spot' ? 'spot' : 'on-demand']),
          ...(zones.length === 0 ? [] : [requirement('topology.kubernetes.io/zone', zones)]),
        ],
        taints: toTaints(pool['nodeTaints']),
        expireAfter: 'Never',
      }),
    }),
    limits: nodes === null ? undefined : { nodes: String(nodes) },
    disruption: isScaled(pool)
      ? { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: UNNEEDED_FOR }
      : { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' },
  });
}

/** What a NodePool cannot say, or is not told. */
function lostOf(pool: Fields, region: string | null): ReadonlyArray<string> {
  const zones = zonesOf(pool);
  const least = Number(pool['minCount'] ?? 0);
  return [
    ...(zones.length > 0 && region === null
      ? [`its zones ${zones.join(', ')} are left out: give --region to keep them`]
      : []),
    ...(isScaled(pool) && least > 0
      ? [`minCount ${least} is left out: a NodePool has as many nodes as its pods need`]
      : []),
    ...(isScaled(pool)
      ? []
      : [
          `it is not autoscaled: its NodePool creates at most ${mostNodes(pool) ?? 'any number of'} nodes, and keeps them`,
        ]),
  ];
}

function isScaled(pool: Fields): boolean {
  return pool['enableAutoScaling'] === true;
}

function mostNodes(pool: Fields): number | null {
  const most = isScaled(pool) ? pool['maxCount'] : pool['count'];
  return typeof most === 'number' ? most : null;
}

function zonesOf(pool: Fields): ReadonlyArray<string> {
  const zones = pool['availabilityZones'];
  return Array.isArray(zones) ? zones.map(String) : [];
}

function requirement(key: string, values: ReadonlyArray<string>): Fields {
  return { key, operator: 'In', values };
}

function ownLabels(labels: unknown): Fields {
  return Object.fromEntries(Object.entries(fieldsOf(labels)).filter(([key]) => !OWN_LABELS.test(key)));
}

/** AKS writes taints as `key=value:Effect`. */
function toTaints(taints: unknown): ReadonlyArray<Fields> {
  if (!Array.isArray(taints)) return [];
  return taints.flatMap((text) => {
    const [, key, value, effect] = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(String(text)) ?? [];
    return key === undefined ? [] : [compact({ key, value: textOf(value), effect })];
  });
}

const KUBELET = {
  cpuManagerPolicy: 'cpuManagerPolicy',
  cpuCfsQuota: 'cpuCFSQuota',
  cpuCfsQuotaPeriod: 'cpuCFSQuotaPeriod',
  imageGcHighThreshold: 'imageGCHighThresholdPercent',
  imageGcLowThreshold: 'imageGCLowThresholdPercent',
  topologyManagerPolicy: 'topologyManagerPolicy',
  allowedUnsafeSysctls: 'allowedUnsafeSysctls',
  containerLogMaxFiles: 'containerLogMaxFiles',
  podMaxPids: 'podPidsLimit',
  failSwapOn: 'failSwapOn',
} as const;

/** AKS's word for an image, and Karpenter's; without one the default is Ubuntu in both. */
const FAMILIES: Readonly<Record<string, string>> = {
  AzureLinux: 'AzureLinux',
  Ubuntu2204: 'Ubuntu2204',
  Ubuntu2404: 'Ubuntu2404',
};

function toClass(pool: Fields): { readonly spec: Fields; readonly notes: ReadonlyArray<string> } {
  const given = compact(fieldsOf(pool['kubeletConfig']));
  const kubelet = Object.entries(KUBELET).flatMap(([from, to]) => (from in given ? [[to, given[from]] as const] : []));
  const lost = Object.keys(given).filter((key) => !(key in KUBELET));
  const spec = compact({
    imageFamily: FAMILIES[String(pool['osSku'])],
    osDiskSizeGB: pool['osDiskSizeGb'],
    maxPods: pool['maxPods'],
    vnetSubnetID: pool['vnetSubnetId'],
    tags: pool['tags'],
    fipsMode: pool['enableFips'] === true ? 'FIPS' : undefined,
    security: pool['enableEncryptionAtHost'] === true ? { encryptionAtHost: true } : undefined,
    kubelet: Object.fromEntries(kubelet),
  });
  const notes = [
    ...lost.map((key) => `kubeletConfig.${key} is left out: an AKSNodeClass has no such setting`),
    ...(Object.keys(compact(fieldsOf(pool['linuxOsConfig']))).length > 0
      ? ['linuxOsConfig is left out: write spec.linuxOSConfig of the AKSNodeClass yourself']
      : []),
  ];
  return { spec, notes };
}
