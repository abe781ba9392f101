import type { EventContext, Message, Receiver } from 'rhea';
import { type WireError, malformed, messageTooLarge, notAllowed } from './amqp-errors.ts';
import { BATCH_FORMAT, MAX_MESSAGE_BYTES, fromBatch, fromWire } from './amqp-message.ts';
import type { Faults } from './faults.ts';
import type { IncomingMessage } from '../queue/message.ts';
import type { QueueHost } from '../queue/queue-host.ts';
import { amqp } from './rhea-internals.ts';

/** A link that writes to a queue. */
export interface ProducerLink {
  readonly host: QueueHost;
  readonly receiver: Receiver;
  readonly faults: Faults;
}

/** Serves a sender: takes each transfer (one message or a batch, all or nothing) and accepts it once it is kept. */
export function serveProducer(link: ProducerLink): void {
  const { host, receiver } = link;
  receiver.on('message', ({ message, delivery }: EventContext) => {
    if (delivery === undefined) return;
    const refusal = take(link, message, delivery.format);
    const outcome = refusal === null ? amqp.accepted() : amqp.rejected({ error: refusal });
    host.afterWrite(() => {
      if (!link.faults.dropsConnection(receiver.connection)) delivery.update(true, outcome.described());
    });
  });
}

function take({ host }: ProducerLink, message: Message | Buffer | undefined, format: number): WireError | null {
  let incoming: ReadonlyArray<IncomingMessage>;
  try {
    incoming = parseTransfer(message, format);
  } catch (cause) {
    return malformed(cause);
  }
  const bytes = Buffer.isBuffer(message) ? message.length : Math.max(...incoming.map(({ payload }) => payload.length));
  if (bytes > MAX_MESSAGE_BYTES) return messageTooLarge(bytes, MAX_MESSAGE_BYTES);
  if (host.queue.settings.requiresSession && incoming.some(({ sessionId }) => sessionId === null)) {
    return notAllowed('The queue requires sessions: set sessionId on every message.');
  }
  host.run((queue, now) => {
    for (const one of incoming) queue.send(now, one);
  });
  return null;
}

function parseTransfer(message: Message | Buffer | undefined, format: number): ReadonlyArray<IncomingMessage> {
  if (message === undefined) throw new Error('a transfer must carry a message');
  if (!Buffer.isBuffer(message)) return [fromWire(message)];
  if (format !== BATCH_FORMAT) throw new Error(`message format 0x${format.toString(16)} is not known`);
  return fromBatch(message);
}
