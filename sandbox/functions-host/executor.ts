import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { renderErrorMessage, renderErrorStack } from './error-message.ts';
import type { Log } from './log.ts';
import type { AppWorker } from './app-worker.ts';
import type { RegisteredFunction } from './worker/function-app.ts';
import type { RpcInvocationResponse, RpcRetryContext, RpcTypedData } from './worker/rpc.ts';

/** What a trigger asks for: one run of one function. */
export interface InvocationOrder {
  readonly fn: RegisteredFunction;
  /** Why, for the log: the text within `Reason='…'`. */
  readonly reason: string;
  /** A second line of the log with what the trigger knows, or null. */
  readonly details: string | null;
  /** The trigger's input. An error: it could not be bound, and the run fails without a call of the function. */
  readonly input: RpcTypedData | Error;
  readonly triggerMetadata: Readonly<Record<string, RpcTypedData>>;
  /** Null: not a retry, and none is allowed. */
  readonly retry: RpcRetryContext | null;
}

/** How a run ended. It never throws: a trigger decides what a failure means. */
export type InvocationOutcome =
  | { readonly succeeded: true; readonly response: RpcInvocationResponse }
  | { readonly succeeded: false; readonly error: unknown };

/** How often one function ran since the host started. Running now: started − succeeded − failed. */
export interface ExecutionCounts {
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** Runs functions, one order at a time each, and keeps count of them. */
export interface Executor {
  execute(order: InvocationOrder): Promise<InvocationOutcome>;
  /** Counts by function name; every function of the app is there from the start. */
  counts(): Readonly<Record<string, ExecutionCounts>>;
  /** Waits until nothing runs. */
  idle(): Promise<void>;
}

/** What an executor needs. */
export interface ExecutorOptions {
  readonly worker: AppWorker;
  readonly log: Log;
  readonly clock: Clock;
  /** Null: no limit. */
  readonly functionTimeoutMs: number | null;
}

/**
 * An executor for one app. A run that outlives the timeout counts as failed, and the worker is replaced: whatever else
 * runs in it fails too.
 */
export function createExecutor(options: ExecutorOptions): Executor {
  const counts = new Map(
    options.worker.app.functions.map(({ name }) => [name, { started: 0, succeeded: 0, failed: 0 }]),
  );
  const running = new Set<Promise<unknown>>();

  async function execute(order: InvocationOrder): Promise<InvocationOutcome> {
    const { log, clock } = options;
    const name = order.fn.name;
    const invocationId = randomUUID();
    const startedMs = clock.now();
    const count = counts.get(name) ?? { started: 0, succeeded: 0, failed: 0 };
    counts.set(name, count);
    count.started += 1;
    log.ofFunction('information', name, invocationId, renderExecuting(order, invocationId));
    if (order.details !== null) log.ofFunction('information', name, invocationId, `Trigger Details: ${order.details}`);

    const outcome = await runWithin(options, order, invocationId);

    const ending = `Id=${invocationId}, Duration=${Math.round(clock.now() - startedMs)}ms`;
    if (outcome.succeeded) {
      count.succeeded += 1;
      log.ofFunction('information', name, invocationId, `Executed 'Functions.${name}' (Succeeded, ${ending})`);
    } else {
      count.failed += 1;
      log.ofFunction('error', name, invocationId, `Executed 'Functions.${name}' (Failed, ${ending})`);
      const stack = renderErrorStack(outcome.error);
      log.ofFunction('error', name, invocationId, `Exception while executing function: Functions.${name}. ${stack}`);
    }
    return outcome;
  }

  return {
    execute: async (order) => {
      const run = execute(order);
      running.add(run);
      try {
        return await run;
      } finally {
        running.delete(run);
      }
    },
    counts: () => Object.fromEntries([...counts].map(([name, count]) => [name, { ...count }])),
    idle: async () => {
      // Ends once nothing new is ordered, which the caller has seen to.
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

function renderExecuting(order: InvocationOrder, invocationId: string): string {
  return `Executing 'Functions.${order.fn.name}' (Reason='${order.reason}', Id=${invocationId})`;
}

async function runWithin(
  options: ExecutorOptions,
  order: InvocationOrder,
  invocationId: string,
): Promise<InvocationOutcome> {
  const { functionTimeoutMs: limitMs, clock } = options;
  const run = runOrder(options, order, invocationId);
  if (limitMs === null) return run;
  const { promise: timeout, resolve } = Promise.withResolvers<InvocationOutcome>();
  const cancel = clock.after(limitMs, () => {
    const message = `Timeout value of ${limitMs} ms exceeded by function 'Functions.${order.fn.name}' (Id: '${invocationId}').`;
    resolve({ succeeded: false, error: new Error(message) });
    options.worker.replace(message);
  });
  return Promise.race([run, timeout]).finally(cancel);
}

async function runOrder(
  options: ExecutorOptions,
  order: InvocationOrder,
  invocationId: string,
): Promise<InvocationOutcome> {
  const { fn, input } = order;
  if (input instanceof Error) return { succeeded: false, error: input };
  try {
    const response = await options.worker.invoke(fn, {
      invocationId,
      functionId: fn.functionId,
      inputData: [{ name: fn.triggerName, data: input }],
      triggerMetadata: order.triggerMetadata,
      traceContext: createTraceContext(invocationId, fn.name),
      retryContext: order.retry,
    });
    return { succeeded: true, response };
  } catch (error) {
    return { succeeded: false, error };
  }
}

/** A W3C trace parent of its own for every invocation, as the host gives when nothing upstream was traced. */
function createTraceContext(invocationId: string, functionName: string) {
  return {
    traceParent: `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`,
    traceState: '',
    attributes: { HostInstanceId: 'sandbox', InvocationId: invocationId, OperationName: functionName },
  };
}

/** A failure as the next try of the same function sees it. */
export function toRetryException(error: unknown): NonNullable<RpcRetryContext['exception']> {
  return { message: renderErrorMessage(error), stackTrace: renderErrorStack(error) };
}
