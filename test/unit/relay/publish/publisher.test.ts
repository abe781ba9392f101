import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ObjectsHint } from '../../../../shared/contract/messages/messages.ts';
import { claim, openPublisher as open, pods } from '../../../kit/relay/open-publisher.ts';

describe('the publisher', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  test('begins its term with a snapshot and then the hints about everything', async () => {
    const { publisher, take } = open([pods, claim('a')]);
    publisher.reconsider();
    await pass(5);
    expect(take()).toEqual(['published 1-1', 'send pods c', 'send claims -']);
  });

  test('a pod event travels with a hint about its claim, once, when the first was due and with the time of the last', async () => {
    const { publisher, take, messages } = open();
    publisher.reconsider();
    await pass(5);
    take();
    publisher.hint({ kind: 'pod-event', claim: 'a', atMs: 1_000, delayMs: 500 });
    publisher.hint({ kind: 'pod-event', claim: 'a', atMs: 1_400, delayMs: 900 });
    publisher.hint(claim('a', 500));
    await pass(499);
    expect(take()).toEqual([]);
    await pass(5);
    expect(take()).toEqual(['send claims -']);
    expect(messages.at(-1)?.body).toMatchObject({
      reason: 'pod-event, node-ready',
      objects: [{ kind: 'NodeClaim', name: 'a', podEventMs: 1_400 }],
    });
    await pass(20_000);
    expect(take()).toEqual([]);
  });

  test('does nothing while it does not lead, or does not see everything [M02]', async () => {
    const { publisher, state, take, change } = open([pods]);
    state.term = null;
    publisher.reconsider();
    change('urgent', pods);
    await pass(5_000);
    state.term = 4;
    state.isComplete = false;
    publisher.reconsider();
    await pass(5_000);
    expect(take()).toEqual([]);
    state.isComplete = true;
    publisher.reconsider();
    await pass(5);
    expect(take()).toEqual(['published 4-1', 'send pods c']);
  });

  test('an urgent change is published at once, a burst of them as one snapshot every 200 ms', async () => {
    const { publisher, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    change('urgent', pods);
    await pass(5);
    expect(take()).toEqual(['published 1-2', 'send pods c']);
    for (let count = 0; count < 50; count++) {
      change('urgent', pods);
      await pass(4);
    }
    await pass(200);
    expect(take().filter((line) => line.startsWith('published'))).toHaveLength(2);
  });

  test('a lazy change is published within 1.5 s, however many follow', async () => {
    const { publisher, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    for (let count = 0; count < 14; count++) {
      change('lazy');
      await pass(100);
    }
    expect(take()).toEqual([]);
    await pass(200);
    expect(take()).toEqual(['published 1-2']);
  });

  test('nothing that changed, nothing published; the heartbeat goes on', async () => {
    const { publisher, take, beats } = open();
    publisher.reconsider();
    await pass(35_000);
    expect(beats()).toBe(4);
    expect(take()).toEqual(['published 1-1']);
  });

  test('a heartbeat says that the snapshot holds up to the first change that it lacks', async () => {
    const { publisher, state, behindMs, change } = open();
    publisher.reconsider();
    await pass(9_500);
    change('lazy');
    await pass(1_000);
    expect(behindMs).toEqual([0, 500]);
    await pass(8_500);
    state.outcome = () => {
      throw new Error('no room');
    };
    change('urgent');
    await pass(2_000);
    expect(behindMs.slice(2)).toEqual([1_000]);
  });

  test('a heartbeat that is asked for comes at that time, and the next ten seconds later', async () => {
    const { publisher, beats } = open();
    publisher.reconsider();
    await pass(2_000);
    publisher.beatIn(5_000);
    await pass(4_900);
    expect(beats()).toBe(1);
    await pass(200);
    expect(beats()).toBe(2);
    await pass(9_800);
    expect(beats()).toBe(2);
    await pass(200);
    expect(beats()).toBe(3);
  });

  test('of heartbeats that are asked for at once the last comes, and of others each', async () => {
    const { publisher, beats } = open();
    publisher.reconsider();
    await pass(100);
    for (let count = 0; count < 4; count++) {
      publisher.beatIn(5_000);
      await pass(50);
    }
    await pass(800);
    publisher.beatIn(5_000);
    await pass(4_100);
    expect(beats()).toBe(1);
    await pass(100);
    expect(beats()).toBe(2);
    await pass(900);
    expect(beats()).toBe(3);
  });

  test('a heartbeat that was asked for in a term that is over does not come', async () => {
    const { publisher, state, beats } = open();
    publisher.reconsider();
    await pass(1_000);
    publisher.beatIn(5_000);
    state.term = 2;
    publisher.reconsider();
    await pass(8_000);
    expect(beats()).toBe(2);
  });

  test('a hint that is not urgent waits its time, and a steady stream of the same does not put it off', async () => {
    const { publisher, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    for (let count = 0; count < 10; count++) {
      change('lazy', claim('a', 250));
      await pass(50);
    }
    expect(take().filter((line) => line.startsWith('send'))).toHaveLength(1);
  });

  test('a hint about pods is held until the snapshot with the change is published', async () => {
    const { publisher, take, change } = open();
    publisher.reconsider();
    await pass(5);
    take();
    change('urgent', pods);
    await pass(100);
    expect(take()).toEqual([]);
    await pass(110);
    expect(take()).toEqual(['published 1-2', 'send pods c']);
  });

  test('while snapshots cannot be written, hints go out without one', async () => {
    const { publisher, state, messages, change } = open();
    publisher.reconsider();
    await pass(1_000);
    state.outcome = () => {
      throw new Error('the storage account is away');
    };
    change('urgent', pods);
    await pass(100);
    expect(messages.map(({ body }) => body)).toEqual([expect.objectContaining({ kind: 'pods', snapshot: null })]);
  });

  test('and once more with the first that can be written: before, nobody could read who waits', async () => {
    const { publisher, state, messages, change } = open();
    publisher.reconsider();
    await pass(1_000);
    state.outcome = () => {
      throw new Error('the storage account is away');
    };
    change('urgent', pods);
    await pass(10_000);
    expect(messages.map(({ body }) => body)).toEqual([expect.objectContaining({ kind: 'pods', snapshot: null })]);
    state.outcome = () => ({ kind: 'published' });
    await pass(60_000);
    expect(messages.slice(1).map(({ body }) => body)).toEqual([
      expect.objectContaining({ kind: 'pods', snapshot: expect.stringMatching(/^1-/) as string }),
    ]);
  });

  test('a snapshot that could not be written is written when it can', async () => {
    const { publisher, state, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    let failures = 2;
    state.outcome = () => {
      if (failures-- > 0) throw new Error('the storage account is away');
      return { kind: 'published' };
    };
    change('lazy');
    await pass(10_000);
    expect(take()).toEqual(['published 1-4']);
  });

  test('a snapshot that could not be written for minutes is written within 2.5 s when it can', async () => {
    const { publisher, state, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    state.outcome = () => {
      throw new Error('the storage account is away');
    };
    change('urgent');
    await pass(180_000);
    take();
    state.outcome = () => ({ kind: 'published' });
    await pass(2_500);
    expect(take()).toEqual([expect.stringMatching(/^published 1-/)]);
  });

  test('superseded by a later term, it says so and keeps its changes for its next term', async () => {
    const { publisher, state, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    state.outcome = ({ term }) => (term < 7 ? { kind: 'superseded', term: 7 } : { kind: 'published' });
    change('urgent');
    await pass(5);
    expect(take()).toEqual(['superseded 1-2', 'superseded by 7']);
    state.term = 8;
    publisher.reconsider();
    await pass(2_000);
    expect(take()).toContain('published 8-1');
  });

  test('hints about the same object wait as one while the queue is away, and leave when it is back', async () => {
    const { publisher, state, messages, change } = open();
    publisher.reconsider();
    await pass(1_000);
    state.queueFails = true;
    for (let count = 0; count < 100; count++) {
      change('urgent', claim(`claim-${count % 3}`));
      await pass(300);
    }
    expect(messages).toEqual([]);
    state.queueFails = false;
    await pass(20_000);
    const named = messages.flatMap(({ body }) => (body as ObjectsHint).objects.map(({ name }) => name));
    expect(named.toSorted()).toEqual(['claim-0', 'claim-1', 'claim-2']);
  });

  test('each hint has an id of its own, so that a queue which drops duplicates drops none that is needed', async () => {
    const { publisher, messages, change } = open();
    publisher.reconsider();
    for (let count = 0; count < 20; count++) {
      change('urgent', pods);
      change('urgent', claim('a'));
      await pass(1_000);
    }
    const ids = messages.map(({ messageId }) => messageId);
    expect(ids).toHaveLength(40);
    expect(new Set(ids).size).toBe(40);
    expect(ids.every((id) => id.length <= 128)).toBe(true);
  });

  test('a term that ends takes its hints along: the next leader begins with hints about everything', async () => {
    const { publisher, state, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    change('lazy', claim('a', 250));
    state.term = null;
    publisher.reconsider();
    await pass(5_000);
    expect(take()).toEqual([]);
  });

  test('whose term ends while a snapshot is on its way sends no hint about it and no heartbeat', async () => {
    const { publisher, state, take, beats, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    state.storeTakesMs = 9_500;
    change('urgent', pods);
    await pass(9_000);
    state.term = null;
    await pass(60_000);
    expect([take(), beats()]).toEqual([['published 1-2'], 0]);
    expect(publisher.isPublishing()).toBe(false);
  });

  test('what changes while a snapshot is on its way is in the next, and its hint waits for that', async () => {
    const { publisher, state, take, messages, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    state.storeTakesMs = 100;
    change('urgent');
    await pass(50);
    change('urgent', pods);
    await pass(5_000);
    expect(take()).toEqual(['published 1-2', 'published 1-3', 'send pods c']);
    expect(messages[0]?.body).toMatchObject({ snapshot: '1-3' });
  });

  test('publishes a fifth of the time at most, however much changes', async () => {
    const { publisher, state, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    state.storeTakesMs = 1_000;
    for (let ms = 0; ms < 30_000; ms += 100) {
      change('urgent');
      await pass(100);
    }
    expect(take()).toHaveLength(6);
  });

  test('that does not see everything any more goes on in its term once it does, with the hints that waited [M02]', async () => {
    const { publisher, state, take, beats, change } = open([claim('all')]);
    publisher.reconsider();
    await pass(1_000);
    take();
    state.isComplete = false;
    change('urgent', pods);
    change('lazy', claim('a'));
    await pass(30_000);
    expect([take(), beats()]).toEqual([[], 0]);
    state.isComplete = true;
    publisher.reconsider();
    await pass(5);
    expect(take()).toEqual(['published 1-2', 'send pods c', 'send claims -']);
  });

  test('in a new term begins anew: its count, the hints about everything, and since when it publishes', async () => {
    const { publisher, state, take } = open([claim('all')]);
    expect([publisher.isPublishing(), publisher.publishingSinceMs()]).toEqual([false, null]);
    publisher.reconsider();
    const sinceMs = Date.now();
    await pass(5_000);
    expect([publisher.isPublishing(), publisher.publishingSinceMs()]).toEqual([true, sinceMs]);
    take();
    state.term = 2;
    publisher.reconsider();
    await pass(5);
    expect(take()).toEqual(['published 2-1', 'send claims -']);
    expect(publisher.publishingSinceMs()).toBe(sinceMs + 5_000);
    state.term = null;
    publisher.reconsider();
    expect([publisher.isPublishing(), publisher.publishingSinceMs()]).toEqual([false, null]);
  });

  test('that is stopped publishes nothing more, once what was on its way is there', async () => {
    const { publisher, state, take, beats, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    state.storeTakesMs = 500;
    change('urgent');
    await pass(100);
    let stopped = false;
    void publisher.stop().then(() => (stopped = true));
    await pass(300);
    expect(stopped).toBe(false);
    await pass(200);
    expect([stopped, take()]).toEqual([true, ['published 1-2']]);
    change('urgent', pods);
    publisher.reconsider();
    await pass(60_000);
    expect([take(), beats()]).toEqual([[], 0]);
  });

  test('a heartbeat that could not be written is written ten seconds later, and told', async () => {
    const { publisher, state, outcomes, beats } = open();
    state.beatFails = true;
    publisher.reconsider();
    await pass(9_000);
    expect([outcomes, beats()]).toEqual([['published', 'beat failed'], 0]);
    state.beatFails = false;
    await pass(1_100);
    expect([outcomes.slice(2), beats()]).toEqual([['beat written'], 1]);
  });

  test('there is no heartbeat while there is no snapshot of the term that it could be of', async () => {
    const { publisher, state, outcomes } = open();
    state.outcome = () => {
      throw new Error('the storage account is away');
    };
    publisher.reconsider();
    await pass(60_000);
    expect(new Set(outcomes)).toEqual(new Set(['failed']));
    expect(outcomes.length).toBeGreaterThan(6);
    expect(outcomes.length).toBeLessThan(40);
  });

  test('a notice of an interruption leaves at once, whatever becomes of snapshots', async () => {
    const { publisher, state, messages } = open();
    publisher.reconsider();
    await pass(1_000);
    state.outcome = () => {
      throw new Error('the storage account is away');
    };
    const signal = {
      event: 'preempt',
      notBeforeMs: null,
      eventId: null,
      vmId: null,
      nodeName: 'aks-a',
      key: 'k',
    } as const;
    publisher.changed('urgent');
    publisher.hint({ kind: 'signal', signal });
    await pass(1);
    expect(messages.map(({ queue }) => queue)).toEqual(['signals']);
  });

  test('a hint about pods makes a lazy change urgent, and one that may wait does not', async () => {
    const { publisher, take, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    change('lazy', { ...pods, delayMs: 100 });
    await pass(1_400);
    expect(take()).toEqual([]);
    change('lazy', pods);
    await pass(5);
    expect(take()).toEqual(['published 1-2', 'send pods c']);
  });

  test('that leads no more publishes nothing, before anybody has told it so', async () => {
    const { publisher, state, take, beats, change } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    state.term = null;
    change('urgent', pods);
    await pass(60_000);
    expect([take(), beats()]).toEqual([[], 0]);
  });

  test('forgets with its term what waits for its time and what waits for the queue', async () => {
    const { publisher, state, messages } = open();
    publisher.reconsider();
    await pass(1_000);
    state.queueFails = true;
    publisher.hint(claim('in-the-outbox'));
    publisher.hint(claim('not-due', 5_000));
    await pass(100);
    state.term = 2;
    publisher.reconsider();
    state.queueFails = false;
    await pass(60_000);
    expect(messages).toEqual([]);
  });

  test('sends a hint when the first of its kind is due, and not before', async () => {
    const { publisher, take } = open();
    publisher.reconsider();
    await pass(1_000);
    take();
    publisher.hint(claim('a', 5_000));
    publisher.hint(claim('b', 3_000));
    publisher.hint(claim('a', 100));
    await pass(99);
    expect(take()).toEqual([]);
    await pass(5);
    expect(take()).toEqual(['send claims -']);
    await pass(2_800);
    expect(take()).toEqual([]);
    await pass(10_000);
    expect(take()).toEqual(['send claims -']);
  });

  test('says why a snapshot or a heartbeat was not written', async () => {
    const { publisher, state, warnings, change } = open();
    publisher.reconsider();
    await pass(1_000);
    state.beatFails = true;
    await pass(9_500);
    state.outcome = () => {
      throw new Error('no room');
    };
    change('urgent');
    await pass(10);
    expect(warnings).toEqual(['heartbeat not written: the storage account is away', 'snapshot not published: no room']);
  });
});
