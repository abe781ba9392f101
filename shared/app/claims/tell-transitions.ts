import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { conditionOf, isTrue } from '../facts/conditions.ts';
import { publish } from '../tell/events.ts';
import type { Ports } from '../ports/ports.ts';
import { eventAbout } from './node-claim.ts';

/**
 * The conditions whose coming true is told. Karpenter's status controller tells all; these are what its runbooks look
 * for.
 */
const TOLD = ['Launched', 'Registered', 'Initialized', 'Drifted'] as const;

/** What is said beside the condition's own message. */
export type Details = Readonly<Partial<Record<(typeof TOLD)[number], string>>>;

/**
 * Publishes an event for each condition of a claim that has become True with the write from `before` to `after`, in the
 * words of Karpenter's status controller. Repeating it is harmless.
 */
export async function tellTransitions(
  ports: Pick<Ports, 'kubernetes' | 'now'>,
  before: NodeClaim,
  after: NodeClaim,
  details: Details = {},
): Promise<void> {
  for (const type of TOLD) {
    const [was, is] = [before, after].map(({ status }) => conditionOf(status?.conditions, type));
    if (is === undefined || is.status !== 'True' || isTrue(before.status?.conditions, type)) continue;
    const said = details[type] ?? is.message ?? '';
    const detail = said === '' ? '' : `, Message: ${said}`;
    const message = `Status condition transitioned, Type: ${type}, Status: ${was?.status ?? 'Unknown'} -> True, Reason: ${is.reason ?? type}${detail}`;
    // Three in the life of a node, in their order.
    await publish(ports.kubernetes, eventAbout(after, 'Normal', type, message), ports.now());
  }
}
