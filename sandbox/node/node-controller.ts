/** A node's configuration as JSON: snake_case names, enums as texts. */
export type NodeConfig = Readonly<Record<string, unknown>>;

/** What the node controller hands to the node's scripts. */
export type Variables = Readonly<Record<string, string>>;

/** A field of the configuration, the variable it becomes, and how; `as` absent: as text. */
type Rule = readonly [path: string, variable: string, as?: (value: unknown) => string | null];

const word =
  (prefix: string) =>
  (value: unknown): string | null =>
    String(value).startsWith(prefix)
      ? String(value).slice(prefix.length).toLowerCase().replace('unspecified', '')
      : null;

const sorted =
  (separator: string) =>
  (value: unknown): string =>
    Object.entries(value as Readonly<Record<string, string>>)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map((pair) => pair.join('='))
      .join(separator);

const isSet = (value: unknown): string => String(value !== undefined && value !== '');

/**
 * AgentBaker's node controller as far as a configuration of ours uses it: what it makes of each field. Fields that it
 * does not know are dropped without a word there, and here. Verified on the real one's answers:
 * `test/unit/adapters/azure/golden`.
 */
const RULES: ReadonlyArray<Rule> = [
  ['kubernetes_version', 'KUBERNETES_VERSION'],
  ['kubernetes_ca_cert', 'KUBE_CA_CRT'],
  ['linux_admin_username', 'ADMINUSER'],
  ['is_vhd', 'IS_VHD'],
  ['needs_cgroupv2', 'NEEDS_CGROUPV2'],
  ['enable_artifact_streaming', 'ARTIFACT_STREAMING_ENABLED'],
  ['api_server_config.api_server_name', 'API_SERVER_NAME'],
  ['auth_config.tenant_id', 'TENANT_ID'],
  ['auth_config.subscription_id', 'SUBSCRIPTION_ID'],
  ['auth_config.service_principal_id', 'SERVICE_PRINCIPAL_CLIENT_ID'],
  ['auth_config.service_principal_secret', 'SERVICE_PRINCIPAL_FILE_CONTENT'],
  ['auth_config.assigned_identity_id', 'USER_ASSIGNED_IDENTITY_ID'],
  ['auth_config.use_managed_identity_extension', 'USE_MANAGED_IDENTITY_EXTENSION'],
  ['bootstrapping_config.tls_bootstrapping_token', 'TLS_BOOTSTRAP_TOKEN'],
  ['cluster_config.resource_group', 'RESOURCE_GROUP'],
  ['cluster_config.location', 'LOCATION'],
  ['cluster_config.vm_type', 'VM_TYPE', word('VM_TYPE_')],
  ['cluster_config.use_instance_metadata', 'USE_INSTANCE_METADATA'],
  ['cluster_config.cluster_network_config.vnet_name', 'VIRTUAL_NETWORK'],
  ['cluster_config.cluster_network_config.vnet_resource_group', 'VIRTUAL_NETWORK_RESOURCE_GROUP'],
  ['cluster_config.cluster_network_config.subnet', 'SUBNET'],
  ['cluster_config.cluster_network_config.security_group_name', 'NETWORK_SECURITY_GROUP'],
  ['cluster_config.cluster_network_config.route_table', 'ROUTE_TABLE'],
  ['cluster_config.load_balancer_config.load_balancer_sku', 'LOAD_BALANCER_SKU', word('LOAD_BALANCER_SKU_')],
  ['cluster_config.load_balancer_config.max_load_balancer_rule_count', 'MAXIMUM_LOADBALANCER_RULE_COUNT'],
  ['network_config.network_plugin', 'NETWORK_PLUGIN', word('NETWORK_PLUGIN_')],
  ['network_config.network_policy', 'NETWORK_POLICY', word('NETWORK_POLICY_')],
  ['network_config.vnet_cni_plugins_url', 'VNET_CNI_PLUGINS_URL'],
  ['kube_binary_config.kube_binary_url', 'KUBE_BINARY_URL'],
  ['kube_binary_config.linux_credential_provider_url', 'CREDENTIAL_PROVIDER_DOWNLOAD_URL'],
  ['gpu_config.enable_nvidia', 'GPU_NODE'],
  ['gpu_config.config_gpu_driver', 'CONFIG_GPU_DRIVER_IF_NEEDED'],
  ['local_dns_profile.enable_local_dns', 'SHOULD_ENABLE_LOCALDNS'],
  ['kubelet_config.enable_kubelet_config_file', 'KUBELET_CONFIG_FILE_ENABLED'],
  ['kubelet_config.kubelet_flags', 'KUBELET_FLAGS', sorted(' ')],
  ['kubelet_config.kubelet_node_labels', 'KUBELET_NODE_LABELS', sorted(',')],
  ['custom_linux_os_config.swap_file_size', 'SWAP_FILE_SIZE_MB'],
  ['custom_linux_os_config.transparent_hugepage_support', 'THP_ENABLED'],
  ['custom_linux_os_config.transparent_defrag', 'THP_DEFRAG'],
  ['custom_linux_os_config.ulimit_config', 'SHOULD_CONFIG_CONTAINERD_ULIMITS', isSet],
];

/** What the scripts get where the configuration says nothing. */
const DEFAULTS: Variables = {
  ADMINUSER: 'azureuser',
  ARTIFACT_STREAMING_ENABLED: 'false',
  CONFIG_GPU_DRIVER_IF_NEEDED: 'false',
  GPU_NODE: 'false',
  IS_VHD: 'true',
  KUBELET_CONFIG_FILE_ENABLED: 'false',
  MAXIMUM_LOADBALANCER_RULE_COUNT: '148',
  NEEDS_CGROUPV2: 'false',
  SHOULD_CONFIG_CONTAINERD_ULIMITS: 'false',
  SHOULD_ENABLE_LOCALDNS: 'false',
  SWAP_FILE_SIZE_MB: '0',
  USE_INSTANCE_METADATA: 'false',
  USE_MANAGED_IDENTITY_EXTENSION: 'false',
};

/** The configuration's required fields: without one of them the controller stops with an error. */
const REQUIRED = [
  'version',
  'api_server_config.api_server_name',
  'auth_config.subscription_id',
  'cluster_config.resource_group',
  'cluster_config.location',
  'cluster_config.cluster_network_config.vnet_name',
  'cluster_config.cluster_network_config.route_table',
];

/** The names of required fields that are missing; the controller checks nothing else. */
export function missingFields(config: NodeConfig): ReadonlyArray<string> {
  return REQUIRED.filter((path) => [undefined, null, ''].includes(valueAt(config, path) as undefined));
}

/** The variables that the node's scripts run with. */
export function variablesOf(config: NodeConfig): Variables {
  const said = RULES.flatMap(([path, variable, as = String]) => {
    const value = valueAt(config, path);
    const text = value === undefined || value === null ? null : as(value);
    return text === null ? [] : [[variable, text] as const];
  });
  const empty = RULES.map(([, variable]) => [variable, DEFAULTS[variable] ?? ''] as const);
  const variables: Record<string, string> = { ...Object.fromEntries(empty), ...Object.fromEntries(said) };
  const { KUBELET_FLAGS = '', KUBERNETES_VERSION = '' } = variables;
  const swap = valueAt(config, 'custom_linux_os_config.enable_swap_config') === true;
  return {
    ...variables,
    KUBELET_FLAGS: withoutOldFlags(KUBELET_FLAGS, KUBERNETES_VERSION),
    SHOULD_CONFIG_SWAP_FILE: String(swap && variables['SWAP_FILE_SIZE_MB'] !== '0'),
    SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE: String(variables['THP_ENABLED'] !== '' || variables['THP_DEFRAG'] !== ''),
  };
}

/** A kubelet from 1.34 on is not given a flag that it warns of. */
function withoutOldFlags(flags: string, kubernetesVersion: string): string {
  const minor = Number(kubernetesVersion.split('.')[1] ?? 0);
  const kept = flags
    .split(' ')
    .filter((flag) => minor < 34 || !flag.startsWith('--streaming-connection-idle-timeout='));
  return kept.join(' ');
}

function valueAt(config: NodeConfig, path: string): unknown {
  return path
    .split('.')
    .reduce(
      (at: unknown, name) =>
        typeof at === 'object' && at !== null ? (at as Readonly<Record<string, unknown>>)[name] : undefined,
      config,
    );
}
