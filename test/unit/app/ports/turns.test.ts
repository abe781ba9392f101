import { expect, test } from 'vitest';
import { createTurns } from '../../../../shared/app/ports/turns.ts';
import type { FollowOutcome } from '../../../../shared/app/ports/follow-outcome.ts';
import type { FollowedObject } from '../../../../shared/contract/messages/messages.ts';

const done: FollowOutcome = { kind: 'ended', why: 'test' };
const claim = (name: string, podEventMs?: number): FollowedObject => ({
  kind: 'NodeClaim',
  name,
  ...(podEventMs === undefined ? {} : { podEventMs }),
});

/** Tasks that begin when they are called and end when the test says so. */
function open() {
  const turns = createTurns();
  const begun: Array<FollowedObject> = [];
  const ends: Array<{ readonly succeed: () => void; readonly fail: () => void }> = [];
  const task = (object: FollowedObject): Promise<FollowOutcome> => {
    begun.push(object);
    const { promise, resolve, reject } = Promise.withResolvers<FollowOutcome>();
    ends.push({ succeed: () => resolve(done), fail: () => reject(new Error('fails')) });
    return promise;
  };
  return { begun, ends, take: (object: FollowedObject) => turns.take(object, task) };
}

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('an object is moved by one at a time, and others are not kept waiting by it', async () => {
  const { begun, ends, take } = open();
  const first = take(claim('a'));
  const second = take(claim('a'));
  void take(claim('b'));
  await settled();
  expect(begun).toEqual([claim('a'), claim('b')]);
  ends[0]?.succeed();
  expect(await first).toBe(done);
  await settled();
  expect(begun).toEqual([claim('a'), claim('b'), claim('a')]);
  ends[2]?.succeed();
  expect(await second).toBe(done);
});

test('a move that has not begun serves all who ask for it, with the latest pod event that any of them tells', async () => {
  const { begun, ends, take } = open();
  void take(claim('a'));
  const others = [take(claim('a', 5)), take(claim('a', 9)), take(claim('a')), take(claim('a', 7))];
  ends[0]?.succeed();
  await settled();
  expect(begun).toEqual([claim('a'), claim('a', 9)]);
  ends[1]?.succeed();
  expect(await Promise.all(others)).toEqual([done, done, done, done]);
});

test('who asks again at the moment that a move ends has the one that waits, not one beside it', async () => {
  const { begun, ends, take } = open();
  const first = take(claim('a'));
  const second = take(claim('a'));
  const again = first.then(() => take(claim('a', 5)));
  ends[0]?.succeed();
  await settled();
  expect(begun).toEqual([claim('a'), claim('a', 5)]);
  ends[1]?.succeed();
  expect(await Promise.all([second, again])).toEqual([done, done]);
});

test('a move that fails is the failure of those who asked for it, and the next has its turn', async () => {
  const { begun, ends, take } = open();
  const first = take(claim('a'));
  const second = take(claim('a'));
  ends[0]?.fail();
  await expect(first).rejects.toThrow('fails');
  await settled();
  ends[1]?.succeed();
  expect(await second).toBe(done);
  const third = take(claim('a'));
  ends[2]?.succeed();
  expect(await third).toBe(done);
  expect(begun).toHaveLength(3);
});
