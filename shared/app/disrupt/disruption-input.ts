import { policyNow } from '../../core/disruption/brakes/policy-now.ts';
import type { DisruptionInput, DisruptionPolicy } from '../../core/model/disruption-input.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { isDeniedStill } from '../tell/denied-condition.ts';
import type { Gathered } from '../gather/gather.ts';
import { moveCosts } from '../gather/move-costs.ts';
import type { Ports } from '../ports/ports.ts';
import { candidatesOf } from '../../core/disruption/second-look/begun.ts';

/** What a look has gathered. `rollouts`: what nodes behind a new image or Kubernetes version wait for. */
export interface View {
  readonly gathered: Gathered;
  readonly rollouts: DisruptionPolicy['rollouts'];
}

/**
 * What is planned from: what was gathered, the settings, and what NodePools say about disruption by annotation.
 * `rollouts`: what nodes behind a new image or Kubernetes version wait for.
 */
export function disruptionInput(
  { disruption, now, told }: Ports,
  provisioning: ProvisioningInput,
  rollouts: DisruptionPolicy['rollouts'],
): DisruptionInput {
  const { cluster } = provisioning;
  const denied = new Set(
    candidatesOf(cluster)
      .filter(({ claim }) => isDeniedStill({ told, now }, 'NodeClaim', claim))
      .map(({ node }) => node.metadata.name),
  );
  const settings = { ...disruption.policy, moveCostOf: moveCosts(cluster.nodePools), denied };
  return { provisioning, policy: policyNow(settings, cluster, now(), rollouts) };
}
