/**
 * Operations that may still be done: 3 to 8 ns each. Counted and not timed, so that the same input gives the same plan
 * everywhere.
 */
export interface Work {
  left: number;
}

/** Does a phase with a share of the work that is left; what it does not use stays for those after it. */
export function withShare<Result>(work: Work, share: number, phase: (own: Work) => Result): Result {
  const granted = Math.max(0, work.left) * share;
  const own = { left: granted };
  const result = phase(own);
  work.left -= granted - own.left;
  return result;
}
