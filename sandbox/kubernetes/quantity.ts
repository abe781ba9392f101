import { parseQuantity, unitsOf } from '../../shared/kubernetes/text/quantity.ts';

/** Amounts of resources by name: millicores for `cpu`, whole units (bytes, pods, devices) for all else. */
export type Amounts = Readonly<Record<string, number>>;

/** Amounts from a wire map of quantities, rounded up; 0 for text that is none. */
export function toAmounts(quantities: Readonly<Record<string, string>> | undefined): Amounts {
  const amounts: Record<string, number> = {};
  for (const [name, text] of Object.entries(quantities ?? {})) {
    amounts[name] = parseQuantity(text, unitsOf(name), 'up') ?? 0;
  }
  return amounts;
}

/** Both amounts together, by name. */
export function addAmounts(a: Amounts, b: Amounts): Amounts {
  const sum: Record<string, number> = { ...a };
  for (const [name, amount] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + amount;
  return sum;
}

/** The greater of both amounts, by name. */
export function maxAmounts(a: Amounts, b: Amounts): Amounts {
  const most: Record<string, number> = { ...a };
  for (const [name, amount] of Object.entries(b)) most[name] = Math.max(most[name] ?? 0, amount);
  return most;
}
