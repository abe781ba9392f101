import { randomUUID } from 'node:crypto';
import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import type { RpcTypedData } from '../worker/rpc.ts';

/** How the app asked for its messages. */
export interface MessageShape {
  readonly functionName: string;
  /** `dataType: 'binary'` gives buffers in place of parsed text. */
  readonly isBinary: boolean;
  /** The app's capability `IncludeEmptyEntriesInMessagePayload`. */
  readonly keepsEmptyEntries: boolean;
}

/**
 * A batch as the host sends it. As there, an entry that is empty is left out of every array of strings, bodies included,
 * unless the app asked to keep it: arrays of a batch are then not aligned. The library turns text that is JSON into its value.
 */
export function toBatchInput(messages: ReadonlyArray<ServiceBusReceivedMessage>, shape: MessageShape): RpcTypedData {
  if (shape.isBinary) return { collectionBytes: { bytes: messages.map(({ body }) => toBytes(body)) } };
  return toStrings(
    messages.map(({ body }) => toText(body)),
    shape,
  );
}

/** A single message as the host sends it. */
export function toSingleInput(message: ServiceBusReceivedMessage, shape: MessageShape): RpcTypedData {
  return shape.isBinary ? { bytes: toBytes(message.body) } : { string: toText(message.body) };
}

/**
 * The trigger metadata of a batch, by the names of the Service Bus extension 5.17; the library makes them camelCase.
 * `MessageReceiver`, `Client` and their like, opaque objects there, are left out.
 */
export function toBatchMetadata(
  messages: ReadonlyArray<ServiceBusReceivedMessage>,
  shape: MessageShape,
): Record<string, RpcTypedData> {
  const all = messages.map(toProperties);
  const metadata: Record<string, RpcTypedData> = { sys: toSystemMetadata(shape) };
  for (const name of stringProperties) {
    metadata[`${name}Array`] = toStrings(
      all.map((properties) => properties[name]),
      shape,
    );
  }
  for (const name of jsonProperties) {
    metadata[`${name}Array`] = { json: JSON.stringify(all.map((properties) => properties[name])) };
  }
  return metadata;
}

/** The trigger metadata of a single message: the names of a batch without `Array`. */
export function toSingleMetadata(
  message: ServiceBusReceivedMessage,
  shape: MessageShape,
): Record<string, RpcTypedData> {
  const properties = toProperties(message);
  const metadata: Record<string, RpcTypedData> = { sys: toSystemMetadata(shape) };
  for (const name of stringProperties) {
    const value = properties[name];
    metadata[name] = value === null ? {} : { string: value };
  }
  for (const name of jsonProperties) metadata[name] = { json: JSON.stringify(properties[name]) };
  return metadata;
}

/** The second log line of an execution. Of a large batch the first ten messages are told, where the real host tells all. */
export function renderTriggerDetails(messages: ReadonlyArray<ServiceBusReceivedMessage>, isBatch: boolean): string {
  const shown = messages.slice(0, SHOWN_MESSAGES);
  const more = messages.length > shown.length ? `,… (${messages.length} in all)` : '';
  const list = (read: (message: ServiceBusReceivedMessage) => string): string => `${shown.map(read).join(',')}${more}`;
  const suffix = isBatch ? 'Array' : '';
  return [
    `MessageId${suffix}: ${list(({ messageId }) => String(messageId ?? ''))}`,
    `SequenceNumber${suffix}: ${list(({ sequenceNumber }) => String(sequenceNumber ?? ''))}`,
    `DeliveryCount${suffix}: ${list((message) => String(toDeliveryCount(message)))}`,
    `EnqueuedTimeUtc${suffix}: ${list(({ enqueuedTimeUtc }) => enqueuedTimeUtc?.toISOString() ?? '')}`,
    `LockedUntil${isBatch ? 'Array' : 'Utc'}: ${list(({ lockedUntilUtc }) => lockedUntilUtc?.toISOString() ?? '')}`,
    `SessionId: ${messages[0]?.sessionId ?? '(null)'}`,
  ].join(', ');
}

/** Enough to find a message again; a batch may have a thousand. */
const SHOWN_MESSAGES = 10;

/** Properties that are `string[]` in .NET and cross the wire as a collection of strings. */
const stringProperties = [
  ...(['DeadLetterSource', 'LockToken', 'MessageId', 'ContentType', 'ReplyTo', 'To', 'Subject', 'Label'] as const),
  ...(['CorrelationId', 'SessionId', 'ReplyToSessionId', 'PartitionKey', 'TransactionPartitionKey'] as const),
] as const;

/** Properties that cross the wire as JSON. */
const jsonProperties = [
  ...(['DeliveryCount', 'ExpiresAtUtc', 'ExpiresAt', 'EnqueuedTimeUtc', 'EnqueuedTime', 'SequenceNumber'] as const),
  ...(['ApplicationProperties', 'UserProperties'] as const),
] as const;

type Properties = Readonly<
  Record<(typeof stringProperties)[number], string | null> & Record<(typeof jsonProperties)[number], unknown>
>;

function toProperties(message: ServiceBusReceivedMessage): Properties {
  const expires = message.expiresAtUtc ?? null;
  const enqueued = message.enqueuedTimeUtc ?? null;
  const partitionKey = message.partitionKey ?? null;
  const subject = message.subject ?? null;
  const properties = message.applicationProperties ?? {};
  return {
    DeliveryCount: toDeliveryCount(message),
    DeadLetterSource: message.deadLetterSource ?? null,
    LockToken: message.lockToken ?? null,
    ExpiresAtUtc: toDotNetDateTime(expires, ''),
    ExpiresAt: toDotNetDateTime(expires, '+00:00'),
    EnqueuedTimeUtc: toDotNetDateTime(enqueued, ''),
    EnqueuedTime: toDotNetDateTime(enqueued, '+00:00'),
    MessageId: toIdText(message.messageId),
    ContentType: message.contentType ?? null,
    ReplyTo: message.replyTo ?? null,
    SequenceNumber: Number(message.sequenceNumber ?? 0),
    To: message.to ?? null,
    Subject: subject,
    Label: subject,
    CorrelationId: toIdText(message.correlationId),
    ApplicationProperties: properties,
    UserProperties: properties,
    SessionId: message.sessionId ?? null,
    ReplyToSessionId: message.replyToSessionId ?? null,
    PartitionKey: partitionKey,
    // The extension fills in the partition key here.
    TransactionPartitionKey: partitionKey,
  };
}

/** Which delivery this is, from 1. The client hands on AMQP's count of earlier failures; .NET's counts deliveries. */
export function toDeliveryCount(message: ServiceBusReceivedMessage): number {
  return (message.deliveryCount ?? 0) + 1;
}

function toSystemMetadata(shape: MessageShape): RpcTypedData {
  const sys = { MethodName: shape.functionName, UtcNow: new Date().toISOString(), RandGuid: randomUUID() };
  return { json: JSON.stringify(sys) };
}

/** .NET's JSON: a UTC time taken out of its offset loses the Z, and the fraction ends at its last digit that says something. */
function toDotNetDateTime(time: Date | null, suffix: string): string {
  if (time === null || Number.isNaN(time.getTime())) return `0001-01-01T00:00:00${suffix}`;
  return `${time.toISOString().replace(/\.?0*Z$/, '')}${suffix}`;
}

function toIdText(id: string | number | Buffer | undefined): string | null {
  return id === undefined || id === null ? null : String(id);
}

function toStrings(values: ReadonlyArray<string | null>, shape: MessageShape): RpcTypedData {
  const texts = values.map((value) => value ?? '');
  return { collectionString: { string: shape.keepsEmptyEntries ? texts : texts.filter((text) => text !== '') } };
}

function toText(body: unknown): string {
  if (body === undefined || body === null) return '';
  if (typeof body === 'string') return body;
  return Buffer.isBuffer(body) ? body.toString('utf8') : JSON.stringify(body);
}

function toBytes(body: unknown): Uint8Array {
  return Buffer.isBuffer(body) ? body : Buffer.from(toText(body));
}
