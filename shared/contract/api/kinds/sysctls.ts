import { bool, fields, int32, optional, rule, text, type Rule } from '../schema/schema.ts';

/** The kernel's name of the setting, and the range AKS allows. Source: karpenter-provider-azure 2026-08. */
const setting = (what: string, kernelKey: string, minimum: number, maximum: number) =>
  optional(int32(`${what} Kernel setting ${kernelKey}.`, { minimum, maximum }));

interface Sysctls {
  readonly [field: string]: number | string | boolean | undefined;
}

/** Both numbers, or null where one is absent. */
function notAbove(low: string, high: string): Rule {
  return rule<Sysctls>(
    `has(self.${low}) && has(self.${high}) ? self.${low} <= self.${high} : true`,
    `${low} must be <= ${high}`,
    `lower ${low} or raise ${high}`,
    (self) => self[low] === undefined || self[high] === undefined || Number(self[low]) <= Number(self[high]),
  );
}

const first = "int(self.netIPv4IPLocalPortRange.split(' ')[0])";
const last = "int(self.netIPv4IPLocalPortRange.split(' ')[1])";

function portRange(cel: string, message: string, fix: string, holds: (from: number, to: number) => boolean): Rule {
  return rule<Sysctls>(
    `!has(self.netIPv4IPLocalPortRange) || (${cel})`,
    `netIPv4IPLocalPortRange ${message}`,
    fix,
    (self) => {
      if (self['netIPv4IPLocalPortRange'] === undefined) return true;
      const [from = NaN, to = NaN] = String(self['netIPv4IPLocalPortRange']).split(' ').map(Number);
      return holds(from, to);
    },
  );
}

/** Kernel settings of a Linux node. */
export const sysctlsSchema = fields(
  'Kernel settings of the node.',
  {
    fsAioMaxNr: setting('Most asynchronous I/O requests at once.', 'fs.aio-max-nr', 65_536, 6_553_500),
    fsFileMax: setting('Most open files of the system.', 'fs.file-max', 8192, 12_000_500),
    fsInotifyMaxUserWatches: setting('Most file watches of a user.', 'fs.inotify.max_user_watches', 781_250, 2_097_152),
    fsNrOpen: setting('Most open files of a process.', 'fs.nr_open', 8192, 20_000_500),
    kernelThreadsMax: setting('Most threads.', 'kernel.threads-max', 20, 513_785),
    netCoreNetdevMaxBacklog: setting(
      'Longest queue of received packets.',
      'net.core.netdev_max_backlog',
      1000,
      3_240_000,
    ),
    netCoreOptmemMax: setting('Largest option buffer of a socket, in bytes.', 'net.core.optmem_max', 20_480, 4_194_304),
    netCoreRmemDefault: setting('Default receive buffer, in bytes.', 'net.core.rmem_default', 212_992, 134_217_728),
    netCoreRmemMax: setting('Largest receive buffer, in bytes.', 'net.core.rmem_max', 212_992, 134_217_728),
    netCoreSomaxconn: setting('Longest queue of connections to accept.', 'net.core.somaxconn', 4096, 3_240_000),
    netCoreWmemDefault: setting('Default send buffer, in bytes.', 'net.core.wmem_default', 212_992, 134_217_728),
    netCoreWmemMax: setting('Largest send buffer, in bytes.', 'net.core.wmem_max', 212_992, 134_217_728),
    netIPv4IPLocalPortRange: optional(
      text('First and last local port, with a space between. Kernel setting net.ipv4.ip_local_port_range.', {
        pattern: '^\\d+ \\d+$',
        fix: 'write first and last port, as "32768 60999"',
      }),
    ),
    netIPv4NeighDefaultGcThresh1: setting(
      'Neighbours below which none is dropped.',
      'net.ipv4.neigh.default.gc_thresh1',
      128,
      80_000,
    ),
    netIPv4NeighDefaultGcThresh2: setting(
      'Neighbours above which stale ones are dropped soon.',
      'net.ipv4.neigh.default.gc_thresh2',
      512,
      90_000,
    ),
    netIPv4NeighDefaultGcThresh3: setting('Most neighbours.', 'net.ipv4.neigh.default.gc_thresh3', 1024, 100_000),
    netIPv4TCPFinTimeout: setting(
      'Seconds that an orphaned connection may linger.',
      'net.ipv4.tcp_fin_timeout',
      5,
      120,
    ),
    netIPv4TCPKeepaliveProbes: setting(
      'Unanswered probes that end a connection.',
      'net.ipv4.tcp_keepalive_probes',
      1,
      15,
    ),
    netIPv4TCPKeepaliveTime: setting(
      'Idle seconds before the first probe.',
      'net.ipv4.tcp_keepalive_time',
      30,
      432_000,
    ),
    netIPv4TCPMaxSynBacklog: setting(
      'Most connections that are half open.',
      'net.ipv4.tcp_max_syn_backlog',
      128,
      3_240_000,
    ),
    netIPv4TCPMaxTwBuckets: setting('Most connections in TIME_WAIT.', 'net.ipv4.tcp_max_tw_buckets', 8000, 1_440_000),
    netIPv4TCPTwReuse: optional(
      bool('Whether connections in TIME_WAIT are used again. Kernel setting net.ipv4.tcp_tw_reuse.'),
    ),
    netIPv4TCPKeepaliveIntvl: setting('Seconds between probes.', 'net.ipv4.tcp_keepalive_intvl', 10, 90),
    netNetfilterNfConntrackBuckets: setting(
      'Size of the hash table of tracked connections.',
      'net.netfilter.nf_conntrack_buckets',
      65_536,
      524_288,
    ),
    netNetfilterNfConntrackMax: setting(
      'Most tracked connections.',
      'net.netfilter.nf_conntrack_max',
      131_072,
      2_097_152,
    ),
    vmMaxMapCount: setting('Most memory maps of a process.', 'vm.max_map_count', 65_530, 262_144),
    vmSwappiness: setting('How readily memory is swapped out.', 'vm.swappiness', 0, 100),
    vmVfsCachePressure: setting('How readily cached directories are given up.', 'vm.vfs_cache_pressure', 0, 100),
  },
  {
    'x-kubernetes-validations': [
      notAbove('netCoreRmemDefault', 'netCoreRmemMax'),
      notAbove('netCoreWmemDefault', 'netCoreWmemMax'),
      notAbove('netIPv4NeighDefaultGcThresh1', 'netIPv4NeighDefaultGcThresh2'),
      notAbove('netIPv4NeighDefaultGcThresh2', 'netIPv4NeighDefaultGcThresh3'),
      portRange(
        `${first} >= 1024 && ${first} <= 60999`,
        'first port must be in [1024, 60999]',
        'choose a first port from 1024 to 60999',
        (from) => from >= 1024 && from <= 60_999,
      ),
      portRange(
        `${last} >= 32768 && ${last} <= 65535`,
        'last port must be in [32768, 65535]',
        'choose a last port from 32768 to 65535',
        (_from, to) => to >= 32_768 && to <= 65_535,
      ),
      portRange(
        `${first} <= ${last}`,
        'first port must be <= last port',
        'swap the two ports',
        (from, to) => from <= to,
      ),
    ],
  },
);
