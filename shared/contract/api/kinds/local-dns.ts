import { duration } from '../schema/parts.ts';
import { choice, fields, int32, list, rule, text, type Keywords, type Rule } from '../schema/schema.ts';

interface Zone {
  readonly zone: string;
  readonly forwardDestination: string;
  readonly protocol: string;
  readonly serveStale: string;
}
type Zones = ReadonlyArray<Zone>;

const ZONE =
  '^(\\.|[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*\\.?)$';

const zoneSchema = fields(
  'How names of one DNS zone are resolved.',
  {
    zone: text('The zone, such as "." or "cluster.local".', {
      minLength: 1,
      maxLength: 254,
      pattern: ZONE,
      fix: 'write "." or a DNS name',
    }),
    queryLogging: choice('Which queries are logged.', ['Error', 'Log']),
    protocol: choice('How the upstream server is reached.', ['PreferUDP', 'ForceTCP']),
    forwardDestination: choice('Which server answers.', ['ClusterCoreDNS', 'VnetDNS']),
    forwardPolicy: choice('How one of several servers is chosen.', ['Sequential', 'RoundRobin', 'Random']),
    maxConcurrent: int32('Most queries at once.', { minimum: 0 }),
    cacheDuration: text('How long answers are kept at most.', duration),
    serveStaleDuration: text('How long answers may be served after they have expired.', duration),
    serveStale: choice('Whether and how expired answers are served.', ['Verify', 'Immediate', 'Disable']),
  },
  {
    'x-kubernetes-validations': [
      rule<Zone>(
        "!(self.zone.endsWith('cluster.local') && self.forwardDestination == 'VnetDNS')",
        "'cluster.local' cannot be forwarded to VnetDNS",
        'forward it to ClusterCoreDNS',
        (self) => !(isInCluster(self) && self.forwardDestination === 'VnetDNS'),
      ),
      rule<Zone>(
        "!(self.serveStale == 'Verify' && self.protocol == 'ForceTCP')",
        'serveStale Verify cannot be used with protocol ForceTCP',
        'use serveStale Immediate or protocol PreferUDP',
        (self) => !(self.serveStale === 'Verify' && self.protocol === 'ForceTCP'),
      ),
    ],
  },
);

function isInCluster({ zone }: Zone): boolean {
  return zone.endsWith('cluster.local');
}

const requiredZones = rule<Zones>(
  "['.', 'cluster.local'].all(z, self.exists(x, x.zone == z))",
  "must contain required zones '.' and 'cluster.local'",
  'add an entry for each of them',
  (self) => ['.', 'cluster.local'].every((zone) => self.some((each) => each.zone === zone)),
);

const rootStaysOutside = rule<Zones>(
  "!self.exists(x, x.zone == '.' && x.forwardDestination == 'ClusterCoreDNS')",
  "root zone '.' cannot be forwarded to ClusterCoreDNS from vnetDNSOverrides",
  'forward it to VnetDNS',
  (self) => !self.some((each) => each.zone === '.' && each.forwardDestination === 'ClusterCoreDNS'),
);

const externalStaysOutside = rule<Zones>(
  "!self.exists(x, x.zone != '.' && !x.zone.endsWith('cluster.local') && x.forwardDestination == 'ClusterCoreDNS')",
  'external domains cannot be forwarded to ClusterCoreDNS from vnetDNSOverrides',
  'forward them to VnetDNS',
  (self) =>
    !self.some((each) => each.zone !== '.' && !isInCluster(each) && each.forwardDestination === 'ClusterCoreDNS'),
);

function zonesKeywords(rules: ReadonlyArray<Rule>): Keywords {
  return {
    maxItems: 100,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['zone'],
    'x-kubernetes-validations': rules,
  };
}

/** The resolver on the node. Source: karpenter-provider-azure 2026-08. */
export const localDnsSchema = fields('A DNS resolver and cache on the node itself.', {
  mode: choice('Whether the node has it. Preferred: where the cluster can.', ['Preferred', 'Required', 'Disabled']),
  vnetDNSOverrides: list(
    'Zones for pods that use the DNS of the node, and for the kubelet.',
    zoneSchema,
    zonesKeywords([requiredZones, rootStaysOutside, externalStaysOutside]),
  ),
  kubeDNSOverrides: list('Zones for pods that use the DNS of the cluster.', zoneSchema, zonesKeywords([requiredZones])),
});
