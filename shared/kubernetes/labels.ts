/** Label keys that scheduling itself gives a meaning to. Sources: Karpenter v1 API, Kubernetes well-known labels. */
export const labelKey = {
  nodePool: 'karpenter.sh/nodepool',
  capacityType: 'karpenter.sh/capacity-type',
  registered: 'karpenter.sh/registered',
  initialized: 'karpenter.sh/initialized',
  instanceType: 'node.kubernetes.io/instance-type',
  zone: 'topology.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
  hostname: 'kubernetes.io/hostname',
  skuName: 'karpenter.azure.com/sku-name',
  skuFamily: 'karpenter.azure.com/sku-family',
  skuSeries: 'karpenter.azure.com/sku-series',
  skuVersion: 'karpenter.azure.com/sku-version',
  reservation: 'karpenter.azure.com/capacity-reservation-id',
} as const;

/** How a node's own name is written among its labels, for `matchFields: metadata.name`. No label can have this key. */
export const NODE_NAME_FIELD = 'metadata.name';

/** A VM without a zone carries this zone label on AKS. */
export const REGIONAL_ZONE = '0';

const ALIASES: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': labelKey.zone,
  'failure-domain.beta.kubernetes.io/region': labelKey.region,
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/instance-type': labelKey.instanceType,
  'topology.disk.csi.azure.com/zone': labelKey.zone,
};

/** The current key for a deprecated or driver-specific one, as Karpenter and its Azure provider normalise them. */
export function normalizeKey(key: string): string {
  return ALIASES[key] ?? key;
}

/** The deprecated and driver-specific keys that mean the current one. */
export function spellingsOf(key: string): ReadonlyArray<string> {
  return Object.keys(ALIASES).filter((alias) => ALIASES[alias] === key);
}

/** Azure's disk driver writes an empty zone for what AKS labels `0`. */
export function normalizeValue(key: string, value: string): string {
  return value === '' && key === 'topology.disk.csi.azure.com/zone' ? REGIONAL_ZONE : value;
}

/**
 * Keys whose value the instance type alone decides. Sources: Kubernetes well-known labels, karpenter-provider-azure
 * 2026-08. What a NodePool may require is in `pool-labels.ts`.
 */
const TYPE_LEVEL: ReadonlySet<string> = new Set([
  labelKey.instanceType,
  labelKey.region,
  'kubernetes.io/arch',
  'kubernetes.io/os',
  labelKey.skuName,
  labelKey.skuFamily,
  labelKey.skuSeries,
  labelKey.skuVersion,
  'karpenter.azure.com/sku-cpu',
  'karpenter.azure.com/sku-memory',
  'karpenter.azure.com/sku-networking-accelerated',
  'karpenter.azure.com/sku-storage-premium-capable',
  'karpenter.azure.com/sku-storage-ultra-ssd',
  'karpenter.azure.com/sku-storage-ephemeralos-maxsize',
  'karpenter.azure.com/sku-hyperv-generation',
  'karpenter.azure.com/sku-gpu-name',
  'karpenter.azure.com/sku-gpu-manufacturer',
  'karpenter.azure.com/sku-gpu-count',
]);

/** True for a key whose value the instance type alone decides, so that a size without it has no such label. */
export function isTypeLevelKey(key: string): boolean {
  return TYPE_LEVEL.has(key);
}

/**
 * Domains whose labels Karpenter sets itself, sub-domains included. Sources: Karpenter 1.14, karpenter-provider-azure
 * 2026-08.
 */
const RESTRICTED_DOMAINS: ReadonlyArray<string> = ['karpenter.sh', 'karpenter.azure.com'];

/**
 * The domain of a provisioner's own labels that the key is in; null for all others. A key of another provider, such as
 * `karpenter.k8s.aws/instance-category`, is a label of the user's here, as in Karpenter.
 */
export function restrictedDomainOf(key: string): string | null {
  const slash = key.indexOf('/');
  const domain = slash === -1 ? '' : key.slice(0, slash);
  return RESTRICTED_DOMAINS.find((each) => domain === each || domain.endsWith(`.${each}`)) ?? null;
}
