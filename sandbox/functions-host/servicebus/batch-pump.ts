import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import { acceptSession } from './accept-session.ts';
import type { ClientSource } from './client-source.ts';
import {
  deliver,
  RECEIVE_WAIT_MS,
  receiveAvailable,
  repeat,
  tell,
  type Pump,
  type PumpContext,
} from './message-pump.ts';

/** Batches of a queue without sessions: one after the other, locks never renewed. */
export function pumpBatches(context: PumpContext, clients: ClientSource, queueName: string): Pump {
  const receiver = clients
    .current()
    .createReceiver(queueName, { skipParsingBodyAsJson: true, maxAutoLockRenewalDurationInMs: 0 });
  const window = new BatchWindow(context, receiver);
  const done = (async () => {
    await repeat(context, async () => {
      await window.receive(RECEIVE_WAIT_MS);
    });
    await window.deliverRest();
    await receiver.close().catch(() => undefined);
  })();
  return { done };
}

/**
 * Batches of a queue with sessions: one session at a time, received from until it stays empty for the session idle
 * timeout, then let go for the next.
 */
export function pumpSessionBatches(context: PumpContext, clients: ClientSource, queueName: string): Pump {
  const done = repeat(context, async () => {
    const session = await acceptSession(context, clients, queueName, 0);
    if (session === null) return;
    const window = new BatchWindow(context, session);
    try {
      // Ends when the session is drained, lost, or the host stops.
      while (!context.stopping.aborted && !session.isClosed) {
        if ((await window.receive(context.options.sessionIdleMs)) === 'empty') break;
      }
    } finally {
      await window.deliverRest();
      await session.close().catch((error: unknown) => tell(context, 'a session could not be closed', error));
    }
  });
  return { done };
}

/**
 * Holds messages back until there are `minMessageBatchSize`, or until `maxBatchWaitTime` has passed since the first was
 * held; with a minimum of 1 nothing is ever held.
 */
class BatchWindow {
  readonly #context: PumpContext;
  readonly #receiver: ServiceBusReceiver;
  #held: ReadonlyArray<ServiceBusReceivedMessage> = [];
  #closesMs = 0;

  constructor(context: PumpContext, receiver: ServiceBusReceiver) {
    this.#context = context;
    this.#receiver = receiver;
  }

  /** Receives once and delivers what is due; 'empty' when nothing came for `waitMs`. */
  async receive(waitMs: number): Promise<'some' | 'empty'> {
    const { maxMessageBatchSize, minMessageBatchSize, maxBatchWaitMs } = this.#context.options;
    const leftMs = this.#held.length === 0 ? waitMs : Math.max(1, Math.min(waitMs, this.#closesMs - Date.now()));
    const most = maxMessageBatchSize - this.#held.length;
    const received = await receiveAvailable(this.#receiver, most, leftMs, this.#context.stopping);
    if (this.#held.length === 0) this.#closesMs = Date.now() + maxBatchWaitMs;
    this.#held = [...this.#held, ...received];
    const isDue = this.#held.length >= minMessageBatchSize || Date.now() >= this.#closesMs;
    if (isDue) await this.deliverRest();
    return received.length === 0 && leftMs === waitMs ? 'empty' : 'some';
  }

  /**
   * Delivers what is held, however little it is. A session that has been lost took its messages along: they come again,
   * and whoever has the session then settles them. The client loses one by itself, with what it has just received, when
   * giving credit back is not answered within 200 ms, as happens where this process or the broker is kept busy (7.9.5).
   */
  async deliverRest(): Promise<void> {
    const messages = this.#held;
    this.#held = [];
    if (messages.length > 0 && !this.#receiver.isClosed) await deliver(this.#context, this.#receiver, messages);
  }
}
