const SUFFIX: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const PATTERN = /^([+-]?\d*\.?\d*(?:[eE][+-]?\d+)?)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|)$/;

/** Amounts of resources by name: millicores for `cpu`, whole units (bytes, pods, devices) for all else. */
export type Amounts = Readonly<Record<string, number>>;

/** A Kubernetes quantity in whole units of `scale` (1000 for milli-units), rounded up; 0 for text that is none. */
export function parseQuantity(text: string | number, scale = 1): number {
  const match = PATTERN.exec(String(text));
  const value = Number(match?.[1]);
  const factor = SUFFIX[match?.[2] ?? ''];
  if (match?.[1] === '' || factor === undefined || Number.isNaN(value)) return 0;
  // Binary fractions such as 0.1 * 1000 must not round up to 101.
  return Math.ceil(Number((value * factor * scale).toPrecision(15)));
}

/** Amounts from a wire map of quantities. */
export function toAmounts(quantities: Readonly<Record<string, string>> | undefined): Amounts {
  const amounts: Record<string, number> = {};
  for (const [name, text] of Object.entries(quantities ?? {})) {
    amounts[name] = parseQuantity(text, name === 'cpu' ? 1000 : 1);
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
