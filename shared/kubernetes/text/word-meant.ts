import { lettersApart } from './letters-apart.ts';

/** More letters apart than this, and it is another word; one in a short word makes another already. */
const MOST_APART = 2;
const MOST_APART_OF_SHORT = 1;

/** Words with fewer letters are short. */
const LONG = 6;

/**
 * The known word that is probably a mistyping's meaning, whatever the case: the nearest, of equals the first. Null for
 * none.
 */
export function wordMeant(given: string, known: Iterable<string>): string | null {
  const lower = given.toLowerCase();
  const most = given.length < LONG ? MOST_APART_OF_SHORT : MOST_APART;
  let meant: string | null = null;
  let least = most + 1;
  for (const word of known) {
    if (Math.abs(word.length - given.length) > most) continue;
    const apart = lettersApart(word.toLowerCase(), lower);
    if (apart < least) [meant, least] = [word, apart];
  }
  return meant === given ? null : meant;
}

/** ` (did you mean zone?)`, to go behind what is wrong; empty where no word is near. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const meant = wordMeant(given, known);
  return meant === null ? '' : ` (did you mean ${meant}?)`;
}
