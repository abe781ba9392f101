/** Millionths, of a currency or of one, as decimal text without trailing zeros: `0.23`, `3`. Exact. */
export function renderUsd(micro: number): string {
  const whole = Math.floor(micro / 1_000_000);
  const fraction = String(micro % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}

/** An amount as people read it, with what it is in (ISO 4217): `$0.23`, `-$3`, `EUR 0.23`. Exact. */
export function renderMoney(micro: number, currency: string): string {
  const sign = micro < 0 ? '-' : '';
  const name = currency === 'USD' ? '$' : `${currency} `;
  return `${sign}${name}${renderUsd(Math.abs(micro))}`;
}

/** A share of one in percent, to a hundredth of one: `7.5 %`. */
export function renderPercent(share: number): string {
  return `${Math.round(share * 10_000) / 100} %`;
}
