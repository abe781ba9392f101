import type { Pod } from '../../model/cluster.ts';
import type { PlannedReplacement } from '../plan/disruption-plan.ts';
import { microUsdPerHour } from '../../quantity/units.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import type { Arena, Slot } from '../search/arena.ts';
import type { PoolOffering } from '../search/pool-offerings.ts';

/** Where a search has ended: which nodes are gone, which have come, and where each pod is that moved. */
export interface Ends {
  /** Names of nodes, in the order in which they were taken away. */
  readonly gone: ReadonlySet<string>;
  /** By name. */
  readonly created: ReadonlyMap<string, PlannedReplacement>;
  /** By uid of a pod: the node, there or created, that it is to be on. */
  readonly homes: ReadonlyMap<string, string>;
}

export const NO_ENDS: Ends = { gone: new Set(), created: new Map(), homes: new Map() };

/** Reads off an arena what has become of the cluster. `taken`: names that new nodes must not have. */
export function endsOf({ slots }: Arena, taken: ReadonlySet<string>): Ends {
  const names = new Map<number, string>();
  const created = new Map<string, PlannedReplacement>();
  const used = new Set(taken);
  for (const slot of slots) {
    names.set(slot.index, slot.room.capacity.name);
    if (slot.offering === null || slot.state !== 'there') continue;
    const name = freeName(slot.offering.state.pool.name, used);
    names.set(slot.index, name);
    created.set(name, replacementOf(slot.offering, name));
  }
  const gone = new Set<string>();
  const homes = new Map<string, string>();
  for (const slot of slots.filter(({ state }) => state === 'gone').toSorted((a, b) => a.takenAt - b.takenAt)) {
    gone.add(slot.room.capacity.name);
    for (const [uid, target] of homesOf(slot)) homes.set(uid, names.get(target) ?? '');
  }
  return { gone, created, homes };
}

function freeName(nodePool: string, used: Set<string>): string {
  let number = 1;
  // Ends: every turn passes a name of a finite set.
  while (used.has(`${nodePool}-${number}`)) number++;
  used.add(`${nodePool}-${number}`);
  return `${nodePool}-${number}`;
}

function replacementOf({ state: { pool }, type, bit, plainPrice }: PoolOffering, name: string): PlannedReplacement {
  const market = pool.catalog.markets[bit];
  return {
    name,
    nodePool: pool.name,
    instanceType: pool.catalog.types[type]?.name ?? '',
    zone: market?.zone ?? '',
    capacityType: market?.capacityType ?? 'on-demand',
    price: microUsdPerHour(plainPrice),
  };
}

/** Pods of one shape are alike: by name they go to where pods of the shape go. */
function homesOf({ node, moves }: Slot): ReadonlyArray<readonly [uid: string, target: number]> {
  const byShape = Map.groupBy(node?.moving ?? [], ({ shape }) => shape);
  const queues = new Map(
    [...byShape].map(
      ([shape, pods]) =>
        [shape, pods.toSorted((a, b) => byCodeUnit(a.name, b.name) || byCodeUnit(a.uid, b.uid))] as const,
    ),
  );
  const next = new Map<number, number>();
  return moves.flatMap(({ target, shape, count }) => {
    const from = next.get(shape) ?? 0;
    next.set(shape, from + count);
    return (queues.get(shape) ?? []).slice(from, from + count).map((pod: Pod) => [pod.uid, target] as const);
  });
}
