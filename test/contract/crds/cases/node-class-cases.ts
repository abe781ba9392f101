import { readFileSync } from 'node:fs';
import { good, many, nodeClass, refused, type ApiObject, type Case } from './case.ts';

const subnet =
  '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/s';

const fips = (imageFamily: string | undefined, trustedLaunch?: unknown): ApiObject =>
  nodeClass({
    fipsMode: 'FIPS',
    ...(imageFamily === undefined ? {} : { imageFamily }),
    ...(trustedLaunch === undefined ? {} : { security: { trustedLaunch } }),
  });

const simpleCases: ReadonlyArray<Case> = [
  good('class: an empty spec is all defaults', nodeClass()),
  good('class: a class needs no spec', { ...nodeClass(), spec: undefined }),
  good('class: the old version is served', {
    ...nodeClass({ maxPods: 50 }),
    apiVersion: 'karpenter.azure.com/v1alpha2',
  }),
  refused(
    'class: the old version has the same rules',
    { ...nodeClass({ maxPods: 5 }), apiVersion: 'karpenter.azure.com/v1alpha2' },
    'spec.maxPods',
  ),
  good('class: a subnet is a resource id', nodeClass({ vnetSubnetID: subnet })),
  good('class: a subnet is compared without case', nodeClass({ vnetSubnetID: subnet.toUpperCase() })),
  refused('class: a subnet is more than a name', nodeClass({ vnetSubnetID: 's' }), 'spec.vnetSubnetID'),
  refused(
    'class: a subnet is not a network',
    nodeClass({ vnetSubnetID: subnet.replace('/subnets/s', '') }),
    'spec.vnetSubnetID',
  ),
  refused(
    'class: a resource group does not end in a dot',
    nodeClass({ vnetSubnetID: subnet.replace('/rg/', '/rg./') }),
    'spec.vnetSubnetID',
  ),
  good(
    'class: a resource group has up to 90 characters',
    nodeClass({ vnetSubnetID: subnet.replace('/rg/', `/${'r'.repeat(90)}/`) }),
  ),
  refused(
    'class: a resource group has no more than 90',
    nodeClass({ vnetSubnetID: subnet.replace('/rg/', `/${'r'.repeat(91)}/`) }),
    'spec.vnetSubnetID',
  ),
  refused('class: nothing follows the subnet', nodeClass({ vnetSubnetID: `${subnet}/x` }), 'spec.vnetSubnetID'),
  good('class: a disk of 30 GB', nodeClass({ osDiskSizeGB: 30 })),
  good('class: a disk of 2048 GB', nodeClass({ osDiskSizeGB: 2048 })),
  refused('class: no disk below 30 GB', nodeClass({ osDiskSizeGB: 29 }), 'spec.osDiskSizeGB'),
  refused('class: no disk above 2048 GB', nodeClass({ osDiskSizeGB: 2049 }), 'spec.osDiskSizeGB'),
  refused('class: the size of a disk is a number', nodeClass({ osDiskSizeGB: '128' }), 'spec.osDiskSizeGB'),
  ...['Ubuntu', 'Ubuntu2204', 'Ubuntu2404', 'AzureLinux'].map((imageFamily) =>
    good(`class: images of ${imageFamily}`, nodeClass({ imageFamily })),
  ),
  refused('class: no images of Windows', nodeClass({ imageFamily: 'Windows2022' }), 'spec.imageFamily'),
  good('class: 10 pods of a node', nodeClass({ maxPods: 10 })),
  good('class: 250 pods of a node', nodeClass({ maxPods: 250 })),
  refused('class: not below 10 pods', nodeClass({ maxPods: 9 }), 'spec.maxPods'),
  refused('class: not above 250 pods', nodeClass({ maxPods: 251 }), 'spec.maxPods'),
  good('class: host encryption', nodeClass({ security: { encryptionAtHost: true } })),
  refused(
    'class: host encryption is on or off',
    nodeClass({ security: { encryptionAtHost: 'yes' } }),
    'spec.security.encryptionAtHost',
  ),
  good('class: the driver of GPUs is installed', nodeClass({ gpu: { mode: 'Driver' } })),
  good('class: the driver of GPUs is not installed', nodeClass({ gpu: { mode: 'None' } })),
  refused('class: there is no third way for GPUs', nodeClass({ gpu: { mode: 'Auto' } }), 'spec.gpu.mode'),
  good('class: images may be streamed', nodeClass({ artifactStreaming: { enabled: true } })),
  refused(
    'class: streaming is on or off',
    nodeClass({ artifactStreaming: { enabled: 'true' } }),
    'spec.artifactStreaming.enabled',
  ),
  good('class: an image id is not part of the API and dropped', nodeClass({ imageID: 'x' })),
];

const fipsCases: ReadonlyArray<Case> = [
  good('class: FIPS may be off', nodeClass({ fipsMode: 'Disabled', imageFamily: 'Ubuntu2404' })),
  refused('class: FIPS is on or off', nodeClass({ fipsMode: 'On' }), 'spec.fipsMode'),
  good('class: FIPS with the default images', fips(undefined)),
  good('class: FIPS with Ubuntu', fips('Ubuntu')),
  good('class: FIPS with AzureLinux', fips('AzureLinux')),
  refused('class: no FIPS with Ubuntu2404', fips('Ubuntu2404'), 'spec'),
  refused('class: no FIPS with Ubuntu2404, not even with trusted launch', fips('Ubuntu2404', { vtpm: true }), 'spec'),
  refused('class: FIPS with Ubuntu2204 needs trusted launch', fips('Ubuntu2204'), 'spec'),
  refused('class: trusted launch that is off is none', fips('Ubuntu2204', { vtpm: false, secureBoot: false }), 'spec'),
  good('class: a virtual TPM is trusted launch', fips('Ubuntu2204', { vtpm: true })),
  good('class: secure boot is trusted launch', fips('Ubuntu2204', { secureBoot: true })),
  good('class: FIPS with Ubuntu and trusted launch', fips('Ubuntu', { vtpm: true, secureBoot: true })),
  good('class: FIPS with trusted launch and the default images', fips(undefined, { vtpm: true })),
  refused('class: no FIPS with AzureLinux and trusted launch', fips('AzureLinux', { vtpm: true }), 'spec'),
  good(
    'class: trusted launch without FIPS',
    nodeClass({ imageFamily: 'Ubuntu2404', security: { trustedLaunch: { vtpm: true } } }),
  ),
];

const tagged = (key: string, value: string): ApiObject => nodeClass({ tags: { [key]: value } });

const tagCases: ReadonlyArray<Case> = [
  good('class: tags', tagged('cost-center', 'any text: 100% <fine>')),
  good('class: a tag key of 512 characters', tagged('k'.repeat(512), '')),
  refused('class: no tag key of 513 characters', tagged('k'.repeat(513), ''), 'spec.tags'),
  good('class: characters are counted, not bytes', tagged('ü'.repeat(512), '😀'.repeat(256))),
  good('class: a tag of 256 characters', tagged('k', 'v'.repeat(256))),
  refused('class: no tag of 257 characters', tagged('k', 'v'.repeat(257)), 'spec.tags'),
  ...['<', '>', '%', '&', '?', '\\'].map((character) =>
    refused(`class: no ${character} in a tag key`, tagged(`a${character}b`, ''), 'spec.tags'),
  ),
  good('class: a slash in a tag key is for Azure to judge', tagged('a/b', '')),
  refused('class: tags are text', nodeClass({ tags: { a: 1 } }), 'spec.tags[a]'),
];

const kubelet = (settings: Readonly<Record<string, unknown>>): ApiObject => nodeClass({ kubelet: settings });

const kubeletCases: ReadonlyArray<Case> = [
  ...['none', 'static'].map((cpuManagerPolicy) =>
    good(`class: CPU manager ${cpuManagerPolicy}`, kubelet({ cpuManagerPolicy })),
  ),
  refused(
    'class: a CPU manager that exists',
    kubelet({ cpuManagerPolicy: 'dynamic' }),
    'spec.kubelet.cpuManagerPolicy',
  ),
  good('class: CPU limits may be off', kubelet({ cpuCFSQuota: false })),
  refused('class: CPU limits are on or off', kubelet({ cpuCFSQuota: 0 }), 'spec.kubelet.cpuCFSQuota'),
  good('class: the CPU period is not judged', kubelet({ cpuCFSQuotaPeriod: '5ms' })),
  good(
    'class: images go from high to low',
    kubelet({ imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 80 }),
  ),
  good('class: a high threshold alone', kubelet({ imageGCHighThresholdPercent: 100 })),
  good('class: a low threshold alone', kubelet({ imageGCLowThresholdPercent: 0 })),
  refused(
    'class: high is not low',
    kubelet({ imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80 }),
    'spec.kubelet',
  ),
  refused(
    'class: high is not below low',
    kubelet({ imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 80 }),
    'spec.kubelet',
  ),
  refused(
    'class: high is a percentage',
    kubelet({ imageGCHighThresholdPercent: 101 }),
    'spec.kubelet.imageGCHighThresholdPercent',
  ),
  refused(
    'class: low is a percentage',
    kubelet({ imageGCLowThresholdPercent: -1 }),
    'spec.kubelet.imageGCLowThresholdPercent',
  ),
  ...['restricted', 'best-effort', 'none', 'single-numa-node'].map((topologyManagerPolicy) =>
    good(`class: topology manager ${topologyManagerPolicy}`, kubelet({ topologyManagerPolicy })),
  ),
  refused(
    'class: a topology manager that exists',
    kubelet({ topologyManagerPolicy: 'any' }),
    'spec.kubelet.topologyManagerPolicy',
  ),
  good('class: unsafe sysctls', kubelet({ allowedUnsafeSysctls: ['net.core.somaxconn', 'kernel.msg*'] })),
  refused(
    'class: unsafe sysctls are a list',
    kubelet({ allowedUnsafeSysctls: 'kernel.msg*' }),
    'spec.kubelet.allowedUnsafeSysctls',
  ),
  ...['5Mi', '256Ki', '1G', '0E'].map((containerLogMaxSize) =>
    good(`class: logs of ${containerLogMaxSize}`, kubelet({ containerLogMaxSize })),
  ),
  ...['5', '5MB', '1.5Gi', 'Mi', '5m'].map((containerLogMaxSize) =>
    refused(
      `class: no logs of ${containerLogMaxSize}`,
      kubelet({ containerLogMaxSize }),
      'spec.kubelet.containerLogMaxSize',
    ),
  ),
  good('class: two log files', kubelet({ containerLogMaxFiles: 2 })),
  refused('class: not one log file', kubelet({ containerLogMaxFiles: 1 }), 'spec.kubelet.containerLogMaxFiles'),
  good('class: any limit of processes', kubelet({ podPidsLimit: -1 })),
  refused('class: a limit of processes is a number', kubelet({ podPidsLimit: '100' }), 'spec.kubelet.podPidsLimit'),
  good('class: swap may be tolerated', kubelet({ failSwapOn: false })),
  refused('class: swap is tolerated or not', kubelet({ failSwapOn: 'no' }), 'spec.kubelet.failSwapOn'),
];

const swapFileSize = '1500Mi';
const os = (linuxOSConfig: Readonly<Record<string, unknown>>): ApiObject => nodeClass({ linuxOSConfig });
const withSysctls = (sysctls: Readonly<Record<string, unknown>>): ApiObject => os({ sysctls });

const osCases: ReadonlyArray<Case> = [
  good(
    'class: a swap file where swap is tolerated',
    nodeClass({ linuxOSConfig: { swapFileSize }, kubelet: { failSwapOn: false } }),
  ),
  refused(
    'class: no swap file where swap is not tolerated',
    nodeClass({ linuxOSConfig: { swapFileSize }, kubelet: { failSwapOn: true } }),
    'spec',
  ),
  refused(
    'class: no swap file where nothing is said of swap',
    nodeClass({ linuxOSConfig: { swapFileSize }, kubelet: {} }),
    'spec',
  ),
  refused('class: no swap file without kubelet settings', os({ swapFileSize }), 'spec'),
  refused('class: the size of a swap file has a unit', os({ swapFileSize: '1500' }), 'spec.linuxOSConfig.swapFileSize'),
  ...['always', 'defer', 'defer+madvise', 'madvise', 'never'].map((transparentHugePageDefrag) =>
    good(`class: huge pages made ${transparentHugePageDefrag}`, os({ transparentHugePageDefrag })),
  ),
  refused(
    'class: huge pages made in a way that exists',
    os({ transparentHugePageDefrag: 'x' }),
    'spec.linuxOSConfig.transparentHugePageDefrag',
  ),
  ...['always', 'madvise', 'never'].map((transparentHugePageEnabled) =>
    good(`class: huge pages used ${transparentHugePageEnabled}`, os({ transparentHugePageEnabled })),
  ),
  refused(
    'class: huge pages used in a way that exists',
    os({ transparentHugePageEnabled: 'defer' }),
    'spec.linuxOSConfig.transparentHugePageEnabled',
  ),
];

interface SysctlRanges {
  readonly sysctls: ReadonlyArray<{ readonly field: string; readonly min: number | null; readonly max: number | null }>;
}
const ranges = JSON.parse(
  readFileSync(new URL('../../../fixtures/linux-sysctl-ranges.json', import.meta.url), 'utf8'),
) as SysctlRanges;

const sysctlPath = 'spec.linuxOSConfig.sysctls';
const ports = (netIPv4IPLocalPortRange: unknown): ApiObject => withSysctls({ netIPv4IPLocalPortRange });

const sysctlCases: ReadonlyArray<Case> = [
  ...ranges.sysctls.flatMap(({ field, min, max }) =>
    min === null || max === null
      ? []
      : [
          good(`class: ${field} from ${min}`, withSysctls({ [field]: min })),
          good(`class: ${field} to ${max}`, withSysctls({ [field]: max })),
          refused(`class: ${field} not below ${min}`, withSysctls({ [field]: min - 1 }), `${sysctlPath}.${field}`),
          refused(`class: ${field} not above ${max}`, withSysctls({ [field]: max + 1 }), `${sysctlPath}.${field}`),
        ],
  ),
  good('class: TIME_WAIT may be used again', withSysctls({ netIPv4TCPTwReuse: true })),
  refused(
    'class: TIME_WAIT is used again or not',
    withSysctls({ netIPv4TCPTwReuse: 1 }),
    `${sysctlPath}.netIPv4TCPTwReuse`,
  ),
  good(
    'class: buffers may start at their largest',
    withSysctls({ netCoreRmemDefault: 300_000, netCoreRmemMax: 300_000 }),
  ),
  refused(
    'class: read buffers do not start above their largest',
    withSysctls({ netCoreRmemDefault: 300_001, netCoreRmemMax: 300_000 }),
    sysctlPath,
  ),
  refused(
    'class: write buffers do not start above their largest',
    withSysctls({ netCoreWmemDefault: 300_001, netCoreWmemMax: 300_000 }),
    sysctlPath,
  ),
  good(
    'class: neighbour limits rise',
    withSysctls({
      netIPv4NeighDefaultGcThresh1: 600,
      netIPv4NeighDefaultGcThresh2: 700,
      netIPv4NeighDefaultGcThresh3: 1100,
    }),
  ),
  refused(
    'class: the first neighbour limit is not above the second',
    withSysctls({ netIPv4NeighDefaultGcThresh1: 701, netIPv4NeighDefaultGcThresh2: 700 }),
    sysctlPath,
  ),
  refused(
    'class: the second neighbour limit is not above the third',
    withSysctls({ netIPv4NeighDefaultGcThresh2: 1101, netIPv4NeighDefaultGcThresh3: 1100 }),
    sysctlPath,
  ),
  good('class: the widest port range', ports('1024 65535')),
  good('class: the narrowest port range', ports('60999 60999')),
  refused('class: ports do not begin below 1024', ports('1023 65535'), sysctlPath),
  refused('class: ports do not begin above 60999', ports('61000 65535'), sysctlPath),
  refused('class: ports do not end below 32768', ports('1024 32767'), sysctlPath),
  refused('class: ports do not end above 65535', ports('1024 65536'), sysctlPath),
  refused('class: ports do not end before they begin', ports('40000 32768'), sysctlPath),
  refused('class: a port range is two numbers', ports('32768-60999'), `${sysctlPath}.netIPv4IPLocalPortRange`),
  refused('class: a port range has one space', ports('32768  60999'), `${sysctlPath}.netIPv4IPLocalPortRange`),
];

const zone = {
  zone: '.',
  queryLogging: 'Error',
  protocol: 'PreferUDP',
  forwardDestination: 'VnetDNS',
  forwardPolicy: 'Sequential',
  maxConcurrent: 1000,
  cacheDuration: '1h',
  serveStaleDuration: '1h',
  serveStale: 'Immediate',
};
const inCluster = { ...zone, zone: 'cluster.local', forwardDestination: 'ClusterCoreDNS' };
const zones = [zone, inCluster];

const dns = (change: Readonly<Record<string, unknown>>): ApiObject =>
  nodeClass({ localDNS: { mode: 'Required', vnetDNSOverrides: zones, kubeDNSOverrides: zones, ...change } });
const vnetDns = (...more: ReadonlyArray<unknown>): ApiObject => dns({ vnetDNSOverrides: more });
const extra = (change: Readonly<Record<string, unknown>>): ApiObject =>
  dns({ kubeDNSOverrides: [...zones, { ...zone, zone: 'example.com', ...change }] });
const extraPath = 'spec.localDNS.kubeDNSOverrides[2]';
const manyZones = (count: number) => [...zones, ...many(count - 2).map((name) => ({ ...zone, zone: name }))];

const zoneChoices: Readonly<Record<string, ReadonlyArray<string>>> = {
  queryLogging: ['Error', 'Log'],
  protocol: ['PreferUDP', 'ForceTCP'],
  forwardDestination: ['ClusterCoreDNS', 'VnetDNS'],
  forwardPolicy: ['Sequential', 'RoundRobin', 'Random'],
  serveStale: ['Verify', 'Immediate', 'Disable'],
};

const localDnsCases: ReadonlyArray<Case> = [
  ...['Preferred', 'Required', 'Disabled'].map((mode) => good(`class: local DNS ${mode}`, dns({ mode }))),
  refused('class: local DNS in a mode that exists', dns({ mode: 'On' }), 'spec.localDNS.mode'),
  refused('class: local DNS has a mode', dns({ mode: undefined }), 'spec.localDNS.mode'),
  refused(
    'class: local DNS has zones of the network',
    dns({ vnetDNSOverrides: undefined }),
    'spec.localDNS.vnetDNSOverrides',
  ),
  refused(
    'class: local DNS has zones of the cluster',
    dns({ kubeDNSOverrides: undefined }),
    'spec.localDNS.kubeDNSOverrides',
  ),
  refused('class: the root zone is there', vnetDns(inCluster), 'spec.localDNS.vnetDNSOverrides'),
  refused('class: the zone of the cluster is there', vnetDns(zone), 'spec.localDNS.vnetDNSOverrides'),
  refused(
    'class: both zones are there for pods too',
    dns({ kubeDNSOverrides: [zone] }),
    'spec.localDNS.kubeDNSOverrides',
  ),
  refused('class: a zone is there once', vnetDns(...zones, zone), 'spec.localDNS.vnetDNSOverrides[2]'),
  good('class: up to 100 zones', dns({ vnetDNSOverrides: manyZones(100) })),
  refused('class: no more than 100 zones', dns({ vnetDNSOverrides: manyZones(101) }), 'spec.localDNS.vnetDNSOverrides'),
  refused(
    'class: the root zone of the network stays outside',
    vnetDns({ ...zone, forwardDestination: 'ClusterCoreDNS' }, inCluster),
    'spec.localDNS.vnetDNSOverrides',
  ),
  refused(
    'class: other zones of the network stay outside',
    vnetDns(...zones, { ...inCluster, zone: 'example.com' }),
    'spec.localDNS.vnetDNSOverrides',
  ),
  good('class: zones below the cluster stay inside', vnetDns(...zones, { ...inCluster, zone: 'a.cluster.local' })),
  good(
    'class: the root zone of pods may go inside',
    dns({ kubeDNSOverrides: [{ ...zone, forwardDestination: 'ClusterCoreDNS' }, inCluster] }),
  ),
  refused(
    'class: the zone of the cluster does not go outside',
    dns({ kubeDNSOverrides: [zone, { ...inCluster, forwardDestination: 'VnetDNS' }] }),
    'spec.localDNS.kubeDNSOverrides[1]',
  ),
  ...Object.entries(zoneChoices).flatMap(([field, values]) => [
    ...values.map((value) => good(`class: ${field} of a zone ${value}`, extra({ [field]: value }))),
    refused(`class: ${field} of a zone exists`, extra({ [field]: 'x' }), `${extraPath}.${field}`),
    refused(`class: ${field} of a zone is there`, extra({ [field]: undefined }), `${extraPath}.${field}`),
  ]),
  refused(
    'class: a stale answer is not verified over TCP',
    extra({ serveStale: 'Verify', protocol: 'ForceTCP' }),
    extraPath,
  ),
  good('class: no limit of queries', extra({ maxConcurrent: 0 })),
  refused('class: a limit of queries is not negative', extra({ maxConcurrent: -1 }), `${extraPath}.maxConcurrent`),
  refused('class: a limit of queries is there', extra({ maxConcurrent: undefined }), `${extraPath}.maxConcurrent`),
  ...['cacheDuration', 'serveStaleDuration'].flatMap((field) => [
    good(`class: ${field} is a duration`, extra({ [field]: '1h30m' })),
    refused(`class: ${field} ends`, extra({ [field]: 'Never' }), `${extraPath}.${field}`),
    refused(`class: ${field} is there`, extra({ [field]: undefined }), `${extraPath}.${field}`),
  ]),
  ...['example.com.', 'a_b.example', 'A1'].map((name) => good(`class: a zone may be ${name}`, extra({ zone: name }))),
  ...['', '..', '-a', 'a..b', 'a b', `${'a'.repeat(64)}.b`].map((name) =>
    refused(`class: a zone may not be "${name}"`, extra({ zone: name }), `${extraPath}.zone`),
  ),
  refused('class: a zone has at most 254 characters', extra({ zone: 'a.'.repeat(128) }), `${extraPath}.zone`),
];

/** AKSNodeClasses. */
export const nodeClassCases: ReadonlyArray<Case> = [
  ...simpleCases,
  ...fipsCases,
  ...tagCases,
  ...kubeletCases,
  ...osCases,
  ...sysctlCases,
  ...localDnsCases,
];
