import { isRecord } from '../../shared/contract/api/object-meta.ts';
import { manifestParts, specPart } from './field-names.ts';
import type { JsonObject } from './objects.ts';

/**
 * Fields of a pod's or workload's spec that the API does not have, with the field that was probably meant. `kubectl apply`
 * refuses them; a newer API server may know them, so they are told and left aside. Empty for other kinds.
 */
export function unknownFields(kind: string, { spec }: JsonObject): ReadonlyArray<string> {
  const part = specPart[kind];
  return part === undefined ? [] : fieldsUnknownTo(part, spec, 'spec');
}

function fieldsUnknownTo(part: string, value: unknown, path: string): ReadonlyArray<string> {
  const known = manifestParts[part];
  if (known === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((entry, index) => fieldsUnknownTo(part, entry, `${path}[${index}]`));
  if (!isRecord(value)) return [];
  const names = known.names.split(' ');
  return Object.entries(value).flatMap(([name, field]) => {
    const at = `${path}.${name}`;
    if (!names.includes(name)) return [`${at}${meant(name, names)}`];
    const inside = Object.hasOwn(known.inside, name) ? known.inside[name] : undefined;
    return inside === undefined ? [] : fieldsUnknownTo(inside, field, at);
  });
}

/** More letters apart than this, and it is another word. */
const MOST_APART = 2;

function meant(name: string, names: ReadonlyArray<string>): string {
  const near = names.find((known) => lettersApart(known.toLowerCase(), name.toLowerCase()) <= MOST_APART);
  return near === undefined ? '' : ` (${near}?)`;
}

/** Letters to insert, remove or replace to make one of the other. */
function lettersApart(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [at, letter] of one.split('').entries()) {
    const next = [at + 1];
    for (const [index, wanted] of other.split('').entries()) {
      const replaced = (row[index] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
