import type { Cluster } from '../../model/cluster.ts';
import type { DisruptionPolicy } from '../../model/disruption-input.ts';
import { openBreakers } from './breaker.ts';
import { pauses } from './pauses.ts';
import { rolloutsNow } from './worse-than-before.ts';

/**
 * The settings with all that holds nodes back now, as it is written on the objects: what people have paused, breakers,
 * canaries. `found`: what nodes behind a new image or Kubernetes version wait for, where more is known of that than is
 * written.
 */
export function policyNow(
  settings: DisruptionPolicy,
  cluster: Cluster,
  nowMs: number,
  found: DisruptionPolicy['rollouts'] = rolloutsNow(cluster, nowMs),
): DisruptionPolicy {
  // What somebody has said comes before what we found ourselves.
  const brakes = new Map([...openBreakers(cluster, nowMs), ...pauses(cluster.nodePools, nowMs)]);
  return { ...settings, brakes, rollouts: found };
}
