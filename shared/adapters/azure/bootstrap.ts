import { label, taint } from '../../contract/names.ts';
import type { Settings } from '../../contract/settings.ts';
import type { LaunchOrder } from '../../ports/cloud.ts';
import { clusterLabel } from './instance-types.ts';

/** Taints as the kubelet's `--register-with-taints` takes them. */
function renderTaints(order: LaunchOrder): string {
  const all = [...order.taints, ...order.startupTaints, taint.unregistered];
  return all
    .map((one) => {
      const value = 'value' in one && one.value !== undefined ? `=${one.value}` : '';
      return `${one.key}${value}:${one.effect}`;
    })
    .join(',');
}

/** Labels the kubelet may set on its own Node, plus AKS's. Others are set at registration. */
function kubeletLabels(order: LaunchOrder, settings: Settings): Readonly<Record<string, string>> {
  const allowed = Object.entries(order.labels).filter(([key]) => {
    const domain = key.split('/')[0] ?? '';
    const restricted = /(^|\.)(kubernetes\.io|k8s\.io)$/.test(domain) && key.includes('/');
    return !restricted || /(^|\.)(node|kubelet)\.kubernetes\.io$/.test(domain) || KUBELET_KEYS.has(key);
  });
  return {
    'kubernetes.azure.com/role': 'agent',
    [label.azureCluster]: clusterLabel(settings.AZURE_NODE_RESOURCE_GROUP),
    [label.azureMode]: 'user',
    [label.doNotSyncTaints]: 'true',
    ...Object.fromEntries(allowed),
  };
}

const KUBELET_KEYS: ReadonlySet<string> = new Set([label.hostname, label.zone, label.region, label.arch, label.os]);

/**
 * The node's own configuration: what AKS's node controller, which is part of the image, reads at boot (its JSON contract,
 * version v1). Keys are sorted, so the same order gives the same bytes.
 */
export function nodeConfig(order: LaunchOrder, settings: Settings, kubernetesVersion: string, token: string): object {
  const reserved = order.instanceType.overhead;
  const subnet = (order.nodeClass.spec.vnetSubnetID ?? settings.VNET_SUBNET_ID).split('/');
  return {
    version: 'v1',
    kubernetes_version: kubernetesVersion,
    vm_size: order.offering.instanceType,
    is_vhd: true,
    needs_cgroupv2: true,
    linux_admin_username: settings.LINUX_ADMIN_USERNAME ?? 'azureuser',
    kubernetes_ca_cert: settings.CLUSTER_CA_DATA ?? '',
    api_server_config: { api_server_name: new URL(settings.CLUSTER_ENDPOINT).hostname },
    auth_config: {
      subscription_id: settings.AZURE_SUBSCRIPTION_ID,
      use_managed_identity_extension: true,
      assigned_identity_id: settings.KUBELET_IDENTITY_CLIENT_ID ?? '',
      service_principal_id: 'msi',
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
        vnet_resource_group: subnet[4] ?? '',
        vnet_name: subnet[8] ?? '',
        subnet: subnet[10] ?? '',
        core_dns_service_ip: settings.DNS_SERVICE_IP ?? '10.0.0.10',
      },
    },
    network_config: {
      network_plugin: settings.NETWORK_PLUGIN === 'none' ? 'NETWORK_PLUGIN_NONE' : 'NETWORK_PLUGIN_AZURE',
      network_policy: settings.NETWORK_POLICY ?? '',
    },
    kubelet_config: {
      kubelet_node_labels: sorted(kubeletLabels(order, settings)),
      kubelet_flags: sorted({
        '--register-with-taints': renderTaints(order),
        '--max-pods': String(order.instanceType.capacity['pods'] ?? 110),
        '--kube-reserved': `cpu=${reserved['cpu'] ?? '0'},memory=${reservedMemory(reserved['memory'])}`,
        // All three thresholds: naming one would drop the others.
        '--eviction-hard': 'memory.available<750Mi,nodefs.available<10%,nodefs.inodesFree<5%',
        '--cloud-provider': 'external',
        '--rotate-certificates': 'true',
      }),
    },
  };
}

/** The eviction threshold is part of the catalog's overhead, and the kubelet adds it by itself. */
function reservedMemory(overhead: string | number | undefined): string {
  const mebibytes = Number(String(overhead ?? '0').replace(/Mi$/, '')) - 750;
  return `${Math.max(0, mebibytes)}Mi`;
}

function sorted(record: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const CONFIG_PATH = '/opt/azure/containers/aks-node-controller-config.json';

/** `osProfile.customData`: cloud-init's multipart with the configuration and the start of the node controller, base64. */
export function customData(config: object): string {
  const payload = Buffer.from(JSON.stringify(config)).toString('base64');
  const script = [
    '#!/bin/bash',
    'mkdir -p /opt/azure/containers /var/log/azure',
    `umask 077 && echo '${payload}' | base64 -d > ${CONFIG_PATH}`,
    'launcher=/opt/azure/containers/aks-node-controller-launcher.sh',
    'if [ -x "$launcher" ]; then nohup "$launcher" >/var/log/azure/aks-node-controller.log 2>&1 &',
    'else systemctl start --no-block aks-node-controller.service; fi',
  ].join('\n');
  const boundary = '==nodewright==';
  const mime = [
    `Content-Type: multipart/mixed; boundary="${boundary}"`,
    'MIME-Version: 1.0',
    '',
    `--${boundary}`,
    'Content-Type: text/cloud-boothook; charset="utf-8"',
    '',
    script,
    '',
    `--${boundary}--`,
    '',
  ].join('\n');
  return Buffer.from(mime).toString('base64');
}
