import { wordMeant } from '../../../kubernetes/text/word-meant.ts';

/** Shorter values are all near each other, so that a mistyping tells nothing. */
const SHORTEST_MISTYPED = 4;

/**
 * The value that is probably meant by `given`, which no node can have; null for none. Known are other cases (`d` for
 * `D`), what is left out in front (`1` for `westeurope-1`, `D4s_v5` for `Standard_D4s_v5`) or put there (`v5` for `5`),
 * mistyping, and letters behind a family (`NC` for `N`).
 */
export function valueMeant(given: string, known: ReadonlyArray<string>): string | null {
  if (given === '' || known.includes(given)) return null;
  const lower = given.toLowerCase();
  const sorted = known.toSorted();
  const ofKnown = (test: (one: string) => boolean): string | undefined => sorted.find((one) => test(one.toLowerCase()));
  return (
    ofKnown((one) => one === lower) ??
    ofKnown((one) => one.endsWith(`-${lower}`) || one.endsWith(`_${lower}`)) ??
    ofKnown((one) => /^\d+$/.test(one) && lower === `v${one}`) ??
    (given.length < SHORTEST_MISTYPED ? null : wordMeant(given, sorted)) ??
    longest(sorted.filter((one) => isBegun(lower, one.toLowerCase())))
  );
}

/** A word of letters that others follow; digits behind letters make another kind of name. */
function isBegun(given: string, one: string): boolean {
  return /^[a-z]+$/.test(one) && given.startsWith(one) && /^[a-z]/.test(given.slice(one.length));
}

function longest(words: ReadonlyArray<string>): string | null {
  return words.reduce<string | null>((best, one) => (best === null || one.length > best.length ? one : best), null);
}
