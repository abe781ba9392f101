import type { PublishedDevice, ResourceSliceSpec } from '../../../kubernetes/device-manifest.ts';
import type { Labels } from '../../../kubernetes/manifest.ts';
import { parseQuantity } from '../../../kubernetes/text/quantity.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import type { FinalNode } from '../seen/final-state.ts';
import { meetsTerm, type PossibleLabels } from '../seen/matching.ts';

/** A device as the audit sees it: with the slice that it stands in, and the counters of its pool. */
export interface AuditedDevice {
  /** `driver/pool/name`; of a device that a node has still to publish, the node comes first. */
  readonly id: string;
  readonly driver: string;
  readonly published: PublishedDevice;
  readonly slice: ResourceSliceSpec;
  /** `set/counter` to thousandths. */
  readonly counters: ReadonlyMap<string, number>;
}

/** Thousandths, as for capacities and counters. */
export function thousandths(text: string | number, rounding: 'up' | 'down'): number {
  return parseQuantity(text, 1000, rounding) ?? (rounding === 'up' ? Number.MAX_SAFE_INTEGER : 0);
}

/** The devices of whole pools at their newest generation, by id. */
export function devicesInCluster({ cluster }: ProvisioningInput): ReadonlyMap<string, AuditedDevice> {
  return devicesOf(
    cluster.resourceSlices.map(({ spec }) => spec),
    '',
  );
}

/** What a node of the instance type will publish in the pool, by id. */
export function devicesToCome(
  { devices }: ProvisioningInput,
  { nodePool, instanceType }: { readonly nodePool: string | null; readonly instanceType: string },
  node: string,
): ReadonlyMap<string, AuditedDevice> {
  const slices = devices.kind === 'planned' ? (devices.templates.get(nodePool ?? '')?.get(instanceType) ?? []) : [];
  return devicesOf(slices, `${node} to come: `);
}

function devicesOf(slices: ReadonlyArray<ResourceSliceSpec>, prefix: string): ReadonlyMap<string, AuditedDevice> {
  const found = new Map<string, AuditedDevice>();
  for (const [id, all] of Map.groupBy(slices, ({ driver, pool }) => `${driver}/${pool.name}`)) {
    const newest = all.filter((one) => all.every(({ pool }) => pool.generation <= one.pool.generation));
    if (newest.length !== newest[0]?.pool.resourceSliceCount) continue;
    const counters = new Map<string, number>();
    for (const { name, counters: own } of newest.flatMap(({ sharedCounters }) => sharedCounters ?? [])) {
      for (const [counter, { value }] of Object.entries(own ?? {})) {
        counters.set(`${name}/${counter}`, thousandths(value, 'down'));
      }
    }
    for (const slice of newest) {
      for (const published of slice.devices ?? []) {
        const full = `${prefix}${id}/${published.name}`;
        found.set(full, { id: full, driver: slice.driver, published, slice, counters });
      }
    }
  }
  return found;
}

/** The one node whose pods alone can use the device; null where its slice does not name one. */
export function onlyNodeOf({ slice, published }: AuditedDevice): string | null {
  const { nodeName = '' } = slice.perDeviceNodeSelection === true ? published : slice;
  return nodeName === '' ? null : nodeName;
}

/** Can pods on the node use the device of the cluster? `publishes`: what the node publishes itself counts. */
export function isReachedFrom(device: AuditedDevice, node: FinalNode, publishes: boolean): boolean {
  const only = onlyNodeOf(device);
  if (only !== null) return publishes && only === node.name;
  const { allNodes, nodeSelector } = device.slice.perDeviceNodeSelection === true ? device.published : device.slice;
  return allNodes === true || selects(nodeSelector, node.labels, node.name);
}

/** Does a node selector select a node with these labels? */
export function selects(selector: PublishedDevice['nodeSelector'], labels: PossibleLabels, name: string): boolean {
  return (selector?.nodeSelectorTerms ?? []).some((term) => meetsTerm(labels, term, name));
}

/** Labels that are certain, in the form of possible ones. */
export function certain(labels: Labels | undefined): PossibleLabels {
  return new Map(Object.entries(labels ?? {}).map(([key, value]) => [key, [value]]));
}
