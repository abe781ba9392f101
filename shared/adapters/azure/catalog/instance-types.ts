import type { CapacityType, InstanceType, Offering, OfferingStorm, QuotaUse } from '../../../core/model/catalog.ts';
import { microUsdPerHour } from '../../../core/quantity/units.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { label } from '../../../contract/names.ts';
import { gpuSize } from './gpu-sizes.ts';
import { parseSizeName, type SizeName } from './size-name.ts';
import type { Sku } from './sku.ts';

/** What of a deployment's settings shapes instance types. */
export interface InstanceTypeSettings {
  readonly location: string;
  readonly nodeResourceGroup: string;
  readonly networkPlugin: string;
  readonly networkPluginMode: string;
  /** Share of a VM's memory that its operating system never shows, such as 0.075. */
  readonly memoryOverhead: number;
}

/** Whether Azure has refused an offering lately. */
export type IsRefused = (sku: Sku, zone: string, capacityType: CapacityType) => boolean;

/** What Azure says of offerings beside their price. */
export interface OfferingFacts {
  /** What a VM takes of quota; null where that is not known. */
  readonly useOfQuota: (sku: Sku, capacityType: CapacityType) => QuotaUse | null;
  /** The chance that a spot VM is evicted within an hour, 0 to 1; null where that is not known. */
  readonly evictionsPerHour: (sku: Sku) => number | null;
  /** Spot machines like it are evicted in numbers there; null where they are not. */
  readonly stormOf: (sku: Sku, zone: string) => OfferingStorm | null;
}

const NOTHING_KNOWN: OfferingFacts = { useOfQuota: () => null, evictionsPerHour: () => null, stormOf: () => null };

/**
 * A size whose price is unknown is taken only when a pool names it: Karpenter's figure, in US dollars. In a currency of
 * which a dollar is a thousand it would be a bargain, so it is the dearest price where that is more.
 */
const UNKNOWN_PRICE = 999_000_000;

/** The zone label of a VM without a zone. */
const REGIONAL = '0';

/** The instance types that a node of `nodeClass` can be, as Karpenter's Azure provider derives them (reference §2). */
export function toInstanceTypes(
  skus: ReadonlyArray<Sku>,
  nodeClass: NodeClass,
  settings: InstanceTypeSettings,
  isRefused: IsRefused,
  facts: OfferingFacts = NOTHING_KNOWN,
): ReadonlyArray<InstanceType> {
  const unknownPrice = skus.reduce(
    (most, { onDemandMicroUsd }) => Math.max(most, onDemandMicroUsd ?? 0),
    UNKNOWN_PRICE,
  );
  return skus.flatMap((sku) => {
    const size = sizeFor(sku, nodeClass);
    if (size === null) return [];
    const offerings = toOfferings(sku, { location: settings.location, unknownPrice }, isRefused, facts);
    return [
      {
        name: sku.name,
        labels: toLabels(sku, size, nodeClass, settings),
        ...toResources(sku, nodeClass, settings),
        offerings,
      },
    ];
  });
}

/** The names of the instance types that a node of `nodeClass` can be. */
export function toInstanceTypeNames(skus: ReadonlyArray<Sku>, nodeClass: NodeClass): ReadonlySet<string> {
  return new Set(skus.filter((sku) => sizeFor(sku, nodeClass) !== null).map(({ name }) => name));
}

/** Null for a size that no node of the class can have. */
function sizeFor(sku: Sku, nodeClass: NodeClass): SizeName | null {
  const size = parseSizeName(sku.name);
  return size === null || size.constrainedCores || size.confidential || !suits(sku, nodeClass) ? null : size;
}

interface ClassChoices {
  readonly imageFamily?: string;
  readonly fipsMode?: string;
  readonly security?: {
    readonly encryptionAtHost?: boolean;
    readonly trustedLaunch?: { readonly vtpm?: boolean; readonly secureBoot?: boolean };
  };
  readonly gpu?: { readonly mode?: string };
  readonly artifactStreaming?: { readonly enabled?: boolean };
  readonly localDNS?: { readonly mode?: string };
  readonly osDiskSizeGB?: number;
  readonly maxPods?: number;
}

function suits(sku: Sku, { spec }: NodeClass): boolean {
  const choices: ClassChoices = spec;
  if (!suitsGpu(sku, choices) || !suitsSecurity(sku, choices)) return false;
  if (choices.artifactStreaming?.enabled === true && sku.arch === 'arm64') return false;
  return choices.localDNS?.mode !== 'Required' || sku.vCpus >= 4;
}

/** A GPU is of use only where AKS's images know it, and where its driver is installed if the class wants one. */
function suitsGpu(sku: Sku, { imageFamily, gpu }: ClassChoices): boolean {
  if (sku.gpus === 0) return true;
  const known = gpuSize(sku.name);
  const hasImage = imageFamily === 'AzureLinux' ? known?.azureLinux : known?.ubuntu;
  const wantsDriver = (gpu?.mode ?? 'Driver') === 'Driver';
  return hasImage === true && (!wantsDriver || known?.manufacturer === 'nvidia');
}

function suitsSecurity(sku: Sku, { security }: ClassChoices): boolean {
  if (security?.encryptionAtHost === true && !sku.encryptionAtHost) return false;
  const { vtpm = false, secureBoot = false } = security?.trustedLaunch ?? {};
  return sku.trustedLaunch || !(vtpm || secureBoot);
}

function toLabels(
  sku: Sku,
  size: SizeName,
  { spec }: NodeClass,
  settings: InstanceTypeSettings,
): Readonly<Record<string, ReadonlyArray<string>>> {
  const { imageFamily = 'Ubuntu', fipsMode }: ClassChoices = spec;
  const memoryMib = String(Math.floor(sku.memoryGib * 1024));
  const gpu = sku.gpus > 0 ? gpuSize(sku.name) : null;
  return {
    [label.instanceType]: [sku.name],
    [label.arch]: [sku.arch],
    [label.os]: ['linux'],
    [label.region]: [settings.location],
    [label.skuName]: [sku.name],
    [label.skuFamily]: [size.family],
    [label.skuSeries]: [size.series],
    [label.skuVersion]: [size.version],
    [label.skuCpu]: [String(sku.vCpus)],
    [label.skuMemory]: [memoryMib],
    'kubernetes.azure.com/sku-cpu': [String(sku.vCpus)],
    'kubernetes.azure.com/sku-memory': [memoryMib],
    'karpenter.azure.com/sku-networking-accelerated': [String(sku.acceleratedNetworking)],
    'karpenter.azure.com/sku-storage-premium-capable': [String(sku.premiumStorage)],
    'karpenter.azure.com/sku-gpu-count': [String(sku.gpus)],
    ...(sku.ephemeralOsDisk === null
      ? {}
      : { 'karpenter.azure.com/sku-storage-ephemeralos-maxsize': [String(sku.ephemeralOsDisk.maxGb)] }),
    ...(gpu === null
      ? {}
      : {
          'karpenter.azure.com/sku-gpu-manufacturer': [gpu.manufacturer],
          ...(size.accelerator === '' ? {} : { 'karpenter.azure.com/sku-gpu-name': [size.accelerator] }),
        }),
    [label.azureCluster]: [clusterLabel(settings.nodeResourceGroup)],
    [label.azureMode]: ['system', 'user'],
    'kubernetes.azure.com/os-sku': [imageFamily === 'AzureLinux' ? 'AzureLinux' : 'Ubuntu'],
    ...(fipsMode === 'FIPS' ? { 'kubernetes.azure.com/fips_enabled': ['true'] } : {}),
  };
}

/** A resource group's name as a label value: at most 63 characters, no parentheses, no punctuation at the end. */
export function clusterLabel(resourceGroup: string): string {
  const cut = resourceGroup.replaceAll(/[()]/g, '-').slice(0, 63);
  return /[-_.]$/.test(cut) ? `${cut.slice(0, 62)}z` : cut;
}

function toOfferings(
  sku: Sku,
  { location, unknownPrice }: { readonly location: string; readonly unknownPrice: number },
  isRefused: IsRefused,
  { useOfQuota, evictionsPerHour, stormOf }: OfferingFacts,
): ReadonlyArray<Offering> {
  const zones = [...sku.zones.map((zone) => `${location.toLowerCase()}-${zone}`), REGIONAL];
  return zones.flatMap((zone) =>
    (['on-demand', 'spot'] as const).flatMap((capacityType) => {
      const price = capacityType === 'spot' ? sku.spotMicroUsd : sku.onDemandMicroUsd;
      if (capacityType === 'spot' && (!sku.spot || price === null)) return [];
      const quota = useOfQuota(sku, capacityType);
      const evictions = capacityType === 'spot' ? evictionsPerHour(sku) : null;
      const storm = capacityType === 'spot' ? stormOf(sku, zone) : null;
      return [
        {
          zone,
          capacityType,
          price: microUsdPerHour(price ?? unknownPrice),
          available: !isRefused(sku, zone, capacityType),
          labels: offeringLabels(zone, capacityType),
          ...(evictions === null ? {} : { evictionsPerHour: evictions }),
          ...(storm === null ? {} : { storm }),
          ...(quota === null ? {} : { quota }),
        },
      ];
    }),
  );
}

/** The labels that a node has because of its offering, beside zone and capacity type. */
export function offeringLabels(zone: string, capacityType: CapacityType): Readonly<Record<string, string>> {
  const priority = capacityType === 'spot' ? 'spot' : 'regular';
  return {
    [label.placementScope]: zone === REGIONAL ? 'regional' : 'zonal',
    [label.scaleSetPriority]: priority,
    [label.priority]: priority,
  };
}

function toResources(
  sku: Sku,
  { spec }: NodeClass,
  settings: InstanceTypeSettings,
): Pick<InstanceType, 'capacity' | 'overhead'> {
  const { osDiskSizeGB = 128, maxPods }: ClassChoices = spec;
  const gib = Math.floor(sku.memoryGib);
  const memory = (gib - Math.ceil(gib * settings.memoryOverhead * 1024) / 1024) * 1024;
  const gpu = sku.gpus > 0 ? gpuSize(sku.name) : null;
  return {
    capacity: {
      cpu: String(sku.vCpus),
      memory: `${Math.floor(memory)}Mi`,
      'ephemeral-storage': `${osDiskSizeGB}G`,
      pods: String(maxPods ?? defaultMaxPods(settings)),
      ...(gpu === null ? {} : { [`${gpu.manufacturer}.com/gpu`]: String(sku.gpus) }),
    },
    overhead: {
      cpu: `${kubeReservedCpu(sku.vCpus)}m`,
      memory: `${kubeReservedMemory(sku.memoryGib) + EVICTION_MIB}Mi`,
    },
  };
}

/** `memory.available<750Mi` is passed to the kubelet as its eviction threshold. */
export const EVICTION_MIB = 750;

/**
 * AKS's progressive reservation, millicores, rounded down: 6 % of the first core, 4 % of the second, 2 % to four, 1 %
 * above.
 */
export function kubeReservedCpu(vCpus: number): number {
  const part = (from: number, to: number): number => Math.max(0, Math.min(vCpus, to) - from);
  return Math.floor(part(0, 1) * 60 + part(1, 2) * 40 + part(2, 4) * 20 + part(4, Infinity) * 10);
}

/**
 * AKS's progressive reservation, MiB, rounded down: 25 % of the first 4 GiB, 20 % to 8, 10 % to 16, 6 % to 128, 2 %
 * above.
 */
export function kubeReservedMemory(gib: number): number {
  const part = (from: number, to: number): number => Math.max(0, Math.min(gib, to) - from);
  const reserved =
    part(0, 4) * 0.25 + part(4, 8) * 0.2 + part(8, 16) * 0.1 + part(16, 128) * 0.06 + part(128, Infinity) * 0.02;
  return Math.floor(reserved * 1024);
}

function defaultMaxPods({ networkPlugin, networkPluginMode }: InstanceTypeSettings): number {
  if (networkPlugin === 'none') return 250;
  if (networkPlugin !== 'azure') return 110;
  return networkPluginMode === 'overlay' ? 250 : 30;
}
