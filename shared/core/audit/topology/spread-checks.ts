import type { PodShape } from '../../model/cluster.ts';
import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import type { LabelSelector, TopologySpreadConstraint } from '../../../kubernetes/manifest.ts';
import { fatal, type Finding, type Subject } from '../seen/finding.ts';
import type { FinalNode } from '../seen/final-state.ts';
import type { PodsByShape } from './pods-by-shape.ts';
import { withLabelKeys, type SelectedPods, type ShapeFinder } from './selected-shapes.ts';
import { spreadViews, type ExpectedOn, type OfferedDomains, type ViewOf } from './spread-views.ts';

/**
 * Where hosts go that count no more once they have gone: how many of the pods that a spread of the shape looks for were
 * on one of them. So many may be on another. 0: none goes.
 */
export type CrowdOf = (shape: number, sought: ReadonlySet<number>) => number;

/** The final nodes, their pods by shape, and what pools could add. */
export interface SpreadContext {
  readonly nodes: ReadonlyArray<FinalNode>;
  readonly offered: OfferedDomains;
  readonly crowdOf: CrowdOf;
  readonly expectedOn: ExpectedOn;
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

/** Hard spread of the pods that the plan adds. Constraints that say the same are one rule, with any owner. */
export function checkSpread({
  nodes,
  offered,
  crowdOf,
  expectedOn,
  pods,
  finder,
}: SpreadContext): ReadonlyArray<Finding> {
  const groups = Map.groupBy(ownersOf(pods), ({ spec, constraint, selector }) => {
    const { topologyKey, maxSkew, minDomains, nodeAffinityPolicy, nodeTaintsPolicy } = constraint;
    const policies = [nodeAffinityPolicy, nodeTaintsPolicy];
    return JSON.stringify([spec.namespace, topologyKey, maxSkew, minDomains, ...policies, selector]);
  });
  const viewOf = spreadViews(nodes, pods, { offered, expectedOn });
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const sought = finder.byLabels(first.spec.namespace, first.selector);
    return checkSpreadGroup(first, group, { nodes, pods, sought, viewOf, crowdOf });
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
    crowdOf,
  }: Pick<SpreadContext, 'nodes' | 'pods' | 'crowdOf'> & { readonly sought: SelectedPods; readonly viewOf: ViewOf },
): ReadonlyArray<Finding> {
  const isHosts = normalizeKey(topologyKey) === labelKey.hostname;
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
    const { counts, least, leastFrom, leastOnHosts } = viewOf(spec, constraint, sought);
    const crowd = (constraint.minDomains ?? 1) > 1 ? 0 : crowdOf(shape, sought.shapes);
    for (const at of nodesGetting(pods, [shape])) {
      const [domain, node] = [domains[at] ?? '', nodes[at]];
      const count = counts.get(domain) ?? 0;
      const most = count - constraint.maxSkew;
      if (most <= least || (node !== undefined && most <= leastFrom(node))) even.add(domain);
      // These come last, when the hosts that go have gone: whoever came before is counted on those that stay.
      if (isHosts && count <= crowd && most <= leastOnHosts) even.add(domain);
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
