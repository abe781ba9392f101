/** A stream of numbers that look random and are the same for the same seed: xorshift, 32 bits. */
export interface Draw {
  /** 0 up to, not including, `end`. */
  readonly below: (end: number) => number;
  /** 0 up to 1. */
  readonly share: () => number;
}

export function drawFrom(seed: number): Draw {
  let state = (seed ^ 0x9e3779b9) | 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  return { below: (end) => next() % end, share: () => next() / 2 ** 32 };
}
