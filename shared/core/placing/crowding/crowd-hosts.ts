import type { Taint } from '../../../kubernetes/manifest.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { countersFor, counts, passesFilter, type Counter, type Topology } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

/** A host as spreads look at it. */
export interface SeenHost {
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: ReadonlyArray<Taint>;
}

interface Group {
  readonly shape: number;
  readonly count: number;
}

/**
 * Lets pods be as many on one host as they are on one of those that go, by the pods that are on each. `hosts`: those
 * that stay, as things stand when it is asked. Returns what is undone by `spreadAgain`.
 */
export function crowdHosts(
  topology: Topology,
  going: ReadonlyArray<ReadonlyArray<Group>>,
  hosts: () => Iterable<SeenHost>,
): ReadonlyArray<Counter> {
  const most = new Map<Counter, number>();
  for (const groups of going) {
    for (const [counter, count] of countOn(topology, groups))
      most.set(counter, Math.max(most.get(counter) ?? 0, count));
  }
  const crowded = [...most].filter(([, count]) => count > 1);
  for (const [counter, count] of crowded) {
    counter.crowding = { most: count, least: () => leastOn(counter, hosts()) };
  }
  return crowded.map(([counter]) => counter);
}

/** How many of these pods each counter of hosts counts. */
function countOn(topology: Topology, groups: ReadonlyArray<Group>): ReadonlyMap<Counter, number> {
  const counted = new Map<Counter, number>();
  for (const { shape, count } of groups) {
    const counters = countersFor(topology, shape).filter(({ host }) => host >= 0);
    for (const counter of counters) counted.set(counter, (counted.get(counter) ?? 0) + count);
  }
  return counted;
}

/** From now on their spreads hold as if there were always a host without pods. */
export function spreadAgain(counters: ReadonlyArray<Counter>): void {
  for (const counter of counters) counter.crowding = null;
}

/**
 * The same for what the input says of pods that are to be placed: beside the nodes that are there, the claims of this
 * plan are hosts.
 */
export function crowdByInput(workspace: Workspace): void {
  if ((workspace.input.crowds?.size ?? 0) === 0) return;
  const hosts = workspace.nodes.map(({ capacity }) => ({ labels: capacity.labels, taints: capacity.presentTaints }));
  for (const [shape, most] of workspace.input.crowds ?? []) {
    const spread = (workspace.needs.get(shape) ?? []).flatMap(({ terms }) => terms.spread);
    for (const { counter } of spread) {
      if (counter.host < 0) continue;
      counter.crowding = {
        most: Math.max(most, counter.crowding?.most ?? 0),
        least: () => leastNow(workspace, counter, hosts),
      };
    }
  }
}

function leastNow({ claims }: Workspace, counter: Counter, hosts: ReadonlyArray<SeenHost>): number {
  // Whatever the spread looks at: a claim counts.
  return claims.reduce((least, { onHost }) => Math.min(least, onHost[counter.host] ?? 0), leastOn(counter, hosts));
}

function leastOn(counter: Counter, hosts: Iterable<SeenHost>): number {
  let least = Infinity;
  for (const host of hosts) {
    const name = host.labels[labelKey.hostname];
    if (name === undefined || !passesFilter(counter.filter, host)) continue;
    least = Math.min(least, counter.byDomain.get(name) ?? 0);
  }
  return least;
}

/**
 * Is every host that got pods within their spreads once all are there, in any order of arrival? One that stays without
 * them makes it uneven.
 */
export function areHostsEven(workspace: Workspace): boolean {
  const { needs } = workspace;
  return [...needs.values()].every((levels) =>
    (levels.at(-1)?.terms.spread ?? []).every(({ counter, maxSkew }) => {
      if (counter.crowding === null) return true;
      const most = mostPlaced(workspace, counter);
      return most <= maxSkew || most - counter.crowding.least() <= maxSkew;
    }),
  );
}

/** The most of the counter's pods on a host that got some. */
function mostPlaced({ topology, nodes, claims }: Workspace, counter: Counter): number {
  let most = 0;
  for (const { onHost } of claims) most = Math.max(most, onHost[counter.host] ?? 0);
  for (const { capacity, pods } of nodes) {
    if (!pods.some(({ shape }) => counts(topology, counter, shape))) continue;
    most = Math.max(most, counter.byDomain.get(capacity.labels[labelKey.hostname] ?? '') ?? 0);
  }
  return most;
}

/**
 * As many on each new host as there would be were all of them to share evenly: where one has none, no other may have
 * many.
 */
export function evenedCrowds(
  { needs, claims }: Workspace,
  crowds: ReadonlyMap<number, number>,
): ReadonlyMap<number, number> {
  const even = ({ host }: Counter): number =>
    Math.ceil(claims.reduce((sum, { onHost }) => sum + (onHost[host] ?? 0), 0) / Math.max(1, claims.length));
  return new Map(
    [...crowds].map(([shape, most]) => {
      const spread = needs.get(shape)?.at(-1)?.terms.spread ?? [];
      const counters = spread.map(({ counter }) => counter).filter(({ host }) => host >= 0);
      return [shape, Math.min(most, ...counters.map(even))];
    }),
  );
}
