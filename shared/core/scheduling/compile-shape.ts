import type { PodShape } from '../model/cluster.ts';
import type { Toleration } from '../model/manifest.ts';
import type { Amounts } from '../quantity/quantity.ts';
import { at, isOpenKey, offeringsMeeting } from './compile-pool.ts';
import { hostPortsOf, portsConflict, type HostPort } from './host-ports.ts';
import type { LabelRules } from './label-rule.ts';
import { requiredAlternatives } from './pod-rules.ts';
import { podRequests } from './pod-requests.ts';
import { COMBO_BITS, type PoolState } from './pool-state.ts';
import { fitsRow, toVector, type Dimensions } from './resource-table.ts';
import { untolerated } from './taints.ts';

/** What pods of one shape ask, read once. */
export interface CompiledShape {
  readonly index: number;
  readonly shape: PodShape;
  readonly amounts: Amounts;
  readonly requests: Float64Array;
  readonly tolerations: ReadonlyArray<Toleration>;
  readonly alternatives: ReadonlyArray<LabelRules>;
  readonly ports: ReadonlyArray<HostPort>;
}

/** One way in which a shape can be on new nodes of a pool. */
export interface PoolOption {
  /** Per type: the offerings that hold one pod of the shape and meet its rules. */
  readonly offered: Int32Array;
  /** Rules on labels that the pool leaves open; the claim narrows them as pods join. */
  readonly open: LabelRules;
}

export function compileShape(index: number, shape: PodShape, dimensions: Dimensions): CompiledShape {
  const amounts = podRequests(shape.spec);
  return {
    index,
    shape,
    amounts,
    requests: toVector(dimensions, amounts),
    tolerations: shape.spec.tolerations ?? [],
    alternatives: requiredAlternatives(shape.spec),
    ports: hostPortsOf(shape.spec),
  };
}

/** How a shape can be on new nodes of a pool; empty when it cannot. Alternatives that leave no label open are one option. */
export function optionsOn(state: PoolState, shape: CompiledShape): ReadonlyArray<PoolOption> {
  if (untolerated(shape.tolerations, state.pool.taints, false) !== null) return [];
  const base = withoutDaemonPorts(state, shape);
  const settled = new Int32Array(base.length);
  const options: Array<PoolOption> = [];
  for (const rules of shape.alternatives) {
    const offered = holdingOne(state, shape, offeringsMeeting(state.pool, rules, base));
    const open = new Map([...rules].filter(([key]) => isOpenKey(state.pool, key)));
    if (open.size > 0) options.push({ offered, open });
    else offered.forEach((mask, type) => (settled[type] = at(settled, type) | mask));
  }
  return [{ offered: settled, open: new Map() }, ...options].filter(({ offered }) =>
    offered.some((mask) => mask !== 0),
  );
}

function withoutDaemonPorts(state: PoolState, { ports }: CompiledShape): Int32Array {
  const base = Int32Array.from(state.pool.offered);
  for (const { ports: taken, offered } of state.daemonPorts) {
    if (!portsConflict(ports, taken)) continue;
    offered.forEach((mask, type) => (base[type] = at(base, type) & ~mask));
  }
  return base;
}

function holdingOne(state: PoolState, { requests }: CompiledShape, offered: Int32Array): Int32Array {
  const empty = new Float64Array(requests.length);
  for (const type of state.pool.order) {
    offered[type] = fittingBits(state, type, at(offered, type), { load: empty, more: requests });
  }
  return offered;
}

/** The offerings of a type among `mask` that hold `load` and `more` together. */
export function fittingBits(
  { usable, uniform }: PoolState,
  type: number,
  mask: number,
  { load, more }: { readonly load: Float64Array; readonly more: Float64Array },
): number {
  if (mask === 0) return 0;
  const row = (bit: number): number => (type * COMBO_BITS + bit) * load.length;
  if (uniform[type] === 1) return fitsRow(load, more, usable, row(31 - Math.clz32(mask))) ? mask : 0;
  let fitting = 0;
  for (let bit = 0; bit < COMBO_BITS; bit++) {
    if ((mask >> bit) & 1 && fitsRow(load, more, usable, row(bit))) fitting |= 1 << bit;
  }
  return fitting;
}
