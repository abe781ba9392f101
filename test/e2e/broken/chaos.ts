import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../../../sandbox/world/processes/child.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import type { World } from '../kit/world.ts';

/** How parts die and come back. */
export interface ChaosPace {
  /** Between two kills, milliseconds: zero to this. */
  readonly betweenMs: number;
  /** From a kill to the start, milliseconds: zero to this. */
  readonly deadMs: number;
}

/** Parts being killed; `stop` resolves when all of them run again. */
export interface Chaos {
  readonly kills: () => number;
  stop(): Promise<void>;
}

/** More kills than any run needs: a run that forgets to stop ends all the same. */
const KILLS_MAX = 500;

/**
 * Kills relay, Functions hosts and broker as `kill -9` does, at moments drawn from `rng`, and starts each again after a
 * while that is drawn too. Several may be dead at one time. The more parts there are, the more seldom is each of them
 * killed.
 */
export function startChaos({ sandbox }: World, rng: Rng, pace: ChaosPace): Chaos {
  const parts = [sandbox.relay, ...sandbox.hosts, sandbox.broker];
  const state = { stopped: false, kills: 0 };
  const run = async (part: Child): Promise<void> => {
    const draw = rng.split(part.name);
    while (!state.stopped && state.kills < KILLS_MAX) {
      await sleep(draw.below(pace.betweenMs * parts.length));
      if (state.stopped) return;
      state.kills++;
      await part.kill();
      await sleep(draw.below(pace.deadMs));
      await part.start();
    }
  };
  const running = Promise.all(parts.map(run));
  // Reported by `stop`; until then it must not end the test process.
  running.catch(() => undefined);
  return {
    kills: () => state.kills,
    stop: async () => {
      state.stopped = true;
      await running;
    },
  };
}
