import { meetsNeed, hasRoom, type ExistingNode } from './existing-nodes.ts';
import type { Need } from './compile-shape.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { Applicant } from './joining.ts';
import { allowsDomain, allowsHost, type Guard } from './topology-guard.ts';
import type { Workspace } from './workspace.ts';
import type { NodeBucket } from './workspace.ts';

/**
 * The first existing node in order that has room for a pod of the need and that the rules let it onto; null where there
 * is none.
 */
export function firstNodeWithRoom(workspace: Workspace, { need, guard }: Applicant): ExistingNode | null {
  const buckets = workspace.roomy.get(need) ?? bucketsFor(workspace, need, guard);
  workspace.roomy.set(need, buckets);
  let first = Infinity;
  for (const { labels, places } of buckets) {
    if (!guard.rules.keys.every((key) => allowsDomain(guard, key, labels[key]))) continue;
    first = Math.min(first, firstIn(workspace, places, { need, guard }, first));
  }
  return workspace.nodes[first] ?? null;
}

function bucketsFor({ nodes }: Workspace, need: Need, { rules }: Guard): ReadonlyArray<NodeBucket> {
  const buckets = new Map<string, NodeBucket>();
  nodes.forEach((node, place) => {
    if (!meetsNeed(node, need)) return;
    const { labels } = node.capacity;
    const id = JSON.stringify(rules.keys.map((key) => labels[key] ?? null));
    const bucket = buckets.get(id) ?? { labels, places: [] };
    buckets.set(id, bucket);
    bucket.places.push(place);
  });
  return [...buckets.values()];
}

/** The place of the first that will do, if it is before `end`; else that or a later place. */
function firstIn({ nodes }: Workspace, places: Array<number>, { need, guard }: Applicant, end: number): number {
  let [kept, next] = [0, 0];
  for (; next < places.length; next++) {
    const place = places[next] ?? end;
    const node = nodes[place];
    if (place >= end) break;
    if (node === undefined || !hasRoom(node, need.shape)) continue;
    if (allowsHost(guard, node.capacity.labels[labelKey.hostname] ?? '')) break;
    places[kept++] = place;
  }
  if (next > kept) places.splice(kept, next - kept);
  return places[kept] ?? Infinity;
}
