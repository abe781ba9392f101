import { describe, expect, test } from 'vitest';
import { rolloutsNow, worseThanBefore } from '../../../../../shared/core/disruption/brakes/worse-than-before.ts';
import type { Condition } from '../../../../../shared/kubernetes/manifest.ts';
import { disruptable, disruptionInput, machine, NOW, type Machine } from '../../../../kit/core/build-disruption.ts';

const MINUTE = 60_000;
const at = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

const condition = (type: string, status: string, sinceMs: number, message = ''): Condition => ({
  type,
  status,
  reason: type === 'Drifted' ? 'ImageDrift' : type,
  message,
  lastTransitionTime: at(sinceMs),
});

interface Given {
  /** What its node says of being ready, and since when; undefined: nothing. */
  readonly ready?: Condition | null;
  readonly claim?: ReadonlyArray<Condition>;
  readonly made: number;
}

/** A machine of `general` that was made at this time. */
function made(name: string, { ready, claim = [], made: ms }: Given): Machine {
  const plain = machine(name, {
    conditions: [condition('Launched', 'True', ms), ...claim],
    nodeConditions: ready === null ? [] : [ready ?? condition('Ready', 'True', ms)],
  });
  const metadata = { ...plain.claim.metadata, creationTimestamp: at(ms) };
  return { ...plain, claim: { ...plain.claim, metadata } };
}

const used = (ms: number) => condition('Initialized', 'True', ms);
const notReady = (ms: number, status = 'False') => condition('Ready', status, ms);
const START = NOW - 120 * MINUTE;

/** It has been in use since long, and is behind for an hour. */
const old = (name: string, ready?: Condition | null) =>
  made(name, { made: START, claim: [used(START), condition('Drifted', 'True', NOW - 60 * MINUTE)], ...say(ready) });
/** Made since then, and in use. */
const fresh = (name: string, ready?: Condition | null) =>
  made(name, { made: NOW - 40 * MINUTE, claim: [used(NOW - 35 * MINUTE)], ...say(ready) });
const say = (ready?: Condition | null) => (ready === undefined ? {} : { ready });

const bakes = { 'nodewright.dev/bake-time': '30m' };
function clusterOf(machines: ReadonlyArray<Machine>, annotations: Readonly<Record<string, string>> = bakes) {
  const pool = disruptable();
  const nodePools = [{ ...pool, metadata: { ...pool.metadata, annotations } }];
  return disruptionInput({ machines, nodePools, shapes: [], pods: [] }).provisioning.cluster;
}
const why = (machines: ReadonlyArray<Machine>, annotations?: Readonly<Record<string, string>>) =>
  worseThanBefore(clusterOf(machines, annotations), NOW).map((one) => one.why);

describe('a new image does worse than the old one', () => {
  test('where a larger share of its nodes is not ready', () => {
    const sick = notReady(NOW - MINUTE);
    const of = (news: ReadonlyArray<Machine>, olds: ReadonlyArray<Machine>) => why([...news, ...olds]);
    expect(of([fresh('n', sick), fresh('m')], [old('o'), old('p')])).toEqual([
      '1 of 2 new nodes are not ready, n among them, and 0 of 2 old ones',
    ]);
    // A half of both; and less of the new ones.
    expect(of([fresh('n', sick), fresh('m')], [old('o', sick), old('p')])).toEqual([]);
    expect(of([fresh('n', sick), fresh('m'), fresh('l')], [old('o', sick), old('p')])).toEqual([]);
    expect(of([fresh('n', sick), fresh('m')], [old('o', sick), old('p'), old('q')])).toEqual([
      '1 of 2 new nodes are not ready, n among them, and 1 of 3 old ones',
    ]);
    expect(of([fresh('n'), fresh('m')], [old('o', sick), old('p')])).toEqual([]);
  });

  test.each<[string, Condition | null, number]>([
    ['not ready for a minute', notReady(NOW - MINUTE), 1],
    ['not ready for less: it missed a heartbeat', notReady(NOW - MINUTE + 1000), 0],
    ['silent for a minute', notReady(NOW - MINUTE, 'Unknown'), 1],
    ['without a word of being ready', null, 1],
    ['ready', notReady(START, 'True'), 0],
    ['not ready since a time that has not come yet', notReady(NOW + 60 * MINUTE), 1],
  ])('where its node is %s', (_, ready, count) => {
    expect(why([fresh('n', ready), old('o')])).toHaveLength(count);
  });

  test('by nodes that have been in use: others start, and those without a node are none', () => {
    const starting = made('n', { made: NOW - 10 * MINUTE, ready: notReady(NOW - 5 * MINUTE) });
    expect(why([starting, fresh('m'), old('o')])).toEqual([]);
    const sickOld = made('p', {
      made: START,
      ready: notReady(START),
      claim: [condition('Drifted', 'True', NOW - 60 * MINUTE)],
    });
    expect(why([fresh('n', notReady(START)), sickOld, old('o')])).toEqual([
      '1 of 1 new nodes are not ready, n among them, and 0 of 1 old ones',
    ]);
  });

  test.each<[string, number, ReadonlyArray<Condition>, ReadonlyArray<string>]>([
    ['half an hour', 30, [], ['NodeClaim claim-n is not initialized after 30 minutes']],
    [
      'half an hour, and says for what',
      30,
      [condition('Initialized', 'Unknown', NOW, 'a taint is still there')],
      ['NodeClaim claim-n is not initialized after 30 minutes: a taint is still there'],
    ],
    ['less', 29.9, [], []],
  ])('where its only node has been starting for %s', (_, minutes, claim, expected) => {
    expect(why([made('n', { made: NOW - minutes * MINUTE, claim }), old('o')])).toEqual(expected);
  });

  test('but not where another of its nodes is in use, or Azure has given no machine', () => {
    const late = made('n', { made: NOW - 40 * MINUTE });
    expect(why([late, old('o')])).toHaveLength(1);
    expect(why([late, fresh('m'), old('o')])).toEqual([]);
    const { node, claim } = late;
    const notGiven = { node, claim: { ...claim, status: { ...claim.status, conditions: [] } } };
    expect(why([notGiven, old('o')])).toEqual([]);
    expect(why([made('first', { made: NOW - 10 * MINUTE }), late, old('o')])).toEqual([
      'NodeClaim claim-n is not initialized after 30 minutes',
    ]);
  });

  test('nobody asks without a bake time, nor says it again where it is written', () => {
    const sick = [fresh('n', notReady(START)), old('o')];
    expect(why(sick)).toHaveLength(1);
    expect(why(sick, {})).toEqual([]);
    expect(why(sick, { ...bakes, 'nodewright.dev/rollout-halted': 'it crashed' })).toEqual([]);
  });
});

describe('what nodes behind a new image wait for', () => {
  test('is what is found to be worse, before it is written', () => {
    const sick = clusterOf([fresh('n', notReady(START)), old('o')]);
    const found = '1 of 1 new nodes are not ready, n among them, and 0 of 1 old ones';
    expect([...rolloutsNow(sick, NOW)]).toEqual([['general', { kind: 'halted', why: found }]]);
  });

  test('is the canary else, or what is written', () => {
    expect([...rolloutsNow(clusterOf([old('o')]), NOW)]).toEqual([['general', { kind: 'canary' }]]);
    const halted = clusterOf([old('o')], { ...bakes, 'nodewright.dev/rollout-halted': 'it crashed' });
    expect([...rolloutsNow(halted, NOW)]).toEqual([['general', { kind: 'halted', why: 'it crashed' }]]);
  });
});
