import type { Answers } from './answers.ts';
import { clusterChecks } from './cluster-checks.ts';
import type { Finding } from './finding.ts';
import { networkChecks } from './network-checks.ts';
import { subscriptionChecks } from './subscription-checks.ts';

/** All checks, in the order in which one would mend what they find. Pure. */
export function judge(answers: Answers): ReadonlyArray<Finding> {
  return [...clusterChecks, ...networkChecks, ...subscriptionChecks].map((check) => check(answers));
}
