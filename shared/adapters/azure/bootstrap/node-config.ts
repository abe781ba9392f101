import type { Settings } from '../../../contract/settings/settings.ts';
import type { LaunchOrder } from '../../../ports/cloud.ts';
import { isNodeSubnet, type NetworkMode, networkModeOf } from '../network/network-mode.ts';
import { choicesOf } from './class-choices.ts';
import { downloadsOf } from './downloads.ts';
import { gpuConfig } from './gpu-config.ts';
import { kubeletFlags } from './kubelet-flags.ts';
import { localDnsProfile } from './local-dns.ts';
import { isArm, kubeletLabels } from './node-labels.ts';
import { osConfig } from './os-config.ts';
import { subnetOf } from '../network/subnet.ts';

/** What a node's configuration is made from beside the order and the settings. */
export interface NodeFacts {
  /** Without a leading `v`. */
  readonly kubernetesVersion: string;
  /** `id.secret`: what the machine shows once, to ask for its certificate. */
  readonly token: string;
  /** The cluster's security group and route table in the node resource group, by name. */
  readonly securityGroup: string;
  readonly routeTable: string;
}

/** What the container runtime keeps a pod's namespaces with; node images carry it. */
const SANDBOX_IMAGE = 'mcr.microsoft.com/oss/kubernetes/pause:3.6';

/** Rules that AKS's load balancers take; the node's own default is lower. */
const LOAD_BALANCER_RULES_MAX = 250;

/** Base64 of `msi`: there is no service principal, and the file that names its secret says so. */
const NO_SECRET = 'bXNp';

/**
 * A node's own configuration: what the node controller of AKS's images reads at boot, its contract `aksnodeconfig/v1`
 * (reference §10). Fields that the controller fills in well by itself are left out; the same order gives the same
 * bytes.
 */
export function nodeConfig(order: LaunchOrder, settings: Settings, facts: NodeFacts): object {
  const { nodeClass, instanceType, offering } = order;
  const { kubernetesVersion, token } = facts;
  const choices = choicesOf(nodeClass);
  const subnet = subnetOf(nodeClass.spec.vnetSubnetID ?? settings.VNET_SUBNET_ID);
  const network = { subnet: subnet.name, vnetGuid: settings.VNET_GUID ?? null };
  return {
    version: 'v1',
    kubernetes_version: kubernetesVersion,
    vm_size: offering.instanceType,
    is_vhd: true,
    needs_cgroupv2: true,
    linux_admin_username: settings.LINUX_ADMIN_USERNAME ?? 'azureuser',
    kubernetes_ca_cert: settings.CLUSTER_CA_DATA ?? '',
    api_server_config: { api_server_name: new URL(settings.CLUSTER_ENDPOINT).hostname },
    auth_config: {
      ...(settings.AZURE_TENANT_ID === undefined ? {} : { tenant_id: settings.AZURE_TENANT_ID }),
      subscription_id: settings.AZURE_SUBSCRIPTION_ID,
      service_principal_id: 'msi',
      service_principal_secret: NO_SECRET,
      assigned_identity_id: settings.KUBELET_IDENTITY_CLIENT_ID ?? '',
      use_managed_identity_extension: true,
    },
    bootstrapping_config: {
      bootstrapping_auth_method: 'BOOTSTRAPPING_AUTH_METHOD_BOOTSTRAP_TOKEN',
      tls_bootstrapping_token: token,
    },
    cluster_config: {
      resource_group: settings.AZURE_NODE_RESOURCE_GROUP,
      location: settings.LOCATION,
      vm_type: 'VM_TYPE_STANDARD',
      use_instance_metadata: true,
      cluster_network_config: {
        vnet_resource_group: subnet.group,
        vnet_name: subnet.vnet,
        subnet: subnet.name,
        security_group_name: facts.securityGroup,
        route_table: facts.routeTable,
        core_dns_service_ip: settings.DNS_SERVICE_IP ?? '10.0.0.10',
      },
      load_balancer_config: {
        load_balancer_sku: 'LOAD_BALANCER_SKU_STANDARD',
        max_load_balancer_rule_count: LOAD_BALANCER_RULES_MAX,
      },
    },
    ...binaries(kubernetesVersion, isArm(instanceType), networkModeOf(settings)),
    ...present('gpu_config', gpuConfig(choices, offering.instanceType)),
    ...present('custom_linux_os_config', osConfig(choices.linuxOSConfig)),
    ...present('local_dns_profile', localDnsProfile(nodeClass)),
    ...(choices.artifactStreaming?.enabled === true && !isArm(instanceType) ? { enable_artifact_streaming: true } : {}),
    kubelet_config: {
      kubelet_flags: kubeletFlags(order, settings, kubernetesVersion),
      kubelet_node_labels: kubeletLabels(order, settings, kubernetesVersion, network),
    },
  };
}

function present(name: string, value: object | null): object {
  return value === null ? {} : { [name]: value };
}

/** The controller's names of network policies; what it has no name for, Cilium's, needs nothing of it. */
const POLICIES: Readonly<Record<string, string>> = {
  none: 'NETWORK_POLICY_NONE',
  azure: 'NETWORK_POLICY_AZURE',
  calico: 'NETWORK_POLICY_CALICO',
};

function binaries(kubernetesVersion: string, isArm64: boolean, mode: NetworkMode): object {
  const downloads = downloadsOf(kubernetesVersion, isArm64);
  const policy = POLICIES[mode.policy];
  return {
    network_config: {
      network_plugin: hasAzurePlugin(mode) ? 'NETWORK_PLUGIN_AZURE' : 'NETWORK_PLUGIN_NONE',
      ...(policy === undefined ? {} : { network_policy: policy }),
      vnet_cni_plugins_url: downloads.vnetCni,
      cni_plugins_url: downloads.cni,
    },
    kube_binary_config: {
      pod_infra_container_image_url: SANDBOX_IMAGE,
      ...(downloads.kubelet === null ? {} : { kube_binary_url: downloads.kubelet }),
      ...(downloads.credentialProvider === null ? {} : { linux_credential_provider_url: downloads.credentialProvider }),
    },
  };
}

/**
 * The node itself brings the plugin only where pods take addresses of its subnet by it; else daemons of the cluster do.
 */
function hasAzurePlugin(mode: NetworkMode): boolean {
  return isNodeSubnet(mode) && mode.dataplane !== 'cilium';
}
