import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { renderErrorMessage } from '../error-message.ts';
import type { Executor, InvocationOrder } from '../executor.ts';
import type { ServiceBusOptions } from '../settings/host-json.ts';
import type { Log } from '../log.ts';
import type { RegisteredFunction } from '../worker/function-app.ts';
import { toBatchInput, toSingleInput, type MessageShape } from './message-input.ts';
import { renderTriggerDetails, toBatchMetadata, toSingleMetadata } from './trigger-metadata.ts';

/** What every way of receiving shares: one function, its settings, and how its messages become invocations. */
export interface PumpContext {
  readonly fn: RegisteredFunction;
  readonly executor: Executor;
  readonly log: Log;
  readonly options: ServiceBusOptions;
  readonly shape: MessageShape;
  readonly isBatch: boolean;
  readonly autoComplete: boolean;
  readonly deliverTwice: boolean;
  /** Aborted when the host stops: nothing new is received then. */
  readonly stopping: AbortSignal;
}

/** A way of receiving for one function. */
export interface Pump {
  /** Ends when `stopping` is aborted and what was received is settled. Never throws. */
  readonly done: Promise<void>;
}

/** How long a receive waits on the service before it asks again: the client's try timeout. */
export const RECEIVE_WAIT_MS = 60_000;

/** A pause after a failed receive, so that a service that is away is not asked in a tight loop. */
const PAUSE_AFTER_ERROR_MS = 1000;

/**
 * Invokes the function with these messages and settles them: all completed when it returned, all abandoned when it
 * threw. With `deliverTwice` a success is invoked once more first, and only the second result counts.
 */
export async function deliver(
  context: PumpContext,
  receiver: ServiceBusReceiver,
  messages: ReadonlyArray<ServiceBusReceivedMessage>,
): Promise<void> {
  let outcome = await context.executor.execute(toOrder(context, messages));
  if (outcome.succeeded && context.deliverTwice) outcome = await context.executor.execute(toOrder(context, messages));
  if (outcome.succeeded && !context.autoComplete) return;
  const settle = outcome.succeeded
    ? (message: ServiceBusReceivedMessage) => receiver.completeMessage(message)
    : (message: ServiceBusReceivedMessage) => receiver.abandonMessage(message);
  const settled = await Promise.allSettled(messages.map((message) => within(settle(message), SETTLE_BOUND_MS)));
  const failures = settled.filter((result) => result.status === 'rejected');
  if (failures[0] === undefined) return;
  const verb = outcome.succeeded ? 'completed' : 'abandoned';
  // The lock was lost, or the link: the broker delivers them again, which is its to count.
  tell(context, `${failures.length} of ${messages.length} messages could not be ${verb}`, failures[0].reason);
}

/** A settlement whose connection was cut meanwhile is answered by nobody; the client would wait a minute for it. */
const SETTLE_BOUND_MS = 5000;

async function within(task: Promise<void>, boundMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${boundMs} ms`)), boundMs);
  });
  await Promise.race([task, bound]).finally(() => clearTimeout(timer));
}

function toOrder(context: PumpContext, messages: ReadonlyArray<ServiceBusReceivedMessage>): InvocationOrder {
  const { fn, isBatch, shape } = context;
  const [first] = messages;
  if (first === undefined) throw new Error('A Service Bus invocation needs a message.');
  const order = { fn, reason: '(null)', details: renderTriggerDetails(messages, isBatch), retry: null };
  try {
    return isBatch
      ? { ...order, input: toBatchInput(messages, shape), triggerMetadata: toBatchMetadata(messages, shape) }
      : { ...order, input: toSingleInput(first, shape), triggerMetadata: toSingleMetadata(first, shape) };
  } catch (error) {
    return { ...order, input: error instanceof Error ? error : new Error(String(error)), triggerMetadata: {} };
  }
}

/** Logs a failure of the listener itself. */
export function tell(context: PumpContext, what: string, error: unknown): void {
  context.log.ofFunction('error', context.fn.name, null, `Service Bus listener: ${what}: ${renderErrorMessage(error)}`);
}

/** Runs `round` until the host stops; a round that throws is told, unless it was the stop, and followed by a pause. */
export async function repeat(context: PumpContext, round: () => Promise<void>): Promise<void> {
  // Bounded by the host's life: each round waits on the service for RECEIVE_WAIT_MS at most.
  while (!context.stopping.aborted) {
    try {
      await round();
    } catch (error) {
      if (context.stopping.aborted) return;
      tell(context, 'a receive failed', error);
      await pause(context.stopping);
    }
  }
}

async function pause(stopping: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stopping.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, PAUSE_AFTER_ERROR_MS);
    stopping.addEventListener('abort', end);
  });
}

/** How long the second part of a receive waits for company: the .NET client's flush interval. */
const GATHER_MS = 20;

/**
 * Receives up to `most` messages as the .NET client does: it waits up to `waitMs` for the first, and then takes what is
 * there. The JavaScript client by itself would wait a whole second more for others, so the first is asked for alone.
 */
export async function receiveAvailable(
  receiver: ServiceBusReceiver,
  most: number,
  waitMs: number,
  stopping: AbortSignal,
): Promise<ReadonlyArray<ServiceBusReceivedMessage>> {
  const first = await receiver.receiveMessages(1, { maxWaitTimeInMs: waitMs, abortSignal: stopping });
  if (first.length === 0 || first.length >= most) return first;
  try {
    return [...first, ...(await receiver.receiveMessages(most - first.length, { maxWaitTimeInMs: GATHER_MS }))];
  } catch {
    // What was received is locked and must be delivered; the next receive meets the error again.
    return first;
  }
}
