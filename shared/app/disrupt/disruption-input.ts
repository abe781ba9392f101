import type { DisruptionInput, DisruptionPolicy } from '../../core/model/disruption-input.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { moveCosts } from '../move-costs.ts';
import { pauses } from '../pauses.ts';
import type { Ports } from '../ports.ts';
import { openBreakers } from './breaker.ts';

/**
 * What is planned from: what was gathered, the settings, and what NodePools say about disruption by annotation. `rollouts`: what nodes
 * behind a new image or Kubernetes version wait for.
 */
export function disruptionInput(
  { disruption, now }: Ports,
  provisioning: ProvisioningInput,
  rollouts: DisruptionPolicy['rollouts'],
): DisruptionInput {
  const { cluster } = provisioning;
  // What somebody has said comes before what we found ourselves.
  const brakes = new Map([...openBreakers(cluster, now()), ...pauses(cluster.nodePools, now())]);
  return { provisioning, policy: { ...disruption.policy, moveCostOf: moveCosts(cluster.nodePools), brakes, rollouts } };
}
