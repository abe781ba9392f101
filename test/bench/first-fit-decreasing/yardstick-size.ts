import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { Requirement } from '../../../shared/kubernetes/manifest.ts';
import { parseQuantity } from '../../../shared/kubernetes/text/quantity.ts';

/** A size that the pool may use: what pods can have of it, and its lowest price per zone. */
export interface YardstickSize {
  readonly name: string;
  readonly cpuM: number;
  readonly memoryBytes: number;
  readonly pods: number;
  readonly prices: ReadonlyMap<string, number>;
}

/** The sizes that meet the pool's requirements, with the offerings that do. */
export function toYardstickSizes(
  types: ReadonlyArray<InstanceType>,
  requirements: ReadonlyArray<Requirement>,
): ReadonlyArray<YardstickSize> {
  return types.flatMap((type) => {
    const prices = new Map<string, number>();
    for (const { zone, capacityType, price, available } of type.offerings) {
      const labels = { ...firstValues(type.labels), 'karpenter.sh/capacity-type': capacityType };
      if (!available || !requirements.every((one) => meets(labels, one))) continue;
      prices.set(zone, Math.min(price, prices.get(zone) ?? Infinity));
    }
    const amount = (name: string, perUnit: number): number =>
      (parseQuantity(type.capacity[name] ?? 0, perUnit, 'down') ?? 0) -
      (parseQuantity(type.overhead[name] ?? 0, perUnit, 'up') ?? 0);
    if (prices.size === 0) return [];
    const { name } = type;
    return [{ name, cpuM: amount('cpu', 1000), memoryBytes: amount('memory', 1), pods: amount('pods', 1), prices }];
  });
}

function firstValues(labels: InstanceType['labels']): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(labels).map(([key, [value]]) => [key, value]));
}

/** The operators that the benchmarks' pools use. */
function meets(
  labels: Readonly<Record<string, string | undefined>>,
  { key, operator, values = [] }: Requirement,
): boolean {
  const value = labels[key];
  if (operator === 'In') return value !== undefined && values.includes(value);
  if (operator === 'Lt') return Number(value) < Number(values[0]);
  throw new Error(`the yardstick does not know the operator ${operator}`);
}
