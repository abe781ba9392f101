/**
 * How many cases a law draws of the `all` that CI draws (`npm test -- --slow`): a tenth of them in `npm test`, as what
 * broke a law is mostly among the first, and `atLeast` so many where fewer would say nothing. `LAW_EFFORT=100` draws a
 * hundred times as many as CI.
 */
export function drawsOf(all: number, atLeast = 1): number {
  return Math.max(atLeast, Math.ceil(all * Number(process.env['LAW_EFFORT'] ?? A_TENTH)));
}

const A_TENTH = '0.1';
