import type { PodShape } from '../../model/cluster.ts';
import type { LabelSelector, TopologySpreadConstraint } from '../../../kubernetes/manifest.ts';
import { fatal, type Finding, type Subject } from '../seen/finding.ts';
import type { FinalNode } from '../seen/final-state.ts';
import type { PodsByShape } from './pods-by-shape.ts';
import { withLabelKeys, type SelectedPods, type ShapeFinder } from './selected-shapes.ts';
import { spreadViews, type OfferedDomains, type ViewOf } from './spread-views.ts';

/** The final nodes, their pods by shape, and what pools could add. */
export interface SpreadContext {
  readonly nodes: ReadonlyArray<FinalNode>;
  readonly offered: OfferedDomains;
  readonly pods: PodsByShape;
  readonly finder: ShapeFinder;
}

/** A shape that the plan adds pods of, with one of its constraints. */
interface SpreadOwner {
  readonly shape: number;
  readonly spec: PodShape;
  readonly constraint: TopologySpreadConstraint;
  readonly selector: LabelSelector | null;
}

/** Hard spread of the pods that the plan adds. Constraints that say the same are one rule, whoever owns them. */
export function checkSpread({ nodes, offered, pods, finder }: SpreadContext): ReadonlyArray<Finding> {
  const groups = Map.groupBy(ownersOf(pods), ({ spec, constraint, selector }) => {
    const { topologyKey, maxSkew, minDomains, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
    const policies = [nodeAffinityPolicy, nodeTaintsPolicy];
    return JSON.stringify([spec.namespace, topologyKey, maxSkew, minDomains, ...policies, selector]);
  });
  const viewOf = spreadViews(nodes, pods, offered);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const sought = finder.byLabels(first.spec.namespace, first.selector);
    return checkSpreadGroup(first, group, { nodes, pods, sought, viewOf });
  });
}

function ownersOf({ planned, shapes }: PodsByShape): ReadonlyArray<SpreadOwner> {
  return [...planned].flatMap((shape): ReadonlyArray<SpreadOwner> => {
    const spec = shapes.get(shape);
    if (spec === undefined) return [];
    return (spec.spec.topologySpreadConstraints ?? [])
      .filter(({ whenUnsatisfiable }) => whenUnsatisfiable !== 'ScheduleAnyway')
      .map((constraint) => {
        const selector = withLabelKeys(constraint.labelSelector, spec, { match: constraint.matchLabelKeys });
        return { shape, spec, constraint, selector };
      });
  });
}

/** In each domain at least one pod of the group, the last placed, must have seen no more than maxSkew. */
function checkSpreadGroup(
  { spec: { namespace }, constraint: { topologyKey } }: SpreadOwner,
  group: ReadonlyArray<SpreadOwner>,
  {
    nodes,
    pods,
    sought,
    viewOf,
  }: Pick<SpreadContext, 'nodes' | 'pods'> & { readonly sought: SelectedPods; readonly viewOf: ViewOf },
): ReadonlyArray<Finding> {
  const members = new Set(group.map(({ shape }) => shape));
  const domains = pods.domainsOf(topologyKey);
  const taken = nodesGetting(pods, members);
  const about = [...members].map((shape): Subject => ({ kind: 'shape', shape }));
  if (taken.some((at) => domains[at] === null)) return [fatal('spread', `a node has no ${topologyKey}`, ...about)];
  // Pods counted here that do not follow the rule may have come later: what they add cannot be judged.
  const outsiders = [...sought.shapes].filter((shape) => !members.has(shape));
  const unclear = new Set(nodesGetting(pods, outsiders).map((at) => domains[at]));
  const even = new Set<string>();
  for (const { shape, spec, constraint } of group) {
    const { counts, least, leastFrom } = viewOf(spec, constraint, sought);
    for (const at of nodesGetting(pods, [shape])) {
      const [domain, node] = [domains[at] ?? '', nodes[at]];
      const most = (counts.get(domain) ?? 0) - constraint.maxSkew;
      if (most <= least || (node !== undefined && most <= leastFrom(node))) even.add(domain);
    }
  }
  const judged = new Set(taken.map((at) => domains[at] ?? '').filter((domain) => !unclear.has(domain)));
  return [...judged]
    .filter((domain) => !even.has(domain))
    .map((domain) => fatal('spread', `${namespace}: ${topologyKey} ${domain} has too many pods`, ...about));
}

/** The nodes that get pods of these shapes, by their place in the list, in its order. */
function nodesGetting({ placesOf }: PodsByShape, shapes: Iterable<number>): ReadonlyArray<number> {
  const found = new Set<number>();
  for (const shape of shapes) {
    for (const { at, pods } of placesOf(shape)) if (pods.planned > 0) found.add(at);
  }
  return [...found].toSorted((a, b) => a - b);
}
