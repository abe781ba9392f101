import type { AppWorker } from './app-worker.ts';
import { renderErrorMessage } from './error-message.ts';
import type { Executor } from './executor.ts';
import type { HttpFront } from './http/http-front.ts';
import type { Log } from './log.ts';
import type { Triggers } from './triggers.ts';

/**
 * How long a stop waits for running functions: below the minute that the platform grants a worker that is scaled in.
 */
const DRAIN_BOUND_MS = 30_000;

/** What an app's appTerminate hooks may take together; the real worker gets about as much. */
const TERMINATE_HOOKS_BOUND_MS = 10_000;

/** What a stop has to let go of. */
export interface StopParts {
  readonly worker: AppWorker;
  readonly executor: Executor;
  readonly front: HttpFront;
  readonly log: Log;
  readonly triggers: Triggers;
}

/**
 * Stops a host in order: nothing new is taken, what runs may end and settle its messages, the app's appTerminate hooks
 * run, connections close. Every step is bounded and tells when its bound was reached; it never throws.
 */
export async function stopHost({ worker, executor, front, log, triggers }: StopParts): Promise<void> {
  log.host('information', 'Stopping the host: no new work is taken.');
  const frontClosed = front.stopTaking();
  const listeners = triggers.listeners.map(([, listener]) => listener);
  await Promise.allSettled(listeners.map((listener) => listener.stopTaking()));
  // A listener closes when what it received is settled; requests and runs by hand are the executor's to wait for.
  const ended = Promise.allSettled([executor.idle(), ...listeners.map((listener) => listener.close())]);
  await within(ended, DRAIN_BOUND_MS, (late) =>
    log.host('warning', `Some functions still run ${late}; they are left.`),
  );
  try {
    await within(worker.terminate(), TERMINATE_HOOKS_BOUND_MS, (late) =>
      log.host('error', `appTerminate hooks are not done ${late}.`),
    );
  } catch (error) {
    log.host('error', `An appTerminate hook failed: ${renderErrorMessage(error)}`);
  }
  await worker.end();
  front.closeConnections();
  await frontClosed;
  log.host('information', 'Host stopped');
}

async function within(task: Promise<unknown>, boundMs: number, complain: (late: string) => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), boundMs);
  });
  const first = await Promise.race([task, bound]).finally(() => clearTimeout(timer));
  if (first === 'late') complain(`after ${boundMs} ms`);
}
