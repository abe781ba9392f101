import type { OsChoices } from './class-choices.ts';

/** AKSNodeConfig's names of the kernel settings that an AKSNodeClass can choose: its field, then the node's. */
const SYSCTLS: ReadonlyArray<readonly [field: string, name: string]> = [
  ['fsAioMaxNr', 'fs_aio_max_nr'],
  ['fsFileMax', 'fs_file_max'],
  ['fsInotifyMaxUserWatches', 'fs_inotify_max_user_watches'],
  ['fsNrOpen', 'fs_nr_open'],
  ['kernelThreadsMax', 'kernel_threads_max'],
  ['netCoreNetdevMaxBacklog', 'net_core_netdev_max_backlog'],
  ['netCoreOptmemMax', 'net_core_optmem_max'],
  ['netCoreRmemDefault', 'net_core_rmem_default'],
  ['netCoreRmemMax', 'net_core_rmem_max'],
  ['netCoreSomaxconn', 'net_core_somaxconn'],
  ['netCoreWmemDefault', 'net_core_wmem_default'],
  ['netCoreWmemMax', 'net_core_wmem_max'],
  ['netIPv4IPLocalPortRange', 'net_ipv4_ip_local_port_range'],
  ['netIPv4NeighDefaultGcThresh1', 'net_ipv4_neigh_default_gc_thresh1'],
  ['netIPv4NeighDefaultGcThresh2', 'net_ipv4_neigh_default_gc_thresh2'],
  ['netIPv4NeighDefaultGcThresh3', 'net_ipv4_neigh_default_gc_thresh3'],
  ['netIPv4TCPFinTimeout', 'net_ipv4_tcp_fin_timeout'],
  ['netIPv4TCPKeepaliveIntvl', 'net_ipv4_tcpkeepalive_intvl'],
  ['netIPv4TCPKeepaliveProbes', 'net_ipv4_tcp_keepalive_probes'],
  ['netIPv4TCPKeepaliveTime', 'net_ipv4_tcp_keepalive_time'],
  ['netIPv4TCPMaxSynBacklog', 'net_ipv4_tcp_max_syn_backlog'],
  ['netIPv4TCPMaxTwBuckets', 'net_ipv4_tcp_max_tw_buckets'],
  ['netIPv4TCPTwReuse', 'net_ipv4_tcp_tw_reuse'],
  ['netNetfilterNfConntrackBuckets', 'net_netfilter_nf_conntrack_buckets'],
  ['netNetfilterNfConntrackMax', 'net_netfilter_nf_conntrack_max'],
  ['vmMaxMapCount', 'vm_max_map_count'],
  ['vmSwappiness', 'vm_swappiness'],
  ['vmVfsCachePressure', 'vm_vfs_cache_pressure'],
];

/**
 * `custom_linux_os_config` of an AKSNodeConfig, with what the class chooses and nothing else; null when it chooses
 * nothing.
 */
export function osConfig(choices: OsChoices | undefined): object | null {
  if (choices === undefined) return null;
  const { sysctls = {}, swapFileSize, transparentHugePageEnabled, transparentHugePageDefrag } = choices;
  const chosen = SYSCTLS.flatMap(([field, name]) => (sysctls[field] === undefined ? [] : [[name, sysctls[field]]]));
  const config = {
    ...(chosen.length === 0 ? {} : { sysctl_config: Object.fromEntries(chosen) }),
    ...(swapFileSize === undefined ? {} : { enable_swap_config: true, swap_file_size: toMebibytes(swapFileSize) }),
    ...(transparentHugePageEnabled === undefined ? {} : { transparent_hugepage_support: transparentHugePageEnabled }),
    ...(transparentHugePageDefrag === undefined ? {} : { transparent_defrag: transparentHugePageDefrag }),
  };
  return Object.keys(config).length === 0 ? null : config;
}

const POWERS = ['', 'K', 'M', 'G', 'T', 'P', 'E'];

/**
 * Rounded: the node takes whole mebibytes. The class's schema admits digits and one of these units, a capital K too.
 */
function toMebibytes(size: string): number {
  const [, digits = '0', power = '', binary = ''] = /^(\d+)([KMGTPE]?)(i?)$/.exec(size) ?? [];
  return Math.round((Number(digits) * (binary === 'i' ? 1024 : 1000) ** POWERS.indexOf(power)) / 1024 ** 2);
}
