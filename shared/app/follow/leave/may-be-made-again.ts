import { annotation } from '../../../contract/names.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import type { Ports } from '../../ports/ports.ts';

/** So long after the deletion a decision that nobody has finished is not waited for: policies may deny its writes. */
const WITHIN_MS = 5 * 60_000;

/**
 * Is the decision that made the claim still being executed? Another process that executes it makes what it does not
 * find: a claim that was given up would come again under its name, and a process that still removes the machine of the
 * first would remove that of the second. As long as the first is there, it is found.
 */
export async function mayBeMadeAgain(ports: Ports, { metadata }: NodeClaim): Promise<boolean> {
  const { deletionTimestamp = '', annotations = {} } = metadata;
  const decision = annotations[annotation.decision];
  if (decision === undefined || ports.now() > Date.parse(deletionTimestamp) + WITHIN_MS) return false;
  const ledger = await ports.ledger.read();
  return !ledger.executed && ledger.decision === decision;
}
