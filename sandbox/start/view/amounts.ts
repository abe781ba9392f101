const MICRO = 1_000_000;

/** Micro-USD per hour as `$0.582/h`; more than ten dollars with cents only. */
export function renderHourly(microUsdPerHour: number): string {
  return `$${renderUsd(microUsdPerHour)}/h`;
}

/** Micro-USD as dollars without the sign, for columns. */
export function renderUsd(microUsd: number): string {
  const usd = microUsd / MICRO;
  return usd >= 10 ? usd.toFixed(2) : usd.toFixed(3);
}

/**
 * Above this the bound most likely leaves out a rule that the plan obeys, such as a preference or the weight of a
 * NodePool.
 */
const TELLING_GAP = 0.1;

/**
 * How far from the cheapest possible a plan can be at most, as an ending to a sentence: `at most 4.9 % above the
 * cheapest possible`, rounded up. A larger gap says nothing about the plan, and is not given as a number. Null when no
 * bound is known.
 */
export function renderGap(cost: number, lowerBound: number): string | null {
  if (lowerBound <= 0 || cost <= 0) return null;
  if (cost <= lowerBound) return 'the cheapest possible';
  if (cost > lowerBound * (1 + TELLING_GAP)) return 'not proved to be the cheapest';
  const tenths = Math.ceil(((cost - lowerBound) * 1_000) / lowerBound);
  return `at most ${(tenths / 10).toFixed(1)} % above the cheapest possible`;
}

/** Milliseconds as `0.64 s`, `14.2 s` or `2 min 05 s`. */
export function renderDuration(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
}

/** Milliseconds as `0:23` or `1:02:03`, for a clock on the screen. */
export function renderClock(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const short = `${minutes % 60}:${two(seconds % 60)}`;
  return minutes < 60 ? short : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** `1 node`, `2 nodes`, `no nodes`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return count === 0 ? `no ${many}` : `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

/** A VM size as people say it: without `Standard_`. */
export function shortSize(size: string): string {
  return size.replace(/^Standard_/i, '');
}

/** A zone as people say it: `1` for `westeurope-1`; `-` for none. */
export function shortZone(zone: string): string {
  return zone === '' ? '-' : (zone.split('-').at(-1) ?? zone);
}

/** The text with a capital at its start, as a sentence has it. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
