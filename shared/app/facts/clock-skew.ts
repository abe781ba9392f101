/**
 * Our clock and the queue's agree to within this: a look that is asked for at the very moment when something ends may
 * come too early for one of them.
 */
export const CLOCK_SKEW_MS = 250;
