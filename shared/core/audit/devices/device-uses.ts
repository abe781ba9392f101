import { fatal, type Finding } from '../seen/finding.ts';
import { thousandths, type AuditedDevice } from './published-devices.ts';

/** By id of device: who holds it, and by capacity which share; null for the whole. */
export type DeviceUses = Map<
  string,
  {
    readonly device: AuditedDevice;
    /** Does the plan give it to somebody? What was overused before is not the plan's fault. */
    isPlanned: boolean;
    readonly holders: Map<string, ReadonlyMap<string, number> | null>;
  }
>;

/** Is each device held by one, or shared within its capacity, and does each pool have the counters for those in use? */
export function checkUses(uses: DeviceUses): ReadonlyArray<Finding> {
  const pools = Map.groupBy(uses.values(), ({ device }) => device.id.slice(0, device.id.lastIndexOf('/')));
  return [
    ...[...uses.values()]
      .filter(({ isPlanned }) => isPlanned)
      .flatMap(({ device, holders }) => checkDevice(device, holders)),
    ...[...pools.values()].filter((all) => all.some(({ isPlanned }) => isPlanned)).flatMap(checkCounters),
  ];
}

function checkDevice(
  { id, published }: AuditedDevice,
  holders: ReadonlyMap<string, ReadonlyMap<string, number> | null>,
): ReadonlyArray<Finding> {
  const shares = [...holders.values()];
  if (shares.includes(null)) {
    return shares.length > 1 ? [fatal('devices', `device ${id} is held by ${shares.length} requests`)] : [];
  }
  return Object.entries(published.capacity ?? {}).flatMap(([name, { value }]) => {
    const total = shares.reduce((sum, share) => sum + (share?.get(name) ?? 0), 0);
    return total > thousandths(value, 'down') ? [fatal('devices', `device ${id} is short of ${name}`)] : [];
  });
}

type Uses = ReadonlyArray<{ readonly device: AuditedDevice }>;

function checkCounters(all: Uses): ReadonlyArray<Finding> {
  const consumed = new Map<string, number>();
  for (const { device } of all) {
    for (const { counterSet, counters } of device.published.consumesCounters ?? []) {
      for (const [counter, { value }] of Object.entries(counters ?? {})) {
        const name = `${counterSet}/${counter}`;
        consumed.set(name, (consumed.get(name) ?? 0) + thousandths(value, 'up'));
      }
    }
  }
  const [first] = all;
  return [...consumed].flatMap(([name, amount]) => {
    const there = first?.device.counters.get(name) ?? 0;
    return amount > there ? [fatal('devices', `the pool of ${first?.device.id} is short of counter ${name}`)] : [];
  });
}
