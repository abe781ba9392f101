import { parseTimestamp } from './utc-time.ts';

/**
 * The clocks of the API server, nodes, relays, the storage and ours are no further apart than this, or one of them is
 * wrong. As Kerberos has it.
 */
export const CLOCKS_APART_MS = 5 * 60_000;

/**
 * Is a moment that somebody says has been, milliseconds since the epoch, so far ahead of `nowMs` that a wrong clock has
 * said it?
 */
export function isAhead(toldMs: number, nowMs: number): boolean {
  return toldMs > nowMs + CLOCKS_APART_MS;
}

/**
 * When something happened, as somebody else has written it, milliseconds since the epoch; null where that cannot be
 * read, or is ahead by more than clocks are apart: what waits from then on would wait for as long.
 */
export function parsePast(text: string | undefined, nowMs: number): number | null {
  const toldMs = parseTimestamp(text);
  return toldMs === null || isAhead(toldMs, nowMs) ? null : toldMs;
}

/**
 * Until when something is put off, which nobody puts off for longer than `mostMs` from now, milliseconds since the
 * epoch; null where it cannot be read, or is further ahead than that and than clocks are apart.
 */
export function parseUntil(text: string | undefined, nowMs: number, mostMs: number): number | null {
  const untilMs = parseTimestamp(text);
  return untilMs === null || isAhead(untilMs - mostMs, nowMs) ? null : untilMs;
}
