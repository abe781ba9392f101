import { isObject, type Json, type JsonObject } from '../json.ts';
import { readGenerated } from '../registry/resources.ts';
import { badRequest } from '../status-error.ts';

/** [number, name, type, shape], as schema/dump-proto.ts writes them. */
type Field = readonly [number, string, string, '' | 'r' | 'm' | 'i'];

const messages = readGenerated('proto') as unknown as Readonly<Record<string, ReadonlyArray<Field>>>;

/** What a Kubernetes protobuf body starts with. */
const magic = Buffer.from('k8s\0');

/** One field as it stands in the bytes: a number, or a run of bytes. */
interface RawField {
  readonly number: number;
  readonly value: bigint | Buffer;
}

function readVarint(bytes: Buffer, start: number): { readonly value: bigint; readonly end: number } {
  let value = 0n;
  // Ten bytes hold 64 bits; a longer run is no varint.
  for (let index = 0; index < 10; index++) {
    const byte = bytes[start + index];
    if (byte === undefined) break;
    value |= BigInt(byte & 127) << BigInt(7 * index);
    if (byte < 128) return { value: BigInt.asIntN(64, value), end: start + index + 1 };
  }
  throw badRequest('the protobuf body ends in the middle of a number');
}

function readFields(bytes: Buffer): ReadonlyArray<RawField> {
  const fields: Array<RawField> = [];
  for (let at = 0; at < bytes.length;) {
    const tag = readVarint(bytes, at);
    const number = Number(tag.value >> 3n);
    const wire = Number(tag.value & 7n);
    if (wire === 0) {
      const { value, end } = readVarint(bytes, tag.end);
      fields.push({ number, value });
      at = end;
      continue;
    }
    const size = wire === 2 ? readVarint(bytes, tag.end) : { value: wire === 1 ? 8n : 4n, end: tag.end };
    const end = size.end + Number(size.value);
    if (![1, 2, 5].includes(wire) || end > bytes.length || size.value < 0n)
      throw badRequest('the protobuf body is malformed');
    fields.push({ number, value: bytes.subarray(size.end, end) });
    at = end;
  }
  return fields;
}

function numbersOf(bytes: Buffer): ReadonlyMap<number, bigint | Buffer> {
  return new Map(readFields(bytes).map(({ number, value }) => [number, value]));
}

const asBytes = (value: bigint | Buffer | undefined): Buffer => (Buffer.isBuffer(value) ? value : Buffer.alloc(0));
const asNumber = (value: bigint | Buffer | undefined): number => (typeof value === 'bigint' ? Number(value) : 0);

function readTime(bytes: Buffer, digits: 0 | 6): Json {
  if (bytes.length === 0) return null;
  const parts = numbersOf(bytes);
  const nanos = asNumber(parts.get(2));
  const text = new Date(asNumber(parts.get(1)) * 1000).toISOString().slice(0, 19);
  return digits === 0 ? `${text}Z` : `${text}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`;
}

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1';

/** Messages whose JSON is not an object of their fields. */
const special: Readonly<Record<string, (bytes: Buffer) => Json>> = {
  'k8s.io.apimachinery.pkg.api.resource.Quantity': (bytes) => asBytes(numbersOf(bytes).get(1)).toString('utf8'),
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': (bytes) => {
    const parts = numbersOf(bytes);
    return asNumber(parts.get(1)) === 1 ? asBytes(parts.get(3)).toString('utf8') : asNumber(parts.get(2));
  },
  'k8s.io.apimachinery.pkg.runtime.RawExtension': (bytes) => parseJson(asBytes(numbersOf(bytes).get(1))),
  [`${meta}.FieldsV1`]: (bytes) => parseJson(asBytes(numbersOf(bytes).get(1))),
  [`${meta}.Time`]: (bytes) => readTime(bytes, 0),
  [`${meta}.MicroTime`]: (bytes) => readTime(bytes, 6),
};

function parseJson(bytes: Buffer): Json {
  if (bytes.length === 0) return null;
  try {
    return JSON.parse(bytes.toString('utf8')) as Json;
  } catch {
    throw badRequest('the protobuf body holds JSON that cannot be read');
  }
}

function readScalar(type: string, value: bigint | Buffer): Json | undefined {
  if (type === 'string') return asBytes(value).toString('utf8');
  if (type === 'bytes') return asBytes(value).toString('base64');
  if (type === 'bool') return asNumber(value) !== 0;
  if (type === 'double') return asBytes(value).length === 8 ? asBytes(value).readDoubleLE(0) : 0;
  return /^u?int(32|64)$/.test(type) ? asNumber(value) : undefined;
}

/** Deeper than any kind's messages; stops hostile input. */
const MAX_DEPTH = 60;

function readValue(type: string, value: bigint | Buffer, depth: number): Json {
  const scalar = readScalar(type, value);
  if (scalar !== undefined) return scalar;
  const read = special[type];
  return read === undefined ? readMessage(type, asBytes(value), depth + 1) : read(asBytes(value));
}

/** Fields of Go's plain types, whose zero is left out of JSON but stands in protobuf; other zeros were meant. */
const plainFields = new Set([
  'generation',
  'hostIPC',
  'hostNetwork',
  'hostPID',
  'hostPort',
  'initialDelaySeconds',
  'minReadySeconds',
  'paused',
  'readOnly',
  'stdin',
  'stdinOnce',
  'tty',
]);

/** True for what Go leaves out of JSON when it is empty. */
function isLeftOut(name: string, value: Json): boolean {
  return value === '' || value === null || ((value === 0 || value === false) && plainFields.has(name));
}

function readMessage(type: string, bytes: Buffer, depth: number): JsonObject {
  const known = messages[type];
  if (known === undefined || depth > MAX_DEPTH) throw badRequest(`cannot read the protobuf message ${type}`);
  const made: JsonObject = {};
  for (const { number, value } of readFields(bytes)) {
    const field = known.find(([own]) => own === number);
    if (field === undefined) continue;
    const [, name, fieldType, shape] = field;
    if (shape === 'm') {
      const entry = numbersOf(asBytes(value));
      const map: JsonObject = isObject(made[name]) ? made[name] : {};
      map[asBytes(entry.get(1)).toString('utf8')] = readValue(fieldType, entry.get(2) ?? Buffer.alloc(0), depth);
      made[name] = map;
      continue;
    }
    const read = readValue(fieldType, value, depth);
    if (shape === 'r') made[name] = [...(Array.isArray(made[name]) ? made[name] : []), read];
    else if (shape === 'i' && isObject(read)) Object.assign(made, read);
    else if (!isLeftOut(name, read)) made[name] = read;
  }
  return made;
}

/** The message of a kind: core kinds live in k8s.io.api.core.v1, others in the first part of their group. */
function messageOf(apiVersion: string, kind: string): string {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
  if (kind.endsWith('Options')) return `${meta}.${kind}`;
  const named = `k8s.io.api.${group.split('.')[0]}.${version}.${kind}`;
  return Object.hasOwn(messages, named) ? named : `${meta}.${kind}`;
}

/**
 * Reads a body of type application/vnd.kubernetes.protobuf as the JSON it stands for: a runtime.Unknown with the kind
 * and the message. Throws BadRequest for what is malformed and for kinds whose messages are not known.
 */
export function parseProtoBody(body: Buffer): Json {
  if (!body.subarray(0, 4).equals(magic)) throw badRequest('the body is not Kubernetes protobuf');
  const unknown = numbersOf(body.subarray(4));
  const typeMeta = numbersOf(asBytes(unknown.get(1)));
  const apiVersion = asBytes(typeMeta.get(1)).toString('utf8');
  const kind = asBytes(typeMeta.get(2)).toString('utf8');
  return { apiVersion, kind, ...readMessage(messageOf(apiVersion, kind), asBytes(unknown.get(2)), 0) };
}
