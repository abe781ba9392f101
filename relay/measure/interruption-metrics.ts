import { isDisrupted } from '../../shared/kubernetes/disrupted-taint.ts';
import {
  NO_DURATIONS,
  withDurations,
  type DurationHistogram,
} from '../../shared/contract/figures/duration-histogram.ts';
import { annotation } from '../../shared/contract/names.ts';
import type { SnapshotChange } from '../../shared/contract/snapshot/builder.ts';
import type { ReducedObject } from '../../shared/contract/snapshot/reduced/reduced.ts';
import { poolNameOf } from '../watch/cluster-index.ts';
import { renderHistograms } from './metric-family.ts';
import { createPodsByNode } from '../watch/pods-by-node.ts';
import { signalsOf } from '../hint/signals.ts';

type Node = ReducedObject<'nodes'>;
type NodeClaim = ReducedObject<'nodeclaims'>;

/** How long what follows a notice took, as the cluster sees it. Karpenter has no such metrics. */
export interface InterruptionMetrics {
  /** Call for every change, in order. */
  readonly observe: (change: SnapshotChange) => void;
  /** Prometheus text. */
  readonly render: () => string;
}

const histograms = {
  nodewright_interruption_marked_duration_seconds:
    'From the notice in a node’s conditions until the node takes no more pods, by notice and pool.',
  nodewright_interruption_pods_told_duration_seconds:
    'From the same until the last pod that needs another node is evicted, by notice and pool.',
  nodewright_interruption_replacement_launched_duration_seconds:
    'From when a notice was acted on until Azure has accepted a machine for its pods, by pool.',
  nodewright_interruption_replacement_ready_duration_seconds:
    'From the same until that machine is a node that can be used, by pool.',
} as const;

type Name = keyof typeof histograms;
type Labels = Readonly<Record<string, string>>;

/** A node with a notice, and what has not followed yet. */
interface Noticed {
  readonly sinceMs: number;
  readonly labels: Labels;
  isMarked: boolean;
}

interface InterruptionMetricsOptions {
  readonly isPublishing: () => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Makes them, with nothing counted. A notice that this relay has not seen come, since another led or it came by Event
 * Grid alone, is in the last two only.
 */
export function createInterruptionMetrics({ isPublishing, now }: InterruptionMetricsOptions): InterruptionMetrics {
  const byName = new Map<Name, Map<string, readonly [Labels, DurationHistogram]>>();
  const noticed = new Map<string, Noticed>();
  const movable = createPodsByNode((pod) => !pod.placedByOwner && !pod.deleting);

  function add(name: Name, labels: Labels, ms: number): void {
    const series = byName.get(name) ?? new Map<string, readonly [Labels, DurationHistogram]>();
    byName.set(name, series);
    const key = JSON.stringify(labels);
    series.set(key, [labels, withDurations(series.get(key)?.[1] ?? NO_DURATIONS, [Math.max(0, ms)])]);
  }

  function nodeChanged(key: string, before: Node | null, after: Node | null): void {
    if (after === null) {
      noticed.delete(key);
      return;
    }
    const [notice] = signalsOf(after);
    // What it had when it was listed is of a time before.
    if (notice !== undefined && before !== null && signalsOf(before).length === 0) {
      const labels = { notice: notice.event, nodepool: poolNameOf(after) ?? '' };
      noticed.set(key, { sinceMs: now(), labels, isMarked: isDisrupted(before) });
    }
    const known = noticed.get(key);
    if (known === undefined || known.isMarked || !isDisrupted(after)) return;
    known.isMarked = true;
    add('nodewright_interruption_marked_duration_seconds', known.labels, now() - known.sinceMs);
    told(key);
  }

  /** Once the node is marked no pod comes any more: those that are left are counted down. */
  function told(node: string): void {
    const known = noticed.get(node);
    if (known?.isMarked !== true || movable.on(node) > 0) return;
    noticed.delete(node);
    add('nodewright_interruption_pods_told_duration_seconds', known.labels, now() - known.sinceMs);
  }

  function claimChanged(before: NodeClaim | null, after: NodeClaim): void {
    const sinceMs = Date.parse(after.metadata.annotations?.[annotation.noticed] ?? '');
    if (Number.isNaN(sinceMs) || before === null) return;
    const labels = { nodepool: poolNameOf(after) ?? '' };
    const hasBecome = (type: string): boolean => is(after, type) && !is(before, type);
    if (hasBecome('Launched'))
      add('nodewright_interruption_replacement_launched_duration_seconds', labels, now() - sinceMs);
    if (hasBecome('Initialized'))
      add('nodewright_interruption_replacement_ready_duration_seconds', labels, now() - sinceMs);
  }

  return {
    observe(change) {
      if (change.kind === 'pod') {
        movable.apply(change);
        if (isPublishing()) for (const node of nodesOf(change)) told(node);
        return;
      }
      if (change.kind !== 'object' || !isPublishing()) return;
      if (change.resource === 'nodes') nodeChanged(change.key, change.before, change.after);
      if (change.resource === 'nodeclaims' && change.after !== null) claimChanged(change.before, change.after);
    },
    render() {
      if (!isPublishing()) return '';
      return [...byName]
        .map(([name, series]) => renderHistograms(name, histograms[name], [...series.values()]))
        .join('');
    },
  };
}

function is({ status }: NodeClaim, type: string): boolean {
  return status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
}

function nodesOf({ before, after }: Extract<SnapshotChange, { kind: 'pod' }>): ReadonlyArray<string> {
  return [...new Set([before?.nodeName, after?.nodeName])].filter((name) => typeof name === 'string');
}
