import type { AksNodeClass } from './kinds/aks-node-class.ts';
import {
  goBoolPointer,
  goDuration,
  goDurationPointer,
  goIntPointer,
  goNillableDuration,
  goString,
  goStringMap,
  goStringPointer,
  goStringSlice,
  goStruct,
  goStructPointer,
  goStructSlice,
  goTimePointer,
  type GoField,
} from './go-hash.ts';
import type { NodePool } from './kinds/node-pool.ts';

/** Value of `karpenter.sh/nodepool-hash-version` that goes with `nodePoolHash`. Karpenter 1.14. */
export const NODE_POOL_HASH_VERSION = 'v3';
/** Value of `karpenter.azure.com/aksnodeclass-hash-version` that goes with `nodeClassHash`. Provider of 2026-08. */
export const NODE_CLASS_HASH_VERSION = 'v3';

const int32Pointer = goIntPointer(4);
const int64Pointer = goIntPointer(8);

const taintFields: ReadonlyArray<GoField> = [
  ['Key', 'key', goString],
  ['Value', 'value', goString],
  ['Effect', 'effect', goString],
  ['TimeAdded', 'timeAdded', goTimePointer],
];
const nodeClassRefFields: ReadonlyArray<GoField> = [
  ['Kind', 'kind', goString],
  ['Name', 'name', goString],
  ['Group', 'group', goString],
];

/** `spec.template` but for its requirements, which may change without drift. */
const hashTemplate = goStructPointer('NodeClaimTemplate', [
  [
    'ObjectMeta',
    'metadata',
    goStruct('ObjectMeta', [
      ['Labels', 'labels', goStringMap],
      ['Annotations', 'annotations', goStringMap],
    ]),
  ],
  [
    'Spec',
    'spec',
    goStruct('NodeClaimTemplateSpec', [
      ['Taints', 'taints', goStructSlice('Taint', taintFields)],
      ['StartupTaints', 'startupTaints', goStructSlice('Taint', taintFields)],
      ['NodeClassRef', 'nodeClassRef', goStructPointer('NodeClassReference', nodeClassRefFields)],
      ['TerminationGracePeriod', 'terminationGracePeriod', goDurationPointer],
      ['ExpireAfter', 'expireAfter', goNillableDuration],
    ]),
  ],
]);

/** Fields of the Go struct in the order of its source, which the hash depends on. */
const sysctlFields: ReadonlyArray<GoField> = [
  ['FsAioMaxNr', 'fsAioMaxNr', int32Pointer],
  ['FsFileMax', 'fsFileMax', int32Pointer],
  ['FsInotifyMaxUserWatches', 'fsInotifyMaxUserWatches', int32Pointer],
  ['FsNrOpen', 'fsNrOpen', int32Pointer],
  ['KernelThreadsMax', 'kernelThreadsMax', int32Pointer],
  ['NetCoreNetdevMaxBacklog', 'netCoreNetdevMaxBacklog', int32Pointer],
  ['NetCoreOptmemMax', 'netCoreOptmemMax', int32Pointer],
  ['NetCoreRmemDefault', 'netCoreRmemDefault', int32Pointer],
  ['NetCoreRmemMax', 'netCoreRmemMax', int32Pointer],
  ['NetCoreSomaxconn', 'netCoreSomaxconn', int32Pointer],
  ['NetCoreWmemDefault', 'netCoreWmemDefault', int32Pointer],
  ['NetCoreWmemMax', 'netCoreWmemMax', int32Pointer],
  ['NetIPv4IPLocalPortRange', 'netIPv4IPLocalPortRange', goStringPointer],
  ['NetIPv4NeighDefaultGcThresh1', 'netIPv4NeighDefaultGcThresh1', int32Pointer],
  ['NetIPv4NeighDefaultGcThresh2', 'netIPv4NeighDefaultGcThresh2', int32Pointer],
  ['NetIPv4NeighDefaultGcThresh3', 'netIPv4NeighDefaultGcThresh3', int32Pointer],
  ['NetIPv4TCPFinTimeout', 'netIPv4TCPFinTimeout', int32Pointer],
  ['NetIPv4TCPKeepaliveProbes', 'netIPv4TCPKeepaliveProbes', int32Pointer],
  ['NetIPv4TCPKeepaliveTime', 'netIPv4TCPKeepaliveTime', int32Pointer],
  ['NetIPv4TCPMaxSynBacklog', 'netIPv4TCPMaxSynBacklog', int32Pointer],
  ['NetIPv4TCPMaxTwBuckets', 'netIPv4TCPMaxTwBuckets', int32Pointer],
  ['NetIPv4TCPTwReuse', 'netIPv4TCPTwReuse', goBoolPointer],
  ['NetIPv4TCPKeepaliveIntvl', 'netIPv4TCPKeepaliveIntvl', int32Pointer],
  ['NetNetfilterNfConntrackBuckets', 'netNetfilterNfConntrackBuckets', int32Pointer],
  ['NetNetfilterNfConntrackMax', 'netNetfilterNfConntrackMax', int32Pointer],
  ['VMMaxMapCount', 'vmMaxMapCount', int32Pointer],
  ['VMSwappiness', 'vmSwappiness', int32Pointer],
  ['VMVfsCachePressure', 'vmVfsCachePressure', int32Pointer],
];

const kubeletFields: ReadonlyArray<GoField> = [
  ['CPUManagerPolicy', 'cpuManagerPolicy', goStringPointer],
  ['CPUCFSQuota', 'cpuCFSQuota', goBoolPointer],
  ['CPUCFSQuotaPeriod', 'cpuCFSQuotaPeriod', goDuration],
  ['ImageGCHighThresholdPercent', 'imageGCHighThresholdPercent', int32Pointer],
  ['ImageGCLowThresholdPercent', 'imageGCLowThresholdPercent', int32Pointer],
  ['TopologyManagerPolicy', 'topologyManagerPolicy', goStringPointer],
  ['AllowedUnsafeSysctls', 'allowedUnsafeSysctls', goStringSlice],
  ['ContainerLogMaxSize', 'containerLogMaxSize', goStringPointer],
  ['ContainerLogMaxFiles', 'containerLogMaxFiles', int32Pointer],
  ['PodPidsLimit', 'podPidsLimit', int64Pointer],
  ['FailSwapOn', 'failSwapOn', goBoolPointer],
];

const localDnsZones = goStructSlice('LocalDNSZoneOverride', [
  ['Zone', 'zone', goString],
  ['QueryLogging', 'queryLogging', goString],
  ['Protocol', 'protocol', goString],
  ['ForwardDestination', 'forwardDestination', goString],
  ['ForwardPolicy', 'forwardPolicy', goString],
  ['MaxConcurrent', 'maxConcurrent', int32Pointer],
  ['CacheDuration', 'cacheDuration', goNillableDuration],
  ['ServeStaleDuration', 'serveStaleDuration', goNillableDuration],
  ['ServeStale', 'serveStale', goString],
]);

/** `spec` but for its tags: no node is replaced for them. */
const hashNodeClassSpec = goStructPointer('AKSNodeClassSpec', [
  ['VNETSubnetID', 'vnetSubnetID', goStringPointer],
  ['OSDiskSizeGB', 'osDiskSizeGB', int32Pointer],
  ['ImageFamily', 'imageFamily', goStringPointer],
  ['FIPSMode', 'fipsMode', goStringPointer],
  ['Kubelet', 'kubelet', goStructPointer('KubeletConfiguration', kubeletFields)],
  ['MaxPods', 'maxPods', int32Pointer],
  [
    'Security',
    'security',
    goStructPointer('Security', [
      ['EncryptionAtHost', 'encryptionAtHost', goBoolPointer],
      [
        'TrustedLaunch',
        'trustedLaunch',
        goStructPointer('TrustedLaunch', [
          ['VTPM', 'vtpm', goBoolPointer],
          ['SecureBoot', 'secureBoot', goBoolPointer],
        ]),
      ],
    ]),
  ],
  [
    'LocalDNS',
    'localDNS',
    goStructPointer('LocalDNS', [
      ['Mode', 'mode', goString],
      ['VnetDNSOverrides', 'vnetDNSOverrides', localDnsZones],
      ['KubeDNSOverrides', 'kubeDNSOverrides', localDnsZones],
    ]),
  ],
  ['GPU', 'gpu', goStructPointer('GPU', [['Mode', 'mode', goStringPointer]])],
  [
    'ArtifactStreaming',
    'artifactStreaming',
    goStructPointer('ArtifactStreaming', [['Enabled', 'enabled', goBoolPointer]]),
  ],
  [
    'LinuxOSConfig',
    'linuxOSConfig',
    goStructPointer('LinuxOSConfiguration', [
      ['SwapFileSize', 'swapFileSize', goStringPointer],
      ['Sysctls', 'sysctls', goStructPointer('SysctlConfiguration', sysctlFields)],
      ['TransparentHugePageDefrag', 'transparentHugePageDefrag', goStringPointer],
      ['TransparentHugePageEnabled', 'transparentHugePageEnabled', goStringPointer],
    ]),
  ],
]);

/**
 * What a pool's nodes must be replaced over when it changes, as Karpenter computes it: decimal. Hash the object as the
 * API server stores it; defaults count.
 */
export function nodePoolHash(pool: Pick<NodePool, 'spec'>): string {
  return String(hashTemplate(pool.spec.template) ?? 0n);
}

/**
 * What a class's nodes must be replaced over when it changes, as Azure's provider computes it: decimal. Defaults count.
 */
export function nodeClassHash(nodeClass: Pick<AksNodeClass, 'spec'>): string {
  return String(hashNodeClassSpec(nodeClass.spec) ?? 0n);
}
