import { describe, expect, test } from 'vitest';
import { nodeConfig } from '../../../../../shared/adapters/azure/bootstrap/node-config.ts';
import type { NodeClass } from '../../../../../shared/ports/kubernetes.ts';
import { golden } from '../../../../kit/azure/read.ts';
import { order, place, settings } from '../../../../kit/azure/launch-order.ts';

interface Config {
  readonly custom_linux_os_config?: object;
  readonly local_dns_profile?: object;
  readonly gpu_config?: object;
  readonly enable_artifact_streaming?: boolean;
  readonly kubelet_config: {
    readonly kubelet_flags: Readonly<Record<string, string>>;
    readonly kubelet_node_labels: Readonly<Record<string, string>>;
  };
}

/** The configuration of a node of a class with this spec and status. */
function config(
  spec: NodeClass['spec'],
  status: object = {},
  kubernetesVersion = '1.34.2',
  size = 'Standard_D4s_v5',
): Config {
  const nodeClass = { metadata: { name: 'c' }, spec, status: status as NonNullable<NodeClass['status']> };
  const offering = { ...order.offering, instanceType: size };
  const facts = { ...place, kubernetesVersion, token: 'abcdef.0123456789abcdef' };
  return nodeConfig({ ...order, nodeClass, offering }, settings, facts) as Config;
}

const flagsOf = (kubelet: object, kubernetesVersion?: string) =>
  config({ kubelet }, {}, kubernetesVersion).kubelet_config.kubelet_flags;

describe('kubelet of a class', () => {
  test.for<readonly [object, string, string | undefined]>([
    [{ cpuManagerPolicy: 'static' }, '--cpu-manager-policy', 'static'],
    [{ cpuCFSQuota: false }, '--cpu-cfs-quota', 'false'],
    [{ topologyManagerPolicy: 'restricted' }, '--topology-manager-policy', 'restricted'],
    [{ allowedUnsafeSysctls: ['a', 'b'] }, '--allowed-unsafe-sysctls', 'a,b'],
    [{ allowedUnsafeSysctls: [] }, '--allowed-unsafe-sysctls', undefined],
    [{ containerLogMaxSize: '20Mi' }, '--container-log-max-size', '20Mi'],
    [{ containerLogMaxFiles: 3 }, '--container-log-max-files', '3'],
    [{ imageGCHighThresholdPercent: 70 }, '--image-gc-high-threshold', '70'],
    [{ imageGCLowThresholdPercent: 0 }, '--image-gc-low-threshold', '0'],
    [{ podPidsLimit: 1024 }, '--pod-max-pids', '1024'],
    [{ podPidsLimit: -7 }, '--pod-max-pids', '-1'],
    [{ podPidsLimit: 2 ** 40 }, '--pod-max-pids', '2147483647'],
    [{ failSwapOn: false }, '--fail-swap-on', 'false'],
    [{ cpuCFSQuotaPeriod: '50ms' }, '--cpu-cfs-quota-period', '50ms'],
    [{ cpuCFSQuotaPeriod: '50ms' }, '--feature-gates', 'CustomCPUCFSQuotaPeriod=true'],
    [{ cpuCFSQuotaPeriod: '100ms' }, '--cpu-cfs-quota-period', undefined],
    [{ cpuCFSQuotaPeriod: '0s' }, '--feature-gates', undefined],
  ])('%j: %s=%s', ([kubelet, flag, value]) => {
    expect(flagsOf(kubelet)[flag]).toBe(value);
  });

  test.for<readonly [string, string, string | undefined]>([
    ['1.29.9', '--feature-gates', 'DisableKubeletCloudCredentialProviders=false'],
    ['1.29.9', '--azure-container-registry-config', '/etc/kubernetes/azure.json'],
    ['1.29.9', '--image-credential-provider-config', undefined],
    ['1.30.0', '--image-credential-provider-config', '/var/lib/kubelet/credential-provider-config.yaml'],
    ['1.30.0', '--keep-terminated-pod-volumes', 'false'],
    ['1.31.0', '--keep-terminated-pod-volumes', undefined],
    ['1.33.9', '--cloud-config', '/etc/kubernetes/azure.json'],
    ['1.34.0', '--cloud-config', undefined],
    ['1.34.9', '--pod-infra-container-image', 'mcr.microsoft.com/oss/kubernetes/pause:3.6'],
    ['v1.35.0', '--pod-infra-container-image', undefined],
  ])('Kubernetes %s: %s=%s', ([version, flag, value]) => {
    expect(flagsOf({}, version)[flag]).toBe(value);
  });

  test('keeps both gates where an old kubelet needs one of its own', () => {
    expect(flagsOf({ cpuCFSQuotaPeriod: '50ms' }, '1.29.9')['--feature-gates']).toBe(
      'DisableKubeletCloudCredentialProviders=false,CustomCPUCFSQuotaPeriod=true',
    );
  });

  test('cannot take away what keeps strangers out', () => {
    const flags = flagsOf({ '--anonymous-auth': 'true', anonymousAuth: true, readOnlyPort: 10255 });
    expect(flags).toMatchObject({ '--anonymous-auth': 'false', '--read-only-port': '0' });
  });
});

interface Pair {
  readonly name: string;
  readonly nodeConfig: Readonly<Record<string, object>>;
}
const { pairs } = golden('node-config-pairs') as { readonly pairs: ReadonlyArray<Pair> };
const expectedOf = (pair: string, field: string): object =>
  pairs.find(({ name }) => name === pair)?.nodeConfig[field] ?? {};

describe('linuxOSConfig of a class', () => {
  test('becomes what AgentBaker takes it for', () => {
    const { ulimit_config: _, ...expected } = expectedOf('sysctl-ulimit-swap-thp', 'custom_linux_os_config') as {
      readonly ulimit_config: object;
    };
    const linuxOSConfig = {
      swapFileSize: '1500Mi',
      transparentHugePageEnabled: 'madvise',
      transparentHugePageDefrag: 'defer+madvise',
      sysctls: {
        netCoreSomaxconn: 32_768,
        netIPv4TCPTwReuse: true,
        netIPv4IPLocalPortRange: '32768 65400',
        vmMaxMapCount: 262_144,
        vmSwappiness: 10,
      },
    };
    expect(config({ linuxOSConfig }).custom_linux_os_config).toEqual(expected);
  });

  test.for([
    ['1500Mi', 1_500],
    ['2Gi', 2_048],
    ['2G', 1_907],
    ['1536000K', 1_465],
    ['1T', 953_674],
  ] as const)('a swap file of %s has %d MiB', ([swapFileSize, mebibytes]) => {
    expect(config({ linuxOSConfig: { swapFileSize } }).custom_linux_os_config).toEqual({
      enable_swap_config: true,
      swap_file_size: mebibytes,
    });
  });

  test('says nothing where it chooses nothing, and zero where it chooses zero', () => {
    expect(config({ linuxOSConfig: {} })).not.toHaveProperty('custom_linux_os_config');
    expect(config({ linuxOSConfig: { sysctls: {} } })).not.toHaveProperty('custom_linux_os_config');
    expect(config({ linuxOSConfig: { sysctls: { vmSwappiness: 0, netIPv4TCPTwReuse: false } } })).toMatchObject({
      custom_linux_os_config: { sysctl_config: { vm_swappiness: 0, net_ipv4_tcp_tw_reuse: false } },
    });
  });

  test('knows a node’s name for each of the 28 kernel settings of the schema', async () => {
    const { aksNodeClassKind } = await import('../../../../../shared/contract/api/kinds/aks-node-class.ts');
    const text = JSON.stringify(aksNodeClassKind);
    const fields = ['fs', 'kernel', 'net', 'vm'].flatMap(
      (start) => text.match(new RegExp(`"${start}[A-Z]\\w+"(?=:)`, 'g')) ?? [],
    );
    const names = [...new Set(fields.map((field) => field.slice(1, -1)))];
    expect(names).toHaveLength(28);
    const sysctls = Object.fromEntries(names.map((name) => [name, 1]));
    const chosen = config({ linuxOSConfig: { sysctls } }).custom_linux_os_config as { readonly sysctl_config: object };
    const { messages } = golden('node-config') as {
      readonly messages: { readonly SysctlConfig: ReadonlyArray<{ readonly name: string }> };
    };
    expect(Object.keys(chosen.sysctl_config).toSorted()).toEqual(
      messages.SysctlConfig.map(({ name }) => name).toSorted(),
    );
  });
});

describe('localDNS of a class', () => {
  const zone = (name: string, protocol: string, forwardDestination: string) => ({
    zone: name,
    queryLogging: 'Error',
    protocol,
    forwardDestination,
    forwardPolicy: 'Sequential',
    maxConcurrent: 1_000,
    cacheDuration: '1h',
    serveStaleDuration: '60m',
    serveStale: 'Immediate',
  });
  const zones = [zone('.', 'PreferUDP', 'VnetDNS'), zone('cluster.local', 'ForceTCP', 'ClusterCoreDNS')];
  const localDNS = { mode: 'Required', vnetDNSOverrides: zones, kubeDNSOverrides: zones };

  test('becomes what AgentBaker takes it for, but for limits that it knows by itself', () => {
    const {
      cpu_limit_in_milli_cores: _,
      memory_limit_in_mb: __,
      ...expected
    } = expectedOf('localdns', 'local_dns_profile') as {
      readonly cpu_limit_in_milli_cores: number;
      readonly memory_limit_in_mb: number;
    };
    expect(config({ localDNS }, { localDNSState: 'Enabled' }).local_dns_profile).toEqual(expected);
  });

  test.for([
    ['Enabled', '169.254.10.11', 'enabled'],
    ['Disabled', '10.0.0.10', 'disabled'],
    [undefined, '10.0.0.10', 'disabled'],
  ] as const)('is as the status says: %s', ([state, dns, labelled]) => {
    const made = config({ localDNS }, state === undefined ? {} : { localDNSState: state });
    expect(made.kubelet_config.kubelet_flags['--cluster-dns']).toBe(dns);
    expect(made.kubelet_config.kubelet_node_labels['kubernetes.azure.com/localdns-state']).toBe(labelled);
    expect(made.local_dns_profile === undefined).toBe(state !== 'Enabled');
  });
});

describe('GPU of a class', () => {
  test.for([
    [{}, 'Standard_NC16as_T4_v3', true],
    [{ gpu: { mode: 'Driver' } }, 'Standard_NC24ads_A100_v4', true],
    [{ gpu: { mode: 'None' } }, 'Standard_NC24ads_A100_v4', false],
    [{}, 'Standard_D4s_v5', false],
    [{}, 'Standard_NG8ads_V620_v1', false],
  ] as const)('%j on %s: a driver is installed: %s', ([spec, size, installs]) => {
    const made = config(spec, {}, '1.34.2', size);
    expect(made.gpu_config).toEqual(installs ? { enable_nvidia: true, config_gpu_driver: true } : undefined);
  });
});

test.for([
  [true, 'amd64', true],
  [true, 'arm64', false],
  [false, 'amd64', false],
] as const)('artifact streaming that is asked for (%s) on %s: %s', ([enabled, arch, isOn]) => {
  const instanceType = { ...order.instanceType, labels: { 'kubernetes.io/arch': [arch] } };
  const nodeClass = { metadata: { name: 'c' }, spec: { artifactStreaming: { enabled } } };
  const facts = { ...place, kubernetesVersion: '1.34.2', token: 't' };
  const made = nodeConfig({ ...order, instanceType, nodeClass }, settings, facts) as Config;
  expect(made.enable_artifact_streaming === true).toBe(isOn);
  expect('kubernetes.azure.com/artifactstreaming-enabled' in made.kubelet_config.kubelet_node_labels).toBe(isOn);
});
