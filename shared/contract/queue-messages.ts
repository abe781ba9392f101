import { digest } from './digest.ts';
import {
  OBJECTS_MAX,
  sessionIdOf,
  sessionOf,
  type FollowedObject,
  type ObjectsHint,
  type PodsHint,
  type SignalHint,
} from './messages.ts';
import { claimsQueue, podsQueue, signalsQueue } from './queues.ts';

/** A hint as a queue takes it. */
export interface QueueMessage {
  readonly queue: string;
  /** Two messages with one id within the queue's window are one. */
  readonly id: string;
  /** Null on queues without sessions. */
  readonly sessionId: string | null;
  readonly body: PodsHint | ObjectsHint | SignalHint;
}

/**
 * The messages that a hint takes: one, or for objects one for each session and each `OBJECTS_MAX` of them. `key` names the
 * occasion; objects are part of the id, so that one occasion may concern others the next time.
 */
export function toQueueMessages(hint: PodsHint | ObjectsHint | SignalHint, key: string): ReadonlyArray<QueueMessage> {
  switch (hint.kind) {
    case 'pods':
      return [{ queue: podsQueue.name, id: idOf(hint, key), sessionId: sessionIdOf(hint.cluster), body: hint }];
    case 'signal':
      return [{ queue: signalsQueue.name, id: idOf(hint, key), sessionId: null, body: hint }];
    case 'objects':
      return objectMessages(hint, key);
    default:
      return hint satisfies never;
  }
}

/** `objects`, each once, by their sessions and at most `OBJECTS_MAX` together. Of one named twice the later pod event counts. */
export function bySession(
  objects: ReadonlyArray<FollowedObject>,
): ReadonlyArray<{ readonly sessionId: string; readonly objects: ReadonlyArray<FollowedObject> }> {
  const sessions = new Map<string, Map<string, FollowedObject>>();
  for (const object of objects) {
    const sessionId = sessionOf(object);
    const session = sessions.get(sessionId) ?? new Map<string, FollowedObject>();
    sessions.set(sessionId, session);
    const name = `${object.kind}/${object.name}`;
    const known = session.get(name);
    if ((known?.podEventMs ?? -1) <= (object.podEventMs ?? -1)) session.set(name, object);
  }
  return [...sessions].flatMap(([sessionId, session]) => {
    const all = [...session.values()];
    const parts = Math.ceil(all.length / OBJECTS_MAX);
    return Array.from({ length: parts }, (_, part) => ({
      sessionId,
      objects: all.slice(part * OBJECTS_MAX, (part + 1) * OBJECTS_MAX),
    }));
  });
}

function objectMessages(hint: ObjectsHint, key: string): ReadonlyArray<QueueMessage> {
  return bySession(hint.objects).map(({ sessionId, objects }) => {
    const names = objects.map(({ kind, name }) => `${kind}/${name}`);
    const id = sessionIdOf(`${hint.cluster}/${key}/${names.length === 1 ? (names[0] ?? '') : digest(...names)}`);
    return { queue: claimsQueue.name, id, sessionId, body: { ...hint, objects } };
  });
}

function idOf({ cluster }: PodsHint | SignalHint, key: string): string {
  return sessionIdOf(`${cluster}/${key}`);
}
