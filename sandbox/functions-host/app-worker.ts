import { Worker } from 'node:worker_threads';
import { renderErrorMessage } from './error-message.ts';
import type { Log } from './log.ts';
import type { FunctionApp, RegisteredFunction } from './worker/function-app.ts';
import type { RpcInvocationRequest, RpcInvocationResponse } from './worker/rpc.ts';
import type { FromWorker, Thrown, ToWorker, WorkerStart } from './worker/wire.ts';

/** The host's end of the worker that runs the app, and of those that come in its place. */
export interface AppWorker {
  /** What the first of them loaded; its successors load the same. */
  readonly app: FunctionApp;
  /** Runs one function. Throws what it threw, or that the worker ended, which ends all that runs in it. */
  invoke(fn: RegisteredFunction, request: RpcInvocationRequest): Promise<RpcInvocationResponse>;
  /** Ends the worker with all that runs in it, and starts another, which what is invoked from now on waits for. */
  replace(why: string): void;
  /** Runs the app's appTerminate hooks. Throws what they threw. From now on a worker that ends has no successor. */
  terminate(): Promise<void>;
  /** Ends the worker. Idempotent. */
  end(): Promise<void>;
}

/** How to start a worker. */
export interface AppWorkerOptions {
  /** Absolute. */
  readonly appFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly log: Log;
}

/** Starts a worker, and resolves when it has loaded the app. Throws what the app's modules threw. */
export async function startAppWorker(options: AppWorkerOptions): Promise<AppWorker> {
  const { log } = options;
  let isEnding = false;
  const begin = (): Promise<Running> => start(options, (worker, why) => succeed(worker, why));
  const first = await begin();
  let current: Promise<Running> = Promise.resolve(first);
  let newest = first;
  /** One that ends for a reason of its own has a successor at once; the loss of one that was replaced is no news. */
  const succeed = (worker: Running, why: string): void => {
    if (isEnding || worker !== newest) return;
    log.host('error', `The worker ended: ${why}. Another takes its place.`);
    renew();
  };
  const renew = (): void => {
    current = begin().then((next) => (newest = next));
    current.catch((error: unknown) => log.host('critical', `A worker did not start: ${renderErrorMessage(error)}`));
  };
  return {
    app: first.app,
    invoke: async (fn, request) => (await current).invoke(fn.name, request),
    replace: (why) => {
      const old = newest;
      log.host('warning', `${why} The worker is replaced, and all that runs in it fails.`);
      renew();
      void old.end(why);
    },
    terminate: async () => {
      isEnding = true;
      await (await current).terminate();
    },
    end: async () => {
      isEnding = true;
      await (await current).end('the host stops');
    },
  };
}

/** A worker that has loaded the app. */
interface Running {
  readonly app: FunctionApp;
  invoke(functionName: string, request: RpcInvocationRequest): Promise<RpcInvocationResponse>;
  terminate(): Promise<void>;
  end(why: string): Promise<void>;
}

type Answer = PromiseWithResolvers<RpcInvocationResponse>;

async function start(
  { appFolder, environment, log }: AppWorkerOptions,
  onEnd: (worker: Running, why: string) => void,
): Promise<Running> {
  const workerData: WorkerStart = { appFolder };
  // Its options are those of a plain Node, whatever this process was started with.
  const thread = new Worker(new URL('worker/thread.ts', import.meta.url), {
    workerData,
    env: { ...environment },
    execArgv: [],
  });
  const answers = new Map<string, Answer>();
  const loaded = Promise.withResolvers<FunctionApp>();
  const terminated = Promise.withResolvers<void>();
  terminated.promise.catch(() => undefined);
  let reason: string | null = null;
  thread.on('message', (message: FromWorker) => hear(message, { log, answers, loaded, terminated }));
  thread.on('error', (error) => {
    reason ??= `an exception that nobody caught: ${renderErrorMessage(error)}`;
    loaded.reject(error);
  });
  const fail = (): Error => {
    const error = new Error(`The worker ended while the function ran: ${reason}`);
    for (const { reject } of answers.values()) reject(error);
    answers.clear();
    return error;
  };
  const ended = new Promise<void>((resolve) => {
    thread.once('exit', (code) => {
      reason ??= `exit code ${code}`;
      const error = fail();
      loaded.reject(error);
      terminated.reject(error);
      resolve();
    });
  });
  const app = await loaded.promise;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  const tell = (order: ToWorker): void => thread.postMessage(order);
  const running: Running = {
    app,
    invoke: (functionName, request) => {
      const answer: Answer = Promise.withResolvers();
      if (reason !== null) answer.reject(new Error(`The worker ended: ${reason}`));
      else {
        answers.set(request.invocationId, answer);
        tell({ kind: 'invoke', functionName, request });
      }
      return answer.promise;
    },
    terminate: () => {
      tell({ kind: 'terminate' });
      return terminated.promise;
    },
    end: async (why) => {
      reason ??= why;
      fail();
      await thread.terminate();
      await ended;
    },
  };
  void ended.then(() => onEnd(running, reason ?? 'for no reason'));
  return running;
}

interface Heard {
  readonly log: Log;
  readonly answers: Map<string, Answer>;
  readonly loaded: PromiseWithResolvers<FunctionApp>;
  readonly terminated: PromiseWithResolvers<void>;
}

function hear(message: FromWorker, { log, answers, loaded, terminated }: Heard): void {
  switch (message.kind) {
    case 'loaded':
      return loaded.resolve(message.app);
    case 'answer':
      answers.get(message.invocationId)?.resolve(message.response);
      answers.delete(message.invocationId);
      return undefined;
    case 'failure':
      answers.get(message.invocationId)?.reject(fromThrown(message.error));
      answers.delete(message.invocationId);
      return undefined;
    case 'terminated':
      return message.error === null ? terminated.resolve() : terminated.reject(fromThrown(message.error));
    case 'host-log':
      return log.host(message.level, message.message);
    case 'function-log':
      return log.ofFunction(message.level, message.functionName, message.invocationId, message.message);
    case 'app-log':
      return log.ofApp(message.level, message.functionName, message.invocationId ?? '', message.message);
    default:
      return message satisfies never;
  }
}

function fromThrown({ message, stack }: Thrown): Error {
  return Object.assign(new Error(message), { stack });
}
