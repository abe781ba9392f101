import { afterEach, expect, test } from 'vitest';
import { type Child, createChild } from '../../../sandbox/world/processes/child.ts';

/** A program that says that it is ready, and runs until it is ended. */
const STEADY = ['-e', "console.log('ready'); setInterval(() => {}, 1000)"];

let child: Child | null = null;
afterEach(async () => {
  await child?.stop();
  child = null;
});

/** The child, and what became of it so far; `next` resolves with the next state. */
function watched(restartDelayMs?: (restarts: number) => number): {
  readonly child: Child;
  readonly asked: Array<number>;
  readonly next: () => Promise<string>;
} {
  const states: Array<string> = [];
  const waiting: Array<(state: string) => void> = [];
  const asked: Array<number> = [];
  const told = (state: string): void => {
    const first = waiting.shift();
    if (first === undefined) states.push(state);
    else first(state);
  };
  const own = createChild({
    name: 'steady',
    args: STEADY,
    environment: {},
    ready: /ready/,
    onLine: () => undefined,
    onState: told,
    ...(restartDelayMs === undefined
      ? {}
      : {
          restartDelayMs: (restarts: number) => {
            asked.push(restarts);
            return restartDelayMs(restarts);
          },
        }),
  });
  child = own;
  const next = (): Promise<string> => {
    const first = states.shift();
    return first === undefined ? new Promise((resolve) => void waiting.push(resolve)) : Promise.resolve(first);
  };
  return { child: own, asked, next };
}

test('a process that somebody else kills starts again, each time after the wait for so many ends in a row', async () => {
  const { child: own, asked, next } = watched(() => 0);
  await own.start();
  expect(await next()).toBe('ready');
  for (const time of [0, 1]) {
    await own.crash();
    expect([await next(), await next()]).toEqual(['ended', 'ready']);
    expect(asked).toHaveLength(time + 1);
  }
  expect(asked).toEqual([0, 1]);
  expect(own.isRunning()).toBe(true);
});

test('a process that was killed or stopped here stays away until it is started', async () => {
  const { child: own, asked } = watched(() => 0);
  await own.start();
  await own.kill();
  await own.start();
  await own.stop();
  expect(own.isRunning()).toBe(false);
  expect(asked).toEqual([]);
});

test('a process that waits for its restart stays away once it is stopped', async () => {
  const { child: own, asked } = watched(() => 20);
  await own.start();
  await own.crash();
  await own.stop();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect([asked.length, own.isRunning()]).toEqual([1, false]);
});

test('a program that does not come up is told to who starts it, and not tried again', async () => {
  const asked: Array<number> = [];
  const broken = createChild({
    name: 'broken',
    args: ['-e', 'process.exit(3)'],
    environment: {},
    ready: /ready/,
    onLine: () => undefined,
    restartDelayMs: (restarts) => asked.push(restarts),
  });
  await expect(broken.start()).rejects.toThrow('broken ended (3) before it was ready');
  expect(asked).toEqual([]);
});
