import { parseDuration } from '../../../kubernetes/text/duration.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { type DnsZone, choicesOf, hasLocalDns } from './class-choices.ts';

/** `local_dns_profile` of an AKSNodeConfig; null where the class's status says that there is none. */
export function localDnsProfile(nodeClass: NodeClass): object | null {
  if (!hasLocalDns(nodeClass)) return null;
  const { vnetDNSOverrides = [], kubeDNSOverrides = [] } = choicesOf(nodeClass).localDNS ?? {};
  return {
    enable_local_dns: true,
    ...(vnetDNSOverrides.length === 0 ? {} : { vnet_dns_overrides: byZone(vnetDNSOverrides) }),
    ...(kubeDNSOverrides.length === 0 ? {} : { kube_dns_overrides: byZone(kubeDNSOverrides) }),
  };
}

function byZone(zones: ReadonlyArray<DnsZone>): object {
  const sorted = zones.toSorted((a, b) => (a.zone < b.zone ? -1 : 1));
  return Object.fromEntries(
    sorted.map((one) => [
      one.zone,
      {
        query_logging: one.queryLogging,
        protocol: one.protocol,
        forward_destination: one.forwardDestination,
        forward_policy: one.forwardPolicy,
        max_concurrent: one.maxConcurrent,
        cache_duration_in_seconds: seconds(one.cacheDuration),
        serve_stale_duration_in_seconds: seconds(one.serveStaleDuration),
        serve_stale: one.serveStale,
      },
    ]),
  );
}

/** The schema admits whole hours, minutes and seconds. */
function seconds(duration: string): number {
  return Math.round((parseDuration(duration) ?? 0) / 1_000);
}
