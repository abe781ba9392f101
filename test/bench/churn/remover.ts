import { appOf, isReady, removeNode, type SimNode, type World } from './world.ts';

/** Whoever removes nodes: is asked once in each turn. */
export type Remover = (world: World) => void;

/** Nodes that go, once what comes in their place is ready. */
export interface Removal {
  readonly going: ReadonlyArray<SimNode>;
  readonly coming: ReadonlyArray<SimNode>;
}

/** A tenth of the nodes at a time, Karpenter's own default. */
export function budgetOf(world: World): number {
  const nodes = [...world.nodes.values()].filter((node) => isReady(world, node));
  return Math.max(0, Math.ceil(nodes.length / 10) - nodes.filter(({ isLeaving }) => isLeaving).length);
}

/** So long no pod may have come or gone: consolidateAfter of one minute. */
export const QUIET_TICKS = 4;

/** May the node be removed of somebody's choice now? */
export function isCandidate(world: World, node: SimNode): boolean {
  if (!isReady(world, node) || node.isLeaving || !isQuiet(world, node)) return false;
  for (const pod of node.pods) if (appOf(world, pod).isProtected) return false;
  for (const { awaited } of world.pods.values()) if (awaited === node) return false;
  return true;
}

export function isQuiet({ tick }: World, { lastPodEvent }: SimNode): boolean {
  return tick - lastPodEvent >= QUIET_TICKS;
}

/** The nodes go, and their pods are evicted. */
export function carryOut(world: World, { going }: Removal): void {
  for (const node of going) if (world.nodes.has(node.name)) world.counted.evictions += removeNode(world, node);
}
