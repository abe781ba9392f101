import { auditPlan } from '../audit/audit-plan.ts';
import {
  auditedDaemons,
  missingDaemons,
  nodeCheck,
  type AuditedDaemon,
  type NodeCheck,
} from '../audit/rules/node-checks.ts';
import { auditedShapes } from '../audit/rules/spread-by-default.ts';
import { auditedCatalog } from '../audit/seen/audited-catalog.ts';
import { sizesOf, type AuditedInput } from '../audit/seen/audited-sizes.ts';
import { finalState, type FinalNode } from '../audit/seen/final-state.ts';
import { requestedBy } from '../audit/seen/requested.ts';
import { hasDeviceClaims } from '../devices/device-claims.ts';
import type { Pod, PodShape } from '../model/cluster.ts';
import {
  MAX_FALLBACKS,
  type Nomination,
  type Plan,
  type PlannedClaim,
  type PlannedOffering,
  type PodReference,
} from '../model/plan.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';
import { plainCostOf, weighedCostOf } from '../model/weighed-cost.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import { addAmounts, renderAmounts } from '../../kubernetes/text/quantity.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';
import { draftClaim, withOfferings } from './draft-claim.ts';
import { poolLimits, type PoolLimits } from './pool-limits.ts';
import { labelsFor, nodeOf, poolsForPods, possibleOfferings, type PossibleOffering } from './possible-nodes.ts';
import { namedBy } from './named.ts';

/**
 * Audits of one first-fit: each takes a fraction of a plan. Shapes that findings name try the next way, and are left
 * after the last.
 */
const AUDITS_MAX = 12;

/**
 * How a shape is placed: on what is there and then on new nodes as full as can be; on new nodes alone; one pod to a
 * node, the nodes in zones in turn. Shapes with rules about other pods get by on one of the last two.
 */
const WAYS = ['existing', 'full', 'apart'] as const;
type Way = (typeof WAYS)[number];

/** Existing nodes asked for room, over all shapes, some 30 µs each: of a larger cluster only new nodes are used. */
const NODES_ASKED_MAX = 100_000;

/** What first-fit made of a plan. */
export interface FirstFit {
  readonly plan: Plan;
  /** The pods for which it has no place that the audit lets through. */
  readonly unplaced: ReadonlyArray<Pod>;
}

/**
 * Adds places for `pods` to the plan: shape after shape, the largest first, each pod where there is room first. It
 * reads the input as the audit does, shares no code with the planner but prices, and knows nothing of cost but that of
 * one node. Pods with resource claims have no place here.
 */
export function addFirstFit(given: ProvisioningInput, start: Plan, pods: ReadonlyArray<Pod>): FirstFit {
  const context = contextOf(given);
  const groups = groupsOf(given, pods);
  const first = groups.length * given.cluster.nodes.length > NODES_ASKED_MAX ? WAYS.indexOf('full') : 0;
  const ways = new Map(groups.map(({ shape }) => [shape, first]));
  for (let audits = 0; audits < AUDITS_MAX; audits++) {
    const made = place(context, start, groups, (shape) => WAYS[ways.get(shape) ?? WAYS.length] ?? null);
    const fit = { plan: made.plan, unplaced: pods.filter(({ uid }) => !made.placed.has(uid)) };
    if (made.plan.claims.length + made.plan.nominations.length === 0) return fit;
    const findings = auditPlan(made.plan, given).filter(({ severity }) => severity === 'fatal');
    if (findings.length === 0) return fit;
    const { shapes } = namedBy(findings, made.plan, given).named;
    const next = [...shapes].filter((shape) => (ways.get(shape) ?? WAYS.length) < WAYS.length);
    if (next.length === 0) break;
    for (const shape of next) ways.set(shape, (ways.get(shape) ?? 0) + 1);
  }
  return { plan: start, unplaced: pods };
}

/** The input as the audit reads it, once for all ways. */
interface Context {
  readonly input: AuditedInput;
  readonly check: NodeCheck;
  readonly daemons: ReadonlyArray<AuditedDaemon>;
  readonly offerings: (pool: NodePool) => ReadonlyArray<PossibleOffering>;
}

function contextOf(given: ProvisioningInput): Context {
  const cluster = { ...given.cluster, shapes: auditedShapes(given) };
  const priced = { ...given, cluster, catalog: auditedCatalog(given) };
  const input: AuditedInput = { ...priced, sizes: sizesOf(priced.catalog) };
  const known = new Map<NodePool, ReadonlyArray<PossibleOffering>>();
  const daemons = auditedDaemons(input);
  return {
    input,
    check: nodeCheck(input.cluster, daemons),
    daemons,
    offerings: (pool) => {
      const found = known.get(pool) ?? possibleOfferings(input, pool);
      known.set(pool, found);
      return found;
    },
  };
}

interface Group {
  readonly shape: number;
  readonly spec: PodShape;
  readonly pods: ReadonlyArray<Pod>;
}

/** Pods of one shape together, the largest first. */
function groupsOf({ cluster }: ProvisioningInput, pods: ReadonlyArray<Pod>): ReadonlyArray<Group> {
  const groups = [...Map.groupBy(pods, ({ shape }) => shape)].flatMap(([shape, own]) => {
    const spec = cluster.shapes[shape];
    if (spec === undefined || hasDeviceClaims(spec.spec)) return [];
    return [{ shape, spec, pods: own.toSorted((a, b) => byCodeUnit(a.uid, b.uid)) }];
  });
  const sizeOf = ({ spec }: Group, resource: string): number => requestedBy(spec.spec).get(resource) ?? 0;
  return groups.toSorted(
    (a, b) => sizeOf(b, 'cpu') - sizeOf(a, 'cpu') || sizeOf(b, 'memory') - sizeOf(a, 'memory') || a.shape - b.shape,
  );
}

/** A node with the pods that this fit puts there. */
interface Filling {
  readonly node: FinalNode;
  readonly pods: Array<PodReference>;
}

/** A node to be made. */
interface Draft extends Filling {
  readonly pool: NodePool;
  readonly claim: PlannedClaim;
  /** Does it hold a pod whose rules look at other pods? Then it stays in its zone. */
  readonly isFixed: boolean;
}

/** The plan with these pods on it, whatever the audit says. */
interface Placed {
  readonly plan: Plan;
  /** Uids. */
  readonly placed: ReadonlySet<string>;
}

function place(
  context: Context,
  start: Plan,
  groups: ReadonlyArray<Group>,
  wayOf: (shape: number) => Way | null,
): Placed {
  const { input } = context;
  const state = [...finalState(start, input).values()];
  const existing = state.filter(({ claim, leaving }) => claim === null && !leaving).map((node) => ({ node, pods: [] }));
  const limits = poolLimits(input.cluster.nodePools, state, input.held);
  const drafts: Array<Draft> = [];
  const cheapest = new Map<string, number>();
  const placed = new Set<string>();
  for (const group of groups) {
    const way = wayOf(group.shape);
    if (way === null) continue;
    let left = group.pods;
    const fill = (fillings: ReadonlyArray<Filling>): void => {
      for (const filling of fillings) left = left.slice(fillOne(context, filling, group, left));
    };
    if (way === 'existing') fill(existing);
    if (way !== 'apart') fill(drafts);
    while (left.length > 0) {
      const draft = openFor(context, group, {
        start: start.claims.length,
        drafts,
        limits,
        cheapest,
        way,
        podsByZone: (shape) => podsInZones(shape, [...state, ...drafts.map(({ node }) => node)]),
      });
      if (draft === null) break;
      const count = way === 'apart' ? 1 : left.length;
      left = left.slice(fillOne(context, draft, group, left.slice(0, count)));
      drafts.push(draft);
    }
    const unplaced = new Set(left);
    for (const pod of group.pods) if (!unplaced.has(pod)) placed.add(pod.uid);
  }
  return { plan: toPlan(context, start, existing, drafts), placed };
}

/** Puts as many of the pods there as the node's checks let; returns how many. */
function fillOne({ check }: Context, { node, pods: there }: Filling, group: Group, pods: ReadonlyArray<Pod>): number {
  const { shape, spec } = group;
  const before = node.pods.get(shape) ?? { shape, spec, running: 0, leaving: 0, planned: 0 };
  const holds = (more: number): boolean => {
    node.pods.set(shape, { ...before, planned: before.planned + more });
    return check(node).length === 0;
  };
  let [fits, tooMany] = [0, pods.length + 1];
  while (fits + 1 < tooMany) {
    const middle = fits === 0 ? 1 : Math.floor((fits + tooMany) / 2);
    if (holds(middle)) fits = middle;
    else tooMany = middle;
  }
  if (fits === 0 && before.running + before.leaving + before.planned === 0) node.pods.delete(shape);
  else node.pods.set(shape, { ...before, planned: before.planned + fits });
  there.push(...pods.slice(0, fits).map(({ name, uid }) => ({ name: `${spec.namespace}/${name}`, uid })));
  return fits;
}

interface Opening {
  /** How many claims the plan has before those of this fit. */
  readonly start: number;
  readonly drafts: ReadonlyArray<Draft>;
  readonly limits: PoolLimits;
  /** By pool and shape: the place of the first offering that held one pod; none before it does. */
  readonly cheapest: Map<string, number>;
  readonly way: Way;
  /** How many pods of the shape are, or will be, in a zone. */
  readonly podsByZone: (shape: number) => (zone: string) => number;
}

/** A new node for one pod of the group: of the heaviest pool that has one, the cheapest. */
function openFor(
  context: Context,
  group: Group,
  { start, drafts, limits, cheapest, way, podsByZone }: Opening,
): Draft | null {
  const { input, check } = context;
  const index = start + drafts.length;
  for (const pool of poolsForPods(input)) {
    const holding = (one: PossibleOffering): Draft | null => {
      const claim = draftClaim(pool, one.planned, labelsFor(input, pool, one.planned, group.spec));
      const node = nodeOf(input, claim, index, one.planned);
      if (!limits.allow(pool, node.capacity)) return null;
      node.pods.set(group.shape, { ...group, running: 0, leaving: 0, planned: 1 });
      if (check(node).length > 0) return null;
      node.pods.delete(group.shape);
      return { pool, claim, node, pods: [], isFixed: looksAtPods(group.spec) };
    };
    const offerings = context.offerings(pool);
    const id = `${pool.metadata.name} ${group.shape}`;
    const first = firstOf(offerings.slice(cheapest.get(id)), holding);
    if (first === null) continue;
    cheapest.set(
      id,
      offerings.findIndex(({ planned }) => planned === first.claim.offering),
    );
    const found = way === 'apart' ? inTurn(offerings, first, podsByZone(group.shape), holding) : first;
    limits.take(pool, found.node.capacity);
    return found;
  }
  return null;
}

function firstOf<One, Found>(all: ReadonlyArray<One>, find: (one: One) => Found | null): Found | null {
  for (const one of all) {
    const found = find(one);
    if (found !== null) return found;
  }
  return null;
}

/** The same size and capacity type in the zone that has the fewest of these pods. */
function inTurn(
  offerings: ReadonlyArray<PossibleOffering>,
  first: Draft,
  podsIn: (zone: string) => number,
  holding: (one: PossibleOffering) => Draft | null,
): Draft {
  const { instanceType, capacityType } = first.claim.offering;
  const alike = offerings
    .filter(({ planned }) => planned.instanceType === instanceType && planned.capacityType === capacityType)
    .toSorted((a, b) => podsIn(a.planned.zone) - podsIn(b.planned.zone) || byCodeUnit(a.planned.zone, b.planned.zone));
  return firstOf(alike, holding) ?? first;
}

function podsInZones(shape: number, nodes: ReadonlyArray<FinalNode>): (zone: string) => number {
  const counts = new Map<string, number>();
  for (const { labels, pods } of nodes) {
    const { running = 0, planned = 0 } = pods.get(shape) ?? {};
    for (const zone of labels.get(labelKey.zone) ?? []) counts.set(zone, (counts.get(zone) ?? 0) + running + planned);
  }
  return (zone) => counts.get(zone) ?? 0;
}

function looksAtPods({ spec }: PodShape): boolean {
  const { affinity, topologySpreadConstraints = [] } = spec;
  return (
    topologySpreadConstraints.length > 0 ||
    affinity?.podAffinity !== undefined ||
    affinity?.podAntiAffinity !== undefined
  );
}

function toPlan(context: Context, start: Plan, existing: ReadonlyArray<Filling>, drafts: ReadonlyArray<Draft>): Plan {
  const { cluster } = context.input;
  const nodes = new Set(cluster.nodes.map(({ metadata }) => metadata.name));
  const nominations = existing.flatMap(({ node: { name }, pods }): ReadonlyArray<Nomination> => {
    const kind = nodes.has(name) ? 'node' : 'claim';
    return pods.length === 0 ? [] : [{ target: { kind, name }, pods }];
  });
  const claims = [...start.claims, ...drafts.map((draft) => toClaim(context, draft))];
  return {
    ...start,
    claims,
    nominations: [...start.nominations, ...nominations],
    cost: plainCostOf(claims),
    // What is a bound for some of the pods is one for all.
    weighed: { cost: weighedCostOf(claims), lowerBound: start.weighed.lowerBound },
  };
}

function toClaim(context: Context, { pool, claim, node, pods, isFixed }: Draft): PlannedClaim {
  const { input, check, daemons } = context;
  const { offering } = claim;
  const isOther = (one: PlannedOffering): boolean => one !== offering && (!isFixed || one.zone === offering.zone);
  const holds = (one: PlannedOffering): boolean => {
    const other = nodeOf(input, claim, node.plannedIndex, one);
    for (const [shape, there] of node.pods) other.pods.set(shape, there);
    const isMore = [...other.capacity].some(
      ([name, amount]) => name in (pool.spec.limits ?? {}) && amount > (node.capacity.get(name) ?? 0),
    );
    return !isMore && check(other).length === 0;
  };
  const others: Array<PlannedOffering> = [];
  for (const { planned } of context.offerings(pool)) {
    if (others.length === MAX_FALLBACKS) break;
    if (isOther(planned) && holds(planned)) others.push(planned);
  }
  const requests = new Map<string, number>();
  for (const { spec, planned } of node.pods.values()) {
    for (let pod = 0; pod < planned; pod++) addAmounts(requests, requestedBy(spec.spec));
  }
  for (const daemon of missingDaemons(node, daemons)) addAmounts(requests, daemon.requests);
  return { ...withOfferings(pool, claim, others), requests: renderAmounts(requests), pods };
}
