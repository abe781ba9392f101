import type { PackingItem } from '../../packing/problem/problem.ts';
import type { HostPort } from '../../rules/host-ports.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import type { Need } from '../state/compile-shape.ts';

/** Each is one more resource to search by. */
export const MOST_SHARED_PORTS = 6;

/** Pods that take the same ports. */
interface Taker {
  readonly need: Need;
}

/**
 * Host ports that pods of several shapes take, as resources of which a node has one: of those of one shape a node takes
 * one pod anyway.
 * `counts`: the ports that count; the others are as if nobody took them.
 */
export function sharedPorts(
  takers: ReadonlyArray<Taker>,
  counts: (port: HostPort) => boolean = () => true,
): ReadonlyArray<string> {
  const shapes = new Map(takers.map(({ need }) => [need.shape.index, need]));
  const takersOf = Map.groupBy(
    [...shapes.values()].flatMap((need) => [...new Set(portsOf({ need }, counts))]),
    (port) => port,
  );
  return [...takersOf].flatMap(([port, own]) => (own.length > 1 ? [port] : [])).toSorted(byCodeUnit);
}

/**
 * Groups that can be packed together with `ports` as resources, and those that take further ones, which must be placed
 * one by one.
 */
export function byPorts<T extends Taker>(
  all: ReadonlyArray<T>,
): { readonly groups: ReadonlyArray<T>; readonly ports: ReadonlyArray<string>; readonly apart: ReadonlyArray<T> } {
  const shared = sharedPorts(all);
  const further = new Set(shared.slice(MOST_SHARED_PORTS));
  const isApart = (one: T): boolean => portsOf(one).some((port) => further.has(port));
  return {
    groups: all.filter((one) => !isApart(one)),
    ports: shared.slice(0, MOST_SHARED_PORTS),
    apart: all.filter((one) => isApart(one)),
  };
}

/**
 * Items of groups with one of each of `ports` that their pods take. `taker`: of an item; none where what it takes does
 * not count.
 */
export function withPorts(
  items: ReadonlyArray<PackingItem>,
  ports: ReadonlyArray<string>,
  taker: (item: number) => Taker | undefined,
): ReadonlyArray<PackingItem> {
  if (ports.length === 0) return items;
  return items.map((item, index) => {
    const of = taker(index);
    const own = new Set(of === undefined ? [] : portsOf(of));
    return { ...item, requests: Float64Array.of(...item.requests, ...ports.map((port) => (own.has(port) ? 1 : 0))) };
  });
}

/** What a node has, with one of each port. */
export function withOnePort(usable: Float64Array, ports: number): Float64Array {
  return ports === 0 ? usable : Float64Array.of(...usable, ...new Float64Array(ports).fill(1));
}

function portsOf({ need }: Taker, counts: (port: HostPort) => boolean = () => true): ReadonlyArray<string> {
  return need.shape.ports.filter((one) => counts(one)).map(({ port, protocol }) => `${port}/${protocol}`);
}
