import type { Rng } from '../../base/rng.ts';
import { withPods, type NodeInfo, type PodInfo } from './cluster-state.ts';
import { filterNode, toFilterContext, type FilterContext, type Verdict } from './node/filter-node.ts';
import type { Nominations } from './nominations.ts';
import type { NamespaceLabels } from './node/pod-affinity.ts';
import { pickNode } from './node/score-nodes.ts';
import { volumeNeeds, type StorageObjects } from './node/volume-needs.ts';

/** With fewer nodes than this all are judged; with more, a share: the default configuration's adaptive sample. */
const LEAST_SAMPLE = 100;
const LEAST_SAMPLE_PERCENT = 5;

/** What a pod is placed among. */
export interface PlacementView {
  readonly nodes: ReadonlyMap<string, NodeInfo>;
  readonly namespaces: NamespaceLabels;
  readonly storage: StorageObjects;
  readonly nominations: Nominations;
  readonly rng: Rng;
  /** Where the last search ended, so that all nodes get their turn. */
  readonly startAt: number;
}

/** Where a pod goes, or why it goes nowhere. */
export type Placement =
  | { readonly kind: 'placed'; readonly node: NodeInfo; readonly nextStart: number }
  | {
      readonly kind: 'unschedulable';
      /** By node name; empty when there are no nodes or the pod itself is the reason. */
      readonly verdicts: ReadonlyMap<string, Verdict>;
      readonly podReason: string | null;
      readonly context: FilterContext;
    };

/** Finds the node for a pod: the one it is nominated to if that can take it, else the best of those that can. */
export function placePod(pod: PodInfo, view: PlacementView): Placement {
  const volumes = volumeNeeds(pod.pod, view.storage);
  const nodes = [...view.nodes.values()].filter(({ node }) => node !== null);
  const context = toFilterContext(pod, nodes, view.namespaces, volumes);
  if (volumes.podReason !== null) {
    return { kind: 'unschedulable', verdicts: new Map(), podReason: volumes.podReason, context };
  }
  const nominated = view.nodes.get(pod.pod.status?.nominatedNodeName ?? '');
  if (nominated !== undefined && judge(pod, nominated, context, view.nominations).reasons.length === 0) {
    return { kind: 'placed', node: nominated, nextStart: view.startAt };
  }
  const verdicts = new Map<string, Verdict>();
  const feasible: Array<NodeInfo> = [];
  const wanted = sampleSize(nodes.length);
  for (let step = 0; step < nodes.length && feasible.length < wanted; step++) {
    const info = nodes[(view.startAt + step) % nodes.length];
    if (info === undefined) continue;
    const verdict = judge(pod, info, context, view.nominations);
    if (verdict.reasons.length === 0) feasible.push(info);
    else verdicts.set(info.name, verdict);
  }
  if (feasible.length === 0) return { kind: 'unschedulable', verdicts, podReason: null, context };
  const nextStart = (view.startAt + verdicts.size + feasible.length) % nodes.length;
  return { kind: 'placed', node: pickNode(pod, feasible, view), nextStart };
}

/** Judges a node with and without the pods that are meant for it: both must be fine, since they may never come. */
// Hot: an options object per node and pod would be made and dropped.
export function judge(pod: PodInfo, info: NodeInfo, context: FilterContext, nominations: Nominations): Verdict {
  const ahead = nominations.ahead(pod, info.name);
  if (ahead.length > 0) {
    const verdict = filterNode(pod, withPods(info, ahead), context);
    if (verdict.reasons.length > 0) return verdict;
  }
  return filterNode(pod, info, context);
}

function sampleSize(nodes: number): number {
  if (nodes < LEAST_SAMPLE) return nodes;
  const percent = Math.max(LEAST_SAMPLE_PERCENT, 50 - Math.floor(nodes / 125));
  return Math.max(LEAST_SAMPLE, Math.floor((nodes * percent) / 100));
}
