import type { ResourceCall } from '../request/resource-call.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import { textAt } from '../json.ts';
import { type DeleteOptions, deleteObject } from '../objects/delete-object.ts';
import { itemText } from '../wire/object-text.ts';
import { apiVersionOf } from '../state.ts';
import { toStoredMatcher } from './list-query.ts';

/** Deletes everything that the selectors select and answers the list of it. */
export function deleteCollection({ state, route, request }: ResourceCall, options: DeleteOptions): ApiReply {
  const { resource } = route;
  const matches = toStoredMatcher(state, route, request.query);
  const listing = state.store.list(resource.storage);
  const chosen = matches === null ? listing.items : listing.items.filter(matches);
  const deleted = chosen.map(({ object }) => {
    const namespace = textAt(object, 'metadata', 'namespace');
    const target = { resource, namespace, name: textAt(object, 'metadata', 'name') };
    return itemText(deleteObject(state, target, options).object, resource);
  });
  const metadata = JSON.stringify({ resourceVersion: String(state.store.revision()) });
  const head = `"kind":"${resource.listKind}","apiVersion":"${apiVersionOf(resource)}"`;
  return jsonReply(200, `{${head},"metadata":${metadata},"items":[${deleted.join(',')}]}`);
}
