import type { InstanceType } from '../model/catalog.ts';
import type { ResourceList } from '../model/manifest.ts';
import { type Amounts, addAmounts, parseAmounts, parseQuantity, renderAmounts } from './quantity.ts';

/** What pods and daemons may use of a node of this size: capacity − overhead, floored at 0. Rounded down. */
export function allocatableOf(type: Pick<InstanceType, 'capacity' | 'overhead'>): ResourceList {
  return renderAmounts(allocatableAmounts(type));
}

const allocatable = new WeakMap<object, Amounts>();

/** `allocatableOf` as amounts. Worked out once for each object of a catalog: every launch asks for most of them. */
export function allocatableAmounts(type: Pick<InstanceType, 'capacity' | 'overhead'>): Amounts {
  const known = allocatable.get(type);
  if (known !== undefined) return known;
  const left = parseAmounts(type.capacity, 'down');
  for (const [name, amount] of parseAmounts(type.overhead, 'up')) {
    left.set(name, Math.max(0, (left.get(name) ?? 0) - amount));
  }
  allocatable.set(type, left);
  return left;
}

const capacities = new WeakMap<object, Amounts>();

/** What a size has, rounded up. Worked out once for each object of a catalog. */
export function capacityAmounts(type: Pick<InstanceType, 'capacity'>): Amounts {
  const known = capacities.get(type);
  if (known !== undefined) return known;
  const amounts = parseAmounts(type.capacity, 'up');
  capacities.set(type, amounts);
  return amounts;
}

/** Whether there is any of it. An unreadable quantity is none. */
export function isPositive(quantity: string | number): boolean {
  return (parseQuantity(quantity, 1000, 'down') ?? 0) > 0;
}

/** The lists together, names sorted; readable ones only. */
export function addResources(lists: Iterable<ResourceList>): Readonly<Record<string, string>> {
  const total = new Map<string, number>();
  for (const list of lists) addAmounts(total, parseAmounts(list, 'down'));
  return Object.fromEntries(Object.entries(renderAmounts(total)).map(([name, amount]) => [name, String(amount)]));
}
