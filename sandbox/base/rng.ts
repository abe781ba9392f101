/**
 * A seeded source of draws. Split it by purpose: a new draw in one purpose leaves the sequences of the others alone.
 */
export interface Rng {
  /** A uniform integer in 0 … bound − 1. */
  below(bound: number): number;
  /** True with probability `percent` / 100. */
  chance(percent: number): boolean;
  /** An independent source, fixed by this source's seed and `purpose`. */
  split(purpose: string): Rng;
}

/** The source that `seed` names: the same seed gives the same draws on every machine. */
export function rngFrom(seed: string): Rng {
  let state = seedState(seed);
  // splitmix32: one add, two multiply-xorshift rounds; passes the usual tests at this size and needs no state array.
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  return {
    below: (bound) => Math.floor((next() / 2 ** 32) * bound),
    chance: (percent) => (next() / 2 ** 32) * 100 < percent,
    split: (purpose) => rngFrom(`${seed}/${purpose}`),
  };
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function seedState(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value | 0;
}
