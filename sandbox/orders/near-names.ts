import { lettersApart } from '../../shared/kubernetes/text/letters-apart.ts';

/** Names in one message: more is a list, and no hint. */
const NAMES_MAX = 3;
/** A part of a name says something once it has this many letters. */
const PART_MIN = 3;
/** One wrong letter in so many is a slip; more is another word. */
const LETTERS_PER_SLIP = 4;
const SLIPS_MIN = 2;

/**
 * The names that were probably meant by `name`, the nearest first, whatever the case: slips of the pen, and parts of
 * names.
 */
export function nearNames(name: string, names: ReadonlyArray<string>): ReadonlyArray<string> {
  const given = name.toLowerCase();
  const slips = Math.max(SLIPS_MIN, Math.floor(given.length / LETTERS_PER_SLIP));
  const rated = names.flatMap((known) => {
    const lower = known.toLowerCase();
    const apart = lettersApart(given, lower);
    const isPart = given.length >= PART_MIN && (lower.includes(given) || given.includes(lower));
    return apart <= slips || isPart ? [{ known, apart }] : [];
  });
  return rated
    .toSorted((a, b) => a.apart - b.apart || (a.known < b.known ? -1 : 1))
    .slice(0, NAMES_MAX)
    .map(({ known }) => known);
}
