import { firstStep, type AuditedDisruption, type AuditedStep } from '../../core/disruption/sound-disruption.ts';

/** A step has a hundred nodes at most: halved so often, one node of it is left, and left out. */
const TRIES_MAX = 8;

/**
 * No further plan is tried after so long: in a cluster of thousands of nodes one takes ten seconds, and the next look
 * is a minute away.
 */
const TRYING_MS = 15_000;

/** What does not hold up, and why. */
export interface Refused {
  readonly kind: 'refused';
  readonly why: string;
  /** The nodes that it is about, where others may go without them. */
  readonly nodes?: ReadonlyArray<string>;
}

/**
 * Tries the first step of a plan, and where that is refused, of one without the nodes that the refusal names, or half
 * of all, and so on: else one node whose replacement does not hold up would hold back all that go with it and after it,
 * look after look. Each plan is a whole one, so that what is begun keeps all rules. Returns the first refusal where
 * nothing holds up, and null where no plan has a step.
 */
export async function whatHolds<Held extends { readonly kind: 'holds' }>(
  first: AuditedDisruption,
  planWithout: (nodes: ReadonlySet<string>) => AuditedDisruption,
  tryStep: (plan: AuditedDisruption, step: AuditedStep) => Promise<Held | Refused>,
  now: () => number,
): Promise<Held | Refused | null> {
  const endMs = now() + TRYING_MS;
  const leftOut = new Set<string>();
  let refusal: Refused | null = null;
  for (let tries = 0; tries < TRIES_MAX && (tries === 0 || now() < endMs); tries++) {
    const plan = tries === 0 ? first : planWithout(leftOut);
    const step = firstStep(plan);
    if (step === null) break;
    // Each plan depends on what the last one met.
    const tried = await tryStep(plan, step);
    if (tried.kind === 'holds') return tried;
    refusal ??= tried;
    for (const name of tried.nodes ?? step.remove.slice(0, Math.ceil(step.remove.length / 2))) leftOut.add(name);
  }
  return refusal;
}
