import { labelKey } from '../../kubernetes/labels.ts';
import type { Cluster } from '../model/cluster.ts';

/** Names of the nodes that are in use: initialized, so that pods have come or may come. */
export function initializedNodes({ nodes }: Pick<Cluster, 'nodes'>): ReadonlySet<string> {
  return new Set(
    nodes
      .filter(({ metadata }) => metadata.labels?.[labelKey.initialized] === 'true')
      .map(({ metadata }) => metadata.name),
  );
}
