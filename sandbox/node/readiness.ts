import type { NodeConfig, Variables } from './node-controller.ts';

/** The cluster's network, as far as its nodes must match it. */
export interface ClusterNetwork {
  readonly plugin: string;
  readonly pluginMode: string;
  readonly dataplane: string;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Daemons of AKS's network run on the nodes that carry these labels, and a node is ready when its daemon has been
 * there.
 */
const OVERLAY_LABELS: Labels = {
  'kubernetes.azure.com/azure-cni-overlay': 'true',
  'kubernetes.azure.com/podnetwork-type': 'overlay',
};

/** Flags without which a kubelet would serve anybody: a node of AKS that lacks one is none. */
const SAFE_FLAGS: Labels = {
  '--anonymous-auth': 'false',
  '--authentication-token-webhook': 'true',
  '--authorization-mode': 'Webhook',
  '--client-ca-file': '/etc/kubernetes/certs/ca.crt',
  '--read-only-port': '0',
};

/** What keeps a node that boots with this from joining at all; null where nothing does. */
export function cannotJoin(variables: Variables, missing: ReadonlyArray<string>): string | null {
  if (missing.length > 0) return `the node controller stops: required field ${missing[0] ?? ''} is missing`;
  const needed = ['API_SERVER_NAME', 'KUBE_CA_CRT', 'TLS_BOOTSTRAP_TOKEN', 'KUBERNETES_VERSION', 'KUBELET_FLAGS'];
  const absent = needed.find((name) => (variables[name] ?? '') === '');
  return absent === undefined ? null : `the node's scripts have no ${absent}`;
}

/** Why a node that has joined stays not ready, in the words of its Ready condition; null where it becomes ready. */
export function staysNotReady(
  network: ClusterNetwork,
  { variables, labels, flags }: { readonly variables: Variables; readonly labels: Labels; readonly flags: Labels },
): string | null {
  const plugin = variables['NETWORK_PLUGIN'] ?? '';
  const wanted = pluginOf(network);
  if (plugin !== wanted) return `cni plugin not initialized: the node has network plugin '${plugin}', not '${wanted}'`;
  const absent = Object.entries(labelsOf(network)).find(([key, value]) => labels[key] !== value);
  if (absent !== undefined) return `cni plugin not initialized: no daemon runs on a node without ${absent.join('=')}`;
  const open = Object.entries(SAFE_FLAGS).find(([flag, value]) => flags[flag] !== value);
  return open === undefined ? null : `the kubelet would serve anybody: it lacks ${open.join('=')}`;
}

/** Who brings the plugin: the node itself only where pods take addresses of its subnet without Cilium. */
function pluginOf({ plugin, pluginMode, dataplane }: ClusterNetwork): string {
  return plugin === 'azure' && pluginMode !== 'overlay' && dataplane !== 'cilium' ? 'azure' : 'none';
}

function labelsOf({ plugin, pluginMode, dataplane }: ClusterNetwork): Labels {
  return {
    ...(plugin === 'azure' && pluginMode === 'overlay' ? OVERLAY_LABELS : {}),
    ...(dataplane === 'cilium' ? { 'kubernetes.azure.com/ebpf-dataplane': 'cilium' } : {}),
  };
}

/** The flags and labels that the kubelet is started with. */
export function kubeletOf(config: NodeConfig): { readonly flags: Labels; readonly labels: Labels } {
  const kubelet = (config['kubelet_config'] ?? {}) as {
    readonly kubelet_flags?: Labels;
    readonly kubelet_node_labels?: Labels;
  };
  return { flags: kubelet.kubelet_flags ?? {}, labels: kubelet.kubelet_node_labels ?? {} };
}
