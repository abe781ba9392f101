/** Numbers that look drawn and are the same in every run: core has no randomness. */
export interface Chance {
  state: number;
}

/** The sequence from its start. */
export function chanceFrom(seed: number): Chance {
  return { state: seed >>> 0 };
}

/** The next number, from 0 to below 1. A linear congruential generator with the constants of Numerical Recipes. */
export function nextOf(chance: Chance): number {
  chance.state = (Math.imul(chance.state, 1_664_525) + 1_013_904_223) >>> 0;
  return chance.state / 2 ** 32;
}
