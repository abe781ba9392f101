import { describe, expect, it } from 'vitest';
import { createPodEvents, type PodEvents } from '../../../../relay/watch/pod-events.ts';
import type { PodState } from '../../../../shared/contract/snapshot/pod-table.ts';

const at = 1_800_000_000_000;

function pod(changes: Partial<PodState> = {}): PodState {
  const defaults = { nodeName: null, provisionable: false, placedByOwner: false, deleting: false };
  return { key: 'default/a', ...defaults, ...changes };
}

const unbound = pod();
const bound = pod({ nodeName: 'aks-c1' });
const leaving = pod({ nodeName: 'aks-c1', deleting: true });

function open(consolidateAfterMs: number | null = 30_000): PodEvents {
  return createPodEvents({
    claimOf: (node) => (node.startsWith('aks-') ? node.slice('aks-'.length) : null),
    consolidateAfterMs: () => consolidateAfterMs,
    emptyingClaim: (node) => (node === 'aks-emptying' ? 'emptying' : null),
  });
}

/** The delay of the hint that a change gives at `nowMs`; null for none. */
function tell(events: PodEvents, nowMs: number, before: PodState | null, after: PodState | null): number | null {
  return events.hintOf({ kind: 'pod', before, after }, { nowMs, atMs: at + nowMs })?.delayMs ?? null;
}

describe('which changes of pods a claim hears of [J09]', () => {
  it.each([
    ['is bound', unbound, bound],
    ['begins to leave', bound, leaving],
    ['has run its course', bound, null],
  ])('a pod that %s', (_, before, after) => {
    expect(open().hintOf({ kind: 'pod', before, after }, { nowMs: 0, atMs: at })).toEqual({
      kind: 'pod-event',
      claim: 'c1',
      atMs: at,
      delayMs: 500,
    });
  });

  it.each([
    ['that was bound when it was first seen', null, bound],
    ['whose leaving was told already and is gone now', leaving, null],
    ['that becomes ready', bound, pod({ nodeName: 'aks-c1', provisionable: false })],
    ['of a daemon', pod({ placedByOwner: true }), pod({ placedByOwner: true, nodeName: 'aks-c1' })],
    ['on a foreign node', unbound, pod({ nodeName: 'other' })],
    ['on a node that is being emptied', pod({ nodeName: 'aks-emptying' }), null],
    ['that waits', null, unbound],
  ])('not of a pod %s', (_, before, after) => {
    expect(tell(open(), 0, before, after)).toBeNull();
  });

  it('nobody waits for the pod events of a node that is never consolidated', () => {
    expect(tell(open(null), 0, unbound, bound)).toBeNull();
  });
});

describe('how often a claim hears of its pods [J09]', () => {
  it('a burst is one hint, due when its first event says, and told with the time of its last', () => {
    const events = open();
    expect(tell(events, 0, unbound, bound)).toBe(500);
    expect(tell(events, 200, unbound, bound)).toBe(300);
    const last = events.hintOf({ kind: 'pod', before: unbound, after: bound }, { nowMs: 400, atMs: at + 400 });
    expect(last).toMatchObject({ delayMs: 100, atMs: at + 400 });
  });

  it('the next hint comes no sooner than ten seconds after the last, and then with what happened since', () => {
    const events = open(0);
    tell(events, 0, unbound, bound);
    expect(tell(events, 1_000, bound, leaving)).toBe(9_500);
    expect(tell(events, 9_000, bound, leaving)).toBe(1_500);
    expect(tell(events, 60_000, bound, leaving)).toBe(500);
  });

  it('with a long consolidateAfter half of it lies between two hints, so that the last event is told in time', () => {
    const events = open(120_000);
    tell(events, 0, unbound, bound);
    expect(tell(events, 1_000, bound, leaving)).toBe(59_500);
  });

  it('a claim that is gone is forgotten', () => {
    const events = open();
    tell(events, 0, unbound, bound);
    const before = { metadata: { name: 'c1' } } as never;
    events.hintOf({ kind: 'object', resource: 'nodeclaims', key: 'c1', before, after: null }, { nowMs: 1, atMs: at });
    expect(tell(events, 1_000, unbound, bound)).toBe(500);
  });

  it('however long consolidateAfter is, ten minutes lie between two hints at most', () => {
    const events = open(10 * 3_600_000);
    tell(events, 0, unbound, bound);
    expect(tell(events, 1_000, bound, leaving)).toBe(600_000 - 500);
  });

  it('the pods of one claim are told beside those of another', () => {
    const events = open();
    const other = pod({ nodeName: 'aks-c2' });
    expect(tell(events, 0, unbound, bound)).toBe(500);
    expect(tell(events, 200, unbound, other)).toBe(500);
  });

  it('a claim that changes, or another that is gone, is not forgotten', () => {
    const events = open();
    tell(events, 0, unbound, bound);
    const claim = { metadata: { name: 'c1' } } as never;
    const changes = [
      { resource: 'nodeclaims', key: 'c1', before: claim, after: claim },
      { resource: 'nodeclaims', key: 'c2', before: claim, after: null },
      { resource: 'nodes', key: 'c1', before: claim, after: null },
    ] as const;
    for (const change of changes) events.hintOf({ kind: 'object', ...change } as never, { nowMs: 1, atMs: at });
    expect(tell(events, 1_000, unbound, bound)).toBe(14_500);
  });
});
