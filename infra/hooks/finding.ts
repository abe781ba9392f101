import type { Answers } from './answers.ts';

/** What one check found. `mend`: what to type, or whom to ask. */
export type Finding =
  | { readonly check: string; readonly verdict: 'passed'; readonly says: string }
  | { readonly check: string; readonly verdict: 'warning' | 'failed'; readonly says: string; readonly mend: string };

/** Judges one thing of the answers. Pure. */
export type Check = (answers: Answers) => Finding;

/** Passed where it is good; else failed, or a warning. */
export function finding(
  check: string,
  isGood: boolean,
  words: {
    readonly good: string;
    readonly bad: string;
    readonly mend: string;
    readonly verdict?: 'warning' | 'failed';
  },
): Finding {
  const { good, bad, mend, verdict = 'failed' } = words;
  return isGood ? { check, verdict: 'passed', says: good } : { check, verdict, says: bad, mend };
}
