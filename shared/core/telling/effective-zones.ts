import type { Node, NodePool } from '../../kubernetes/manifest.ts';
import type { PodShape } from '../model/cluster.ts';
import { labelKey, normalizeKey } from '../../kubernetes/labels.ts';
import type { Instant } from '../quantity/units.ts';
import { toTerms, type NeedTerms, type SpreadTerm } from '../placing/state/need-terms.ts';
import { constraintLevels } from '../rules/pod-constraints.ts';
import { countBound, eachShapeOn } from '../present/bound-pods.ts';
import { withDefaultSpread } from '../rules/default-spread.ts';
import { admits, ANYTHING, intersect, toRules, type LabelRule, type LabelRules } from '../rules/label-rule.ts';
import { ignoredPods, pendingPods } from '../present/pending-pods.ts';
import { requiredAlternatives } from '../rules/pod-rules.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';
import { counts, countersFor, emptyTopology, filterId, passesFilter, recordOnNode } from '../placing/state/topology.ts';
import type { Counter, NodeFilter, Topology } from '../placing/state/topology.ts';
import { volumeRules } from '../rules/volumes.ts';

/** What waits for a plan, as figures. */
export interface WaitingFigures {
  /** Pods without a node that a plan is for. */
  readonly pending: number;
  /** Pods without a node that ask for a node of no NodePool. */
  readonly ignored: number;
  /** How many of `pending` have each effective zone: a zone's name, `flexible` or `none`. */
  readonly byZone: ReadonlyMap<string, number>;
}

/** Any of several zones will do, or all. */
export const FLEXIBLE = 'flexible';

/** No zone will do. */
export const NO_ZONE = 'none';

/**
 * Counts the pods that a plan of `input` is for, by the one zone that they can be in. What counts are their required
 * node rules, volumes, and rules about other pods by zone, as of the pods that run before anything is placed; what
 * pools offer does not, as in Karpenter, whose metric this is. Alike for all pods of a shape, and worked out once for
 * it.
 */
export function countWaiting(input: ProvisioningInput, now: Instant): WaitingFigures {
  const { cluster, inFlight } = input;
  const pending = pendingPods(cluster, inFlight, now).filter(({ nodeName }) => nodeName === null);
  const perShape = new Map<number, number>();
  for (const { shape } of pending) perShape.set(shape, (perShape.get(shape) ?? 0) + 1);
  const byZone = new Map<string, number>();
  for (const [shape, zone] of zonesOf(withDefaultSpread(input), [...perShape.keys()])) {
    byZone.set(zone, (byZone.get(zone) ?? 0) + (perShape.get(shape) ?? 0));
  }
  return { pending: pending.length, ignored: ignoredPods(cluster, inFlight).length, byZone };
}

/** The effective zone of each of these shapes, which are those of all pods that wait. */
function zonesOf(input: ProvisioningInput, waiting: ReadonlyArray<number>): ReadonlyMap<number, string> {
  const { cluster } = input;
  const around = surroundings(input, waiting);
  const zones = waiting.flatMap((index): ReadonlyArray<readonly [number, string]> => {
    const shape = cluster.shapes[index];
    return shape === undefined ? [] : [[index, effectiveZone(ownRules(input, shape), around(index))]];
  });
  return new Map(zones);
}

/** The one zone that is within one of `rules` and, unless it is null, in `domains`. */
function effectiveZone(rules: ReadonlyArray<LabelRule>, domains: ReadonlyArray<string> | null): string {
  if (domains === null && rules.some(({ complement }) => complement)) return FLEXIBLE;
  const named = domains ?? rules.flatMap(({ values }) => [...values]);
  const possible = new Set(named.filter((zone) => rules.some((rule) => admits(rule, zone))));
  const [zone = NO_ZONE] = possible;
  return possible.size > 1 ? FLEXIBLE : zone;
}

/**
 * What the shape's node rules and volumes say of the zone, as alternatives; volumes that are not there yet say nothing.
 */
function ownRules({ cluster }: ProvisioningInput, shape: PodShape): ReadonlyArray<LabelRule> {
  const volumes = volumeRules(cluster, shape);
  const alternatives = volumes.kind === 'problem' ? [ANYTHING] : volumes.alternatives.map(zoneRule);
  return requiredAlternatives(shape.spec).flatMap((rules) =>
    alternatives.map((volume) => intersect(zoneRule(rules), volume)),
  );
}

function zoneRule(rules: LabelRules): LabelRule {
  return rules.get(labelKey.zone) ?? ANYTHING;
}

/** Zones that rules about other pods leave; null for any. */
type NeighbourZones = (shape: number) => ReadonlyArray<string> | null;

const ANYWHERE: NeighbourZones = () => null;

/** Most pods have no such rule; where none of those that wait has one, pods that run are not looked at. */
function surroundings(input: ProvisioningInput, waiting: ReadonlyArray<number>): NeighbourZones {
  const { cluster, policy } = input;
  const required = { ...policy, preferencePolicy: 'Ignore' } as const;
  const topology = emptyTopology(cluster);
  const known = knownZones(input);
  const domains = (key: string, filter: NodeFilter | null): ReadonlyArray<string> =>
    key === labelKey.zone ? known(filter) : [];
  const terms = new Map<number, NeedTerms>();
  for (const index of waiting) {
    const shape = cluster.shapes[index];
    if (shape === undefined || !looksAtZones(shape)) continue;
    const [constraints] = constraintLevels(shape.spec, required, false);
    if (constraints === undefined) continue;
    terms.set(index, toTerms(topology, shape, index, { constraints, domains }));
  }
  if (terms.size === 0) return ANYWHERE;
  recordRunning(input, topology);
  const willCome = (counter: Counter): boolean => waiting.some((index) => counts(topology, counter, index));
  return (index) => {
    const own = terms.get(index);
    return own === undefined ? null : zonesLeft(own, known(null), willCome);
  };
}

function looksAtZones({ spec }: PodShape): boolean {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const rules = [
    ...(spec.topologySpreadConstraints ?? []),
    ...(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
  ];
  return rules.some(({ topologyKey }) => normalizeKey(topologyKey) === labelKey.zone);
}

/** What all of a shape's terms leave. Where there are neither pools nor nodes no zone is known, and any may do. */
function zonesLeft(
  { spread, affinity, affinityToSelf, antiAffinity }: NeedTerms,
  known: ReadonlyArray<string>,
  willCome: (counter: Counter) => boolean,
): ReadonlyArray<string> | null {
  if (known.length === 0) return null;
  const isZonal = ({ key }: Counter): boolean => key === labelKey.zone;
  const within = [
    ...spread.filter(({ counter }) => isZonal(counter)).map(zonesOfSpread),
    ...affinity
      .filter(isZonal)
      // The first of pods that seek each other may go anywhere, and so may who follows pods that wait too.
      .filter((counter) => counter.total > 0 || !(affinityToSelf || willCome(counter)))
      .map((counter) => [...counter.byDomain].filter(([, pods]) => pods > 0).map(([zone]) => zone)),
    ...antiAffinity.filter(isZonal).map((counter) => known.filter((zone) => (counter.byDomain.get(zone) ?? 0) === 0)),
  ];
  const [first, ...others] = within;
  return first === undefined ? null : first.filter((zone) => others.every((zones) => zones.includes(zone)));
}

function zonesOfSpread({ counter, domains, maxSkew, minDomains, self }: SpreadTerm): ReadonlyArray<string> {
  const podsIn = (zone: string): number => counter.byDomain.get(zone) ?? 0;
  const least = domains.length < minDomains ? 0 : Math.min(...domains.map(podsIn));
  return domains.filter((zone) => podsIn(zone) + self - least <= maxSkew);
}

/** Zones that nodes have or pools can get, sorted, worked out once for filters that are alike. */
function knownZones({ cluster, catalog }: ProvisioningInput): (filter: NodeFilter | null) => ReadonlyArray<string> {
  const ofPools = new Set(
    cluster.nodePools.flatMap((pool) => [...zonesOfPool(pool, catalog.get(pool.metadata.name) ?? [])]),
  );
  const known = new Map<string, ReadonlyArray<string>>();
  return (filter) => {
    const id = filter === null ? '' : JSON.stringify(filterId(filter));
    const found = known.get(id) ?? [...new Set([...ofPools, ...zonesOfNodes(cluster.nodes, filter)])].toSorted();
    known.set(id, found);
    return found;
  };
}

type Types = NonNullable<ReturnType<ProvisioningInput['catalog']['get']>>;

function zonesOfPool({ spec }: NodePool, types: Types): ReadonlySet<string> {
  const rule = toRules(spec.template.spec.requirements).get(labelKey.zone) ?? ANYTHING;
  const zones = new Set(types.flatMap(({ offerings }) => offerings.map(({ zone }) => zone)));
  return new Set([...zones].filter((zone) => zone !== '' && admits(rule, zone)));
}

function zonesOfNodes(nodes: ReadonlyArray<Node>, filter: NodeFilter | null): ReadonlySet<string> {
  const passing = nodes.filter((node) => passesFilter(filter, toPlace(node)));
  return new Set(passing.flatMap(({ metadata }) => metadata.labels?.[labelKey.zone] ?? []));
}

function recordRunning({ cluster }: ProvisioningInput, topology: Topology): void {
  const matters = (shape: number): boolean => countersFor(topology, shape).length > 0;
  const bound = countBound(cluster.pods.filter(({ deleting, shape }) => !deleting && matters(shape)));
  for (const node of cluster.nodes) {
    const place = toPlace(node);
    eachShapeOn(bound, node.metadata.name, (shape, count) => recordOnNode(topology, shape, place, count));
  }
}

function toPlace({ metadata, spec }: Node): Parameters<typeof recordOnNode>[2] {
  return { labels: metadata.labels ?? {}, taints: spec?.taints ?? [] };
}
