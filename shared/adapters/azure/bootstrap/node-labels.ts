import { label } from '../../../contract/names.ts';
import type { Settings } from '../../../contract/settings/settings.ts';
import type { LaunchOrder } from '../../../ports/cloud.ts';
import { resolveFamily } from './image-family.ts';
import { clusterLabel } from '../catalog/instance-types.ts';
import { isOverlay, networkModeOf } from '../network/network-mode.ts';
import { choicesOf, hasLocalDns } from './class-choices.ts';
import { minorOf } from './kubernetes-minor.ts';

/** What of the cluster's network its nodes carry as labels. */
export interface NodeNetwork {
  /** The name of the nodes' subnet. */
  readonly subnet: string;
  /** Azure's GUID of the virtual network; null where it is not known, which overlay networks do not bear. */
  readonly vnetGuid: string | null;
}

const KUBELET_KEYS: ReadonlySet<string> = new Set([label.hostname, label.zone, label.region, label.arch, label.os]);

/** Written when the node is registered: the kubelet of AKS knows nothing of node classes. */
const NOT_OF_KUBELETS: ReadonlySet<string> = new Set([label.nodeClass]);

/**
 * The labels that the kubelet registers with, sorted by key: those of the claim that a kubelet may set, and AKS's own,
 * by which its network, its node images and its daemons know the node (reference §5.3). Others follow at registration.
 */
export function kubeletLabels(
  order: LaunchOrder,
  settings: Settings,
  kubernetesVersion: string,
  network: NodeNetwork,
): Readonly<Record<string, string>> {
  const labels = {
    ...ofNode(order, settings, kubernetesVersion),
    ...ofNetwork(settings, kubernetesVersion, network),
    ...Object.fromEntries(Object.entries(order.labels).filter(([key]) => isAllowed(key))),
  };
  return Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The API server refuses a kubelet all labels of Kubernetes' own domains but these. */
function isAllowed(key: string): boolean {
  if (NOT_OF_KUBELETS.has(key)) return false;
  const domain = key.split('/')[0] ?? '';
  const isRestricted = key.includes('/') && /(^|\.)(kubernetes\.io|k8s\.io)$/.test(domain);
  return !isRestricted || /(^|\.)(node|kubelet)\.kubernetes\.io$/.test(domain) || KUBELET_KEYS.has(key);
}

function ofNode(
  { nodeClass, instanceType }: LaunchOrder,
  settings: Settings,
  kubernetesVersion: string,
): Readonly<Record<string, string>> {
  const choices = choicesOf(nodeClass);
  const { imageFamily = 'Ubuntu', artifactStreaming, fipsMode } = choices;
  const identity = settings.KUBELET_IDENTITY_CLIENT_ID;
  return {
    'kubernetes.azure.com/role': 'agent',
    [label.azureCluster]: clusterLabel(settings.AZURE_NODE_RESOURCE_GROUP),
    [label.azureMode]: 'user',
    [label.doNotSyncTaints]: 'true',
    // The VM is made without: a claim that asks for such disks finds no offering.
    'karpenter.azure.com/sku-storage-ultra-ssd': 'false',
    'kubernetes.azure.com/os-sku': imageFamily === 'AzureLinux' ? 'AzureLinux' : 'Ubuntu',
    'kubernetes.azure.com/os-sku-requested': imageFamily,
    'kubernetes.azure.com/os-sku-effective': resolveFamily(choices, kubernetesVersion),
    'kubernetes.azure.com/localdns-state': hasLocalDns(nodeClass) ? 'enabled' : 'disabled',
    ...(identity === undefined ? {} : { [label.kubeletIdentity]: identity }),
    ...(fipsMode === 'FIPS' ? { 'kubernetes.azure.com/fips_enabled': 'true' } : {}),
    ...(artifactStreaming?.enabled === true && !isArm(instanceType)
      ? { 'kubernetes.azure.com/artifactstreaming-enabled': 'true' }
      : {}),
  };
}

export function isArm({ labels }: LaunchOrder['instanceType']): boolean {
  return labels[label.arch]?.includes('arm64') === true;
}

/** From this minor version on the overlay's plugin keeps no state on the node. */
const STATELESS_CNI = 34;

function ofNetwork(
  settings: Settings,
  kubernetesVersion: string,
  { subnet, vnetGuid }: NodeNetwork,
): Readonly<Record<string, string>> {
  const mode = networkModeOf(settings);
  return {
    ...(isOverlay(mode)
      ? {
          'kubernetes.azure.com/azure-cni-overlay': 'true',
          'kubernetes.azure.com/podnetwork-type': 'overlay',
          'kubernetes.azure.com/network-subnet': subnet,
          'kubernetes.azure.com/network-stateless-cni': String(minorOf(kubernetesVersion) >= STATELESS_CNI),
          ...(vnetGuid === null ? {} : { 'kubernetes.azure.com/nodenetwork-vnetguid': vnetGuid }),
        }
      : {}),
    ...(mode.dataplane === 'cilium' ? { 'kubernetes.azure.com/ebpf-dataplane': 'cilium' } : {}),
  };
}
