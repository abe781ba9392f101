import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../sandbox/base/clock.ts';
import { copyApp, startTestHost, until, type HostUnderTest } from './host-under-test.ts';

const noon = Date.parse('2026-11-21T12:00:00Z');
const environment = { NIGHTLY: '0 0 3 * * *' };

/** Runs of one timer so far, as it saw them. */
const runsOf = (host: HostUnderTest, name: string): ReadonlyArray<Record<string, unknown>> =>
  host.said().filter((line) => line['name'] === name);

/**
 * Moves the clock second by second, each when what runs has ended, so that what a run sets after a fired timer is seen
 * by the next second.
 */
async function pass(clock: VirtualClock, seconds: number, host: HostUnderTest): Promise<void> {
  const isQuiet = (): boolean =>
    Object.values(host.host.executions()).every(({ started, succeeded, failed }) => started === succeeded + failed);
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1000);
    // A timer that is due crosses a few promises before its run has begun.
    await new Promise((resolve) => setImmediate(resolve));
    await until('nothing runs', isQuiet);
  }
}

test('a timer fires at each instant of its schedule, and at start only when it asks for that', async () => {
  const clock = new VirtualClock(noon);
  const host = await startTestHost(await copyApp('timers'), { clock, environment });
  await until('the one with runOnStartup ran', () => runsOf(host, 'atStart').length === 1);
  expect(runsOf(host, 'everyFiveMinutes')).toHaveLength(0);
  await pass(clock, 299, host);
  expect(runsOf(host, 'everyFiveMinutes')).toHaveLength(0);
  await pass(clock, 1, host);
  await until('it fired', () => runsOf(host, 'everyFiveMinutes').length === 1);
  await pass(clock, 300, host);
  await until('it fired again', () => runsOf(host, 'everyFiveMinutes').length === 2);
  expect(runsOf(host, 'everyFiveMinutes').map(({ timer }) => timer)).toEqual([
    {
      isPastDue: false,
      schedule: { adjustForDST: true },
      scheduleStatus: {
        last: '0001-01-01T00:00:00+00:00',
        next: '2026-11-21T12:10:00.0000000+00:00',
        lastUpdated: '0001-01-01T00:00:00+00:00',
      },
    },
    {
      isPastDue: false,
      schedule: { adjustForDST: true },
      scheduleStatus: {
        last: '2026-11-21T12:05:00.0000000+00:00',
        next: '2026-11-21T12:10:00.0000000+00:00',
        lastUpdated: '2026-11-21T12:05:00.0000000+00:00',
      },
    },
  ]);
  expect(runsOf(host, 'everySecond')[0]).toMatchObject({ timer: { isPastDue: false, scheduleStatus: null } });
});

test('a failed timer is retried with growing waits, and sees the count and the reason', async () => {
  const clock = new VirtualClock(noon);
  const host = await startTestHost(await copyApp('timers'), { clock, environment });
  await pass(clock, 30 * 60 + 9, host);
  expect(runsOf(host, 'retried')).toHaveLength(1);
  await pass(clock, 1, host);
  await until('the first retry ran', () => runsOf(host, 'retried').length === 2);
  await pass(clock, 15, host);
  await until('the second retry ran', () => runsOf(host, 'retried').length === 3);
  await pass(clock, 60, host);
  expect(runsOf(host, 'retried')).toEqual([
    { name: 'retried', retry: 0 },
    { name: 'retried', retry: 1, why: 'failure 1' },
    { name: 'retried', retry: 2, why: 'failure 2' },
  ]);
  expect(host.host.executions()['retried']).toEqual({ started: 3, succeeded: 1, failed: 2 });
});

test('a timer that runs longer than its period runs again at once when it ends, once', async () => {
  const clock = new VirtualClock(noon);
  const host = await startTestHost(await copyApp('timers'), { clock, environment: { ...environment, SLOW: '1' } });
  const instants = (): ReadonlyArray<unknown> => runsOf(host, 'slow').map(({ ended }) => ended);
  clock.advance(60_000);
  await until('it runs', () => host.host.executions()['slow']?.started === 1);
  // Three instants of its schedule pass while it runs.
  clock.advance(180_000);
  await until('it ran again', () => host.host.executions()['slow']?.succeeded === 2);
  expect(instants()).toEqual([1, 2]);
  await pass(clock, 59, host);
  expect(host.host.executions()['slow']?.started).toBe(2);
  await pass(clock, 1, host);
  expect(host.host.executions()['slow']?.started).toBe(3);
});

test('an occurrence missed while the host was down is made up for once, as past due', async () => {
  const folder = await copyApp('timers');
  const timerStateFile = join(folder, 'state', 'timers.json');
  const clock = new VirtualClock(noon);
  const first = await startTestHost(folder, { clock, environment, timerStateFile });
  await pass(clock, 300, first);
  await until('it fired', () => runsOf(first, 'everyFiveMinutes').length === 1);
  await first.host.close();
  const later = new VirtualClock(noon + 3_600_000);
  const second = await startTestHost(folder, { clock: later, environment, timerStateFile });
  await until('it was made up for', () => runsOf(second, 'everyFiveMinutes').length === 1);
  expect(runsOf(second, 'everyFiveMinutes')[0]).toMatchObject({ timer: { isPastDue: true } });
  await pass(later, 10, second);
  expect(runsOf(second, 'everyFiveMinutes')).toHaveLength(1);
});

test('a schedule that is wrong, or never comes, or whose setting is missing, stops its function only', async () => {
  const host = await startTestHost(await copyApp('timers'), { clock: new VirtualClock(noon), environment: {} });
  const { NIGHTLY: known } = process.env;
  expect(host.host.mistakes).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/'wrong': schedule: "61" is no value of the minute field, which takes 0 to 59/),
      expect.stringMatching(/'never': schedule: "0 0 0 30 2 \*" names no instant/),
      expect.stringMatching(/'atStart': schedule is '%NIGHTLY%', but the setting 'NIGHTLY' is not set/),
    ]),
  );
  expect(known, 'settings of an app are those of its worker').toBeUndefined();
});

test('a timer is run by hand', async () => {
  const host = await startTestHost(await copyApp('timers'), { clock: new VirtualClock(noon), environment });
  const run = await fetch(`${host.url}/admin/functions/everyFiveMinutes`, { method: 'POST', body: '{"input":""}' });
  expect(run.status).toBe(202);
  await until('it ran', () => runsOf(host, 'everyFiveMinutes').length === 1);
});
