import { UnreadableError } from '../../ports/errors.ts';
import type { Decision } from '../../ports/store.ts';
import type { Ports } from '../ports/ports.ts';

/** A record that cannot be read is read by every look at its claims. */
const TOLD_EVERY_MS = 60 * 60_000;

/**
 * The record of a decision; null where it is gone, or can be read by nobody, which a line in the log tells: its claims
 * are then as those that no decision made.
 */
export async function knownDecision(
  ports: Pick<Ports, 'decisions' | 'told' | 'now' | 'log'>,
  name: string,
): Promise<Decision | null> {
  try {
    const decision = await ports.decisions.get(name);
    if (decision === null) tellLost(ports, name, 'there is no such record');
    return decision;
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    tellLost(ports, name, error.message);
    return null;
  }
}

function tellLost({ told, now, log }: Pick<Ports, 'told' | 'now' | 'log'>, decision: string, why: string): void {
  if (told.isNews(`decision-lost/${decision}`, now(), TOLD_EVERY_MS)) log('decision-lost', { decision, why });
}
