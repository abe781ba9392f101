/** Millionths, of a dollar or of one, as decimal text without trailing zeros: `0.23`, `3`. Exact. */
export function renderUsd(micro: number): string {
  const whole = Math.floor(micro / 1_000_000);
  const fraction = String(micro % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}

/** A share of one in percent, to a hundredth of one: `7.5 %`. */
export function renderPercent(share: number): string {
  return `${Math.round(share * 10_000) / 100} %`;
}
