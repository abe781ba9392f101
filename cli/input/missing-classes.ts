import { missingClass } from '../../shared/app/follow/definitions/missing-class.ts';
import type { Snapshot } from '../../shared/contract/snapshot/parse.ts';
import type { NodePool } from '../../shared/kubernetes/manifest.ts';

/**
 * The pools, those not ready whose class is not among the classes that are given, as the product would find them. Where
 * no class is given at all, classes with default settings are assumed, so that pods and pools can be tried by
 * themselves.
 */
export function refuseMissingClasses(
  pools: ReadonlyArray<NodePool>,
  { nodeClasses }: Pick<Snapshot, 'nodeClasses'>,
): ReadonlyArray<NodePool> {
  if (nodeClasses.length === 0) return pools;
  const given = new Set(nodeClasses.map(({ metadata }) => metadata.name));
  return pools.map((pool) => {
    const { name } = pool.spec.template.spec.nodeClassRef;
    return given.has(name) ? pool : notReady(pool, missingClass(name, given));
  });
}

function notReady(pool: NodePool, message: string): NodePool {
  const condition = { type: 'Ready', status: 'False', reason: 'NodeClassNotFound', message };
  return { ...pool, status: { conditions: [condition] } };
}

/** False for a pool that was found not to be ready; a plan from files takes all others as ready. */
export function isUsable({ status }: NodePool): boolean {
  return status === undefined;
}
