import type { DisruptionInput } from '../../core/model/disruption-input.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { moveCosts } from '../move-costs.ts';
import type { Ports } from '../ports.ts';

/** What is planned from: what was gathered, the settings, and what NodePools say about disruption by annotation. */
export function disruptionInput({ disruption }: Ports, provisioning: ProvisioningInput): DisruptionInput {
  const { nodePools } = provisioning.cluster;
  return { provisioning, policy: { ...disruption.policy, moveCostOf: moveCosts(nodePools) } };
}
