import { microUsdPerHour, type MicroUsdPerHour } from '../../quantity/units.ts';
import type { Arena, Slot } from '../search/arena.ts';
import { freeOf, type PoolOffering } from '../search/pool-offerings.ts';

/** A size as CPU and memory per micro-USD. */
interface Yield {
  readonly cpu: number;
  readonly memory: number;
}

/** What CPU and memory are worth, in micro-USD per hour and unit. */
interface Worth {
  readonly cpu: number;
  readonly memory: number;
}

/** Room for errors of floating point, many times over. */
const CAUTION = 1 - 1e-9;

/**
 * What no end of the cluster costs less than: nodes that must stay at their price, and all pods that may move in
 * fractions of the sizes that yield most, less what room the nodes that stay have. `arena`: nothing has moved yet.
 * Duality makes it a proof: where no size has more worth than it costs, pods cost what they are worth. Rules about
 * other pods, zones and budgets are left out.
 */
export function lowerBoundOf({ slots, shapes }: Arena, offerings: ReadonlyArray<PoolOffering>): MicroUsdPerHour {
  let fixed = 0;
  const demand = { cpu: 0, memory: 0 };
  const yields: Array<Yield> = [];
  for (const slot of slots) {
    const price = slot.node?.price?.plain ?? 0;
    const free = { cpu: Math.max(0, slot.room.free[CPU] ?? 0), memory: Math.max(0, slot.room.free[MEMORY] ?? 0) };
    if (!slot.isCandidate) {
      fixed += price;
      demand.cpu -= free.cpu;
      demand.memory -= free.memory;
      continue;
    }
    const own = ownOf(slot, shapes);
    demand.cpu += own.cpu;
    demand.memory += own.memory;
    yields.push({ cpu: (free.cpu + own.cpu) / price, memory: (free.memory + own.memory) / price });
  }
  for (const offering of offerings) {
    const free = freeOf(offering, slots[0]?.room.free.length ?? 0);
    yields.push({ cpu: (free[CPU] ?? 0) / offering.plainPrice, memory: (free[MEMORY] ?? 0) / offering.plainPrice });
  }
  // A node for nothing holds any pods for nothing.
  const isFree = yields.some(({ cpu }) => !Number.isFinite(cpu));
  const worths = isFree ? [] : worthsOf(yields);
  const bought = worths.reduce((most, { cpu, memory }) => Math.max(most, cpu * demand.cpu + memory * demand.memory), 0);
  return microUsdPerHour(Math.floor((fixed + bought) * CAUTION));
}

/** CPU and memory come first among the resources, in this order. */
const [CPU, MEMORY] = [0, 1];

function ownOf({ own }: Slot, shapes: Arena['shapes']): { readonly cpu: number; readonly memory: number } {
  const sum = { cpu: 0, memory: 0 };
  for (const { shape, count } of own) {
    const requests = shapes.get(shape)?.requests;
    sum.cpu += count * (requests?.[CPU] ?? 0);
    sum.memory += count * (requests?.[MEMORY] ?? 0);
  }
  return sum;
}

/** The corners of what CPU and memory may be worth: one of them is the best for any demand. */
function worthsOf(yields: ReadonlyArray<Yield>): ReadonlyArray<Worth> {
  const hull = hullOf(yields);
  return [
    ...hull.slice(-1).flatMap(({ cpu }) => (cpu > 0 ? { cpu: 1 / cpu, memory: 0 } : [])),
    ...hull.slice(0, 1).flatMap(({ memory }) => (memory > 0 ? { cpu: 0, memory: 1 / memory } : [])),
    // Each has more CPU than the one before it, and less memory: neither is worth less than nothing.
    ...hull.slice(1).map((b, index): Worth => {
      const a = hull[index] ?? b;
      const determinant = a.cpu * b.memory - b.cpu * a.memory;
      return { cpu: (b.memory - a.memory) / determinant, memory: (a.cpu - b.cpu) / determinant };
    }),
  ];
}

/** The yields that no mix of others beats, from most memory to most CPU. */
function hullOf(yields: ReadonlyArray<Yield>): ReadonlyArray<Yield> {
  const sorted = yields.toSorted((a, b) => a.cpu - b.cpu || a.memory - b.memory);
  const hull: Array<Yield> = [];
  for (const point of sorted) {
    while (hull.length > 0 && (isBeaten(hull, point) || (hull.at(-1)?.memory ?? 0) <= point.memory)) hull.pop();
    hull.push(point);
  }
  return hull;
}

/** Is the last of the hull below the line from the one before it to the point? */
function isBeaten(hull: ReadonlyArray<Yield>, point: Yield): boolean {
  const [a, b] = [hull.at(-2), hull.at(-1)];
  if (a === undefined || b === undefined) return false;
  return (b.cpu - a.cpu) * (point.memory - a.memory) - (b.memory - a.memory) * (point.cpu - a.cpu) >= 0;
}
