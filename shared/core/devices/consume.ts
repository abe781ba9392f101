import type { Capacity, Device } from './devices.ts';

/**
 * What an allocation takes of each capacity of a device when it asks for `wanted`, sized by the capacity's rules; null
 * when the device has no such capacity or the rules allow no such size. Source: Kubernetes 1.36, consumable capacity.
 */
export function consumption(
  { capacities }: Device,
  wanted: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> | null {
  for (const name of wanted.keys()) if (!capacities.has(name)) return null;
  const consumed = new Map<string, number>();
  for (const [name, capacity] of capacities) {
    const amount = sizedBy(capacity, wanted.get(name));
    if (amount > capacity.value || !isAllowed(capacity, amount)) return null;
    consumed.set(name, amount);
  }
  return consumed;
}

function sizedBy({ value, share, values, range }: Capacity, wanted: number | undefined): number {
  if (wanted === undefined) return share ?? value;
  if (range !== null && range.min !== null) return roundUp(wanted, range.min, range.step);
  return values.find((one) => one >= wanted) ?? wanted;
}

function roundUp(wanted: number, min: number, step: number | null): number {
  if (wanted <= min) return min;
  return step === null || step === 0 ? wanted : min + Math.ceil((wanted - min) / step) * step;
}

function isAllowed({ share, values, range }: Capacity, amount: number): boolean {
  if (amount === share) return true;
  if (range !== null) {
    const { min, max, step } = range;
    return (max === null || amount <= max) && (step === null || step === 0 || (amount - (min ?? 0)) % step === 0);
  }
  return values.length === 0 || values.includes(amount);
}
