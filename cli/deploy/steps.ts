import { type DeployOptions, renderDeploy } from './deploy-options.ts';
import type { Machine } from './machine.ts';
import { Stopped } from './stopped.ts';

/** Runs the steps of a command one after the other. */
export interface Steps {
  /** `takes`: how long, for the user. Throws Stopped, which says where it stopped and how to continue. */
  readonly run: <T>(title: string, takes: string, body: () => T | Promise<T>) => Promise<T>;
}

/** `total`: how many there are. */
export function stepsOf(
  total: number,
  { options, machine }: { readonly options: DeployOptions; readonly machine: Machine },
): Steps {
  const startedMs = machine.now();
  let number = 0;
  return {
    run: async (title, takes, body) => {
      number += 1;
      const beganMs = machine.now();
      machine.say(`\n[${number}/${total}] ${title} (${takes})`);
      try {
        const result = await body();
        machine.say(`  done in ${renderTime(machine.now() - beganMs)}`);
        return result;
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const stopped = error instanceof Stopped ? error : new Stopped(error.message);
        if (options.isDry) throw stopped;
        const done = renderDone(number - 1, options);
        throw new Stopped(
          `step ${number} of ${total}, ${title}: ${stopped.message}\n  Stopped after ${renderTime(machine.now() - startedMs)}; ${done}. To go on, type the same again:\n    ${renderDeploy(options)}`,
          stopped.exitCode,
        );
      }
    },
  };
}

function renderDone(steps: number, { kind }: DeployOptions): string {
  // Its first step removes one thing after the other.
  if (steps === 0) return kind === 'uninstall' ? 'what is removed stays removed' : 'nothing was deployed';
  return steps === 1 ? 'step 1 is done, and stays' : `steps 1 to ${steps} are done, and stay`;
}

/** `4 min 10 s`. */
export function renderTime(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
