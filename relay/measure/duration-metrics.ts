import {
  NO_DURATIONS,
  withDurations,
  type DurationHistogram,
} from '../../shared/contract/figures/duration-histogram.ts';
import { label } from '../../shared/contract/names.ts';
import type { SnapshotChange } from '../../shared/contract/snapshot/builder.ts';
import type { ReducedObject } from '../../shared/contract/snapshot/reduced/reduced.ts';
import { poolNameOf } from '../watch/cluster-index.ts';
import { renderHistograms } from './metric-family.ts';
import { createSummary } from './summary.ts';

/** How long nodes and claims lived and took to go, under Karpenter's names (karpenter-core.md §5.4). */
export interface DurationMetrics {
  /** Counts what is gone. Call for every change, in order. */
  readonly observe: (change: SnapshotChange) => void;
  /** Prometheus text. */
  readonly render: () => string;
}

const histograms = {
  karpenter_nodeclaims_termination_duration_seconds: 'From the deletion of a NodeClaim until it is gone, by pool.',
  karpenter_nodeclaims_instance_termination_duration_seconds:
    'From the deletion of its machine until it is gone, by pool.',
  karpenter_nodes_lifetime_duration_seconds: 'From the creation of a node until it is gone, by pool.',
} as const;

type Name = keyof typeof histograms;

const ofNodes = 'karpenter_nodes_termination_duration_seconds';

interface DurationMetricsOptions {
  readonly isPublishing: () => boolean;
  /** Milliseconds since the epoch. What is gone is so since it is seen to be. */
  readonly now: () => number;
}

/** Makes them, with nothing counted. */
export function createDurationMetrics({ isPublishing, now }: DurationMetricsOptions): DurationMetrics {
  const byName = new Map<Name, Map<string, DurationHistogram>>();
  const terminations = createSummary(ofNodes, 'From the deletion of a node until it is gone, by pool.', now);

  function add(name: Name, nodepool: string, since: string | undefined): void {
    const sinceMs = Date.parse(since ?? '');
    if (Number.isNaN(sinceMs)) return;
    const byPool = byName.get(name) ?? new Map<string, DurationHistogram>();
    byName.set(name, byPool);
    byPool.set(nodepool, withDurations(byPool.get(nodepool) ?? NO_DURATIONS, [now() - sinceMs]));
  }

  function claimIsGone({ metadata, status }: ReducedObject<'nodeclaims'>, nodepool: string): void {
    const ending = status?.conditions?.find(({ type }) => type === 'InstanceTerminating');
    add('karpenter_nodeclaims_termination_duration_seconds', nodepool, metadata.deletionTimestamp);
    add('karpenter_nodeclaims_instance_termination_duration_seconds', nodepool, ending?.lastTransitionTime);
  }

  function nodeIsGone({ metadata }: ReducedObject<'nodes'>, nodepool: string): void {
    if (metadata.labels?.[label.registered] !== 'true') return;
    add('karpenter_nodes_lifetime_duration_seconds', nodepool, metadata.creationTimestamp);
    const deletedMs = Date.parse(metadata.deletionTimestamp ?? '');
    if (!Number.isNaN(deletedMs)) terminations.add(nodepool, now() - deletedMs);
  }

  return {
    observe(change) {
      if (change.kind !== 'object' || !isPublishing()) return;
      if (change.after !== null || change.before === null) return;
      const nodepool = poolNameOf(change.before) ?? '';
      if (change.resource === 'nodeclaims') claimIsGone(change.before, nodepool);
      if (change.resource === 'nodes') nodeIsGone(change.before, nodepool);
    },
    render() {
      if (!isPublishing()) return '';
      const shown = [...byName].map(([name, byPool]) =>
        renderHistograms(
          name,
          histograms[name],
          [...byPool].map(([nodepool, histogram]) => [{ nodepool }, histogram] as const),
        ),
      );
      return [...shown, terminations.render()].join('');
    },
  };
}
