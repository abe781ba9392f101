import { isRecord } from './schema/object-meta.ts';

/**
 * The hash that Karpenter puts into annotations to see that a spec has changed: Go's hashstructure 2.0.2 in format v2,
 * slices as sets, zero values ignored, nil as zero, over 64-bit FNV-1. A value is described by what its Go type is,
 * since type names, field names and the order of fields are part of the hash. Kept honest by vectors that Karpenter
 * computed.
 */

/** Encodes one value of JSON as its Go type; null where Go holds the zero value, which does not count. */
export type GoEncoder = (value: unknown) => bigint | null;

/** A field of a Go struct: its Go name, its JSON name (null for an embedded struct) and its type. */
export type GoField = readonly [goName: string, jsonName: string | null, encode: GoEncoder];

const OFFSET_BASIS = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const utf8 = new TextEncoder();

function fnv(bytes: Uint8Array): bigint {
  let hash = OFFSET_BASIS;
  for (const byte of bytes) hash = BigInt.asUintN(64, hash * PRIME) ^ BigInt(byte);
  return hash;
}

function hashText(text: string): bigint {
  return fnv(utf8.encode(text));
}

/** Hash of integers, little-endian, each of `bytes` bytes. */
function hashIntegers(values: ReadonlyArray<bigint>, bytes: 1 | 4 | 8): bigint {
  const buffer = new Uint8Array(values.length * bytes);
  for (const [index, value] of values.entries()) {
    for (let byte = 0; byte < bytes; byte++) {
      buffer[index * bytes + byte] = Number(BigInt.asUintN(8, value >> BigInt(8 * byte)));
    }
  }
  return fnv(buffer);
}

function hashPair(left: bigint, right: bigint): bigint {
  return hashIntegers([left, right], 8);
}

function harden(hash: bigint): bigint {
  return hashIntegers([hash], 8);
}

/** A Go string; empty counts as absent. */
export const goString: GoEncoder = (value) => (typeof value === 'string' && value !== '' ? hashText(value) : null);

/** A pointer to a Go string: empty counts. */
export const goStringPointer: GoEncoder = (value) => (typeof value === 'string' ? hashText(value) : null);

/** A pointer to an integer: zero counts. */
export function goIntPointer(bytes: 4 | 8): GoEncoder {
  return (value) => (Number.isInteger(value) ? hashIntegers([BigInt(Number(value))], bytes) : null);
}

/** A pointer to a bool: false counts. */
export const goBoolPointer: GoEncoder = (value) =>
  typeof value === 'boolean' ? hashIntegers([value ? 1n : 0n], 1) : null;

/** A map of strings: an empty one counts. */
export const goStringMap: GoEncoder = (value) => {
  if (typeof value !== 'object' || value === null) return null;
  let hash = 0n;
  for (const [key, text] of Object.entries(value)) hash ^= hashPair(hashText(key), hashText(String(text)));
  return harden(hash);
};

/** A slice, as a set: an empty one counts, order does not. */
export function goSlice(encodeItem: GoEncoder, zeroItem: bigint): GoEncoder {
  return (value) => {
    if (!Array.isArray(value)) return null;
    let hash = 0n;
    for (const item of value) hash ^= encodeItem(item) ?? zeroItem;
    return hash;
  };
}

/** A slice of strings. */
export const goStringSlice: GoEncoder = goSlice(goStringPointer, hashText(''));

/** A slice of structs. */
export function goStructSlice(typeName: string, fields: ReadonlyArray<GoField>): GoEncoder {
  return goSlice(goStructPointer(typeName, fields), hashText(typeName));
}

/** A pointer to a struct: an empty one counts. */
export function goStructPointer(typeName: string, fields: ReadonlyArray<GoField>): GoEncoder {
  return (value) => {
    if (!isRecord(value)) return null;
    let hash = hashText(typeName);
    for (const [goName, jsonName, encode] of fields) {
      const field = jsonName === null ? value : value[jsonName];
      const encoded = encode(field);
      // Format v2 hardens after every field, so the order of fields in the Go source matters.
      if (encoded !== null) hash = harden(hash ^ hashPair(hashText(goName), encoded));
    }
    return hash;
  };
}

/** A struct held by value: absent where none of its fields has a value. */
export function goStruct(typeName: string, fields: ReadonlyArray<GoField>): GoEncoder {
  const encodePointer = goStructPointer(typeName, fields);
  return (value) => {
    const encoded = encodePointer(value);
    return encoded === hashText(typeName) ? null : encoded;
  };
}

const UNIT_NANOSECONDS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

const GO_DURATION = /^-?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$/u;

/** A Go duration in nanoseconds, or null where the text is none (`Never` among them). */
function nanosecondsOf(value: unknown): bigint | null {
  if (value === '0') return 0n;
  if (typeof value !== 'string' || !GO_DURATION.test(value)) return null;
  let total = 0n;
  for (const [, amount = '0', unit = 's'] of value.matchAll(/([0-9.]+)(ns|us|µs|ms|s|m|h)/gu)) {
    const [whole = '0', fraction = '0'] = amount.split('.');
    const nanoseconds = UNIT_NANOSECONDS[unit] ?? 0;
    total += BigInt(whole) * BigInt(nanoseconds) + BigInt(Math.trunc(Number(`0.${fraction}`) * nanoseconds));
  }
  return value.startsWith('-') ? -total : total;
}

/** A pointer to a `metav1.Duration`: zero counts. */
export const goDurationPointer: GoEncoder = (value) => {
  const nanoseconds = nanosecondsOf(value);
  if (nanoseconds === null) return null;
  return nanoseconds === 0n ? hashText('Duration') : hashOneField('Duration', 'Duration', nanoseconds);
};

/** A `metav1.Duration` held by value: zero counts as absent. */
export const goDuration: GoEncoder = (value) => (nanosecondsOf(value) === 0n ? null : goDurationPointer(value));

/** Karpenter's `NillableDuration`: `Never` counts as absent, zero does not. */
export const goNillableDuration: GoEncoder = (value) => {
  const nanoseconds = nanosecondsOf(value);
  return nanoseconds === null ? null : hashOneField('NillableDuration', 'Duration', nanoseconds);
};

function hashOneField(typeName: string, field: string, value: bigint): bigint {
  return harden(hashText(typeName) ^ hashPair(hashText(field), hashIntegers([value], 8)));
}

/** Seconds from Go's year 1 to the Unix epoch. */
const UNIX_EPOCH_SECONDS = 62_135_596_800n;

/**
 * A pointer to a `metav1.Time`, in Go's binary form: version 1, seconds and nanoseconds big-endian, zone offset. The
 * offset is zero, as in a container whose zone is UTC.
 */
export const goTimePointer: GoEncoder = (value) => {
  const milliseconds = typeof value === 'string' ? Date.parse(value) : NaN;
  if (Number.isNaN(milliseconds)) return null;
  const buffer = new DataView(new ArrayBuffer(15));
  buffer.setUint8(0, 1);
  buffer.setBigInt64(1, BigInt(Math.floor(milliseconds / 1000)) + UNIX_EPOCH_SECONDS);
  return harden(hashText('Time') ^ hashPair(hashText('Time'), fnv(new Uint8Array(buffer.buffer))));
};
