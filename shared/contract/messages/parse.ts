import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';

/** Returns `value` as what `schema` describes, or throws a TypeError that names the first field that is wrong. */
export function parseWith<Schema extends TSchema>(schema: Schema, value: unknown, name: string): Static<Schema> {
  if (Value.Check(schema, value)) return value;
  const [first] = Value.Errors(schema, value);
  const field = first === undefined || first.instancePath === '' ? 'the value itself' : first.instancePath;
  throw new TypeError(`not a ${name}: ${field} ${first?.message ?? 'does not match'}`);
}
