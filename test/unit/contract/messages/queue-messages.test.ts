import { describe, expect, test } from 'vitest';
import {
  OBJECTS_MAX,
  parseObjectsHint,
  type FollowedObject,
  type ObjectsHint,
} from '../../../../shared/contract/messages/messages.ts';
import { toQueueMessages } from '../../../../shared/contract/messages/queue-messages.ts';

const claims = (count: number): ReadonlyArray<FollowedObject> =>
  Array.from({ length: count }, (_, index) => ({ kind: 'NodeClaim', name: `general-${index.toString(36)}` }));
const hint = (objects: ReadonlyArray<FollowedObject>): ObjectsHint => ({
  kind: 'objects',
  version: 1,
  cluster: 'c',
  objects,
  reason: 'test',
});
const bodiesOf = (messages: ReturnType<typeof toQueueMessages>): ReadonlyArray<ObjectsHint> =>
  messages.map(({ body }) => parseObjectsHint(body));

describe('hints about many objects', () => {
  test('each object is in one message, and a message names no more than its receiver takes', () => {
    const bodies = bodiesOf(toQueueMessages(hint(claims(501)), 'k'));
    expect(bodies.flatMap(({ objects }) => objects)).toEqual(claims(501));
    expect(bodies.map(({ objects }) => objects.length)).toEqual([...Array<number>(25).fill(OBJECTS_MAX), 1]);
  });

  test('one occasion is one message, and another or other objects are another', () => {
    const idsOf = (objects: ReadonlyArray<FollowedObject>, key: string): ReadonlyArray<string> =>
      toQueueMessages(hint(objects), key).map(({ id }) => id);
    const [a, b] = [{ kind: 'NodeClaim', name: 'a' } as const, { kind: 'NodeClaim', name: 'b' } as const];
    expect(idsOf([a], 'look/1')).toEqual(idsOf([a], 'look/1'));
    expect(idsOf([a], 'look/1')).not.toEqual(idsOf([a], 'look/2'));
    expect(idsOf([a], 'look/1')).not.toEqual(idsOf([b], 'look/1'));
  });

  test('of an object that is named twice the later pod event counts, and a hint without one takes none away', () => {
    const at = (podEventMs?: number): FollowedObject => ({
      kind: 'NodeClaim',
      name: 'a',
      ...(podEventMs === undefined ? {} : { podEventMs }),
    });
    for (const objects of [
      [at(5), at(9), at()],
      [at(), at(9), at(5)],
    ]) {
      expect(bodiesOf(toQueueMessages(hint(objects), 'k')).map((body) => body.objects)).toEqual([[at(9)]]);
    }
  });
});
