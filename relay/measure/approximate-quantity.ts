const QUANTITY = /^([+-]?[\d.]+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
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

/** A Kubernetes quantity as a number to show: cores, bytes, pieces. 0 when it is none. Decisions use exact integers. */
export function approximateQuantity(text: string | number): number {
  const match = QUANTITY.exec(String(text));
  if (match === null) return 0;
  const [, digits = '', suffix, exponent] = match;
  const factor = suffix === undefined ? 10 ** Number(exponent ?? 0) : (factors[suffix] ?? 0);
  const value = Number(digits) * factor;
  return Number.isFinite(value) ? value : 0;
}
