import { restrictedDomainOf } from './labels.ts';
import { didYouMean } from './text/word-meant.ts';

/**
 * Which label keys and values a NodePool may name. Sources: Karpenter 1.14 and karpenter-provider-azure 2026-08; the
 * lists are theirs, so that a manifest which passes there passes here, and one that passes here passes there. Which of
 * these the VM size alone decides is in `labels.ts`.
 */

/** Single keys that a pool may not set or require, because the node gets them from elsewhere. */
export const restrictedLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'karpenter.azure.com/sku-hyperv-generation',
  'agentpool',
  'storageprofile',
  'storagetier',
  'accelerator',
  'kubernetes.azure.com/accelerator',
  'kubernetes.azure.com/agentpool',
  'kubernetes.azure.com/agentpool-family',
  'kubernetes.azure.com/availability-zone',
  'kubernetes.azure.com/network-policy',
  'kubernetes.azure.com/storageprofile',
  'kubernetes.azure.com/storagetier',
]);

/** Keys that describe instance types and offerings: where a pool does not mention one, it means any value. */
export const wellKnownLabels: ReadonlySet<string> = new Set([
  'karpenter.sh/nodepool',
  'karpenter.sh/capacity-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'node.kubernetes.io/windows-build',
  'karpenter.azure.com/sku-name',
  'karpenter.azure.com/sku-family',
  'karpenter.azure.com/sku-series',
  'karpenter.azure.com/sku-version',
  'karpenter.azure.com/sku-cpu',
  'karpenter.azure.com/sku-memory',
  'karpenter.azure.com/sku-networking-accelerated',
  'karpenter.azure.com/sku-storage-premium-capable',
  'karpenter.azure.com/sku-storage-ultra-ssd',
  'karpenter.azure.com/sku-storage-ephemeralos-maxsize',
  'karpenter.azure.com/sku-gpu-name',
  'karpenter.azure.com/sku-gpu-manufacturer',
  'karpenter.azure.com/sku-gpu-count',
  'karpenter.azure.com/placement-scope',
  'kubernetes.azure.com/sku-cpu',
  'kubernetes.azure.com/sku-memory',
  'kubernetes.azure.com/cluster',
  'kubernetes.azure.com/mode',
  'kubernetes.azure.com/scalesetpriority',
  'kubernetes.azure.com/priority',
  'kubernetes.azure.com/os-sku',
  'kubernetes.azure.com/fips_enabled',
]);

const trueOrFalse = ['true', 'false'];

/**
 * Values that exist for a well-known key. An `In` requirement needs at least one of them. `reserved` is Karpenter's
 * own; the Azure provider leaves it out, which has no reservations.
 */
export const wellKnownValues: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ['karpenter.sh/capacity-type', ['on-demand', 'spot', 'reserved']],
  ['karpenter.azure.com/sku-networking-accelerated', trueOrFalse],
  ['karpenter.azure.com/sku-storage-premium-capable', trueOrFalse],
  ['karpenter.azure.com/sku-storage-ultra-ssd', trueOrFalse],
  ['karpenter.azure.com/sku-gpu-manufacturer', ['nvidia', 'amd']],
  ['karpenter.azure.com/placement-scope', ['zonal', 'regional']],
  ['kubernetes.azure.com/mode', ['system', 'user']],
  ['kubernetes.azure.com/scalesetpriority', ['regular', 'spot']],
  ['kubernetes.azure.com/priority', ['regular', 'spot']],
  ['kubernetes.azure.com/os-sku', ['Ubuntu', 'AzureLinux']],
  ['kubernetes.azure.com/fips_enabled', ['true']],
]);

/** Old keys and the ones they stand for; requirements are compared under the latter. */
export const normalizedLabels: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
]);

/** A domain in which the CRDs allow only some keys. */
export interface LabelDomain {
  readonly domain: string;
  readonly allowed: ReadonlyArray<string>;
}

/** The domains that the CRDs close, in the order of their rules. */
export const closedLabelDomains: ReadonlyArray<LabelDomain> = [
  { domain: 'karpenter.sh', allowed: ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] },
  {
    domain: 'karpenter.azure.com',
    allowed: [
      'karpenter.azure.com/aksnodeclass',
      ...[...wellKnownLabels].filter((key) => key.startsWith('karpenter.azure.com/')),
    ],
  },
  {
    domain: 'kubernetes.azure.com',
    allowed: [
      ...[...wellKnownLabels].filter((key) => key.startsWith('kubernetes.azure.com/')),
      'kubernetes.azure.com/ebpf-dataplane',
      'kubernetes.azure.com/ebpf-host-routing',
      'kubernetes.azure.com/network-policy',
      'kubernetes.azure.com/hostedvm',
    ],
  },
];

/** Keys without a domain, or single ones, that the CRDs refuse. */
export const refusedLabels: ReadonlyArray<string> = [
  'kubernetes.io/hostname',
  'agentpool',
  'storageprofile',
  'storagetier',
  'accelerator',
];

/** What comes before the first slash; the whole key where there is none (the CRDs' rules read it so). */
function leadingPart(key: string): string {
  return key.split('/')[0] ?? key;
}

/**
 * Whether the CRDs' rules let this key into a closed domain. As in CEL, a domain is closed for all that end like it.
 */
export function isAllowedInDomain(key: string, { domain, allowed }: LabelDomain): boolean {
  return allowed.includes(key) || !leadingPart(key).endsWith(domain);
}

/** ` (did you mean …?)` with the well-known key that is near this one; empty where it is one itself, or none is. */
export function labelKeyMeant(key: string): string {
  return wellKnownLabels.has(key) || normalizedLabels.has(key) ? '' : didYouMean(key, wellKnownLabels);
}

/** Why Karpenter refuses this key when it reads a pool, or null where it does not. */
export function restrictionOf(key: string): string | null {
  if (wellKnownLabels.has(key)) return null;
  const restricted = restrictedDomainOf(key);
  if (restricted !== null) return `labels of the domain ${restricted} are set by the provisioner`;
  return restrictedLabels.has(key) ? 'this label is set by the node or by AKS' : null;
}

/** Could a NodePool require this label of its nodes, or give it to them, as far as admission is asked? */
export function mayBeOfPool(key: string): boolean {
  if (key === 'karpenter.sh/nodepool' || refusedLabels.includes(key) || restrictionOf(key) !== null) return false;
  return closedLabelDomains.every((domain) => isAllowedInDomain(key, domain));
}
