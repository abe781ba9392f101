import type { Pod } from '../../model/cluster.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { SpreadTerm } from '../state/need-terms.ts';
import { at } from '../../quantity/at.ts';
import { cheapestBit, takesReserved } from '../../offerings/compile-pool.ts';
import { MARKETS_MAX } from '../../offerings/compile-types.ts';
import type { Need, PoolOption } from '../state/compile-shape.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { domainsOn, isOnAllNodes, keySourceOf, restrictTo, sourceFor } from '../../offerings/key-source.ts';
import { settledValue } from '../state/open-claim.ts';
import type { KeySource, PoolState } from '../../offerings/pool-state.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import { counts, countersFor, type Counter } from '../state/topology.ts';
import { optionsFor, type Workspace } from '../state/workspace.ts';

/**
 * Pods of one need that can be packed together with all others: only resources, node rules and a count per node bind
 * them.
 */
export interface BulkGroup {
  readonly need: Need;
  readonly pods: ReadonlyArray<Pod>;
  /** At most so many on one node. */
  readonly perNode: number;
  /** The domain these pods were assigned to; null when none of their rules names one. */
  readonly within: { readonly key: string; readonly domain: string } | null;
  /**
   * The label that rules look at, whose value a node of these pods must have for good, although any will do; null:
   * none.
   */
  readonly settles: string | null;
  /** How all pods of the spread were assigned; null when that cannot be changed. */
  readonly split: DomainSplit | null;
}

/** Of a group that may be in any domain. */
export const ANYWHERE = { within: null, settles: null, split: null } as const;

/** What one spread has in each of its domains. */
export interface DomainSplit {
  /** By domain: pods that the rule counts there, those assigned included. */
  readonly counts: ReadonlyMap<string, number>;
  /** By domain: pods assigned to it. */
  readonly assigned: ReadonlyMap<string, number>;
  readonly maxSkew: number;
  /** False where fewer domains than minDomains make the emptiest count as nothing. */
  readonly isEmptiestKnown: boolean;
}

/** How a shape can be packed in bulk: with a spread over domains to be assigned first, or with none. */
export interface BulkRule {
  readonly need: Need;
  readonly perNode: number;
  readonly spread: SpreadTerm | null;
  /** Of pods that must all be in one domain: where they are. Null: they need not. */
  readonly together: Counter | null;
  /** Of pods no two of which may be in one domain: the key. Null: they may, or on no two nodes. */
  readonly apart: string | null;
}

/**
 * The rule by which a shape can be packed in bulk; null when its pods must be placed one by one, because their rules
 * look at pods of other shapes that wait too, or they take labels that pools leave open.
 */
export function bulkRuleOf(workspace: Workspace, shape: number): BulkRule | null {
  // A reservation holds a number of nodes, which packing does not count.
  if (workspace.pools.some(({ pool }) => takesReserved(pool))) return null;
  const need = bulkNeedOf(workspace, shape);
  if (need === null || hasDeviceClaims(need.shape.shape.spec)) return null;
  if (workspace.pools.some((state) => optionsFor(workspace, state, need).some(({ open }) => open.size > 0)))
    return null;
  const domains = concernsItselfAlone(workspace, need, shape) ? domainRuleOf(workspace, need) : null;
  if (domains === null) return null;
  const isSingle = need.shape.ports.length > 0 || domains.apart !== null;
  return { need, perNode: isSingle ? 1 : perNodeOf(workspace, need), ...domains };
}

/** Do its rules look at no pods that wait but those of the shape, and do no others' rules look at these? */
function concernsItselfAlone(workspace: Workspace, { terms, exclusions }: Need, shape: number): boolean {
  const { spread, affinity, affinityToSelf, antiAffinity } = terms;
  if (affinity.length > 0 && !affinityToSelf) return false;
  const own = new Set<Counter>([...spread.map(({ counter }) => counter), ...antiAffinity, ...affinity]);
  const others = countersFor(workspace.topology, shape).filter((counter) => !own.has(counter));
  return (
    [...others, ...exclusions].every((counter) => ownsAlone(counter, shape)) &&
    [...own].every((counter) => isAlone(workspace, counter, shape))
  );
}

/**
 * What its rules say of domains other than hosts; null where that is more than one thing, or cannot be told of
 * offerings.
 */
function domainRuleOf(
  { pools }: Workspace,
  { terms, exclusions }: Need,
): Pick<BulkRule, 'spread' | 'together' | 'apart'> | null {
  // How many a host may have depends on what the others have.
  if (terms.spread.some(({ counter }) => counter.crowding !== null)) return null;
  const spreads = terms.spread.filter(({ counter }) => counter.key !== labelKey.hostname);
  const apartBy = new Set([...terms.antiAffinity, ...exclusions].map(({ key }) => key));
  apartBy.delete(labelKey.hostname);
  if (spreads.length + terms.affinity.length + apartBy.size > 1) return null;
  const [spread = null] = spreads;
  const [together = null] = terms.affinity;
  const [apart = null] = apartBy;
  const isOf = (key: string, ...kinds: ReadonlyArray<KeySource['kind']>): boolean =>
    pools.every((state) => kinds.includes(sourceFor(state, key).kind));
  // Packing knows domains by their offerings and sizes; an open label is settled claim by claim.
  if (spread !== null && !isOf(spread.counter.key, 'offering', 'type', 'pool')) return null;
  const key = together?.key ?? apart;
  return key === null || isOf(key, 'offering') ? { spread, together, apart } : null;
}

/** Pods, and how they can be packed in bulk. */
export interface RuledPods {
  readonly rule: BulkRule;
  readonly pods: ReadonlyArray<Pod>;
}

/**
 * Assigns pods to the domains of their rules: spreads to the emptiest as far as maxSkew allows, then, knowing where all
 * others are, those that must be in one, and those of which each has one. What finds no domain is not in any group.
 */
export function assignDomains(workspace: Workspace, all: ReadonlyArray<RuledPods>): ReadonlyArray<BulkGroup> {
  const loads = new Map<string, number>();
  const keys = new Set(all.flatMap(({ rule: { together, apart } }) => together?.key ?? apart ?? []));
  for (const { rule, pods } of all) for (const key of keys) countPinned(workspace, { rule, pods }, key, loads);
  const groups = new Map<RuledPods, ReadonlyArray<BulkGroup>>();
  for (const one of all.toSorted((a, b) => turnOf(a.rule) - turnOf(b.rule))) {
    groups.set(one, assignByRule(workspace, one, loads));
  }
  return all.flatMap((one) => groups.get(one) ?? []);
}

function turnOf({ together, apart }: BulkRule): number {
  if (apart !== null) return 2;
  return together === null ? 0 : 1;
}

/** Counts what can be in one domain only as there. */
function countPinned(
  workspace: Workspace,
  { rule: { need, spread, together, apart }, pods }: RuledPods,
  key: string,
  loads: Map<string, number>,
): void {
  if (spread !== null || together !== null || apart !== null) return;
  const [domain, ...others] = domainsOf(workspace, key).filter((one) => canHost(workspace, need, { key, domain: one }));
  if (domain !== undefined && others.length === 0) addLoad(loads, `${key}=${domain}`, need, pods.length);
}

/** By cores; pods that ask for none are there all the same. */
function addLoad(loads: Map<string, number>, id: string, { shape }: Need, pods: number): void {
  loads.set(id, (loads.get(id) ?? 0) + Math.max(1, at(shape.requests, 0)) * pods);
}

function assignByRule(
  workspace: Workspace,
  { rule, pods }: RuledPods,
  loads: Map<string, number>,
): ReadonlyArray<BulkGroup> {
  const { need, perNode, spread, together, apart } = rule;
  const key = together?.key ?? apart;
  if (key !== null && isOnlyOne(rule, pods)) return [{ need, pods, perNode, ...ANYWHERE, settles: key }];
  if (together !== null) return inOneDomain(workspace, { ...rule, together }, pods, loads);
  if (apart !== null) return oneInEach(workspace, rule, apart, { pods, loads });
  return spread === null
    ? [{ need, pods, perNode, ...ANYWHERE }]
    : overDomains(workspace, { ...rule, spread }, pods, loads);
}

/** One pod of which no other is anywhere may be in any domain. */
function isOnlyOne({ need: { terms, exclusions } }: BulkRule, pods: ReadonlyArray<Pod>): boolean {
  const counters = [...terms.affinity, ...terms.antiAffinity, ...exclusions];
  return pods.length === 1 && counters.every(({ total }) => total === 0);
}

function overDomains(
  workspace: Workspace,
  { need, perNode, spread }: BulkRule & { readonly spread: SpreadTerm },
  pods: ReadonlyArray<Pod>,
  loads: Map<string, number>,
): ReadonlyArray<BulkGroup> {
  const { counter, domains, maxSkew, minDomains, self } = spread;
  const { key } = counter;
  const present = new Map(domains.map((domain) => [domain, countIn(counter, domain)]));
  const cost = costsIn(workspace, { need, perNode }, { key, domains });
  const reachable = domains.filter((domain) => cost(domain).weight > -Infinity);
  const assigned = new Map(reachable.map((domain): [string, Array<Pod>] => [domain, []]));
  for (const pod of pods) {
    const emptiest = domains.length < minDomains ? 0 : Math.min(...present.values());
    const allowed = reachable.filter((domain) => (present.get(domain) ?? 0) + self - emptiest <= maxSkew);
    const load = (domain: string): number => loads.get(`${key}=${domain}`) ?? 0;
    const [domain] = allowed.toSorted(
      (a, b) =>
        (present.get(a) ?? 0) - (present.get(b) ?? 0) ||
        byWeightAndCost(cost(a), cost(b)) ||
        load(a) - load(b) ||
        byCodeUnit(a, b),
    );
    if (domain === undefined) break;
    present.set(domain, (present.get(domain) ?? 0) + self);
    addLoad(loads, `${key}=${domain}`, need, 1);
    assigned.get(domain)?.push(pod);
  }
  const isFree = self === 1 && reachable.length > 1;
  const split = isFree
    ? {
        counts: present,
        assigned: new Map([...assigned].map(([domain, own]) => [domain, own.length])),
        maxSkew,
        isEmptiestKnown: domains.length >= minDomains,
      }
    : null;
  return [...assigned].flatMap(([domain, own]) =>
    own.length === 0 && !isFree ? [] : [{ need, pods: own, perNode, ...ANYWHERE, within: { key, domain }, split }],
  );
}

/**
 * All pods in the domain where such pods are; in none where there are several, or it can hold none. Where there are
 * none yet, in the one of
 * `cheapestFirst`: what one workload leaves free there, another can use.
 */
function inOneDomain(
  workspace: Workspace,
  { need, perNode, together: { key, byDomain } }: BulkRule & { readonly together: Counter },
  pods: ReadonlyArray<Pod>,
  loads: Map<string, number>,
): ReadonlyArray<BulkGroup> {
  const taken = [...byDomain].flatMap(([domain, count]) => (count > 0 ? [domain] : []));
  const all = taken.length > 0 ? taken : domainsOf(workspace, key);
  const [domain] = cheapestFirst(workspace, { need, perNode }, { key, domains: all, loads });
  if (domain === undefined || taken.length > 1) return [];
  addLoad(loads, `${key}=${domain}`, need, pods.length);
  return [{ need, pods, perNode, ...ANYWHERE, within: { key, domain } }];
}

/**
 * The domains that can hold pods of the need, those that pools of more weight have first, then the cheapest, then the
 * one with most in it.
 */
function cheapestFirst(
  workspace: Workspace,
  { need, perNode }: Pick<BulkRule, 'need' | 'perNode'>,
  {
    key,
    domains,
    loads,
  }: {
    readonly key: string;
    readonly domains: ReadonlyArray<string>;
    readonly loads: ReadonlyMap<string, number>;
  },
): ReadonlyArray<string> {
  const costOf = costsIn(workspace, { need, perNode }, { key, domains });
  const loadOf = (domain: string): number => loads.get(`${key}=${domain}`) ?? 0;
  return domains
    .filter((one) => costOf(one).cost < Infinity)
    .toSorted((a, b) => byWeightAndCost(costOf(a), costOf(b)) || loadOf(b) - loadOf(a) || byCodeUnit(a, b));
}

/** A pod in each domain that has none yet, the cheapest first; the others are in no group. */
function oneInEach(
  workspace: Workspace,
  rule: BulkRule,
  key: string,
  { pods, loads }: { readonly pods: ReadonlyArray<Pod>; readonly loads: Map<string, number> },
): ReadonlyArray<BulkGroup> {
  const { need } = rule;
  const counters = [...need.terms.antiAffinity, ...need.exclusions].filter((counter) => counter.key === key);
  const free = domainsOf(workspace, key).filter((domain) =>
    counters.every((counter) => countIn(counter, domain) === 0),
  );
  const cheapest = cheapestFirst(workspace, rule, { key, domains: free, loads });
  return pods.slice(0, cheapest.length).map((pod, index): BulkGroup => {
    const domain = cheapest[index] ?? '';
    addLoad(loads, `${key}=${domain}`, need, 1);
    return { need, pods: [pod], perNode: 1, ...ANYWHERE, within: { key, domain } };
  });
}

/** The values of the key that any offering of a pool has. */
function domainsOf({ pools }: Workspace, key: string): ReadonlyArray<string> {
  const all = pools.flatMap(({ pool }) => domainsOn(pool, key, { named: [], alternatives: null }));
  return [...new Set(all)].toSorted(byCodeUnit);
}

/** What a pod of the need costs in a domain at least, in pools of the most weight that can have it there. */
interface LeastCost {
  /** −Infinity where none can. */
  readonly weight: number;
  /** As if nodes were sold in parts, but for pods that have one each; Infinity where nothing holds one. */
  readonly cost: number;
}

/** By domain, worked out once. */
function costsIn(
  workspace: Workspace,
  rule: Pick<BulkRule, 'need' | 'perNode'>,
  { key, domains }: { readonly key: string; readonly domains: ReadonlyArray<string> },
): (domain: string) => LeastCost {
  const costs = new Map(domains.map((domain) => [domain, leastCost(workspace, rule, { key, domain })]));
  return (domain) => costs.get(domain) ?? NOWHERE;
}

function leastCost(
  workspace: Workspace,
  { need, perNode }: Pick<BulkRule, 'need' | 'perNode'>,
  within: { readonly key: string; readonly domain: string },
): LeastCost {
  let [weight, cost] = [-Infinity, Infinity];
  // Heaviest first.
  for (const state of workspace.pools) {
    if (state.pool.weight < weight) break;
    const offered = offeringsFor(workspace, state, { need, within });
    if (offered === null) continue;
    weight = state.pool.weight;
    for (const type of state.pool.order) {
      const bits = at(offered, type);
      if (bits === 0) continue;
      const prices = state.pool.catalog.types[type]?.weighedPrices ?? new Float64Array();
      const bit = cheapestBit(prices, bits);
      const share = largestShareOf(state, type, bit, need.shape.requests);
      cost = Math.min(cost, at(prices, bit) * Math.max(1 / perNode, share));
    }
  }
  return { weight, cost };
}

/** Less than 0 where the first comes first: of more weight, or of as much and cheaper. */
function byWeightAndCost(a: LeastCost, b: LeastCost): number {
  if (a.weight !== b.weight) return a.weight > b.weight ? -1 : 1;
  return a.cost === b.cost ? 0 : a.cost - b.cost;
}

const NOWHERE: LeastCost = { weight: -Infinity, cost: Infinity };

/** How much of the node one pod takes of what it takes most of. */
function largestShareOf({ usable }: PoolState, type: number, bit: number, requests: Float64Array): number {
  const row = (type * MARKETS_MAX + bit) * requests.length;
  let share = 0;
  requests.forEach((request, k) => {
    if (request > 0) share = Math.max(share, request / at(usable, row + k));
  });
  return share;
}

/** The offerings of a pool on which pods of the group can be; null when there are none. */
export function offeringsFor(
  workspace: Workspace,
  state: PoolState,
  { need, within }: Pick<BulkGroup, 'need' | 'within'>,
): Int32Array | null {
  const option: PoolOption | undefined = optionsFor(workspace, state, need)[0];
  if (option === undefined || within === null) return option?.offered ?? null;
  const offered = Int32Array.from(option.offered);
  restrictTo(offered, keySourceOf(state.pool, within.key), (value) => value === within.domain);
  return offered.some((mask) => mask !== 0) ? offered : null;
}

function canHost(workspace: Workspace, need: Need, within: { readonly key: string; readonly domain: string }): boolean {
  return workspace.pools.some((state) => offeringsFor(workspace, state, { need, within }) !== null);
}

/** The first level of relaxation at which some pool can take the shape. */
function bulkNeedOf(workspace: Workspace, shape: number): Need | null {
  const needs = workspace.needs.get(shape) ?? [];
  return needs.find((need) => workspace.pools.some((state) => optionsFor(workspace, state, need).length > 0)) ?? null;
}

/** Is the counter about no waiting pods but those of this shape? */
function isAlone({ topology, shapes }: Workspace, counter: Counter, shape: number): boolean {
  return [...shapes.keys()].every((other) => other === shape || !counts(topology, counter, other));
}

function ownsAlone(counter: Counter & { readonly owners?: ReadonlySet<number> }, shape: number): boolean {
  return counter.owners?.size === 1 && counter.owners.has(shape);
}

/** At most so many pods of the need on one node, by its own rules. */
export function perNodeOf(workspace: Workspace, { terms, shape }: Need): number {
  const { topology } = workspace;
  const selfAverse = terms.antiAffinity.some(
    (counter) => counts(topology, counter, shape.index) && isEverywhere(workspace, counter.key),
  );
  const skews = terms.spread
    .filter(({ counter, self }) => counter.key === labelKey.hostname && self === 1)
    .map(({ counter, maxSkew }) => Math.max(maxSkew, counter.crowding?.most ?? 0));
  return Math.min(selfAverse ? 1 : Infinity, ...skews);
}

/** Does every node, new or not, have the label? Anti-affinity says nothing of nodes that lack it. */
function isEverywhere({ pools, nodes }: Workspace, key: string): boolean {
  if (key === labelKey.hostname) return true;
  return pools.every((state) => isOnAllNodes(state, key)) && nodes.every(({ capacity }) => key in capacity.labels);
}

/** Pods of the spread in the domain: on nodes, and on the claims of this plan. */
export function countIn({ byDomain, byClaim, key }: Counter, domain: string): number {
  let count = byDomain.get(domain) ?? 0;
  for (const [claim, pods] of byClaim) if (settledValue(claim, key) === domain) count += pods;
  return count;
}
