import type { Cluster, PodShape } from '../../model/cluster.ts';
import type { Taint, Toleration } from '../../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import { admitsLabels, onlyValue, type LabelRules } from '../../rules/label-rule.ts';
import type { OpenClaim } from './open-claim.ts';
import { compileSelector, selects, type CompiledSelector } from '../../rules/selector.ts';
import { untolerated } from '../../rules/taints.ts';
import { termId, type PodSet } from '../../rules/topology-terms.ts';

type LabelMap = Readonly<Record<string, string>>;

/** Which nodes a spread constraint looks at: those that the pod's own node rules and tolerations allow. Null: all. */
export interface NodeFilter {
  readonly alternatives: ReadonlyArray<LabelRules> | null;
  readonly tolerations: ReadonlyArray<Toleration> | null;
}

/** How many pods of one set are in each domain of one topology key. */
export interface Counter {
  readonly key: string;
  readonly filter: NodeFilter | null;
  /** By index of shape: does the counter count pods of that shape? Filled on demand. */
  readonly counted: Map<number, boolean>;
  readonly pods: CompiledPodSet;
  /** By value of the key's label. */
  readonly byDomain: Map<string, number>;
  /** Pods on claims of this plan, where the filter must still be asked. */
  readonly byClaim: Map<OpenClaim, number>;
  /** Its place in the order in which counters were made. */
  readonly index: number;
  /** For hostnames: the place of its count in a claim's `onHost`; else −1. */
  readonly host: number;
  /** All the pods together. */
  total: number;
  /** For hostnames: where hosts go, how many may be on one that stays. Null: as the spread says, whose least is 0. */
  crowding: Crowding | null;
}

/**
 * A host that goes counts for no spread once it has gone: so many of its pods may share another as shared it, in so far
 * as the hosts that stay are even then.
 */
export interface Crowding {
  readonly most: number;
  /** The fewest on any host that stays and that the spread looks at, as things stand. */
  readonly least: () => number;
}

/** Domains that pods with a required anti-affinity term are in; pods that the term selects must keep out. */
export interface Exclusion extends Counter {
  /** By index of shape: does a pod of that shape own the term? */
  readonly owners: Set<number>;
}

/** All topology rules that matter to one plan, and where the pods they look at are. */
export interface Topology {
  readonly cluster: Cluster;
  readonly counters: Map<string, Counter>;
  readonly exclusions: Map<string, Exclusion>;
  readonly namespaceLabels: ReadonlyMap<string, LabelMap>;
  readonly counting: Map<number, ReadonlyArray<Counter>>;
  /** By key that some pool leaves open: the values that nodes can have. Filled once all counters are there. */
  readonly known: Map<string, ReadonlyArray<string>>;
  /** How many counters count by hostname. */
  hosts: number;
  /** Made when the first pod is asked about, when all counters are there. */
  lookup: Lookup | null;
}

interface CompiledPodSet {
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: CompiledSelector;
  readonly selectors: ReadonlyArray<CompiledSelector>;
}

export function emptyTopology(cluster: Cluster): Topology {
  const namespaceLabels = new Map(cluster.namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  return {
    cluster,
    counters: new Map(),
    exclusions: new Map(),
    namespaceLabels,
    counting: new Map(),
    known: new Map(),
    hosts: 0,
    lookup: null,
  };
}

/** The counter of these pods by this key, made on first use. All must be made before the first pod is recorded. */
export function counterOf(topology: Topology, key: string, pods: PodSet, filter: NodeFilter | null): Counter {
  const id = termId(key, pods, filter === null ? null : filterId(filter));
  const known = topology.counters.get(id) ?? newCounter(topology, key, pods, filter);
  topology.counters.set(id, known);
  return known;
}

/** Notes that pods of a shape own a required anti-affinity term. */
export function addExclusion(topology: Topology, key: string, pods: PodSet, owner: number): void {
  const id = termId(key, pods, null);
  const known = topology.exclusions.get(id) ?? { ...newCounter(topology, key, pods, null), owners: new Set<number>() };
  topology.exclusions.set(id, known);
  known.owners.add(owner);
}

function newCounter(topology: Topology, key: string, pods: PodSet, filter: NodeFilter | null): Counter {
  return {
    key: normalizeKey(key),
    filter,
    counted: new Map(),
    pods: {
      namespaces: new Set(pods.namespaces),
      namespaceSelector: compileSelector(pods.namespaceSelector),
      selectors: pods.selectors.map(compileSelector),
    },
    byDomain: new Map(),
    byClaim: new Map(),
    index: topology.counters.size + topology.exclusions.size,
    host: normalizeKey(key) === labelKey.hostname ? topology.hosts++ : -1,
    total: 0,
    crowding: null,
  };
}

/** Does the counter count pods of this shape? */
export function counts(topology: Topology, counter: Counter, index: number): boolean {
  const known = counter.counted.get(index);
  if (known !== undefined) return known;
  const shape = topology.cluster.shapes[index];
  const counted = shape !== undefined && isInSet(topology, counter.pods, shape);
  counter.counted.set(index, counted);
  return counted;
}

function isInSet(topology: Topology, pods: CompiledPodSet, { namespace, labels }: PodShape): boolean {
  if (!pods.selectors.every((selector) => selects(selector, labels))) return false;
  if (pods.namespaces.has(namespace)) return true;
  const namespaceLabels = topology.namespaceLabels.get(namespace);
  return namespaceLabels !== undefined && selects(pods.namespaceSelector, namespaceLabels);
}

/** The counters, exclusions owned included, that a pod of this shape adds to wherever it is. */
export function countersFor(topology: Topology, index: number): ReadonlyArray<Counter> {
  const known = topology.counting.get(index);
  if (known !== undefined) return known;
  topology.lookup ??= lookupOf(topology);
  const { counters, owned } = topology.lookup;
  const counting = [
    ...candidatesFor(topology, counters, index).filter((counter) => counts(topology, counter, index)),
    ...(owned.get(index) ?? []),
  ];
  topology.counting.set(index, counting);
  return counting;
}

/** The exclusions that a pod of this shape must heed. */
export function exclusionsFor(topology: Topology, index: number): ReadonlyArray<Exclusion> {
  topology.lookup ??= lookupOf(topology);
  const candidates = candidatesFor(topology, topology.lookup.exclusions, index);
  return candidates.filter((exclusion) => counts(topology, exclusion, index));
}

/** Keys, the hostname aside, that must have one value on a claim before a pod that these concern is on it. */
export function settledKeys(counters: ReadonlyArray<Counter>): ReadonlyArray<string> {
  const keys = new Set<string>();
  for (const { key } of counters) if (key !== labelKey.hostname) keys.add(key);
  return keys.size < 2 ? [...keys] : [...keys].toSorted();
}

/** Labels by which spreads choose the nodes that they look at. Of hosts each is looked at by itself. */
export function filteredKeys(counters: ReadonlyArray<Counter>): ReadonlyArray<string> {
  const keys = new Set<string>();
  for (const { key, filter } of counters) {
    if (key === labelKey.hostname) continue;
    for (const rules of filter?.alternatives ?? []) for (const name of rules.keys()) keys.add(name);
  }
  return [...keys].toSorted();
}

/**
 * Counters by a label that a pod must have to be counted, so that a pod is not compared with every selector there is.
 */
interface Lookup {
  readonly counters: ByLabel<Counter>;
  readonly exclusions: ByLabel<Exclusion>;
  /** By index of shape: the exclusions that it owns. */
  readonly owned: ReadonlyMap<number, ReadonlyArray<Exclusion>>;
}

interface ByLabel<T extends Counter> {
  readonly labelled: ReadonlyMap<string, ReadonlyArray<T>>;
  readonly others: ReadonlyArray<T>;
}

function lookupOf({ counters, exclusions }: Topology): Lookup {
  const owned = new Map<number, Array<Exclusion>>();
  for (const exclusion of exclusions.values()) {
    for (const owner of exclusion.owners) owned.set(owner, [...(owned.get(owner) ?? []), exclusion]);
  }
  return { counters: byLabel([...counters.values()]), exclusions: byLabel([...exclusions.values()]), owned };
}

function byLabel<T extends Counter>(all: ReadonlyArray<T>): ByLabel<T> {
  const labelled = new Map<string, Array<T>>();
  const others: Array<T> = [];
  for (const counter of all) {
    const label = neededLabel(counter);
    const alike = label === null ? others : (labelled.get(label) ?? []);
    if (label !== null) labelled.set(label, alike);
    alike.push(counter);
  }
  return { labelled, others };
}

/** A label with the one value that every pod the counter counts must have; null when there is none. */
function neededLabel({ pods }: Counter): string | null {
  for (const selector of pods.selectors) {
    for (const [key, rule] of selector ?? []) {
      const value = onlyValue(rule);
      if (value !== null) return `${key}=${value}`;
    }
  }
  return null;
}

function candidatesFor<T extends Counter>(
  { cluster }: Topology,
  { labelled, others }: ByLabel<T>,
  index: number,
): ReadonlyArray<T> {
  const found = [...others];
  for (const [key, value] of Object.entries(cluster.shapes[index]?.labels ?? {})) {
    const alike = labelled.get(`${key}=${value}`);
    if (alike !== undefined) found.push(...alike);
  }
  return found.toSorted((a, b) => a.index - b.index);
}

/** Notes `count` pods of a shape on a node. `taints`: as the node has them, for filters that look at taints. */
export function recordOnNode(
  topology: Topology,
  index: number,
  node: { readonly labels: LabelMap; readonly taints: ReadonlyArray<Taint> },
  count: number,
): void {
  for (const counter of countersFor(topology, index)) {
    const domain = node.labels[counter.key];
    if (domain === undefined || !passesFilter(counter.filter, node)) continue;
    counter.byDomain.set(domain, (counter.byDomain.get(domain) ?? 0) + count);
    counter.total += count;
  }
}

/**
 * Notes one pod of a shape on a claim; `domainOf` gives the settled value of a key, or null when it has no such label.
 */
export function recordOnClaim(topology: Topology, index: number, claim: OpenClaim, domainOf: DomainOf): void {
  for (const counter of countersFor(topology, index)) countOnClaim(counter, claim, domainOf, 1);
}

/** Takes one pod of a shape off a claim again. */
export function forgetOnClaim(topology: Topology, index: number, claim: OpenClaim, domainOf: DomainOf): void {
  for (const counter of countersFor(topology, index)) countOnClaim(counter, claim, domainOf, -1);
}

type DomainOf = (key: string) => string | null;

function countOnClaim(counter: Counter, claim: OpenClaim, domainOf: DomainOf, pods: 1 | -1): void {
  const isHost = counter.key === labelKey.hostname;
  const domain = isHost || counter.filter !== null ? null : domainOf(counter.key);
  if (isHost) claim.onHost[counter.host] = (claim.onHost[counter.host] ?? 0) + pods;
  else if (counter.filter !== null) counter.byClaim.set(claim, (counter.byClaim.get(claim) ?? 0) + pods);
  else if (domain !== null) counter.byDomain.set(domain, (counter.byDomain.get(domain) ?? 0) + pods);
  else return;
  counter.total += pods;
}

/** Does the filter look at a node with these labels and taints? */
export function passesFilter(
  filter: NodeFilter | null,
  { labels, taints }: { readonly labels: LabelMap; readonly taints: ReadonlyArray<Taint> },
): boolean {
  if (filter === null) return true;
  const { alternatives, tolerations } = filter;
  if (tolerations !== null && untolerated(tolerations, taints, false) !== null) return false;
  return alternatives === null || alternatives.some((rules) => admitsLabels(rules, labels));
}

/** What tells filters apart, once it is written as JSON. */
export function filterId({ alternatives, tolerations }: NodeFilter): unknown {
  const rules = alternatives?.map((one) => [...one].map(([key, rule]) => [key, { ...rule, values: [...rule.values] }]));
  return [rules ?? null, tolerations];
}
