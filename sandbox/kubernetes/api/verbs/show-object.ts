import { stringify as stringifyYaml } from 'yaml';
import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import { negotiate } from '../request/media-type.ts';
import type { JsonObject } from '../json.ts';
import { objectText, presentObject } from '../wire/object-text.ts';
import { partialMetadata } from '../tables/partial-metadata.ts';
import { renderTable } from '../tables/render-table.ts';

/** Answers one object in the form that the client accepts. */
export function showObject(
  { state, route, request }: ResourceCall,
  status: number,
  object: JsonObject,
  warnings: ReadonlyArray<string> = [],
): ApiReply {
  const { as, version, format } = negotiate(request.accept);
  if (as === 'Table') {
    const include = request.query.get('includeObject') ?? 'Metadata';
    const table = renderTable(state, route.resource, [object], { version, include, withColumns: true });
    return jsonReply(status, table, warnings);
  }
  if (as !== 'object') return jsonReply(status, partialMetadata(object, version), warnings);
  if (format === 'yaml') {
    const text = stringifyYaml(presentObject(object, route.resource));
    return { status, contentType: 'application/yaml', text, warnings };
  }
  return jsonReply(status, objectText(object, route.resource), warnings);
}
