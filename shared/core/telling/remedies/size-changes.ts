import { renderAmount } from '../../../kubernetes/text/quantity.ts';
import type { Edit } from '../../model/remedy.ts';
import { capacityOf, isNone } from '../../offerings/compile-pool.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import type { CompiledShape } from '../../placing/state/compile-shape.ts';
import { at } from '../../quantity/at.ts';
import { renderForPeople } from '../../quantity/render-for-people.ts';
import { fits } from '../../quantity/resource-table.ts';
import type { Change } from './changes.ts';
import type { PoolFacts } from './facts-of-pool.ts';

const DISK = 'ephemeral-storage';

/** Bounds of `osDiskSizeGB`. Source: the CRD of AKSNodeClass. */
const LARGEST_DISK_GB = 2048;

/**
 * The ways to make a pod fit `offered`, which meets all else: a larger OS disk where that alone is too small, or
 * requests that are as large as the largest size allows. None where no size has each of them, though not together.
 */
export function changesOfSize(
  { state, dimensions: { names }, roomOf }: PoolFacts,
  { requests }: CompiledShape,
  offered: Int32Array,
): ReadonlyArray<Change> {
  const types = [...offered.keys()].filter((type) => at(offered, type) !== 0);
  const rooms = types.map(roomOf);
  const most = names.map((_, dimension) => rooms.reduce((largest, room) => Math.max(largest, at(room, dimension)), 0));
  const short = names.flatMap((_, dimension) => (at(requests, dimension) > (most[dimension] ?? 0) ? [dimension] : []));
  if (short.length === 0) return [];
  const lowered = Float64Array.from(requests, (wanted, dimension) => Math.min(wanted, most[dimension] ?? 0));
  const left = offered.map((mask, type) => (mask !== 0 && fits(roomOf(type), lowered) ? mask : 0));
  if (isNone(left)) return [];
  const lower = short.map((dimension): Edit => {
    const name = names[dimension] ?? '';
    const amount = most[dimension] ?? 0;
    const value = amount === 0 ? null : renderForPeople(name, renderAmount(name, amount), 'down');
    return { object: 'Pod', field: 'spec.containers.resources.requests', key: name, value };
  });
  const disk = short.map((dimension) => names[dimension] ?? '').every((name) => name === DISK)
    ? largerDisk(state, types, at(requests, names.indexOf(DISK)) - (most[names.indexOf(DISK)] ?? 0))
    : null;
  return [...(disk === null ? [] : [{ edits: [disk], left }]), { edits: lower, left }];
}

/** The disk of a node is what its class says, on every size. */
function largerDisk({ pool }: PoolState, types: ReadonlyArray<number>, missing: number): Edit | null {
  const largest = Math.max(...types.map((type) => capacityOf(pool, type).get(DISK) ?? 0));
  const value = Math.ceil((largest + missing) / 1e9);
  return value > LARGEST_DISK_GB || largest === 0
    ? null
    : { object: 'AKSNodeClass', field: 'spec.osDiskSizeGB', key: null, value };
}
