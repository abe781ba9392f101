import type { NodeClass } from '../../../ports/kubernetes.ts';

/**
 * What an AKSNodeClass says of the node itself, as its schema has it (`shared/contract/api/kinds/aks-node-class.ts`).
 */
export interface ClassChoices {
  readonly imageFamily?: string;
  readonly fipsMode?: string;
  readonly vnetSubnetID?: string;
  readonly kubelet?: KubeletChoices;
  readonly gpu?: { readonly mode?: string };
  readonly artifactStreaming?: { readonly enabled?: boolean };
  readonly linuxOSConfig?: OsChoices;
  readonly localDNS?: {
    readonly mode?: string;
    readonly vnetDNSOverrides?: ReadonlyArray<DnsZone>;
    readonly kubeDNSOverrides?: ReadonlyArray<DnsZone>;
  };
  readonly security?: { readonly trustedLaunch?: { readonly vtpm?: boolean; readonly secureBoot?: boolean } };
}

export interface KubeletChoices {
  readonly cpuManagerPolicy?: string;
  readonly cpuCFSQuota?: boolean;
  readonly cpuCFSQuotaPeriod?: string;
  readonly imageGCHighThresholdPercent?: number;
  readonly imageGCLowThresholdPercent?: number;
  readonly topologyManagerPolicy?: string;
  readonly allowedUnsafeSysctls?: ReadonlyArray<string>;
  readonly containerLogMaxSize?: string;
  readonly containerLogMaxFiles?: number;
  readonly podPidsLimit?: number;
  readonly failSwapOn?: boolean;
}

export interface OsChoices {
  readonly swapFileSize?: string;
  readonly sysctls?: Readonly<Record<string, number | string | boolean>>;
  readonly transparentHugePageDefrag?: string;
  readonly transparentHugePageEnabled?: string;
}

/** How names of one DNS zone are looked up on the node. */
export interface DnsZone {
  readonly zone: string;
  readonly queryLogging: string;
  readonly protocol: string;
  readonly forwardDestination: string;
  readonly forwardPolicy: string;
  readonly maxConcurrent: number;
  readonly cacheDuration: string;
  readonly serveStaleDuration: string;
  readonly serveStale: string;
}

/** The schema has checked the fields by the time that anybody launches. */
export function choicesOf({ spec }: Pick<NodeClass, 'spec'>): ClassChoices {
  return spec;
}

/** The cache of names that runs on each node: what the class's status says, so that status and node cannot differ. */
export function hasLocalDns({ status }: Pick<NodeClass, 'status'>): boolean {
  return status?.localDNSState === 'Enabled';
}
