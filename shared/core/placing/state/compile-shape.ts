import type { Cluster, PodShape } from '../../model/cluster.ts';
import type { Toleration } from '../../../kubernetes/manifest.ts';
import type { Amounts } from '../../../kubernetes/text/quantity.ts';
import { attachmentsOf, type Attachment } from '../../rules/attachments.ts';
import type { NeedTerms } from './need-terms.ts';
import type { PodConstraints } from '../../rules/pod-constraints.ts';
import { at } from '../../quantity/at.ts';
import { isOpenKey, offeringsMeeting } from '../../offerings/compile-pool.ts';
import { hostPortsOf, portsConflict, type HostPort } from '../../rules/host-ports.ts';
import type { LabelRules } from '../../rules/label-rule.ts';
import { holdingBits, sharedOfferings, type PoolState } from '../../offerings/pool-state.ts';
import { toVector, type Dimensions } from '../../quantity/resource-table.ts';
import { untolerated } from '../../rules/taints.ts';
import type { Exclusion } from './topology.ts';
import { volumeRules, type VolumeRules } from '../../rules/volumes.ts';

/** What pods of one shape are, read once. */
export interface CompiledShape {
  readonly index: number;
  readonly shape: PodShape;
  readonly amounts: Amounts;
  readonly requests: Float64Array;
  readonly tolerations: ReadonlyArray<Toleration>;
  readonly ports: ReadonlyArray<HostPort>;
  readonly volumes: VolumeRules;
  readonly attachments: ReadonlyArray<Attachment>;
}

/** What pods of a shape need at one level of relaxation. */
export interface Need {
  readonly shape: CompiledShape;
  readonly constraints: PodConstraints;
  readonly terms: NeedTerms;
  /** Anti-affinity of others that these pods must heed. */
  readonly exclusions: ReadonlyArray<Exclusion>;
  /** Topology keys that a claim must have settled once such a pod is on it, hostname aside. */
  readonly settled: ReadonlyArray<string>;
  /** Labels that spreads which count such pods ask of nodes: settled then too where the pool leaves them open. */
  readonly filtered: ReadonlyArray<string>;
  /** Does some rule count such pods? */
  readonly counted: boolean;
  /** Do these pods get no new machine without a zone, but of a pool that speaks of such? */
  readonly keepsToZones: boolean;
  /** Needs of one kind have the same requests and node rules, and so the same options everywhere. */
  readonly kind: string;
}

/** One way in which a need can be met on new nodes of a pool. */
export interface PoolOption {
  /** Per type: the offerings that meet its rules, however small. Equal sets are one array. */
  readonly allowed: Int32Array;
  /** Per type: the offerings that hold one pod of the shape and meet its rules. */
  readonly offered: Int32Array;
  /** Rules on labels that the pool leaves open; the claim narrows them as pods join. */
  readonly open: LabelRules;
}

/** `amounts`: what a pod of the shape requests. */
export function compileShape(
  cluster: Cluster,
  index: number,
  { shape, amounts }: { readonly shape: PodShape; readonly amounts: Amounts },
  dimensions: Dimensions,
): CompiledShape {
  return {
    index,
    shape,
    amounts,
    requests: toVector(dimensions, amounts),
    tolerations: shape.spec.tolerations ?? [],
    ports: hostPortsOf(shape.spec),
    volumes: volumeRules(cluster, shape),
    attachments: attachmentsOf(cluster, shape),
  };
}

/**
 * What needs of a shape have in common with others that have the same options everywhere; without the level's
 * constraints.
 */
export function kindOf({ shape, requests, ports }: CompiledShape): string {
  const { containers: _, initContainers: __, topologySpreadConstraints: ___, affinity: ____, ...rest } = shape.spec;
  const where = rest.volumes === undefined && rest.resourceClaims === undefined ? '' : shape.namespace;
  return JSON.stringify([[...requests], ports, where, rest]);
}

/**
 * How a need can be met on new nodes of a pool; empty when it cannot. Alternatives that leave no label open are one
 * option.
 * `among`: the bits of the offerings that may be used.
 */
export function optionsOn(
  state: PoolState,
  { shape, constraints }: Pick<Need, 'shape' | 'constraints'>,
  among = -1,
): ReadonlyArray<PoolOption> {
  if (untolerated(shape.tolerations, state.pool.taints, constraints.avoidsSoftTaints) !== null) return [];
  const base = withinVolumes(state, shape, withoutDaemonPorts(state, shape)).map((mask) => mask & among);
  const settled = new Int32Array(base.length);
  const options: Array<PoolOption> = [];
  const add = (met: Int32Array, open: LabelRules): void => {
    const allowed = sharedOfferings(state, met);
    const offered = holdingOne(state, shape, allowed);
    if (offered.some((mask) => mask !== 0)) options.push({ allowed, offered, open });
  };
  const ways = constraints.alternatives.map((rules) => ({
    met: offeringsMeeting(state.pool, rules, base),
    open: new Map([...rules].filter(([key]) => isOpenKey(state.pool, key))),
  }));
  for (const { met, open } of ways) if (open.size === 0) addMasks(settled, met);
  add(settled, new Map());
  for (const { met, open } of ways) if (open.size > 0) add(met, open);
  return options;
}

function withinVolumes(state: PoolState, { volumes }: CompiledShape, base: Int32Array): Int32Array {
  const any = new Int32Array(base.length);
  if (volumes.kind === 'problem') return any;
  for (const rules of volumes.alternatives) addMasks(any, offeringsMeeting(state.pool, rules, base));
  return any;
}

function withoutDaemonPorts(state: PoolState, { ports }: CompiledShape): Int32Array {
  const base = Int32Array.from(state.pool.offered);
  for (const { ports: taken, offered } of state.daemonPorts) {
    if (portsConflict(ports, taken)) offered.forEach((mask, type) => (base[type] = at(base, type) & ~mask));
  }
  return base;
}

function addMasks(total: Int32Array, more: Int32Array): void {
  more.forEach((mask, type) => (total[type] = at(total, type) | mask));
}

function holdingOne(state: PoolState, { requests }: CompiledShape, allowed: Int32Array): Int32Array {
  const offered = new Int32Array(allowed.length);
  const { pool, nothing } = state;
  for (let position = 0; position < pool.order.length; position++) {
    const type = at(pool.order, position);
    offered[type] = holdingBits(state, type, at(allowed, type), nothing, requests);
  }
  return offered;
}
