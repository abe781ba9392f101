import type { Receiver, Sender, link } from 'rhea';
import {
  type WireError,
  entityNotFound,
  noSessionInTime,
  notAllowed,
  sessionBusy,
  sessionLockLost,
} from './amqp-errors.ts';
import { serveConsumer } from './amqp-consumer.ts';
import { MAX_MESSAGE_BYTES, asRecord, parseSessionFilter, toTicks } from './amqp-message.ts';
import { serveProducer } from './amqp-producer.ts';
import { type ReplyLinks, addReplyLink, serveManagement, serveTokens } from './amqp-requests.ts';
import type { Faults } from './faults.ts';
import type { SubQueue } from '../queue/message.ts';
import type { QueueHost } from '../queue/queue-host.ts';
import { PRE_SETTLED, holdAttach, setAttachField, types } from './rhea-internals.ts';
import type { SessionLock } from '../queue/session-locks.ts';

/** One client connection: what its links may reach and where its replies go. */
export interface Peer {
  readonly id: string;
  /** Queues by lower-case name: Service Bus compares names without case. */
  readonly hosts: ReadonlyMap<string, QueueHost>;
  readonly replies: ReplyLinks;
  readonly faults: Faults;
}

/** What an address names. */
type Node =
  | { readonly kind: 'tokens' }
  | { readonly kind: 'management' | 'messages'; readonly host: QueueHost; readonly sub: SubQueue }
  | { readonly kind: 'unknown' };

/** How long the client waits for an attach when it does not say, in milliseconds: its default operation timeout. */
const DEFAULT_SESSION_WAIT_MS = 60_000;

/** The answer "no session" leaves this much before the client's own timer, so that the client hears it from us. */
const ANSWER_EARLY_MS = 200;

const SETTLE_MODES = ['snd_settle_mode', 'rcv_settle_mode'] as const;

/** Answers the attach of a link that writes: to a queue, `$management` or `$cbs`. The answer undoes what it set up. */
export function attachProducer(peer: Peer, receiver: Receiver): () => void {
  const address = addressOf(receiver.target);
  const node = findNode(peer, address);
  setAttachField(receiver, 'max_message_size', MAX_MESSAGE_BYTES);
  if (node.kind === 'unknown') return refuse(receiver, entityNotFound(address));
  if (node.kind === 'messages' && node.sub === 'deadLetter') {
    return refuse(receiver, notAllowed('Nobody can send to a dead-letter queue.'));
  }
  receiver.set_source(receiver.source);
  receiver.set_target(receiver.target);
  if (node.kind === 'tokens') serveTokens(receiver, peer.replies);
  else if (node.kind === 'management') {
    serveManagement(receiver, { ...node, replies: peer.replies, holderOf: (name) => holderOf(peer, name) });
  } else serveProducer({ host: node.host, receiver, faults: peer.faults });
  return () => undefined;
}

/** Answers the attach of a link that reads: a queue, a session, or replies. The answer undoes what it set up. */
export function attachConsumer(peer: Peer, sender: Sender): () => void {
  const address = addressOf(sender.source);
  const node = findNode(peer, address);
  if (node.kind === 'unknown') return refuse(sender, entityNotFound(address));
  for (const mode of SETTLE_MODES) setAttachField(sender, mode, sender[mode]);
  if (node.kind !== 'messages') {
    // Replies need no settling. Besides, a client's lone disposition would hold up its next write until our kernel's
    // delayed acknowledgement, 40 ms for every link it opens.
    setAttachField(sender, 'snd_settle_mode', PRE_SETTLED);
    sender.set_source(sender.source);
    sender.set_target(sender.target);
    return addReplyLink(peer.replies, sender);
  }
  const wanted = parseSessionFilter(sender.source);
  const hasSessions = node.sub === 'main' && node.host.queue.settings.requiresSession;
  if (hasSessions && wanted === undefined) {
    return refuse(sender, notAllowed('The queue requires sessions: accept a session to receive from it.'));
  }
  if (!hasSessions && wanted !== undefined) {
    return refuse(sender, notAllowed('The queue has no sessions: receive from it without accepting one.'));
  }
  const { host, sub } = node;
  if (wanted !== undefined) return attachSession({ peer, sender, host }, wanted);
  sender.set_source(sender.source);
  sender.set_target(sender.target);
  return serveConsumer({ host, sender, sub, session: null, faults: peer.faults });
}

interface SessionAttach {
  readonly peer: Peer;
  readonly sender: Sender;
  readonly host: QueueHost;
}

function attachSession(attach: SessionAttach, wanted: string | null): () => void {
  const { peer, sender, host } = attach;
  const holder = holderOf(peer, sender.name);
  const lock = host.run((queue, now) => queue.acceptSession(now, wanted, holder));
  if (lock === 'busy') return refuse(sender, sessionBusy(wanted ?? ''));
  return lock === 'noneAvailable' ? waitForSession(attach, holder) : serveSession(attach, lock);
}

/** Leaves the attach unanswered until a session with messages is free, or the client's patience ends. */
function waitForSession(attach: SessionAttach, holder: string): () => void {
  const { sender, host } = attach;
  holdAttach(sender);
  // A client that gives up first gets its attach answered and closed, or it would wait for both.
  let undo = (): void => {
    sender.open();
    sender.close();
  };
  const removeWaiter = host.addWaiter({
    tryAccept(now) {
      const lock = host.queue.acceptSession(now, null, holder);
      if (typeof lock === 'string') return false;
      clearTimeout(timer);
      undo = serveSession(attach, lock);
      sender.open();
      return true;
    },
  });
  // The client's patience is real time, whatever clock the locks run on.
  const timer = setTimeout(() => {
    removeWaiter();
    undo = (): void => undefined;
    sender.open();
    refuse(sender, noSessionInTime);
  }, sessionWaitMs(sender));
  timer.unref();
  return () => {
    clearTimeout(timer);
    removeWaiter();
    undo();
  };
}

function serveSession({ peer, sender, host }: SessionAttach, lock: SessionLock): () => void {
  const { sessionId, holder } = lock;
  sender.set_source({
    ...asRecord(sender.source),
    address: addressOf(sender.source),
    filter: { 'com.microsoft:session-filter': sessionId },
  });
  sender.set_target(sender.target);
  setAttachField(sender, 'properties', { 'com.microsoft:locked-until-utc': types.wrap_long(toTicks(lock.until)) });
  const stop = serveConsumer({ host, sender, sub: 'main', session: { sessionId, holder }, faults: peer.faults });
  const ignoreLoss = host.onSessionLost(holder, () => {
    stop();
    sender.close(sessionLockLost);
  });
  return () => {
    ignoreLoss();
    stop();
    host.run((queue, now) => {
      queue.releaseSession(now, sessionId, holder);
    });
  };
}

/**
 * Answers with an attach without source or target and a detach that says why: with a source the client believes it won.
 */
function refuse(refused: link, error: WireError): () => void {
  refused.close(error);
  return () => undefined;
}

function findNode(peer: Peer, address: string): Node {
  const lower = address.toLowerCase();
  if (lower === '$cbs') return { kind: 'tokens' };
  const parts = lower.split('/');
  const kind = parts.at(-1) === '$management' ? 'management' : 'messages';
  if (kind === 'management') parts.pop();
  const sub: SubQueue = parts.at(-1) === '$deadletterqueue' ? 'deadLetter' : 'main';
  if (sub === 'deadLetter') parts.pop();
  const host = peer.hosts.get(parts.join('/'));
  return host === undefined ? { kind: 'unknown' } : { kind, host, sub };
}

/** Names a link across connections: link names are unique only within one. */
function holderOf(peer: Peer, linkName: string): string {
  return `${peer.id}/${linkName}`;
}

function addressOf(terminus: unknown): string {
  const address = asRecord(terminus)['address'];
  return typeof address === 'string' ? address : '';
}

function sessionWaitMs(sender: Sender): number {
  const wait = asRecord(sender.properties)['com.microsoft:timeout'];
  return Math.max(0, (typeof wait === 'number' ? wait : DEFAULT_SESSION_WAIT_MS) - ANSWER_EARLY_MS);
}
