import type { Message } from 'rhea';
import {
  type WireError,
  malformed,
  messageLockLost,
  messageNotFound,
  notAllowed,
  sessionLockLost,
} from './amqp-errors.ts';
import { asRecord, fromWire, parseOverlay, toWire } from './amqp-message.ts';
import type { IncomingMessage, SubQueue } from '../queue/message.ts';
import type { Delivered, LockOutcome, Queue, ReceiveRequest } from '../queue/queue.ts';
import { amqp, types } from './rhea-internals.ts';

/**
 * A queue's `$management` node: operation names and fields are those of the Service Bus AMQP request/response protocol.
 */
export interface ManagementRequest {
  readonly queue: Queue;
  readonly now: number;
  readonly sub: SubQueue;
  /** Names the link that the client does this for; null when it does not say. */
  readonly holder: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What goes back: a status with a body, or an error. */
export type ManagementReply =
  | { readonly status: 200 | 204; readonly body: Readonly<Record<string, unknown>> }
  | { readonly status: 400 | 404 | 410; readonly error: WireError };

type Operation = (request: ManagementRequest) => ManagementReply;

/** AMQP type codes of array elements; without them the client misreads the array. */
const LONG = 0x81;
const TIMESTAMP = 0x83;

/** Most messages one peek returns, as in Azure. */
const MAX_PEEK = 250;

const lostMessage: ManagementReply = { status: 410, error: messageLockLost };
const lostSession: ManagementReply = { status: 410, error: sessionLockLost };
const done: ManagementReply = { status: 200, body: {} };

const operations: Readonly<Record<string, Operation>> = {
  'com.microsoft:renew-lock': renewLocks,
  'com.microsoft:schedule-message': schedule,
  'com.microsoft:cancel-scheduled-message': cancelScheduled,
  'com.microsoft:peek-message': peek,
  'com.microsoft:receive-by-sequence-number': receiveDeferred,
  'com.microsoft:update-disposition': settle,
  'com.microsoft:renew-session-lock': renewSession,
  'com.microsoft:set-session-state': setSessionState,
  'com.microsoft:get-session-state': getSessionState,
  'com.microsoft:get-message-sessions': listSessions,
};

/** Carries out one request; what cannot be read or is not known is answered with an error, never thrown. */
export function answerManagement(operation: unknown, request: ManagementRequest): ManagementReply {
  const run = typeof operation === 'string' ? operations[operation] : undefined;
  if (run === undefined)
    return { status: 400, error: notAllowed(`This broker has no operation '${String(operation)}'.`) };
  try {
    return run(request);
  } catch (cause) {
    return { status: 400, error: malformed(cause) };
  }
}

function renewLocks({ queue, now, body }: ManagementRequest): ManagementReply {
  const ends = parseTokens(body).map((token) => queue.renew(now, token));
  if (ends.some((end) => end === null)) return lostMessage;
  return { status: 200, body: { expirations: types.wrap_array(ends, TIMESTAMP) } };
}

function schedule({ queue, now, body }: ManagementRequest): ManagementReply {
  const messages = parseList(body, 'messages').map((entry): IncomingMessage => {
    const encoded = asRecord(entry)['message'];
    if (!Buffer.isBuffer(encoded)) throw new Error('messages[].message must be an encoded AMQP message');
    return fromWire(amqp.decode(encoded));
  });
  if (queue.settings.requiresSession && messages.some(({ sessionId }) => sessionId === null)) {
    return { status: 400, error: notAllowed('The queue requires sessions: set sessionId on every message.') };
  }
  const sequences = messages.map((message) => {
    const outcome = queue.send(now, message);
    // Azure answers a dropped duplicate with a number too; 0 names no message.
    return outcome.kind === 'accepted' ? outcome.sequence : 0;
  });
  return { status: 200, body: { 'sequence-numbers': types.wrap_array(sequences, LONG) } };
}

function cancelScheduled({ queue, now, body }: ManagementRequest): ManagementReply {
  return queue.cancelScheduled(now, parseSequences(body)) ? done : { status: 404, error: messageNotFound };
}

function peek({ queue, now, sub, body }: ManagementRequest): ManagementReply {
  const from = parseLong(body['from-sequence-number'], 'from-sequence-number');
  const count = Math.min(MAX_PEEK, parseLong(body['message-count'], 'message-count'));
  const messages = queue.peek(now, { sub, from, count, sessionId: parseSessionId(body) });
  if (messages.length === 0) return { status: 204, body: {} };
  const place = { sub, queue: queue.settings.name, lockedUntil: null };
  return { status: 200, body: { messages: messages.map((message) => ({ message: toWire(message, place) })) } };
}

function receiveDeferred({ queue, now, sub, holder, body }: ManagementRequest): ManagementReply {
  const sessionId = parseSessionId(body);
  if (sessionId !== null && (holder === null || !queue.holdsSession(now, sessionId, holder))) return lostSession;
  const session = sessionId === null || holder === null ? null : { sessionId, holder };
  const mode: ReceiveRequest['mode'] = body['receiver-settle-mode'] === 0 ? 'receiveAndDelete' : 'peekLock';
  const received = queue.receiveDeferred(now, { sub, session, mode }, parseSequences(body));
  if (received === null) return { status: 404, error: messageNotFound };
  return { status: 200, body: { messages: received.map((delivered) => toReceived(queue, delivered)) } };
}

function toReceived(
  queue: Queue,
  { sub, message, lockToken, lockedUntil }: Delivered,
): Readonly<Record<string, unknown>> {
  return {
    message: toWire(message, { sub, queue: queue.settings.name, lockedUntil }),
    'lock-token': types.wrap_uuid(Buffer.from(lockToken, 'hex')),
  };
}

function settle({ queue, now, body }: ManagementRequest): ManagementReply {
  const overlay = parseOverlay(body['properties-to-modify']);
  const act = (token: string): LockOutcome => {
    switch (body['disposition-status']) {
      case 'completed':
        return queue.complete(now, token);
      case 'abandoned':
        return queue.abandon(now, token, overlay);
      case 'defered':
        return queue.defer(now, token, overlay);
      case 'suspended':
        return queue.deadLetter(now, token, { ...overlay, ...deadLetterOverlay(body) });
      default:
        throw new Error('disposition-status must be completed, abandoned, defered or suspended');
    }
  };
  return parseTokens(body)
    .map(act)
    .every((outcome) => outcome === 'done')
    ? done
    : lostMessage;
}

function deadLetterOverlay(body: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const reason = body['deadletter-reason'];
  const description = body['deadletter-description'];
  return {
    ...(typeof reason === 'string' ? { DeadLetterReason: reason } : {}),
    ...(typeof description === 'string' ? { DeadLetterErrorDescription: description } : {}),
  };
}

function renewSession({ queue, now, holder, body }: ManagementRequest): ManagementReply {
  const sessionId = parseSessionId(body);
  const until = sessionId === null || holder === null ? null : queue.renewSession(now, sessionId, holder);
  return until === null ? lostSession : { status: 200, body: { expiration: types.wrap_timestamp(until) } };
}

function setSessionState({ queue, now, holder, body }: ManagementRequest): ManagementReply {
  const sessionId = parseSessionId(body);
  if (sessionId === null || holder === null || !queue.holdsSession(now, sessionId, holder)) return lostSession;
  const state = body['session-state'];
  queue.setSessionState(sessionId, Buffer.isBuffer(state) ? state : null);
  return done;
}

function getSessionState({ queue, now, holder, body }: ManagementRequest): ManagementReply {
  const sessionId = parseSessionId(body);
  if (sessionId === null || holder === null || !queue.holdsSession(now, sessionId, holder)) return lostSession;
  const state = queue.sessionState(sessionId);
  return { status: 200, body: { 'session-state': state === null ? null : Buffer.from(state) } };
}

function listSessions({ queue, body }: ManagementRequest): ManagementReply {
  const skip = parseLong(body['skip'], 'skip');
  const sessions = queue.sessionsWithMessages().slice(skip, skip + parseLong(body['top'], 'top'));
  return sessions.length === 0
    ? { status: 204, body: {} }
    : { status: 200, body: { skip: skip + sessions.length, 'sessions-ids': sessions } };
}

function parseSessionId(body: Readonly<Record<string, unknown>>): string | null {
  const sessionId = body['session-id'];
  return typeof sessionId === 'string' ? sessionId : null;
}

function parseTokens(body: Readonly<Record<string, unknown>>): ReadonlyArray<string> {
  return parseList(body, 'lock-tokens').map((token) => {
    if (!Buffer.isBuffer(token)) throw new Error('lock-tokens must be an array of uuids');
    return token.toString('hex');
  });
}

function parseSequences(body: Readonly<Record<string, unknown>>): ReadonlyArray<number> {
  return parseList(body, 'sequence-numbers').map((value) => parseLong(value, 'sequence-numbers'));
}

function parseList(body: Readonly<Record<string, unknown>>, field: string): ReadonlyArray<unknown> {
  const list = body[field];
  if (!Array.isArray(list)) throw new Error(`${field} must be a list`);
  return list;
}

/** rhea gives a long as a number, or as 8 bytes when it is too large for one. */
function parseLong(value: unknown, field: string): number {
  if (typeof value === 'number') return value;
  if (Buffer.isBuffer(value) && value.length === 8) return Number(value.readBigInt64BE());
  throw new Error(`${field} must be a whole number`);
}

/** The reply as the client's request/response link reads it; it looks for both spellings of the status. */
export function toReplyMessage(request: Message, reply: ManagementReply): Readonly<Record<string, unknown>> {
  const error = 'error' in reply ? reply.error : null;
  const status = {
    statusCode: reply.status,
    'status-code': reply.status,
    statusDescription: error?.description ?? 'OK',
    'status-description': error?.description ?? 'OK',
    ...(error === null ? {} : { errorCondition: error.condition, 'error-condition': error.condition }),
  };
  return {
    correlation_id: request['message_id'],
    application_properties: status,
    body: 'body' in reply ? reply.body : {},
  };
}
