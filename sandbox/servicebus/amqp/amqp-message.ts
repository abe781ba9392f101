import { randomUUID } from 'node:crypto';
import type { Message } from 'rhea';
import type { IncomingMessage, PropertyOverlay, PropertyValue, StoredMessage, SubQueue } from '../queue/message.ts';
import { amqp, types } from './rhea-internals.ts';

/** The largest message of the Standard tier, in bytes, headers included (Service Bus quotas, read 2026-11). */
export const MAX_MESSAGE_BYTES = 262_144;

/** The transfer format of a batch: an AMQP message whose data sections each are one whole message. */
export const BATCH_FORMAT = 0x80013700;

const SCHEDULED_FOR = 'x-opt-scheduled-enqueue-time';
const PARTITION_KEY = 'x-opt-partition-key';

/** Values of `x-opt-message-state`. */
const STATE_CODES: Readonly<Record<StoredMessage['state'], number>> = { active: 0, deferred: 1, scheduled: 2 };

const MESSAGE_ANNOTATIONS = 0x72;

/**
 * Turns a message from the wire into what the queue keeps. A missing message id is made up, as Azure does (the client's
 * lock renewer needs one). Header and annotations are the broker's own to write on delivery and are not kept, except
 * for partition key and scheduled time. rhea decodes single messages before we see them, so application properties keep
 * their values but integers may change their width.
 */
export function fromWire(message: Message): IncomingMessage {
  const annotations = asRecord(message['message_annotations']);
  const id: unknown = toId(message['message_id']) ?? randomUUID();
  const partitionKey = annotations[PARTITION_KEY];
  const groupId: unknown = message['group_id'];
  const correlationId = toId(message['correlation_id']);
  const bare = {
    ...message,
    message_id: id,
    correlation_id: correlationId,
    message_annotations: undefined,
    delivery_annotations: undefined,
  };
  return {
    messageId: Buffer.isBuffer(id) ? id.toString('hex') : String(id),
    sessionId: typeof groupId === 'string' ? groupId : null,
    partitionKey: typeof partitionKey === 'string' ? partitionKey : null,
    scheduledFor: toMilliseconds(annotations[SCHEDULED_FOR]),
    payload: withoutHeader(amqp.encode(bare)),
  };
}

/** The messages of one transfer of `BATCH_FORMAT`. Throws when it is not a batch. */
export function fromBatch(batch: Buffer): ReadonlyArray<IncomingMessage> {
  const body: unknown = amqp.decode(batch)['body'];
  const content = asRecord(body)['content'];
  const parts: ReadonlyArray<unknown> = Array.isArray(content) ? content : [content];
  return parts.map((part) => {
    if (!Buffer.isBuffer(part)) throw new Error('a batch must consist of data sections, each an encoded message');
    return fromWire(amqp.decode(part));
  });
}

/** The message as a receiver gets it: our header and annotations, then what the sender sent. */
export function toWire(
  message: StoredMessage,
  place: { readonly sub: SubQueue; readonly queue: string; readonly lockedUntil: number | null },
): Buffer {
  const writer = new types.Writer();
  writer.write(amqp.header({ delivery_count: message.failedDeliveries }).described());
  writer.write(
    types.described(types.wrap_ulong(MESSAGE_ANNOTATIONS), types.wrap_symbolic_map(annotationsOf(message, place))),
  );
  return Buffer.concat([writer.toBuffer(), withOverlay(message)]);
}

/** The session filter of an attach: a session's id, null for any session, or undefined when it asks for no session. */
export function parseSessionFilter(source: unknown): string | null | undefined {
  const filter = asRecord(source)['filter'];
  if (filter === undefined || filter === null) return undefined;
  const value = asRecord(filter)['com.microsoft:session-filter'];
  if (value === undefined) return 'com.microsoft:session-filter' in asRecord(filter) ? null : undefined;
  const plain = unwrapped(value);
  return typeof plain === 'string' ? plain : null;
}

/** Reads the properties a receiver wants changed while settling; other kinds of values are left out. */
export function parseOverlay(value: unknown): PropertyOverlay {
  const entries = Object.entries(asRecord(value)).map(([key, item]) => [key, unwrapped(item)] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is readonly [string, PropertyValue] => isPropertyValue(entry[1])),
  );
}

/** .NET ticks (100 ns since year 1) as the 8 bytes of an AMQP long; they do not fit a JavaScript number. */
export function toTicks(unixMs: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(BigInt(unixMs) * 10_000n + 621_355_968_000_000_000n);
  return buffer;
}

/**
 * A lock token (32 hex digits, as clients show it) as a delivery tag: a .NET GUID has its first three parts reversed.
 */
export function toDeliveryTag(token: string): Buffer {
  const bytes = Buffer.from(token, 'hex');
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return bytes;
}

/** An object to look fields up in; empty for anything else. */
export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function annotationsOf(
  message: StoredMessage,
  place: { readonly sub: SubQueue; readonly queue: string; readonly lockedUntil: number | null },
): Readonly<Record<string, unknown>> {
  return {
    'x-opt-sequence-number': types.wrap_long(message.sequence),
    'x-opt-enqueue-sequence-number': types.wrap_long(message.enqueuedSequence),
    'x-opt-enqueued-time': types.wrap_timestamp(message.enqueuedAt),
    'x-opt-message-state': types.wrap_int(STATE_CODES[message.state]),
    ...(place.lockedUntil === null ? {} : { 'x-opt-locked-until': types.wrap_timestamp(place.lockedUntil) }),
    ...(message.scheduledFor === null ? {} : { [SCHEDULED_FOR]: types.wrap_timestamp(message.scheduledFor) }),
    ...(message.partitionKey === null ? {} : { [PARTITION_KEY]: message.partitionKey }),
    ...(place.sub === 'main' ? {} : { 'x-opt-deadletter-source': place.queue }),
  };
}

function withOverlay(message: StoredMessage): Uint8Array {
  if (Object.keys(message.overlay).length === 0) return message.payload;
  const decoded = amqp.decode(Buffer.from(message.payload));
  const merged = { ...asRecord(decoded['application_properties']), ...message.overlay };
  return withoutHeader(amqp.encode({ ...decoded, application_properties: merged }));
}

/** rhea always writes a header first, even an empty one. */
function withoutHeader(encoded: Buffer): Buffer {
  const reader = new types.Reader(encoded);
  reader.read();
  return encoded.subarray(reader.position);
}

/** rhea leaves values of described types wrapped. */
function unwrapped(value: unknown): unknown {
  const inner = asRecord(value);
  return 'value' in inner && 'type' in inner ? inner['value'] : value;
}

/** rhea reads an id above 2^53 as 8 bytes and would write them back as half a uuid; as text they stay what they are. */
function toId(id: unknown): unknown {
  return Buffer.isBuffer(id) && id.length === 8 ? id.readBigUInt64BE().toString() : id;
}

function toMilliseconds(value: unknown): number | null {
  const at = value instanceof Date ? value.getTime() : value;
  return typeof at === 'number' && Number.isFinite(at) ? at : null;
}

function isPropertyValue(value: unknown): value is PropertyValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
