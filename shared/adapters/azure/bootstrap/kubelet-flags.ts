import { taint } from '../../../contract/names.ts';
import type { Settings } from '../../../contract/settings/settings.ts';
import type { LaunchOrder } from '../../../ports/cloud.ts';
import { EVICTION_MIB } from '../catalog/instance-types.ts';
import { type KubeletChoices, choicesOf, hasLocalDns } from './class-choices.ts';
import { minorOf } from './kubernetes-minor.ts';

/** Where the cache of names on a node answers pods; kubelets write it into their `resolv.conf`. */
const LOCAL_DNS = '169.254.10.11';

/** AKS's default where neither a setting nor the cluster says which address its DNS Service has. */
const DEFAULT_DNS = '10.0.0.10';

/** TLS 1.2 suites of AKS's kubelets. */
const CIPHERS = [
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_RSA_WITH_AES_128_GCM_SHA256',
];

/**
 * Who may speak with the kubelet, and as whom it speaks. Nothing on the node adds these, and the kubelet's own defaults
 * let anybody in: they are the same whatever a class says.
 */
const SAFETY = {
  '--anonymous-auth': 'false',
  '--authentication-token-webhook': 'true',
  '--authorization-mode': 'Webhook',
  '--client-ca-file': '/etc/kubernetes/certs/ca.crt',
  '--read-only-port': '0',
  '--rotate-certificates': 'true',
  '--tls-cert-file': '/etc/kubernetes/certs/kubeletserver.crt',
  '--tls-private-key-file': '/etc/kubernetes/certs/kubeletserver.key',
  '--tls-cipher-suites': CIPHERS.join(','),
};

/** AKS's values for what no class can choose. */
const COMMON = {
  '--address': '0.0.0.0',
  '--cgroups-per-qos': 'true',
  '--cloud-provider': 'external',
  '--cluster-domain': 'cluster.local',
  '--enforce-node-allocatable': 'pods',
  '--event-qps': '0',
  // All three: a kubelet that is told one threshold drops its defaults for the others. The provider names memory only.
  '--eviction-hard': `memory.available<${EVICTION_MIB}Mi,nodefs.available<10%,nodefs.inodesFree<5%`,
  '--kubeconfig': '/var/lib/kubelet/kubeconfig',
  '--node-status-update-frequency': '10s',
  '--pod-manifest-path': '/etc/kubernetes/manifests',
  '--protect-kernel-defaults': 'true',
  '--resolv-conf': '/run/systemd/resolve/resolv.conf',
  '--streaming-connection-idle-timeout': '4h',
  '--system-reserved': 'cpu=0,memory=0',
};

const PAUSE_IMAGE = 'mcr.microsoft.com/oss/kubernetes/pause:3.6';
const CREDENTIAL_PROVIDER = '/var/lib/kubelet/credential-provider';
const CLOUD_CONFIG = '/etc/kubernetes/azure.json';

/**
 * The kubelet's command line, sorted by flag, so that the same order gives the same bytes. Flags and values are those
 * of Karpenter's Azure provider (reference §5.2); where they differ, `docs/bootstrap.md` says why.
 */
export function kubeletFlags(
  order: LaunchOrder,
  settings: Pick<Settings, 'DNS_SERVICE_IP'>,
  kubernetesVersion: string,
): Readonly<Record<string, string>> {
  const { instanceType, nodeClass } = order;
  const reserved = instanceType.overhead;
  const { kubelet = {} } = choicesOf(nodeClass);
  const minor = minorOf(kubernetesVersion);
  const gates = featureGates(minor, kubelet);
  const flags: Readonly<Record<string, string>> = {
    ...COMMON,
    ...ofVersion(minor),
    ...ofClass(kubelet),
    ...(gates === '' ? {} : { '--feature-gates': gates }),
    '--cluster-dns': hasLocalDns(nodeClass) ? LOCAL_DNS : (settings.DNS_SERVICE_IP ?? DEFAULT_DNS),
    '--kube-reserved': `cpu=${reserved['cpu'] ?? '0'},memory=${reservedMemory(reserved['memory'])}`,
    '--max-pods': String(instanceType.capacity['pods'] ?? 110),
    '--register-with-taints': renderTaints(order),
    ...SAFETY,
  };
  return Object.fromEntries(Object.entries(flags).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Flags that came and went with Kubernetes' minor versions; a kubelet does not start with one that it does not know.
 */
function ofVersion(minor: number): Readonly<Record<string, string>> {
  return {
    ...(minor < 31 ? { '--keep-terminated-pod-volumes': 'false' } : {}),
    ...(minor < 34 ? { '--cloud-config': CLOUD_CONFIG } : {}),
    ...(minor < 35 ? { '--pod-infra-container-image': PAUSE_IMAGE } : {}),
    ...(minor < 30
      ? { '--azure-container-registry-config': CLOUD_CONFIG }
      : {
          '--image-credential-provider-bin-dir': CREDENTIAL_PROVIDER,
          '--image-credential-provider-config': `${CREDENTIAL_PROVIDER}-config.yaml`,
        }),
  };
}

/** Before 1.30 the kubelet itself asked Azure's registries; a quota period of one's own is refused without its gate. */
function featureGates(minor: number, kubelet: KubeletChoices): string {
  const inTree = minor < 30 ? ['DisableKubeletCloudCredentialProviders=false'] : [];
  return [...inTree, ...(ownPeriod(kubelet) === null ? [] : ['CustomCPUCFSQuotaPeriod=true'])].join(',');
}

/** A quota period of the kernel's own length needs no flag; Go writes one that nobody has set as `0s`. */
const USUAL_PERIODS: ReadonlySet<string> = new Set(['100ms', '0s', '0.1s']);

function ownPeriod({ cpuCFSQuotaPeriod: period }: KubeletChoices): string | null {
  return period === undefined || USUAL_PERIODS.has(period) ? null : period;
}

/** The kubelet holds it in 32 bits with a sign. */
const PIDS_MAX = 2 ** 31 - 1;

function ofClass(kubelet: KubeletChoices): Readonly<Record<string, string>> {
  const { podPidsLimit = -1, allowedUnsafeSysctls = [] } = kubelet;
  const chosen: Readonly<Record<string, string | number | boolean | undefined>> = {
    '--allowed-unsafe-sysctls': allowedUnsafeSysctls.length === 0 ? undefined : allowedUnsafeSysctls.join(','),
    '--container-log-max-files': kubelet.containerLogMaxFiles,
    '--container-log-max-size': kubelet.containerLogMaxSize,
    '--cpu-cfs-quota': kubelet.cpuCFSQuota,
    '--cpu-cfs-quota-period': ownPeriod(kubelet) ?? undefined,
    '--cpu-manager-policy': kubelet.cpuManagerPolicy,
    '--fail-swap-on': kubelet.failSwapOn,
    '--image-gc-high-threshold': kubelet.imageGCHighThresholdPercent ?? 85,
    '--image-gc-low-threshold': kubelet.imageGCLowThresholdPercent ?? 80,
    '--pod-max-pids': podPidsLimit < 0 ? -1 : Math.min(podPidsLimit, PIDS_MAX),
    '--topology-manager-policy': kubelet.topologyManagerPolicy,
  };
  return Object.fromEntries(
    Object.entries(chosen).flatMap(([flag, value]) => (value === undefined ? [] : [[flag, String(value)]])),
  );
}

/** Taints as the kubelet takes them, the one that keeps pods out until the node is registered last. */
function renderTaints({ taints, startupTaints }: LaunchOrder): string {
  return [...taints, ...startupTaints, taint.unregistered]
    .map((one) => {
      const value = 'value' in one && one.value !== undefined ? `=${one.value}` : '';
      return `${one.key}${value}:${one.effect}`;
    })
    .join(',');
}

/** The eviction threshold is part of the catalog's overhead, and the kubelet adds it by itself. */
function reservedMemory(overhead: string | number | undefined): string {
  const mebibytes = Number(String(overhead ?? '0').replace(/Mi$/, '')) - EVICTION_MIB;
  return `${Math.max(0, mebibytes)}Mi`;
}
