import type { PodShape } from '../../model/cluster.ts';
import { normalizeKey } from '../../../kubernetes/labels.ts';
import type { FinalNode, PodsOnNode } from '../seen/final-state.ts';

/** Pods of one shape on the node at this place in the list of final nodes. */
export interface PodsAt {
  readonly at: number;
  readonly pods: PodsOnNode;
}

/** How many pods there are: those there already, and those that the plan adds. */
export interface Tally {
  present: number;
  planned: number;
}

/** The final state read by shape of pod, in one walk over its nodes, so that no rule has to walk them again. */
export interface PodsByShape {
  /** All shapes with pods on nodes, in the order in which the nodes have them. */
  readonly shapes: ReadonlyMap<number, PodShape>;
  /** Those of them that the plan adds pods of, in the order in which the nodes get them. */
  readonly planned: ReadonlySet<number>;
  /** Where the shape's pods are, in the order of the nodes. */
  readonly placesOf: (shape: number) => ReadonlyArray<PodsAt>;
  /** The domain of each node, in the order of the nodes; null where it has none that is certain. */
  readonly domainsOf: (key: string) => ReadonlyArray<string | null>;
}

/** Reads the nodes; what is asked later is answered from what is known then. */
export function readPodsByShape(nodes: ReadonlyArray<FinalNode>): PodsByShape {
  const shapes = new Map<number, PodShape>();
  const planned = new Set<number>();
  const places = new Map<number, Array<PodsAt>>();
  nodes.forEach((node, at) => {
    for (const pods of node.pods.values()) {
      if (pods.planned > 0) planned.add(pods.shape);
      const known = places.get(pods.shape);
      if (known !== undefined) known.push({ at, pods });
      else {
        shapes.set(pods.shape, pods.spec);
        places.set(pods.shape, [{ at, pods }]);
      }
    }
  });
  const domains = new Map<string, ReadonlyArray<string | null>>();
  const domainsOf = (stated: string): ReadonlyArray<string | null> => {
    const key = normalizeKey(stated);
    const known = domains.get(key) ?? nodes.map((node) => domainOf(node, key));
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    domains.set(key, known);
    return known;
  };
  return { shapes, planned, placesOf: (shape) => places.get(shape) ?? [], domainsOf };
}

function domainOf({ labels }: FinalNode, key: string): string | null {
  const values = labels.get(key);
  return values?.length === 1 ? (values[0] ?? null) : null;
}

/** Pods of the shapes per domain of the key. Those on nodes without a domain are in none. */
export function tallyByDomain(
  { placesOf, domainsOf }: PodsByShape,
  shapes: Iterable<number>,
  key: string,
): ReadonlyMap<string, Tally> {
  const domains = domainsOf(key);
  const tallies = new Map<string, Tally>();
  for (const shape of shapes) {
    for (const { at, pods } of placesOf(shape)) {
      const domain = domains[at] ?? null;
      if (domain === null) continue;
      const tally = tallies.get(domain) ?? { present: 0, planned: 0 };
      tallies.set(domain, tally);
      tally.present += pods.running;
      tally.planned += pods.planned;
    }
  }
  return tallies;
}
