import type { Verdict } from './node/filter-node.ts';

/** What is told when the cluster has no nodes at all. */
export const noNodesMessage = 'no nodes available to schedule pods';

/** `0/3 nodes are available: 1 Insufficient cpu, 2 …`, letter for letter as kube-scheduler 1.36 writes it. */
export function renderUnschedulable(nodes: number, reasons: Iterable<string>, podReason: string | null): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const listed = [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .toSorted(byBytes)
    .join(', ');
  const why = podReason ?? listed;
  return `0/${nodes} nodes are available:${why === '' ? '' : ` ${why}.`}`;
}

/** What is known of a failed attempt. */
export interface Failure {
  readonly nodes: number;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** Why no node can do, or null. */
  readonly podReason: string | null;
  /** What came of preemption, empty for nothing to say. */
  readonly preemption: string;
}

/** The whole message of a pod that found no node: what nodes said, then what came of preemption. */
export function renderFailure({ nodes, verdicts, podReason, preemption }: Failure): string {
  const reasons = [...verdicts.values()].flatMap((verdict) => [...verdict.reasons]);
  const message = renderUnschedulable(nodes, reasons, podReason);
  // The first words are those of the plugin for resource claims, which comes before preemption.
  return preemption === '' ? message : `${message} no new claims to deallocate, preemption: ${preemption}`;
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
