import type { Device } from './devices.ts';

/** A device that a claim holds. */
export interface HeldDevice {
  readonly device: Device;
  /** The request, or `request/alternative`. */
  readonly request: string;
  /** Administrative access takes nothing from others. */
  readonly admin: boolean;
  /** The share, by capacity; null for a device that is held whole. */
  readonly consumed: ReadonlyMap<string, number> | null;
}

interface Share {
  readonly holders: number;
  readonly consumed: ReadonlyMap<string, number>;
}

/** What claims have taken of devices and counters. */
export interface DeviceUse {
  /** Ids of devices held whole. */
  readonly whole: Set<string>;
  /** By id of device. */
  readonly shared: Map<string, Share>;
  /** By full name of counter. */
  readonly counters: Map<string, number>;
}

export function unused(): DeviceUse {
  return { whole: new Set(), shared: new Map(), counters: new Map() };
}

export function copyOf({ whole, shared, counters }: DeviceUse): DeviceUse {
  return { whole: new Set(whole), shared: new Map(shared), counters: new Map(counters) };
}

/** A copy of what is in use of these devices and counters: a node sees few of all that a cluster has. */
export function useAmong(
  { whole, shared, counters }: DeviceUse,
  devices: ReadonlyArray<Device>,
  names: Iterable<string>,
): DeviceUse {
  const among = unused();
  for (const { id } of devices) {
    if (whole.has(id)) among.whole.add(id);
    const share = shared.get(id);
    if (share !== undefined) among.shared.set(id, share);
  }
  for (const name of names) {
    const amount = counters.get(name);
    if (amount !== undefined) among.counters.set(name, amount);
  }
  return among;
}

/** Notes in place that a claim holds the device. */
export function take(use: DeviceUse, { device, admin, consumed }: HeldDevice): void {
  if (admin) return;
  if (consumed === null) {
    use.whole.add(device.id);
    count(use, device, 1);
    return;
  }
  const share = use.shared.get(device.id);
  if (share === undefined) count(use, device, 1);
  use.shared.set(device.id, { holders: (share?.holders ?? 0) + 1, consumed: sum(share?.consumed, consumed, 1) });
}

/** Undoes in place what `take` noted. */
export function giveBack(use: DeviceUse, { device, admin, consumed }: HeldDevice): void {
  if (admin) return;
  if (consumed === null) {
    use.whole.delete(device.id);
    count(use, device, -1);
    return;
  }
  const share = use.shared.get(device.id);
  if (share === undefined) return;
  if (share.holders === 1) {
    use.shared.delete(device.id);
    count(use, device, -1);
  } else use.shared.set(device.id, { holders: share.holders - 1, consumed: sum(share.consumed, consumed, -1) });
}

function count(use: DeviceUse, device: Device, sign: 1 | -1): void {
  for (const [name, amount] of device.counters) use.counters.set(name, (use.counters.get(name) ?? 0) + sign * amount);
}

function sum(
  total: ReadonlyMap<string, number> | undefined,
  more: ReadonlyMap<string, number>,
  sign: 1 | -1,
): ReadonlyMap<string, number> {
  const result = new Map(total);
  for (const [name, amount] of more) result.set(name, (result.get(name) ?? 0) + sign * amount);
  return result;
}
