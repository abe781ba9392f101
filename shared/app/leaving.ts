import { isDisrupted } from '../contract/disrupted-taint.ts';
import type { Cluster } from '../core/model/cluster.ts';

/**
 * The nodes and claims that are being removed, or are marked to be: their pods will need a place. A node that has no
 * claim of ours and is merely cordoned is somebody else's business.
 */
export function leavingNames({ nodes, nodeClaims }: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlyArray<string> {
  const claims = nodeClaims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const marked = nodes.filter((node) => node.metadata.deletionTimestamp !== undefined || isDisrupted(node));
  return [...claims, ...marked].map(({ metadata }) => metadata.name);
}
