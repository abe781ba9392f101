import { readEvictionCost } from '../../contract/api/annotations/eviction-cost.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';

/**
 * What NodePools say by annotation that an eviction costs, by name, in milliseconds. A pool that says nothing is not in
 * it; neither is one whose statement has a mistake, which is not ready.
 */
export function evictionCosts(nodePools: ReadonlyArray<NodePool>): ProvisioningInput['evictionCostMs'] {
  return new Map(
    nodePools.flatMap(({ metadata }) => {
      const { costMs } = readEvictionCost(metadata);
      return costMs === null ? [] : [[metadata.name, costMs] as const];
    }),
  );
}
