import type { Port, SmallSize, SmallWorld, Workload } from './small-worlds.ts';

/**
 * Rules and arithmetic by hand, and a search through every plan of a small world. Shares nothing with the planner, so
 * that a mistake there does not hide itself here.
 */
export interface FilledNode {
  readonly zone: number;
  /** What was there before: index of the node; null for a new one. */
  readonly existing: number | null;
  /** The size of a new one. */
  readonly size: number | null;
  /** The pods of this plan, by workload. */
  readonly counts: ReadonlyArray<number>;
}

/**
 * What the placed pods break of the world's rules; empty where all is kept. Every node that is there must be among
 * `filled`.
 */
export function breachesOf(world: SmallWorld, filled: ReadonlyArray<FilledNode>): ReadonlyArray<string> {
  const found: Array<string> = [];
  const all = filled.map((one) => ({ ...one, everybody: withRunning(world, one) }));
  for (const one of all) {
    if (!hasRoom(world, one)) found.push(`no room on ${JSON.stringify(one)}`);
    if (portsClash(world, one)) found.push(`ports on ${JSON.stringify(one)}`);
  }
  world.workloads.forEach((own, index) => {
    const placed = all.filter(({ counts }) => (counts[index] ?? 0) > 0);
    if (own.zone !== null && placed.some(({ zone }) => zone !== own.zone)) found.push(`${index} is not in its zone`);
    if (
      !isEven(
        own,
        zonesOf(world).map((zone) => inZone(all, zone, index)),
      )
    )
      found.push(`${index} is uneven`);
    if (
      own.together &&
      !isTogether(
        placed.map(({ zone }) => zone),
        runningZones(world, index),
      )
    ) {
      found.push(`${index} is in several zones`);
    }
  });
  const parties = all.flatMap(({ zone, everybody, counts }, at) =>
    everybody
      .map((count, of) => ({ of, zone, at, count, isNew: (counts[of] ?? 0) > 0 }))
      .filter(({ count }) => count > 0),
  );
  for (const one of parties) {
    for (const other of parties) {
      const isSame = one === other;
      if ((isSame && one.count < 2) || !(one.isNew || other.isNew)) continue;
      const by = keptApart(world, one.of, other.of);
      if (by === 'host' && one.at === other.at) found.push(`${one.of} and ${other.of} on one host`);
      if (by === 'zone' && one.zone === other.zone) found.push(`${one.of} and ${other.of} in one zone`);
    }
  }
  return found;
}

/** What the nodes cost. */
export function costOfNodes({ sizes }: SmallWorld, filled: ReadonlyArray<FilledNode>): number {
  return filled.reduce((sum, { size, zone }) => sum + (size === null ? 0 : (sizes[size]?.prices[zone] ?? Infinity)), 0);
}

/** The cheapest way to place all pods that costs less than `below`; null when there is none. */
export function cheapestBelow(world: SmallWorld, below: number): ReadonlyArray<FilledNode> | null {
  const { workloads } = world;
  const none = workloads.map(() => 0);
  let best: ReadonlyArray<FilledNode> | null = null;
  let limit = below;
  const seen = new Set<string>();

  function place(of: number, filled: ReadonlyArray<FilledNode>): void {
    const own = workloads[of];
    if (own === undefined) {
      const cost = costOfNodes(world, filled);
      if (cost < limit && breachesOf(world, filled).length === 0) [best, limit] = [filled, cost];
      return;
    }
    const id = `${of} ${filled
      .map((one) => `${one.existing ?? 'new'} ${one.zone} ${one.counts.join(' ')}`)
      .toSorted()
      .join(';')}`;
    if (seen.has(id)) return;
    seen.add(id);
    spread(of, own.count, 0, filled);
  }

  /** Puts the pods that are left of the workload on nodes from `from` on, then on new ones, in zones in order. */
  function spread(of: number, left: number, from: number, filled: ReadonlyArray<FilledNode>): void {
    if (costOfNodes(world, filled) >= limit) return;
    if (left === 0) {
      if (obeys(of, filled)) place(of + 1, filled);
      return;
    }
    for (let at = from; at < filled.length; at++) {
      const one = filled[at];
      if (one === undefined) continue;
      const more = sized({ ...one, counts: plusOne(one.counts, of) });
      if (more !== null) spread(of, left - 1, at, filled.with(at, more));
    }
    for (const zone of zonesOf(world)) {
      const more = sized({ zone, existing: null, size: null, counts: plusOne(none, of) });
      if (more !== null) spread(of, left - 1, filled.length, [...filled, more]);
    }
  }

  /** The node in the cheapest size that holds its pods; null where none does. */
  function sized(one: FilledNode): FilledNode | null {
    if (portsClash(world, one)) return null;
    if (one.counts.some((count, of) => count > 1 && keptApart(world, of, of) !== null)) return null;
    if (one.existing !== null) return hasRoom(world, one) ? one : null;
    let cheapest: FilledNode | null = null;
    world.sizes.forEach(({ prices }, size) => {
      const price = prices[one.zone] ?? Infinity;
      const with_ = { ...one, size };
      const least = cheapest === null ? Infinity : costOfNodes(world, [cheapest]);
      if (price < least && hasRoom(world, with_)) cheapest = with_;
    });
    return cheapest;
  }

  /** Does the workload keep what rules say of its own pods, all of which are placed? */
  function obeys(of: number, filled: ReadonlyArray<FilledNode>): boolean {
    const own = workloads[of];
    if (own === undefined) return true;
    const placed = filled.filter(({ counts }) => (counts[of] ?? 0) > 0).map(({ zone }) => zone);
    if (own.zone !== null && placed.some((zone) => zone !== own.zone)) return false;
    if (own.together && !isTogether(placed, runningZones(world, of))) return false;
    const counted = filled.map((one) => ({ ...one, everybody: withRunning(world, one) }));
    return isEven(
      own,
      zonesOf(world).map((zone) => inZone(counted, zone, of)),
    );
  }

  place(
    0,
    world.nodes.map(({ zone }, existing) => ({ zone, existing, size: null, counts: none })),
  );
  return best;
}

/** Is there room for its pods, daemons counted? */
function hasRoom(world: SmallWorld, { existing, size, zone, counts }: FilledNode): boolean {
  const room = existing === null ? roomOf(world, world.sizes[size ?? -1], zone) : world.nodes[existing];
  if (room === undefined) return false;
  const asked = (of: (own: Workload) => number): number =>
    counts.reduce(
      (sum, count, index) => sum + (world.workloads[index] === undefined ? 0 : count * of(world.workloads[index])),
      0,
    );
  const isFew = asked(() => 1) <= ('pods' in room ? room.pods : FAR_MORE);
  return isFew && asked(({ cpu }) => cpu) <= room.cpu && asked(({ memory }) => memory) <= room.memory;
}

/** No node that is there runs so many pods that a few more could not. */
const FAR_MORE = 20;

function roomOf(
  { daemons }: SmallWorld,
  size: SmallSize | undefined,
  zone: number,
): Omit<SmallSize, 'prices'> | undefined {
  if (size === undefined) return undefined;
  const own = daemons.filter((one) => one.zone === null || one.zone === zone);
  return {
    cpu: own.reduce((left, one) => left - one.cpu, size.cpu),
    memory: own.reduce((left, one) => left - one.memory, size.memory),
    pods: size.pods - own.length,
  };
}

/** Does a pod of the plan want a port that another on the node, daemons and those that run there included, has? */
function portsClash(world: SmallWorld, one: FilledNode): boolean {
  const { daemons, nodes, workloads } = world;
  const node = one.existing === null ? undefined : nodes[one.existing];
  const there = [
    ...daemons
      .filter(({ zone }) => node === undefined && (zone === null || zone === one.zone))
      .map(({ ports }) => ports),
    ...(node?.running ?? []).map((of) => workloads[of]?.ports ?? []),
  ];
  const come = one.counts.flatMap((count, of) => Array.from({ length: count }, () => workloads[of]?.ports ?? []));
  return come.some((own, at) =>
    [...there, ...come.slice(at + 1)].some((other) =>
      own.some((mine) => other.some((theirs) => isSamePort(mine, theirs))),
    ),
  );
}

function isSamePort(one: Port, other: Port): boolean {
  return one.port === other.port && (one.ip === null || other.ip === null || one.ip === other.ip);
}

/** By workload: pods of this plan, and those that run there. */
function withRunning({ nodes }: SmallWorld, { existing, counts }: FilledNode): ReadonlyArray<number> {
  const running = existing === null ? [] : (nodes[existing]?.running ?? []);
  return counts.map((count, of) => count + running.filter((own) => own === of).length);
}

function runningZones({ nodes }: SmallWorld, of: number): ReadonlyArray<number> {
  return nodes.filter(({ running }) => running.includes(of)).map(({ zone }) => zone);
}

/** Of the workload's pods in a zone: all, and those of this plan. */
function inZone(
  filled: ReadonlyArray<FilledNode & { readonly everybody: ReadonlyArray<number> }>,
  zone: number,
  of: number,
): { readonly all: number; readonly placed: number } {
  const own = filled.filter((one) => one.zone === zone);
  return {
    all: own.reduce((sum, { everybody }) => sum + (everybody[of] ?? 0), 0),
    placed: own.reduce((sum, { counts }) => sum + (counts[of] ?? 0), 0),
  };
}

function isEven({ skew }: Workload, zones: ReadonlyArray<{ readonly all: number; readonly placed: number }>): boolean {
  const least = Math.min(...zones.map(({ all }) => all));
  return skew === null || zones.every(({ all, placed }) => placed === 0 || all - least <= skew);
}

/** Where nodes can be had, or are: those that pods spread over. */
function zonesOf({ sizes, nodes }: SmallWorld): ReadonlyArray<number> {
  const isThere = (zone: number): boolean => nodes.some((one) => one.zone === zone);
  return [0, 1, 2].filter((zone) => isThere(zone) || sizes.some(({ prices }) => prices[zone] !== null));
}

/** Pods that must be together follow those that run; where none does, all are where the first is. */
function isTogether(placed: ReadonlyArray<number>, running: ReadonlyArray<number>): boolean {
  const allowed = running.length > 0 ? running : placed.slice(0, 1);
  return placed.every((zone) => allowed.includes(zone));
}

/** In what two pods of these workloads may not be together; either may say so. */
function keptApart({ workloads }: SmallWorld, one: number, other: number): 'host' | 'zone' | null {
  const says = (of: number, about: number): 'host' | 'zone' | null => {
    const [own, theirs] = [workloads[of], workloads[about]];
    if (own === undefined || theirs === undefined || own.apart === null) return null;
    const isMeant = own.apart.from === 'own' ? of === about : own.app === theirs.app;
    return isMeant ? own.apart.by : null;
  };
  const both = [says(one, other), says(other, one)];
  return both.find((by) => by === 'zone') ?? both.find((by) => by === 'host') ?? null;
}

function plusOne(counts: ReadonlyArray<number>, of: number): ReadonlyArray<number> {
  return counts.with(of, (counts[of] ?? 0) + 1);
}
