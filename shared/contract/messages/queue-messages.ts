import { digest } from '../digest.ts';
import {
  OBJECTS_MAX,
  sessionIdOf,
  type FollowedObject,
  type ObjectsHint,
  type PodsHint,
  type SignalHint,
} from './messages.ts';
import { claimsQueue, launchesQueue, podsQueue, signalsQueue } from './queues.ts';

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
 * The messages that a hint takes: one, or for objects one for each `OBJECTS_MAX` of them. `key` names the occasion;
 * objects are part of the id, so that one occasion may concern others the next time.
 */
export function toQueueMessages(hint: PodsHint | ObjectsHint | SignalHint, key: string): ReadonlyArray<QueueMessage> {
  switch (hint.kind) {
    case 'pods':
      return [{ queue: podsQueue.name, id: idOf(hint, key), sessionId: sessionIdOf(hint.cluster), body: hint }];
    case 'signal':
      return [{ queue: signalsQueue.name, id: idOf(hint, key), sessionId: null, body: hint }];
    case 'objects':
      return objectMessages(claimsQueue.name, hint, key);
    case 'launches':
      return objectMessages(launchesQueue.name, hint, key);
    default:
      return hint satisfies never;
  }
}

/** `objects`, each once, in lists of at most `OBJECTS_MAX`. Of one named twice the later pod event counts. */
export function inMessages(objects: ReadonlyArray<FollowedObject>): ReadonlyArray<ReadonlyArray<FollowedObject>> {
  const byName = new Map<string, FollowedObject>();
  for (const object of objects) {
    const known = byName.get(nameOf(object));
    if ((known?.podEventMs ?? -1) <= (object.podEventMs ?? -1)) byName.set(nameOf(object), object);
  }
  const all = [...byName.values()];
  const parts = Math.ceil(all.length / OBJECTS_MAX);
  return Array.from({ length: parts }, (_, part) => all.slice(part * OBJECTS_MAX, (part + 1) * OBJECTS_MAX));
}

/** An object's name among all kinds. */
export function nameOf({ kind, name }: Pick<FollowedObject, 'kind' | 'name'>): string {
  return `${kind}/${name}`;
}

function objectMessages(queue: string, hint: ObjectsHint, key: string): ReadonlyArray<QueueMessage> {
  return inMessages(hint.objects).map((objects) => {
    const [first = '', ...others] = objects.map(nameOf);
    const which = others.length === 0 ? first : digest(first, ...others);
    const id = sessionIdOf(`${hint.cluster}/${key}/${which}`);
    return { queue, id, sessionId: null, body: { ...hint, objects } };
  });
}

function idOf({ cluster }: PodsHint | SignalHint, key: string): string {
  return sessionIdOf(`${cluster}/${key}`);
}
