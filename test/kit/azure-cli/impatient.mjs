import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

/** Waits of the command take a hundredth of their time, and its clock goes on as if they had not. */
const SHARE = 100;
const wait = timers.setTimeout;
const hold = Atomics.wait;
const now = Date.now;
let skippedMs = 0;

Date.now = () => now() + skippedMs;
timers.setTimeout = (ms, ...rest) => {
  skippedMs += ms - ms / SHARE;
  return wait(ms / SHARE, ...rest);
};
Atomics.wait = (array, index, value, ms = Infinity) => {
  skippedMs += ms === Infinity ? 0 : ms - ms / SHARE;
  return hold(array, index, value, ms / SHARE);
};
syncBuiltinESMExports();
