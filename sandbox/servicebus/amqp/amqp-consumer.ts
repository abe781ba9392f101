import type { Delivery, EventContext, Sender } from 'rhea';
import { messageLockLost, sessionLockLost } from './amqp-errors.ts';
import { asRecord, parseOverlay, toDeliveryTag, toWire } from './amqp-message.ts';
import type { Faults } from './faults.ts';
import type { SubQueue } from '../queue/message.ts';
import type { LockOutcome, Queue, ReceiveRequest } from '../queue/queue.ts';
import type { QueueHost } from '../queue/queue-host.ts';
import { PRE_SETTLED, amqp, answerDrain, freeCredit, hasSentAll, isDraining, settleFully } from './rhea-internals.ts';

/** How often a drain waits for the network to take what was sent; only a stalled peer makes it wait more than once. */
const DRAIN_RETRY_MS = 5;

/** A link that reads a queue, a dead-letter queue, or (with `session`) one session. */
export interface ConsumerLink {
  readonly host: QueueHost;
  readonly sender: Sender;
  readonly sub: SubQueue;
  readonly session: ReceiveRequest['session'];
  readonly faults: Faults;
}

/**
 * Serves a receiver: sends messages while it grants credit, answers its settlements once they are kept, returns its
 * credit when it drains. The answer stops it; messages it has locked stay locked until they are settled or run out.
 */
export function serveConsumer(link: ConsumerLink): () => void {
  const { host, sender } = link;
  const tokens = new Map<Delivery, string>();
  const mode = sender.snd_settle_mode === PRE_SETTLED ? 'receiveAndDelete' : 'peekLock';
  const request: ReceiveRequest = { sub: link.sub, session: link.session, mode };

  const takeOne = (now: number): boolean => {
    if (!sender.is_open() || freeCredit(sender) <= 0) return false;
    const delivered = host.take(now, request);
    if (delivered === null) return false;
    const place = { sub: link.sub, queue: host.queue.settings.name, lockedUntil: delivered.lockedUntil };
    const delivery = sender.send(toWire(delivered.message, place), toDeliveryTag(delivered.lockToken), 0);
    if (mode === 'peekLock') tokens.set(delivery, delivered.lockToken);
    return true;
  };

  const settleWith =
    (settle: Settlement) =>
    ({ delivery }: EventContext): void => {
      const token = delivery === undefined ? undefined : tokens.get(delivery);
      if (delivery === undefined || token === undefined) return;
      tokens.delete(delivery);
      const outcome = host.run((queue, now) => settle(queue, now, token, asRecord(delivery.remote_state)));
      const lockLost = link.session === null ? messageLockLost : sessionLockLost;
      const reply = outcome === 'done' ? amqp.accepted() : amqp.rejected({ error: lockLost });
      host.afterWrite(() => {
        if (!link.faults.dropsConnection(sender.connection)) settleFully(delivery, reply.described());
      });
    };

  const drain = (): void => {
    if (!sender.is_open() || !isDraining(sender)) return;
    if (hasSentAll(sender)) answerDrain(sender);
    else setTimeout(drain, DRAIN_RETRY_MS).unref();
  };

  const complete: Settlement = (queue, now, token) =>
    link.faults.redelivers() ? queue.completeButRedeliver(now, token) : queue.complete(now, token);
  sender.on('accepted', settleWith(complete));
  sender.on('released', settleWith(release));
  sender.on('modified', settleWith(modify));
  sender.on('rejected', settleWith(deadLetter));
  sender.on('sender_flow', () => {
    host.pump();
  });
  sender.on('sendable', () => {
    host.planPump();
  });
  sender.on('sender_draining', () => {
    const delayMs = link.faults.drainMs();
    if (delayMs === 0) drain();
    else setTimeout(drain, delayMs).unref();
  });
  return host.addConsumer({ takeOne });
}

/**
 * What a disposition does to the message. The client abandons and defers with `modified`, dead-letters with `rejected`.
 */
type Settlement = (queue: Queue, now: number, token: string, state: Readonly<Record<string, unknown>>) => LockOutcome;

const release: Settlement = (queue, now, token) => queue.release(now, token);

const modify: Settlement = (queue, now, token, state) => {
  const overlay = parseOverlay(state['message_annotations']);
  return state['undeliverable_here'] === true ? queue.defer(now, token, overlay) : queue.abandon(now, token, overlay);
};

const deadLetter: Settlement = (queue, now, token, state) =>
  queue.deadLetter(now, token, parseOverlay(asRecord(state['error'])['info']));
