import type { PodState } from '../../shared/contract/snapshot/pod-table.ts';

/** How many pods each node has. One number per node. */
export interface PodsByNode {
  readonly apply: (change: { readonly before: PodState | null; readonly after: PodState | null }) => void;
  readonly on: (node: string) => number;
}

/** Makes one that knows of no pod. It counts those that `counts` returns true for. */
export function createPodsByNode(counts: (pod: PodState) => boolean): PodsByNode {
  const byNode = new Map<string, number>();
  const add = (pod: PodState | null, by: 1 | -1): void => {
    if (pod === null || pod.nodeName === null || !counts(pod)) return;
    const count = (byNode.get(pod.nodeName) ?? 0) + by;
    if (count > 0) byNode.set(pod.nodeName, count);
    else byNode.delete(pod.nodeName);
  };
  return {
    apply({ before, after }) {
      add(before, -1);
      add(after, 1);
    },
    on: (node) => byNode.get(node) ?? 0,
  };
}
