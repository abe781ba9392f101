import type { ServiceBusSessionReceiver } from '@azure/service-bus';
import { acceptSession } from './accept-session.ts';
import type { ClientSource } from './client-source.ts';
import { deliver, repeat, tell, type Pump, type PumpContext } from './message-pump.ts';
import { Slots } from './slots.ts';
import { untilAborted } from './until-aborted.ts';

/** Single messages of a queue without sessions: up to `maxConcurrentCalls` at once, their locks renewed meanwhile. */
export function pumpMessages(context: PumpContext, clients: ClientSource, queueName: string): Pump {
  const receiver = clients.current().createReceiver(queueName, {
    skipParsingBodyAsJson: true,
    maxAutoLockRenewalDurationInMs: context.options.maxAutoLockRenewalMs,
  });
  const running = new Set<Promise<void>>();
  const subscription = receiver.subscribe(
    {
      processMessage: async (message) => {
        const run = deliver(context, receiver, [message]);
        running.add(run);
        await run.finally(() => running.delete(run));
      },
      processError: async ({ error }) => tell(context, 'the receiver reports', error),
    },
    { autoCompleteMessages: false, maxConcurrentCalls: context.options.maxConcurrentCalls },
  );
  const done = (async () => {
    await untilAborted(new Promise<never>(() => {}), context.stopping);
    await subscription.close().catch(() => undefined);
    await Promise.allSettled(running);
    await receiver.close().catch(() => undefined);
  })();
  return { done };
}

/**
 * How many accepts wait on the service at once: .NET's processor allows two per core, and the plan's instances have one
 * or two.
 */
const ACCEPTS_AT_ONCE = 4;

/**
 * Single messages of a queue with sessions: up to `maxConcurrentSessions` sessions at once, the messages of each in
 * order, one at a time, the session's lock renewed meanwhile.
 */
export function pumpSessions(context: PumpContext, clients: ClientSource, queueName: string): Pump {
  const { maxConcurrentSessions, maxAutoLockRenewalMs } = context.options;
  const slots = new Slots(maxConcurrentSessions);
  const running = new Set<Promise<void>>();
  const acceptOne = async (): Promise<void> => {
    await untilAborted(slots.take(), context.stopping);
    const session = await acceptSession(context, clients, queueName, maxAutoLockRenewalMs).catch((error: unknown) => {
      slots.release();
      throw error;
    });
    if (session === null) {
      slots.release();
      return;
    }
    const run = pumpSession(context, session).finally(() => {
      running.delete(run);
      slots.release();
    });
    running.add(run);
  };
  const acceptors = Math.min(ACCEPTS_AT_ONCE, maxConcurrentSessions);
  const done = (async () => {
    await Promise.all(Array.from({ length: acceptors }, () => repeat(context, acceptOne)));
    await Promise.all(running);
  })();
  return { done };
}

/**
 * Delivers a session's messages until it stays empty for the session idle timeout, is lost, or the host stops. Never
 * throws.
 */
async function pumpSession(context: PumpContext, session: ServiceBusSessionReceiver): Promise<void> {
  try {
    while (!context.stopping.aborted && !session.isClosed) {
      const received = await session.receiveMessages(1, {
        maxWaitTimeInMs: context.options.sessionIdleMs,
        abortSignal: context.stopping,
      });
      if (received.length === 0) break;
      await deliver(context, session, received);
    }
  } catch (error) {
    if (!context.stopping.aborted) tell(context, 'a receive failed', error);
  }
  await session.close().catch((error: unknown) => tell(context, 'a session could not be closed', error));
}
