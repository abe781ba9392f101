import type { Pod } from '../../model/cluster.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import type { Workspace } from './workspace.ts';

/** CPU, then memory, then age, as in Karpenter; the uid makes the order total. */
export function largestFirst({ shapes }: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  return bySize(shapes, pods, -1);
}

/** By size the other way round; of equals the oldest is first here too. */
export function smallestFirst({ shapes }: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  return bySize(shapes, pods, 1);
}

function bySize(shapes: Workspace['shapes'], pods: ReadonlyArray<Pod>, sign: 1 | -1): ReadonlyArray<Pod> {
  const sized = pods.map((pod) => {
    const [cpu = 0, memory = 0] = shapes.get(pod.shape)?.requests ?? [];
    return { pod, cpu: sign * cpu, memory: sign * memory };
  });
  const sorted = sized.toSorted(
    (a, b) =>
      a.cpu - b.cpu || a.memory - b.memory || a.pod.createdAtMs - b.pod.createdAtMs || byCodeUnit(a.pod.uid, b.pod.uid),
  );
  return sorted.map(({ pod }) => pod);
}
