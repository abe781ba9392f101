import { type JsonObject, objectAt, textAt } from '../json.ts';
import { type ApiState, storeKey } from '../state.ts';

const PLACE = ['topology.kubernetes.io/region', 'topology.kubernetes.io/zone'];

/** What the API server's admission gives every pod of a node; none where it does not know the node. */
export function topologyLabels(state: ApiState, node: string): JsonObject {
  const found = state.store.get('nodes.', storeKey('', node));
  const labels = found === undefined ? {} : objectAt(found.object, 'metadata', 'labels');
  return Object.fromEntries(PLACE.map((key) => [key, textAt(labels, key)]).filter(([, value]) => value !== ''));
}

/** Gives a pod labels or annotations in place of any that it has under their keys. */
export function addTo(metadata: JsonObject, field: 'labels' | 'annotations', added: JsonObject): void {
  if (Object.keys(added).length > 0) metadata[field] = { ...objectAt(metadata, field), ...added };
}
