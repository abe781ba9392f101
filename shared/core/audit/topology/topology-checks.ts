import type { Cluster } from '../../model/cluster.ts';
import type { Finding } from '../seen/finding.ts';
import { checkAffinity } from './affinity-checks.ts';
import { readPodsByShape } from './pods-by-shape.ts';
import { findShapes } from './selected-shapes.ts';
import { checkSpread, type SpreadContext } from './spread-checks.ts';

/** Required affinity, anti-affinity in both directions, and hard spread, on the final state. */
export function checkTopology({
  cluster,
  nodes,
  offered,
  crowdOf,
  expectedOn,
}: Omit<SpreadContext, 'pods' | 'finder'> & { readonly cluster: Cluster }): ReadonlyArray<Finding> {
  const pods = readPodsByShape(nodes);
  // Stryker disable next-line ConditionalExpression: what is not planned is not judged below either
  if (pods.planned.size === 0) return [];
  const finder = findShapes(cluster, pods);
  return [...checkAffinity(pods, finder), ...checkSpread({ nodes, offered, crowdOf, expectedOn, pods, finder })];
}
