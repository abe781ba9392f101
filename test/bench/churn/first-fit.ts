import type { App } from './day.ts';
import {
  appOf,
  isReady,
  mayBeIn,
  sizes,
  ZONES,
  zonesOf,
  type SimNode,
  type SimPod,
  type Size,
  type World,
} from './world.ts';

/** What becomes of pods whose nodes go: null where not all find a place, or only on more than one new node. */
export interface Simulated {
  /** The sizes that hold what is on the new node, cheapest first, and its zone; null where none is needed. */
  readonly claim: { readonly options: ReadonlyArray<Size>; readonly zone: string } | null;
}

interface Room {
  readonly node: SimNode;
  cpuM: number;
  mib: number;
  pods: number;
}

/**
 * Karpenter's simulation in our words: pods by CPU, then memory, each onto the first node by name that has room,
 * initialized ones first, else onto one new node that stays every size that holds its pods. `mayTake`: nodes that pods
 * of nodes that go may be put on.
 */
export function simulate(
  world: World,
  going: ReadonlyArray<SimNode>,
  mayTake: (node: SimNode) => boolean,
): Simulated | null {
  const moving = going.flatMap(({ pods }) => [...pods]);
  const movers = new Set(moving);
  const pending = [...world.pods.values()].filter(({ node, awaited }) => node === null && awaited === null);
  const rooms = roomsOf(world, new Set(going));
  const roomy = rooms.filter(({ node }) => mayTake(node));
  const zones = zonesWithout(world, movers);
  const claim: Claim = { cpuM: 0, mib: 0, pods: 0, zone: null, options: sizes };
  const size = (pod: SimPod): number => appOf(world, pod).cpuM * 1e6 + appOf(world, pod).mib;
  const queue = [...pending, ...moving].toSorted((a, b) => size(b) - size(a) || a.number - b.number);
  for (const pod of queue) {
    const app = appOf(world, pod);
    const counts = app.isSpread ? zones(pod.app) : null;
    const room = roomFor(movers.has(pod) ? roomy : rooms, app, counts);
    // A command waits for nothing that starts, and leaves no pod of its nodes without a place.
    if (movers.has(pod) && room !== null && !isReady(world, room.node)) return null;
    const zone = room === null ? join(claim, app, counts) : take(room, app);
    if (zone === null && movers.has(pod)) return null;
    if (counts !== null && zone !== null) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  }
  if (claim.pods === 0) return { claim: null };
  return { claim: { options: claim.options.toSorted((a, b) => a.price - b.price), zone: claim.zone ?? ZONES[0] } };
}

/** The one new node while it is filled. */
interface Claim {
  cpuM: number;
  mib: number;
  pods: number;
  /** Null while any will do. */
  zone: string | null;
  options: ReadonlyArray<Size>;
}

type Counts = ReadonlyMap<string, number> | null;

function roomFor(rooms: ReadonlyArray<Room>, app: App, counts: Counts): Room | null {
  const found = rooms.find(
    ({ node, cpuM, mib, pods }) =>
      cpuM >= app.cpuM && mib >= app.mib && pods >= 1 && (counts === null || mayBeIn(counts, node.zone)),
  );
  return found ?? null;
}

function take(room: Room, app: App): string {
  room.cpuM -= app.cpuM;
  room.mib -= app.mib;
  room.pods--;
  return room.node.zone;
}

/** The zone in which the new node is, or would be; null where no size holds the pod too, or its zones forbid it. */
function join(claim: Claim, app: App, counts: Counts): string | null {
  const zone = claim.zone ?? ZONES.find((one) => counts === null || mayBeIn(counts, one)) ?? ZONES[0];
  const [cpuM, mib, pods] = [claim.cpuM + app.cpuM, claim.mib + app.mib, claim.pods + 1];
  const options = claim.options.filter((one) => one.cpuM >= cpuM && one.mib >= mib && one.pods >= pods);
  if (options.length === 0 || (counts !== null && !mayBeIn(counts, zone))) return null;
  Object.assign(claim, { cpuM, mib, pods, options, zone: counts === null ? claim.zone : zone });
  return zone;
}

function roomsOf(world: World, gone: ReadonlySet<SimNode>): ReadonlyArray<Room> {
  const awaited = Map.groupBy(
    [...world.pods.values()].filter((pod) => pod.awaited !== null),
    (pod) => pod.awaited,
  );
  return [...world.nodes.values()]
    .filter((node) => !node.isLeaving && !gone.has(node))
    .toSorted((a, b) => Number(isReady(world, b)) - Number(isReady(world, a)) || (a.name < b.name ? -1 : 1))
    .map((node) => {
      const coming = awaited.get(node) ?? [];
      const taken = coming.reduce(
        (sum, pod) => ({ cpuM: sum.cpuM + appOf(world, pod).cpuM, mib: sum.mib + appOf(world, pod).mib }),
        { cpuM: 0, mib: 0 },
      );
      return {
        node,
        cpuM: node.type.cpuM - node.cpuM - taken.cpuM,
        mib: node.type.mib - node.mib - taken.mib,
        pods: node.type.pods - node.pods.size - coming.length,
      };
    });
}

/** Counts of pods by zone, those that move left out; made when first asked for. */
function zonesWithout(world: World, movers: ReadonlySet<SimPod>): (app: number) => Map<string, number> {
  const known = new Map<number, Map<string, number>>();
  return (app) => {
    const found = known.get(app);
    if (found !== undefined) return found;
    const counts = zonesOf(world, app);
    for (const pod of movers) {
      if (pod.app === app && pod.node !== null) counts.set(pod.node.zone, (counts.get(pod.node.zone) ?? 0) - 1);
    }
    known.set(app, counts);
    return counts;
  };
}
