import type { Clock } from '../world/clock.ts';

/**
 * The machine's clock for a host in a process of its own. It stands here and not as an import of the world's because the
 * host must run under Node's own type stripping, which does not read that file yet. Timers do not keep the process alive.
 */
export const machineClock: Clock = {
  now: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
};
