import { isDisrupted } from '../../kubernetes/disrupted-taint.ts';
import { label } from '../../contract/names.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { podRequests } from '../../core/rules/pod-requests.ts';
import type { Node } from '../../kubernetes/manifest.ts';
import { parseAmounts } from '../../kubernetes/text/quantity.ts';
import { isTrue } from '../facts/conditions.ts';

/**
 * How many more pods of a shape a node can take. Infinite where that cannot be told yet, as of a node that has not
 * joined.
 */
export type RoomLeft = (node: string, shape: number) => number;

/**
 * The room on the nodes called `names`: what they have beside the pods that are there. None where they take no pods any
 * more, as they are leaving, or were in use and are not ready. What a node does not report yet is as it was planned.
 */
export function roomLeft(
  { nodes, pods, shapes }: Pick<Snapshot, 'nodes' | 'pods' | 'shapes'>,
  names: ReadonlySet<string>,
): RoomLeft {
  const known = new Map(
    nodes.filter(({ metadata }) => names.has(metadata.name)).map((one) => [one.metadata.name, one]),
  );
  const present = Map.groupBy(
    pods.filter(({ nodeName }) => nodeName !== null && known.has(nodeName)),
    ({ nodeName }) => nodeName,
  );
  const requestsOf = (shape: number): ReadonlyMap<string, number> =>
    podRequests(shapes[shape]?.spec ?? { containers: [] });
  return (name, shape) => {
    const node = known.get(name);
    if (node === undefined) return Infinity;
    if (isClosed(node)) return 0;
    const there = (present.get(name) ?? []).map((pod) => requestsOf(pod.shape));
    const counts = [...parseAmounts(node.status?.allocatable, 'down')].map(([resource, amount]) => {
      const wanted = requestsOf(shape).get(resource) ?? 0;
      const used = there.reduce((sum, requests) => sum + (requests.get(resource) ?? 0), 0);
      // Zero is what a device is until its driver runs.
      return wanted === 0 || amount === 0 ? Infinity : Math.max(0, Math.floor((amount - used) / wanted));
    });
    return Math.min(Infinity, ...counts);
  };
}

function isClosed(node: Node): boolean {
  const { metadata, status } = node;
  if (metadata.deletionTimestamp !== undefined || isDisrupted(node)) return true;
  return metadata.labels?.[label.initialized] === 'true' && !isTrue(status?.conditions, 'Ready');
}
