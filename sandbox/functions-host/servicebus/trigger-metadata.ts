import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import type { RpcTypedData } from '../worker/rpc.ts';
import { addJsonProperties } from './json-properties.ts';
import { toStrings, toText, type MessageShape } from './message-input.ts';

/**
 * The trigger metadata of a batch, by the names of the Service Bus extension 5.17; the library makes them camelCase.
 * `MessageReceiver`, `Client` and their like are left out: objects of .NET, of which nobody in a worker can make use.
 */
export function toBatchMetadata(
  messages: ReadonlyArray<ServiceBusReceivedMessage>,
  shape: MessageShape,
): Record<string, RpcTypedData> {
  const metadata: Record<string, RpcTypedData> = {};
  for (const [name, read] of stringProperties) metadata[`${name}Array`] = toStrings(messages.map(read), shape);
  for (const [name, read] of jsonProperties) metadata[`${name}Array`] = { json: JSON.stringify(messages.map(read)) };
  return metadata;
}

/**
 * The trigger metadata of a single message: the names of a batch without `Array`, and what its body says where that is
 * an object.
 */
export function toSingleMetadata(
  message: ServiceBusReceivedMessage,
  shape: MessageShape,
): Record<string, RpcTypedData> {
  const metadata: Record<string, RpcTypedData> = {};
  for (const [name, read] of stringProperties) {
    const value = read(message);
    metadata[name] = value === null ? {} : { string: value };
  }
  for (const [name, read] of jsonProperties) metadata[name] = { json: JSON.stringify(read(message)) };
  if (shape.dataType !== 'binary') addJsonProperties(metadata, toText(message.body));
  return metadata;
}

/**
 * The second log line of an execution. Of a large batch the first ten messages are told, where the real host tells all.
 */
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

type Read<T> = (message: ServiceBusReceivedMessage) => T;

const subjectOf: Read<string | null> = ({ subject }) => subject ?? null;
const partitionKeyOf: Read<string | null> = ({ partitionKey }) => partitionKey ?? null;
const propertiesOf: Read<unknown> = ({ applicationProperties }) => applicationProperties ?? {};

/** Properties that are `string[]` in .NET and cross the wire as a collection of strings, in the extension's order. */
const stringProperties: ReadonlyArray<readonly [name: string, read: Read<string | null>]> = [
  ['DeadLetterSource', ({ deadLetterSource }) => deadLetterSource ?? null],
  ['LockToken', ({ lockToken }) => lockToken ?? null],
  ['MessageId', ({ messageId }) => toIdText(messageId)],
  ['ContentType', ({ contentType }) => contentType ?? null],
  ['ReplyTo', ({ replyTo }) => replyTo ?? null],
  ['To', ({ to }) => to ?? null],
  ['Subject', subjectOf],
  ['Label', subjectOf],
  ['CorrelationId', ({ correlationId }) => toIdText(correlationId)],
  ['SessionId', ({ sessionId }) => sessionId ?? null],
  ['ReplyToSessionId', ({ replyToSessionId }) => replyToSessionId ?? null],
  ['PartitionKey', partitionKeyOf],
  // The extension fills in the partition key here.
  ['TransactionPartitionKey', partitionKeyOf],
];

/** Properties that cross the wire as JSON. */
const jsonProperties: ReadonlyArray<readonly [name: string, read: Read<unknown>]> = [
  ['DeliveryCount', toDeliveryCount],
  ['ExpiresAtUtc', ({ expiresAtUtc }) => toDotNetDateTime(expiresAtUtc, '')],
  ['ExpiresAt', ({ expiresAtUtc }) => toDotNetDateTime(expiresAtUtc, '+00:00')],
  ['EnqueuedTimeUtc', ({ enqueuedTimeUtc }) => toDotNetDateTime(enqueuedTimeUtc, '')],
  ['EnqueuedTime', ({ enqueuedTimeUtc }) => toDotNetDateTime(enqueuedTimeUtc, '+00:00')],
  ['SequenceNumber', ({ sequenceNumber }) => Number(sequenceNumber ?? 0)],
  ['ApplicationProperties', propertiesOf],
  ['UserProperties', propertiesOf],
];

/** Which delivery this is, from 1. The client hands on AMQP's count of earlier failures; .NET's counts deliveries. */
export function toDeliveryCount(message: ServiceBusReceivedMessage): number {
  return (message.deliveryCount ?? 0) + 1;
}

/**
 * .NET's JSON: a UTC time taken out of its offset loses the Z, and the fraction ends at its last digit that says
 * something.
 */
function toDotNetDateTime(time: Date | undefined, suffix: string): string {
  if (time === undefined || Number.isNaN(time.getTime())) return `0001-01-01T00:00:00${suffix}`;
  return `${time.toISOString().replace(/\.?0*Z$/, '')}${suffix}`;
}

function toIdText(id: string | number | Buffer | undefined): string | null {
  return id === undefined || id === null ? null : String(id);
}
