import type { Pod } from '../../model/cluster.ts';
import { meetsNeed, hasRoom } from '../state/existing-nodes.ts';
import { at } from '../../quantity/at.ts';
import { capacityOf } from '../../offerings/compile-pool.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { withinLimits } from '../../offerings/pool-state.ts';
import { optionsFor, type Workspace } from '../state/workspace.ts';

/** Pods left, by priority: the highest first. */
export type LeftByPriority = ReadonlyArray<readonly [priority: number, pods: number]>;

export function leftByPriority({ shapes }: Pick<Workspace, 'shapes'>, left: ReadonlyArray<Pod>): LeftByPriority {
  const counts = new Map<number, number>();
  for (const { shape } of left) {
    const priority = shapes.get(shape)?.shape.spec.priority ?? 0;
    counts.set(priority, (counts.get(priority) ?? 0) + 1);
  }
  return [...counts].toSorted(([a], [b]) => b - a);
}

/**
 * Below 0 when `a` leaves less than `b`: fewer pods of the highest priority at which they differ. No number of pods
 * makes up for one of a higher priority.
 */
export function compareLeft(a: LeftByPriority, b: LeftByPriority): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const [[first, own] = NONE, [second, other] = NONE] = [a[index], b[index]];
    if (first !== second) return first > second ? 1 : -1;
    if (own !== other) return own - other;
  }
  return 0;
}

const NONE = [-Infinity, 0] as const;

/**
 * The shapes whose pods something could hold, were they alone: limits and rules about other pods aside from those of
 * pods that run. No plan without devices places a pod of another shape. `workspace`: nothing is placed yet.
 */
export function holdableShapes(workspace: Workspace): ReadonlySet<number> {
  return new Set([...workspace.shapes.keys()].filter((shape) => isHoldable(workspace, shape)));
}

/** The same, with those of pods with devices, of which only their placing tells. */
export function placeableShapes(workspace: Workspace): ReadonlySet<number> {
  const withDevices = [...workspace.shapes].filter(([, { shape }]) => hasDeviceClaims(shape.spec));
  return new Set([...holdableShapes(workspace), ...withDevices.map(([index]) => index)]);
}

function isHoldable(workspace: Workspace, shape: number): boolean {
  const need = workspace.needs.get(shape)?.at(-1);
  if (need === undefined || hasDeviceClaims(need.shape.shape.spec)) return false;
  const isOnNew = workspace.pools.some((state) => {
    const options = optionsFor(workspace, state, need);
    return state.pool.catalog.types.some(
      (_, type) =>
        options.some(({ offered }) => at(offered, type) !== 0) &&
        withinLimits(state.remaining, capacityOf(state.pool, type), null),
    );
  });
  return isOnNew || workspace.nodes.some((node) => hasRoom(node, need.shape) && meetsNeed(node, need));
}
