import { NODE_NAME_FIELD } from '../../kubernetes/labels.ts';
import type { NodeSelectorTerm } from '../../kubernetes/manifest.ts';
import type {
  CapacityRequestPolicy,
  DeviceCapacity,
  DeviceTaint,
  PublishedDevice,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../kubernetes/device-manifest.ts';
import { admitsLabels, byCodeUnit, toRules, type LabelRules } from '../rules/label-rule.ts';
import { toAmount } from './amount.ts';

/** Which nodes can use a device. */
export type Reach =
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'everywhere' }
  /** Nodes whose labels meet one of the alternatives. Equal keys mean equal alternatives. */
  | { readonly kind: 'labels'; readonly key: string; readonly alternatives: ReadonlyArray<LabelRules> }
  /** The new node that will publish it. */
  | { readonly kind: 'itself' };

/** A capacity of a device in thousandths, with the rules for shares of it. */
export interface Capacity {
  readonly value: number;
  /** What a share takes that does not say; null: all of it. */
  readonly share: number | null;
  readonly values: ReadonlyArray<number>;
  readonly range: { readonly min: number | null; readonly max: number | null; readonly step: number | null } | null;
}

export interface Device {
  /** `driver/pool/name`; of a device that a node has still to publish, the node comes first. */
  readonly id: string;
  readonly driver: string;
  readonly pool: string;
  readonly published: PublishedDevice;
  readonly reach: Reach;
  readonly capacities: ReadonlyMap<string, Capacity>;
  /** Full name of a counter, `driver/pool/set/counter`, to what the device takes of it. */
  readonly counters: ReadonlyMap<string, number>;
  /** Taints that keep it from being allocated. */
  readonly taints: ReadonlyArray<DeviceTaint>;
  readonly shareable: boolean;
}

/** A pool at its newest generation. Nothing is allocated from one that is not whole. */
export interface DevicePool {
  /** `driver/pool`. */
  readonly id: string;
  readonly state: 'whole' | 'being-updated' | 'invalid';
  readonly devices: ReadonlyArray<Device>;
  /** True when counters of the pool are published apart from devices, which concerns every node. */
  readonly concernsAll: boolean;
  /** By full name, what there is of each counter. */
  readonly counters: ReadonlyMap<string, number>;
}

/** The pools that slices of the cluster describe, by id. */
export function poolsOf(slices: ReadonlyArray<ResourceSlice>): ReadonlyArray<DevicePool> {
  const byPool = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`);
  return [...byPool]
    .toSorted(([a], [b]) => byCodeUnit(a, b))
    .map(([id, all]) => {
      const generation = Math.max(...all.map(({ spec }) => spec.pool.generation));
      const newest = all
        .filter(({ spec }) => spec.pool.generation === generation)
        .toSorted((a, b) => byCodeUnit(a.metadata.name, b.metadata.name))
        .map(({ spec }) => spec);
      return toPool(id, newest, reachOf);
    });
}

/**
 * The pools that a node will publish whose size publishes these slices; `node` tells its devices from another node's.
 */
export function templatePools(slices: ReadonlyArray<ResourceSliceSpec>, node: string): ReadonlyArray<DevicePool> {
  const byPool = Map.groupBy(slices, ({ driver, pool }) => `${node}:${driver}/${pool.name}`);
  return [...byPool].toSorted(([a], [b]) => byCodeUnit(a, b)).map(([id, specs]) => toPool(id, specs, () => ITSELF));
}

/** Of the pools, what a node with these labels can use. Its name is among them, as for `matchFields`. */
export function reachableFrom(
  pools: ReadonlyArray<DevicePool>,
  labels: Readonly<Record<string, string>>,
): ReadonlyArray<DevicePool> {
  return reachable(pools, (reach) => reaches(reach, labels));
}

/** Of the pools, what is reached as `reaches` says. A pool of which nothing is reached is left out. */
export function reachable(
  pools: ReadonlyArray<DevicePool>,
  isReached: (reach: Reach) => boolean,
): ReadonlyArray<DevicePool> {
  return pools.flatMap((pool) => {
    const devices = pool.devices.filter(({ reach }) => isReached(reach));
    return devices.length === 0 && !pool.concernsAll ? [] : [{ ...pool, devices }];
  });
}

/** Can a node with these labels use what has this reach? */
export function reaches(reach: Reach, labels: Readonly<Record<string, string>>): boolean {
  switch (reach.kind) {
    case 'node':
      return labels[NODE_NAME_FIELD] === reach.name;
    case 'everywhere':
      return true;
    case 'labels':
      return reach.alternatives.some((rules) => admitsLabels(rules, labels));
    case 'itself':
      return false;
    default:
      return reach satisfies never;
  }
}

/** What a node selector reaches. A term without expressions is met by no node. */
export function reachOfSelector(terms: ReadonlyArray<NodeSelectorTerm>): Reach {
  const alternatives = terms
    .map(({ matchExpressions = [], matchFields = [] }) => [...matchExpressions, ...matchFields])
    .filter((expressions) => expressions.length > 0)
    .map((expressions) => toRules(expressions));
  return { kind: 'labels', key: JSON.stringify(terms), alternatives };
}

const ITSELF: Reach = { kind: 'itself' };

type SlicePlace = Pick<ResourceSliceSpec, 'nodeName' | 'nodeSelector' | 'allNodes'>;

function reachOf(slice: ResourceSliceSpec, device: PublishedDevice): Reach {
  const { nodeName, nodeSelector, allNodes }: SlicePlace = slice.perDeviceNodeSelection === true ? device : slice;
  if (nodeName !== undefined && nodeName !== '') return { kind: 'node', name: nodeName };
  if (allNodes === true) return { kind: 'everywhere' };
  return reachOfSelector(nodeSelector?.nodeSelectorTerms ?? []);
}

function toPool(id: string, specs: ReadonlyArray<ResourceSliceSpec>, reach: typeof reachOf): DevicePool {
  const devices = specs.flatMap((spec) => (spec.devices ?? []).map((one) => toDevice(id, spec, one, reach(spec, one))));
  const counters = new Map<string, number>();
  for (const { name, counters: own } of specs.flatMap(({ sharedCounters }) => sharedCounters ?? [])) {
    for (const [counter, { value }] of Object.entries(own ?? {})) {
      counters.set(`${id}/${name}/${counter}`, toAmount(value, 'down'));
    }
  }
  const isWhole = specs.length === (specs[0]?.pool.resourceSliceCount ?? 0);
  const isValid =
    new Set(devices.map((device) => device.id)).size === devices.length &&
    devices.every((device) => [...device.counters.keys()].every((name) => counters.has(name)));
  const state = isWhole ? (isValid ? 'whole' : 'invalid') : 'being-updated';
  return { id, state, devices, counters, concernsAll: counters.size > 0 };
}

function toDevice(
  pool: string,
  { driver, pool: { name } }: ResourceSliceSpec,
  published: PublishedDevice,
  reach: Reach,
) {
  const counters = new Map<string, number>();
  for (const { counterSet, counters: own } of published.consumesCounters ?? []) {
    for (const [counter, { value }] of Object.entries(own ?? {})) {
      const full = `${pool}/${counterSet}/${counter}`;
      counters.set(full, (counters.get(full) ?? 0) + toAmount(value, 'up'));
    }
  }
  const capacities = Object.entries(published.capacity ?? {}).map(([key, one]) => [key, toCapacity(one)] as const);
  return {
    id: `${pool}/${published.name}`,
    driver,
    pool: name,
    published,
    reach,
    capacities: new Map(capacities),
    counters,
    taints: (published.taints ?? []).filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute'),
    shareable: published.allowMultipleAllocations === true,
  } satisfies Device;
}

function toCapacity({ value, requestPolicy = {} }: DeviceCapacity): Capacity {
  const { validRange, validValues = [], default: share }: CapacityRequestPolicy = requestPolicy;
  const bound = (text: string | number | undefined): number | null =>
    text === undefined ? null : toAmount(text, 'up');
  return {
    value: toAmount(value, 'down'),
    share: bound(share),
    values: validValues.map((one) => toAmount(one, 'up')),
    range:
      validRange === undefined
        ? null
        : { min: bound(validRange.min), max: bound(validRange.max), step: bound(validRange.step) },
  };
}
