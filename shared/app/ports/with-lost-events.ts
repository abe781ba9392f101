import { RetryableError } from '../../ports/errors.ts';
import type { CreateOutcome, Kind, Kinds, Kubernetes } from '../../ports/kubernetes.ts';
import type { Ports } from './ports.ts';

/** A policy that denies one event denies the next. */
const TOLD_EVERY_MS = 10 * 60_000;

/**
 * An API server of which the log has events that could not be written: nothing waits for an event, and a person who
 * misses it on an object finds it there.
 */
export function withLostEvents(kubernetes: Kubernetes, ports: Pick<Ports, 'told' | 'now' | 'log'>): Kubernetes {
  const create = async <K extends Kind>(kind: K, object: object): Promise<CreateOutcome<Kinds[K]>> => {
    try {
      const outcome = await kubernetes.create(kind, object);
      if (kind === 'Event' && outcome.kind === 'refused') tell(ports, object, outcome.refusal.policy, outcome.reason);
      return outcome;
    } catch (error) {
      if (kind === 'Event' && error instanceof RetryableError) tell(ports, object, null, error.message);
      throw error;
    }
  };
  return { ...kubernetes, create };
}

function tell(
  { told, now, log }: Pick<Ports, 'told' | 'now' | 'log'>,
  object: object,
  policy: string | null,
  why: string,
): void {
  if (!told.isNews(`event-lost/${policy ?? ''}`, now(), TOLD_EVERY_MS)) return;
  const { involvedObject, reason = '', message = '' } = object as Partial<Note>;
  log('event-lost', {
    kind: involvedObject?.kind ?? '',
    name: involvedObject?.name ?? '',
    reason,
    message,
    policy,
    why,
  });
}

/** What an event is about and says. */
interface Note {
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly reason: string;
  readonly message: string;
}
