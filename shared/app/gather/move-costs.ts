import { readMoveCost } from '../../contract/api/annotations/move-cost.ts';
import type { DisruptionPolicy } from '../../core/model/disruption-input.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';

/**
 * What NodePools say by annotation that moving a pod costs, by name, as a share. A pool that says nothing is not in it;
 * neither is one whose statement has a mistake, which is not ready.
 */
export function moveCosts(nodePools: ReadonlyArray<NodePool>): DisruptionPolicy['moveCostOf'] {
  return new Map(
    nodePools.flatMap(({ metadata }) => {
      const { share } = readMoveCost(metadata);
      return share === null ? [] : [[metadata.name, share] as const];
    }),
  );
}
