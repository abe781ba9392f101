import { describe, expect, test } from 'vitest';
import { claimsInUse } from './claims-in-use.ts';
import { definitions } from './definitions.ts';
import { leavingClaims } from './leaving-claims.ts';
import { marks } from './marks.ts';
import { newClaims } from './new-claims.ts';
import { nodes } from './nodes.ts';
import { type Cases, passWithoutMessages, type Timer, timers } from './play.ts';
import { pods } from './pods.ts';
import { readWaits, waitsInCode } from './table.ts';

/**
 * What docs/architecture.md says of waits is what happens: each row is played, and the message that would end the wait
 * is lost.
 */

const rows = readWaits();
const cases: Cases = {
  ...newClaims,
  ...claimsInUse,
  ...leavingClaims,
  ...nodes,
  ...definitions,
  ...pods,
  ...marks,
};

test('every wait in the table is played, and every one that is played is in the table', () => {
  expect(rows.map(({ state }) => state).toSorted()).toEqual(Object.keys(cases).toSorted());
  expect(rows.map(({ state, ending }) => [state, ending])).toEqual(
    rows.map(({ state }) => [state, cases[state]?.ending]),
  );
});

test('every wait in the code has its row', () => {
  const played = Object.values(cases).flatMap(({ waits = [] }) => waits);
  expect(played.toSorted()).toEqual([...new Set(waitsInCode())].toSorted());
});

/** Objects at rest have their turn once an hour, in a minute that their names say. */
const HOURLY_MIN = 61;

/** A row may be so much longer than the play, in minutes, and no more: people plan by it. */
const SPARE_MIN = 1;

describe.each(rows)('$state', ({ state, elseBy, withinMinutes, ending }) => {
  const play = async (running: ReadonlyArray<Timer>) => {
    const one = cases[state];
    if (one === undefined) throw new Error(`nothing plays '${state}'`);
    return passWithoutMessages(await one.begin(), running, withinMinutes);
  };

  // Where there are two, each is enough.
  const wakers = elseBy.length === 1 ? [timers] : elseBy.map((one) => [one]);

  test.each(wakers.map((running) => ({ running: running.join(' and '), timers: running })))(
    `ends within ${withinMinutes} minutes by $running, though no message comes: ${ending}`,
    async ({ timers: running }) => {
      const minutes = await play(running);
      expect(minutes).not.toBeNull();
      if (withinMinutes !== HOURLY_MIN) expect(withinMinutes - (minutes ?? 0)).toBeLessThanOrEqual(SPARE_MIN);
    },
  );

  test(`does not end without ${elseBy.join(' and ')}`, async () => {
    expect(await play(timers.filter((one) => !elseBy.includes(one)))).toBeNull();
  });
});
