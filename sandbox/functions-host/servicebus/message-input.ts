import type { ServiceBusReceivedMessage } from '@azure/service-bus';
import type { RpcTypedData } from '../worker/rpc.ts';

/** How the app asked for its messages. */
export interface MessageShape {
  /** `dataType` of the trigger; null: it has none, and the host decides. */
  readonly dataType: 'string' | 'binary' | null;
  /** The app's capability `IncludeEmptyEntriesInMessagePayload`. */
  readonly keepsEmptyEntries: boolean;
}

/**
 * A batch as the host sends it. Without a `dataType` it binds objects: each body is parsed here, an empty one is null,
 * and one that is no JSON throws, so that the function is not called for any message of the batch. As strings, which
 * the library parses where it can, an empty one is left out unless the app asked to keep it.
 */
export function toBatchInput(messages: ReadonlyArray<ServiceBusReceivedMessage>, shape: MessageShape): RpcTypedData {
  switch (shape.dataType) {
    case 'binary':
      return { collectionBytes: { bytes: messages.map(({ body }) => toBytes(body)) } };
    case 'string':
      return toStrings(
        messages.map(({ body }) => toText(body)),
        shape,
      );
    case null:
      return toObjects(messages.map(({ body }) => toText(body)));
    default:
      return shape.dataType satisfies never;
  }
}

/** A single message as the host sends it. */
export function toSingleInput({ body }: ServiceBusReceivedMessage, shape: MessageShape): RpcTypedData {
  return shape.dataType === 'binary' ? { bytes: toBytes(body) } : { string: toText(body) };
}

/** Texts as a batch of objects. Throws, as .NET does, when one is no JSON. */
export function toObjects(texts: ReadonlyArray<string>): RpcTypedData {
  return { json: JSON.stringify(texts.map(parseStrictly)) };
}

/** Texts as an array of strings on the wire, where what is empty is left out unless the app asked to keep it. */
export function toStrings(values: ReadonlyArray<string | null>, shape: MessageShape): RpcTypedData {
  const texts = values.map((value) => value ?? '');
  return { collectionString: { string: shape.keepsEmptyEntries ? texts : texts.filter((text) => text !== '') } };
}

/** The text of a body. Throws for what AMQP can carry beside bytes and text, for which .NET has no conversion. */
export function toText(body: unknown): string {
  if (body === undefined || body === null) return '';
  if (typeof body === 'string') return body;
  if (Buffer.isBuffer(body)) return body.toString('utf8');
  throw new Error(
    'Exception binding parameter: the body of the message is neither bytes nor text (NotSupportedException).',
  );
}

/** Json.NET's own bound (its MaxDepth, by default). */
const DEPTH_MAX = 64;

/**
 * Json.NET takes comments and single quotes as well, and writes what looks like a date anew; no sender of ours has
 * either.
 */
function parseStrictly(text: string): unknown {
  if (text === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    if (depthOf(value) <= DEPTH_MAX) return value;
  } catch {
    // Said below.
  }
  throw new Error(
    'Exception binding parameter: Binding parameters to complex objects (such as ‘Object’) uses Json.NET serialization, ' +
      'and the text of a message cannot be parsed.',
  );
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((most: number, one: unknown) => Math.max(most, depthOf(one)), 0);
}

function toBytes(body: unknown): Uint8Array {
  return Buffer.isBuffer(body) ? body : Buffer.from(toText(body));
}
