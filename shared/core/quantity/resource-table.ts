import type { Amounts } from '../../kubernetes/text/quantity.ts';

/** The resources that some pod asks for, in a fixed order, so that an amount of each is one place in a vector. */
export interface Dimensions {
  readonly names: ReadonlyArray<string>;
}

const FIRST = ['cpu', 'memory', 'pods'];

/** CPU, memory and pods first, then every other resource asked for, by name. */
export function dimensionsOf(requests: Iterable<Amounts>): Dimensions {
  const others = new Set<string>();
  for (const amounts of requests) {
    for (const [name, amount] of amounts) if (amount > 0 && !FIRST.includes(name)) others.add(name);
  }
  return { names: [...FIRST, ...[...others].toSorted()] };
}

/** A resource that is not listed counts as 0. */
export function toVector({ names }: Dimensions, amounts: Amounts): Float64Array {
  const vector = new Float64Array(names.length);
  for (let index = 0; index < names.length; index++) vector[index] = amounts.get(names[index] ?? '') ?? 0;
  return vector;
}

/**
 * Does `load` plus `more` stay within the row of `table` that starts at `offset`? A negative row never fits anything.
 */
export function fitsRow(load: Float64Array, more: Float64Array, table: Float64Array, offset: number): boolean {
  for (let index = 0; index < load.length; index++) {
    if ((load[index] ?? 0) + (more[index] ?? 0) > (table[offset + index] ?? 0)) return false;
  }
  return true;
}

/** Do `requests` stay within what is free? What is not asked for may be overdrawn. */
export function fits(free: Float64Array, requests: Float64Array): boolean {
  for (let index = 0; index < requests.length; index++) {
    const request = requests[index] ?? 0;
    if (request > 0 && request > (free[index] ?? 0)) return false;
  }
  return true;
}

/** Adds `more` so many times, in place. */
export function addVector(total: Float64Array, more: Float64Array, times: number): void {
  for (let index = 0; index < total.length; index++) total[index] = (total[index] ?? 0) + times * (more[index] ?? 0);
}
