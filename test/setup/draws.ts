/**
 * How many cases a law draws of the `all` that CI draws (`npm test -- --slow`): a quarter of them in `npm test`, as what broke
 * a law is mostly among the first. `LAW_EFFORT=100` draws a hundred times as many as CI.
 */
export function drawsOf(all: number): number {
  return Math.ceil(all * Number(process.env['LAW_EFFORT'] ?? A_QUARTER));
}

const A_QUARTER = '0.25';
