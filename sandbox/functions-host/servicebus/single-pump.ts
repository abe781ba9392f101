import type { ServiceBusClient } from '@azure/service-bus';
import { aborted, acceptSession } from './accept-session.ts';
import { deliver, repeat, tell, type Pump, type PumpContext } from './message-pump.ts';

/** Single messages of a queue without sessions: up to `maxConcurrentCalls` at once, their locks renewed meanwhile. */
export function pumpMessages(context: PumpContext, client: ServiceBusClient, queueName: string): Pump {
  const receiver = client.createReceiver(queueName, {
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
    await aborted(context.stopping);
    await subscription.close().catch(() => undefined);
    await Promise.allSettled(running);
    await receiver.close().catch(() => undefined);
  })();
  return { done };
}

/**
 * Single messages of a queue with sessions: up to `maxConcurrentSessions` sessions at once, the messages of each in order,
 * one at a time, the session's lock renewed meanwhile.
 */
export function pumpSessions(context: PumpContext, client: ServiceBusClient, queueName: string): Pump {
  const workers = Array.from({ length: context.options.maxConcurrentSessions }, () =>
    repeat(context, () => pumpOneSession(context, client, queueName)),
  );
  return { done: Promise.all(workers).then(() => undefined) };
}

async function pumpOneSession(context: PumpContext, client: ServiceBusClient, queueName: string): Promise<void> {
  const session = await acceptSession(context, client, queueName, context.options.maxAutoLockRenewalMs);
  if (session === null) return;
  try {
    // Ends when the session is drained, lost, or the host stops.
    while (!context.stopping.aborted && !session.isClosed) {
      const received = await session.receiveMessages(1, {
        maxWaitTimeInMs: context.options.sessionIdleMs,
        abortSignal: context.stopping,
      });
      if (received.length === 0) break;
      await deliver(context, session, received);
    }
  } finally {
    await session.close().catch((error: unknown) => tell(context, 'a session could not be closed', error));
  }
}
