import { isRecord } from '../../../shared/contract/api/schema/object-meta.ts';
import { manifestParts, specPart } from './field-names.ts';
import { didYouMean } from '../../../shared/kubernetes/text/word-meant.ts';
import type { JsonObject } from '../objects.ts';

/**
 * Fields of a pod's or workload's spec that the API does not have, with the field that was probably meant. `kubectl
 * apply` refuses them; a newer API server may know them, so they are told and left aside. Empty for other kinds.
 */
export function unknownFields(kind: string, value: JsonObject): ReadonlyArray<string> {
  const part = specPart[kind];
  const field = kind === 'PodTemplate' ? 'template' : 'spec';
  return part === undefined ? [] : fieldsUnknownTo(part, value[field], field);
}

function fieldsUnknownTo(part: string, value: unknown, path: string): ReadonlyArray<string> {
  const known = manifestParts[part];
  if (known === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((entry, index) => fieldsUnknownTo(part, entry, `${path}[${index}]`));
  if (!isRecord(value)) return [];
  const names = known.names.split(' ');
  return Object.entries(value).flatMap(([name, field]) => {
    const at = `${path}.${name}`;
    if (!names.includes(name)) return [`${at}${didYouMean(name, names)}`];
    const inside = Object.hasOwn(known.inside, name) ? known.inside[name] : undefined;
    return inside === undefined ? [] : fieldsUnknownTo(inside, field, at);
  });
}
