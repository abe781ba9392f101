import type { DisruptionPolicy } from '../../model/disruption-input.ts';
import type { DisruptionReason } from '../plan/disruption-plan.ts';
import type { KeptReason } from '../plan/kept-reason.ts';

/**
 * What holds back nodes of a pool that go of our own choice: the reasons that budgets know. Nodes that are expired or sick, and those
 * that a static pool has too many, go all the same: their time, their illness or their number was said by somebody else.
 */
const BRAKED: ReadonlySet<DisruptionReason> = new Set(['Empty', 'Underutilized', 'Drifted']);

/** Why a node of the pool does not go for the reason; null where nothing holds it back. */
export function poolBrake({ brakes }: DisruptionPolicy, nodePool: string, reason: DisruptionReason): KeptReason | null {
  const brake = brakes.get(nodePool);
  return brake === undefined || !BRAKED.has(reason) ? null : { kind: 'pool-braked', nodePool, brake };
}
