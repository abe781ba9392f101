import type { KeptReason } from '../../../core/disruption/plan/kept-reason.ts';
import { renderKept } from '../../../core/disruption/plan/render-kept.ts';
import type { EventNote } from '../../tell/events.ts';
import { asSentence } from './as-sentence.ts';

/** How `kubectl describe` says that a node stays, under Karpenter's reasons. */
export type KeptEvent = Pick<EventNote, 'type' | 'reason' | 'message'>;

type Kind = KeptReason['kind'];
type Render<K extends Kind> = (reason: Extract<KeptReason, { kind: K }>, currency: string) => KeptEvent | null;

const silent = (): null => null;
const blockedAsPlanned = (reason: KeptReason, currency: string): KeptEvent => blocked(sentence(reason, currency));
const unconsolidatableAsPlanned = (reason: KeptReason, currency: string): KeptEvent =>
  unconsolidatable(sentence(reason, currency));

/** Where Karpenter has a text, that one letter for letter. */
const renders: { readonly [K in Kind]: Render<K> } = {
  unmanaged: silent,
  'no-such-pool': silent,
  leaving: silent,
  'not-initialized': silent,
  'do-not-disrupt': silent,
  'not-consolidatable': silent,
  'static-pool': silent,
  'one-by-one': silent,
  'empty-first': silent,
  receives: silent,
  'no-order': silent,
  'pods-first': silent,
  // The pool says it, once for all its nodes.
  'node-budget': silent,
  'awaits-pods': () => blocked('Node is nominated for a pending pod'),
  'pod-do-not-disrupt': ({ pod }) => blocked(`Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=${pod})`),
  'pod-budget': ({ budget }) => blocked(`Pdb prevents pod evictions (PodDisruptionBudget=${budget})`),
  'write-denied': blockedAsPlanned,
  'pool-braked': blockedAsPlanned,
  'two-pod-budgets': blockedAsPlanned,
  'pod-devices': blockedAsPlanned,
  'holds-buffer': blockedAsPlanned,
  'not-replaced': blockedAsPlanned,
  'plan-refused': (reason, currency) => ({
    type: 'Warning',
    reason: 'PlanRefused',
    message: `${sentence(reason, currency)}. This is a fault of Nodewright: please report it`,
  }),
  'too-many-unhealthy': (reason, currency) => ({
    type: 'Warning',
    reason: 'NodeRepairBlocked',
    message: sentence(reason, currency),
  }),
  'consolidation-off': ({ nodePool }) => unconsolidatable(`NodePool "${nodePool}" has consolidation disabled`),
  'only-when-empty': ({ nodePool }) => unconsolidatable(`NodePool "${nodePool}" has non-empty consolidation disabled`),
  'nothing-cheaper': () => unconsolidatable("Can't replace with a cheaper node"),
  'unknown-price': unconsolidatableAsPlanned,
  'no-place': unconsolidatableAsPlanned,
  'not-worth': unconsolidatableAsPlanned,
};

/**
 * The event about a node that stays; null where Karpenter says nothing either: an operator has said so, or it passes by
 * itself.
 * `currency`: what prices are in (ISO 4217).
 */
export function keptEvent<K extends Kind>(
  reason: Extract<KeptReason, { kind: K }>,
  currency: string,
): KeptEvent | null {
  const render: Render<K> = renders[reason.kind];
  return render(reason, currency);
}

function blocked(message: string): KeptEvent {
  return { type: 'Normal', reason: 'DisruptionBlocked', message };
}

function unconsolidatable(message: string): KeptEvent {
  return { type: 'Normal', reason: 'Unconsolidatable', message };
}

function sentence(reason: KeptReason, currency: string): string {
  return asSentence(renderKept(reason, currency));
}
