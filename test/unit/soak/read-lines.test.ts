import { expect, test } from 'vitest';
import { confessionsIn, failuresIn, readTold, removalSets } from '../../soak/read-lines.ts';

const line = (atS: number, facts: object): string =>
  `${atS.toFixed(2)} functions: [2026-11-25T10:00:00.000Z] ${JSON.stringify(facts)}`;

test('the product’s own lines are read, with their time; those of other parts and of the host are left out', () => {
  const told = readTold([
    line(1.5, { event: 'looked', messages: 2 }),
    '1.60 relay: {"event":"relay started"}',
    "1.70 functions: [2026-11-25T10:00:00.000Z] Executed 'Functions.sweep' (Succeeded, Id=1)",
  ]);
  expect(told).toEqual([{ atMs: 1_500, event: 'looked', facts: { messages: 2 } }]);
});

test('a removal set ends in its removal, after its last replacement was ready, or is taken back', () => {
  const told = readTold([
    line(10, { event: 'disruption-begun', decision: 'd1', reason: 'Drifted', nodes: 'a,b', replacements: 'x,y' }),
    line(11, { event: 'disruption-begun', decision: 'd2', reason: 'Empty', nodes: 'c', replacements: '' }),
    line(20, { event: 'nodeclaim-initialized', claim: 'x' }),
    line(25, { event: 'nodeclaim-initialized', claim: 'y' }),
    line(26, { event: 'nodeclaim-initialized', claim: 'other' }),
    line(26, { event: 'disruption-topped-up', removal: 'd1', replacements: 'z' }),
    line(27, { event: 'disruption-looked', outcome: 'waiting', why: 'PodDisruptionBudget p does not allow it' }),
    line(28, { event: 'nodeclaim-initialized', claim: 'z' }),
    line(29, { event: 'disruption-looked', outcome: 'waiting', why: 'replacements' }),
    line(30, { event: 'disrupted', claim: 'a', removal: 'd1' }),
    line(31, { event: 'disrupted', claim: 'b', removal: 'd1' }),
    line(32, { event: 'disruption-taken-back', claim: 'c', removal: 'd2', why: 'pods came' }),
  ]);
  expect(removalSets(told)).toEqual([
    {
      decision: 'd1',
      reason: 'Drifted',
      nodes: 2,
      replacements: 2,
      toldMs: 10_000,
      readyMs: 28_000,
      isHeldByPods: false,
      removedMs: 31_000,
      isTakenBack: false,
    },
    {
      decision: 'd2',
      reason: 'Empty',
      nodes: 1,
      replacements: 0,
      toldMs: 11_000,
      readyMs: null,
      isHeldByPods: false,
      removedMs: null,
      isTakenBack: true,
    },
  ]);
});

test('a set is held by pods where a look at it waited for a PodDisruptionBudget when all its replacements were ready', () => {
  const begun = line(1, { event: 'disruption-begun', decision: 'd', reason: 'Drifted', nodes: 'a', replacements: 'x' });
  const ready = line(5, { event: 'nodeclaim-initialized', claim: 'x' });
  const held = (atS: number) =>
    line(atS, { event: 'disruption-looked', why: 'PodDisruptionBudget p does not allow it' });
  const gone = line(20, { event: 'disrupted', claim: 'a', removal: 'd' });
  const isHeld = (...lines: ReadonlyArray<string>) => removalSets(readTold(lines)).map((one) => one.isHeldByPods);
  expect(isHeld(begun, ready, held(10), gone)).toEqual([true]);
  expect(isHeld(begun, ready, held(10))).toEqual([true]);
  expect(isHeld(begun, held(2), ready, gone, held(21))).toEqual([false]);
  expect(isHeld(begun, held(10))).toEqual([false]);
});

test('a refused plan, a message that was given up and a claim that our own API rules refuse are confessions', () => {
  const told = readTold([
    line(1, { event: 'plan-refused', findings: 'f' }),
    line(2, { event: 'message-kept', kind: 'bug' }),
    line(3, { event: 'nodeclaim-refused', policy: null }),
    line(4, { event: 'nodeclaim-refused', policy: 'somebody’s' }),
    line(5, { event: 'provisioned' }),
  ]);
  expect(confessionsIn(told).map((text) => text.split(' ')[0])).toEqual([
    'plan-refused',
    'message-kept',
    'nodeclaim-refused',
  ]);
});

test('executions that ended with an exception are counted', () => {
  const ended = (how: string): string =>
    `1.0 functions: [2026-11-25T10:00:00.000Z] Executed 'Functions.follow' (${how}, Id=1)`;
  expect(failuresIn([ended('Failed'), ended('Succeeded'), ended('Failed')])).toBe(2);
});
