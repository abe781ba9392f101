import type { Arena } from './arena.ts';

/** What is saved without tolls, over the tolls of what goes for it: where it is four times as much or more, tolls stay as they are. */
const RICH = 4;

/** Tolls are eased to no less than this share. */
const LEAST_EASE = 0.5;

/**
 * The share of its toll that a move is asked for, 0.5 to 1. The arena stands as a search without tolls has left it, which has saved
 * `saved`; `tolls` are those of its places otherwise; all in micro-USD per hour. Where it saves no more than the tolls, what is left are
 * crumbs, and nothing is eased.
 */
export function easeOf({ places }: Pick<Arena, 'places'>, tolls: ReadonlyArray<number>, saved: number): number {
  const asked = places.reduce((sum, { state, index }) => sum + (state === 'gone' ? (tolls[index] ?? 0) : 0), 0);
  if (saved <= asked) return 1;
  return Math.max(LEAST_EASE, Math.min(1, saved / (RICH * asked)));
}

/** Gives every place the share of its toll that its pool asks for. */
export function easeTolls(
  { places }: Pick<Arena, 'places'>,
  tolls: ReadonlyArray<number>,
  shareIn: (pool: string) => number,
): void {
  for (const place of places) place.toll = (tolls[place.index] ?? 0) * shareIn(place.pool ?? '');
}
