import { parentPort, workerData } from 'node:worker_threads';
import { renderErrorMessage, renderErrorStack } from '../error-message.ts';
import type { Log } from '../log.ts';
import type { LoadedApp } from './function-app.ts';
import { loadApp } from './load-app.ts';
import { runHooks, withHookData } from './run-hooks.ts';
import { runInvocation } from './run-invocation.ts';
import type { FromWorker, Thrown, ToWorker, WorkerStart } from './wire.ts';

/**
 * A worker: loads the app and does what the host says, until it is ended from outside or by an exception that nobody
 * caught. It is a thread, where the real one is a process: it has its modules, its globals and its environment to
 * itself, and can be ended at any moment.
 */
async function work(start: WorkerStart): Promise<void> {
  const log = createLog();
  const app = await loadApp(start.appFolder, log);
  await runHooks(app, 'appStart', withHookData(app, app.startHookData, { functionAppDirectory: start.appFolder }));
  parentPort?.on('message', (order: ToWorker) => {
    if (order.kind === 'invoke') void invoke(app, log, order);
    else void terminate(app);
  });
  const { folder, functions, capabilities, mistakes } = app;
  // By way of text, which leaves out the functions' code: the rest of what an app registers is data.
  say({ kind: 'loaded', app: JSON.parse(JSON.stringify({ folder, functions, capabilities, mistakes })) });
}

async function invoke(
  app: LoadedApp,
  log: Log,
  { functionName, request }: Extract<ToWorker, { kind: 'invoke' }>,
): Promise<void> {
  const { invocationId } = request;
  try {
    const fn = app.functions.find(({ name }) => name === functionName);
    if (fn === undefined) throw new Error(`The worker has no function '${functionName}'.`);
    say({ kind: 'answer', invocationId, response: await runInvocation(app, fn, request, log) });
  } catch (error) {
    say({ kind: 'failure', invocationId, error: toThrown(error) });
  }
}

async function terminate(app: LoadedApp): Promise<void> {
  try {
    await runHooks(app, 'appTerminate', withHookData(app, app.startHookData, {}));
    say({ kind: 'terminated', error: null });
  } catch (error) {
    say({ kind: 'terminated', error: toThrown(error) });
  }
}

function toThrown(error: unknown): Thrown {
  return { message: renderErrorMessage(error), stack: renderErrorStack(error) };
}

function createLog(): Log {
  return {
    host: (level, message) => say({ kind: 'host-log', level, message }),
    ofFunction: (level, functionName, invocationId, message) =>
      say({ kind: 'function-log', level, functionName, invocationId, message }),
    ofApp: (level, functionName, invocationId, message) =>
      say({ kind: 'app-log', level, functionName, invocationId, message }),
  };
}

function say(message: FromWorker): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(message);
}

await work(workerData as WorkerStart);
