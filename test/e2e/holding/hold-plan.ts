import { rngFrom } from '../../../sandbox/base/rng.ts';
import { drawPods, type Mixture } from './holds.ts';
import type { HoldsPlane } from './holds-plane.ts';

/** A workload to draw. */
export interface Workload {
  readonly seed: string;
  readonly mixture: Mixture;
  readonly pods: number;
  /** Between one node's arrival and the next. */
  readonly betweenMs: number;
}

/** What the scheduler made of a plan. */
export interface Held {
  readonly workload: Workload;
  readonly nodes: number;
  /** Pods without a node once all nodes of the first plan had joined. */
  readonly left: number;
  /** Pods on the very node that they were planned onto. */
  readonly asPlanned: number;
  /** Nodes whose pods request more than there is. */
  readonly overcommitted: number;
  /** From the first node's arrival until the last of those pods was bound that were; the API tells whole seconds. */
  readonly tookMs: number;
  /** Cost of the nodes that planning again added, as a share of the first plan's. */
  readonly extra: number;
  /** Pods without a node after planning again. */
  readonly stillLeft: number;
}

/** Kinds of pods in a workload. */
const KINDS = 12;

/** Plans after the first: each has room for all that the one before left. */
const REPLANS_MAX = 5;

/** Draws a workload, plans it, lets the nodes join, and plans again what is left, as in production. */
export async function holdPlan(plane: HoldsPlane, workload: Workload): Promise<Held> {
  const rng = rngFrom(workload.seed);
  await plane.create(drawPods(rng.split('pods'), workload.pods, KINDS, workload.mixture));
  const first = await plane.plan();
  if (first === null || first.plan.left.length > 0) throw new Error(`${workload.seed}: not every pod was planned`);
  const startedMs = Date.now();
  await plane.join(first, rng.split('order'), workload.betweenMs);
  const bindings = await plane.bindings();
  const tookMs = (await plane.lastBoundMs()) - startedMs;
  const planned = new Map(
    first.plan.claims.flatMap((claim, index) =>
      claim.pods.map(({ name }) => [name.replace('default/', ''), `aks-${first.claimNames[index] ?? ''}`] as const),
    ),
  );
  const left = [...bindings.values()].filter((node) => node === null).length;
  const asPlanned = [...bindings].filter(([pod, node]) => planned.get(pod) === node).length;
  let [extra, stillLeft] = [0, left];
  for (let round = 0; stillLeft > 0 && round < REPLANS_MAX; round++) {
    const again = await plane.plan();
    if (again !== null) await plane.join(again, rng.split(`order-${round}`), workload.betweenMs);
    extra += again?.plan.cost ?? 0;
    stillLeft = [...(await plane.bindings()).values()].filter((node) => node === null).length;
  }
  const overcommitted = await plane.overcommitted();
  const share = extra / first.plan.cost;
  return { workload, nodes: first.claimNames.length, left, asPlanned, overcommitted, tookMs, extra: share, stillLeft };
}

/** One line about it. */
export function renderHeld({ workload, ...held }: Held): string {
  return (
    `${workload.seed} ${workload.mixture}: ${workload.pods} pods on ${held.nodes} nodes; left without a node ${held.left}, ` +
    `where planned ${held.asPlanned}, nodes with too much ${held.overcommitted}; bound within ${(held.tookMs / 1000).toFixed(1)} s; ` +
    `planning again cost ${(100 * held.extra).toFixed(2)} % more; still left ${held.stillLeft}`
  );
}
