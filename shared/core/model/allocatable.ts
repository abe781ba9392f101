import type { InstanceType } from './catalog.ts';
import type { ResourceList } from '../../kubernetes/manifest.ts';
import {
  type Amounts,
  addAmounts,
  parseAmounts,
  parseQuantity,
  renderAmounts,
} from '../../kubernetes/text/quantity.ts';

/** What pods and daemons may use of a node of this size: capacity − overhead, floored at 0. Rounded down. */
export function allocatableOf(type: Pick<InstanceType, 'capacity' | 'overhead'>): ResourceList {
  return renderAmounts(allocatableAmounts(type));
}

/** `allocatableOf` as amounts. */
export const allocatableAmounts = oncePerSize(
  ({ capacity, overhead }: Pick<InstanceType, 'capacity' | 'overhead'>): Amounts => {
    const left = parseAmounts(capacity, 'down');
    for (const [name, amount] of parseAmounts(overhead, 'up')) {
      left.set(name, Math.max(0, (left.get(name) ?? 0) - amount));
    }
    return left;
  },
);

/** What a size has, rounded up. */
export const capacityAmounts = oncePerSize(({ capacity }: Pick<InstanceType, 'capacity'>): Amounts =>
  parseAmounts(capacity, 'up'),
);

/** Works it out once for each object of a catalog, which never changes: every launch asks for most of them. */
function oncePerSize<Size extends object>(amountsOf: (size: Size) => Amounts): (size: Size) => Amounts {
  const known = new WeakMap<Size, Amounts>();
  return (size) => {
    const amounts = known.get(size) ?? amountsOf(size);
    known.set(size, amounts);
    return amounts;
  };
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
