import { allocatableAmounts } from '../../../shared/core/model/allocatable.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import { scaledDownTypes } from '../disruption/scaled-down-snapshot.ts';
import { TICK_S, type App } from './day.ts';

export interface SimPod {
  /** The pod of the day that it is, or whose successor it is. */
  readonly number: number;
  readonly app: number;
  readonly uid: string;
  node: SimNode | null;
  /** A node that starts, and that it waits for. */
  awaited: SimNode | null;
}

export interface SimNode {
  readonly name: string;
  readonly type: Size;
  readonly zone: string;
  readonly born: number;
  readonly readyAt: number;
  readonly pods: Set<SimPod>;
  cpuM: number;
  mib: number;
  /** Tainted: it is to go. */
  isLeaving: boolean;
  /** Tick at which a pod last came or went. */
  lastPodEvent: number;
}

/** A size with what pods can have of it. Price in micro-USD per hour, on demand, the same in all zones. */
export interface Size {
  readonly type: InstanceType;
  readonly cpuM: number;
  readonly mib: number;
  readonly pods: number;
  readonly price: number;
}

export const ZONES = ['westeurope-1', 'westeurope-2', 'westeurope-3'] as const;

/** From the request of the VM until pods can run. */
export const START_TICKS = 120 / TICK_S;

/** Pods within so many of each other over the zones. */
export const MAX_SKEW = 2;

const MIB = 2 ** 20;

export const sizes: ReadonlyArray<Size> = scaledDownTypes.flatMap((type) => {
  const price = type.offerings.find(
    ({ capacityType, zone }) => capacityType === 'on-demand' && zone === ZONES[0],
  )?.price;
  if (price === undefined || !isWanted(type)) return [];
  const amounts = allocatableAmounts(type);
  const amount = (name: string): number => amounts.get(name) ?? 0;
  return [{ type, price, cpuM: amount('cpu'), mib: Math.floor(amount('memory') / MIB), pods: amount('pods') }];
});

/** What the pool asks for: it is read here by itself, as Karpenter's part may use nothing of ours. */
function isWanted({ labels }: InstanceType): boolean {
  const [[family = ''] = [], [cpu] = [], [arch] = []] = [
    'karpenter.azure.com/sku-family',
    'karpenter.azure.com/sku-cpu',
    'kubernetes.io/arch',
  ].map((key) => labels[key]);
  return ['D', 'E', 'F'].includes(family) && Number(cpu) < 33 && arch === 'amd64';
}

const byName = new Map(sizes.map((size) => [size.type.name, size]));

/** The cluster as it is simulated, and what has come to be counted. */
export interface World {
  readonly apps: ReadonlyArray<App>;
  readonly nodes: Map<string, SimNode>;
  readonly pods: Map<number, SimPod>;
  tick: number;
  /** Grows with each change that a decision can depend on. */
  changes: number;
  /** Dollars, pods that were moved by disruption, nodes, and minutes that pods waited. */
  readonly counted: { cost: number; evictions: number; started: number; waited: number; made: number };
}

export function newWorld(apps: ReadonlyArray<App>): World {
  const counted = { cost: 0, evictions: 0, started: 0, waited: 0, made: 0 };
  return { apps, nodes: new Map(), pods: new Map(), tick: 0, changes: 0, counted };
}

export function launch(world: World, typeName: string, zone: string): SimNode {
  const type = byName.get(typeName);
  if (type === undefined) throw new Error(`there is no size ${typeName}`);
  const name = `node-${String((world.counted.started += 1)).padStart(5, '0')}`;
  const readyAt = world.tick + START_TICKS;
  const node = {
    name,
    type,
    zone,
    born: world.tick,
    readyAt,
    pods: new Set<SimPod>(),
    cpuM: 0,
    mib: 0,
    isLeaving: false,
    lastPodEvent: readyAt,
  };
  world.nodes.set(name, node);
  world.changes++;
  return node;
}

export function isReady(world: World, node: SimNode): boolean {
  return node.readyAt <= world.tick;
}

export function bind(world: World, pod: SimPod, node: SimNode): void {
  const { cpuM, mib } = appOf(world, pod);
  pod.node = node;
  pod.awaited = null;
  node.pods.add(pod);
  node.cpuM += cpuM;
  node.mib += mib;
  node.lastPodEvent = world.tick;
  world.changes++;
}

export function unbind(world: World, pod: SimPod): void {
  const { node } = pod;
  if (node === null) return;
  const { cpuM, mib } = appOf(world, pod);
  node.pods.delete(pod);
  node.cpuM -= cpuM;
  node.mib -= mib;
  node.lastPodEvent = world.tick;
  pod.node = null;
  world.changes++;
}

export function startPod(world: World, number: number, app: number): void {
  world.pods.set(number, { number, app, uid: `pod-${(world.counted.made += 1)}`, node: null, awaited: null });
  world.changes++;
}

export function endPod(world: World, number: number): void {
  const pod = world.pods.get(number);
  if (pod === undefined) return;
  unbind(world, pod);
  world.pods.delete(number);
}

/** The pod goes, and another comes in its place, which waits. */
export function succeed(world: World, pod: SimPod): void {
  endPod(world, pod.number);
  startPod(world, pod.number, pod.app);
}

/** Takes the node away; its pods are made anew. Answers how many. */
export function removeNode(world: World, node: SimNode): number {
  const pods = [...node.pods];
  for (const pod of pods) succeed(world, pod);
  for (const pod of world.pods.values()) if (pod.awaited === node) pod.awaited = null;
  world.nodes.delete(node.name);
  world.changes++;
  return pods.length;
}

export function appOf({ apps }: World, { app }: Pick<SimPod, 'app'>): App {
  const found = apps[app];
  if (found === undefined) throw new Error(`there is no app ${app}`);
  return found;
}

/** How many pods of the app are in each zone. */
export function zonesOf(world: World, app: number): Map<string, number> {
  const counts = new Map<string, number>(ZONES.map((zone) => [zone, 0]));
  for (const pod of world.pods.values()) {
    const zone = pod.app === app ? (pod.node ?? pod.awaited)?.zone : undefined;
    if (zone !== undefined) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  }
  return counts;
}

export function mayBeIn(counts: ReadonlyMap<string, number>, zone: string): boolean {
  return (counts.get(zone) ?? 0) + 1 - Math.min(...counts.values()) <= MAX_SKEW;
}
