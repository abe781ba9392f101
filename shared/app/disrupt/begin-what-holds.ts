import { firstStep, type AuditedDisruption, type AuditedStep } from '../../core/disruption/sound-disruption.ts';
import type { DisruptOutcome } from './disrupt-outcome.ts';

/** A step has a hundred nodes at most: halved so often, one node of it is left, and left out. */
const TRIES_MAX = 8;

/** No further plan is begun after so long: in a cluster of thousands of nodes one takes ten seconds, and the next look is a minute away. */
const TRYING_MS = 15_000;

/**
 * Begins the first step of a plan, and where that is refused, of one without half of its nodes, and so on: else one node whose
 * replacement does not hold up would hold back all that go with it and after it, look after look. Each plan is a whole one, so that what is
 * begun keeps all rules. Answers the first refusal where nothing holds up.
 */
export async function beginWhatHolds(
  first: AuditedDisruption,
  planWithout: (nodes: ReadonlySet<string>) => AuditedDisruption,
  begin: (plan: AuditedDisruption, step: AuditedStep) => Promise<DisruptOutcome>,
  now: () => number,
): Promise<DisruptOutcome> {
  const endMs = now() + TRYING_MS;
  const leftOut = new Set<string>();
  let refusal: DisruptOutcome = { kind: 'idle' };
  for (let tries = 0; tries < TRIES_MAX && (tries === 0 || now() < endMs); tries++) {
    const plan = tries === 0 ? first : planWithout(leftOut);
    const step = firstStep(plan);
    if (step === null) break;
    // Each plan depends on what the last one met.
    // oxlint-disable-next-line no-await-in-loop
    const outcome = await begin(plan, step);
    if (outcome.kind !== 'refused') return outcome;
    if (tries === 0) refusal = outcome;
    for (const name of step.remove.slice(0, Math.ceil(step.remove.length / 2))) leftOut.add(name);
  }
  return refusal;
}
