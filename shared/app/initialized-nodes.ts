import { label } from '../contract/names.ts';
import type { Cluster } from '../core/model/cluster.ts';

/** Names of the nodes that are in use: initialized, so that pods have come or may come. */
export function initializedNodes({ nodes }: Pick<Cluster, 'nodes'>): ReadonlySet<string> {
  return new Set(
    nodes
      .filter(({ metadata }) => metadata.labels?.[label.initialized] === 'true')
      .map(({ metadata }) => metadata.name),
  );
}
