import type { Rng } from '../../../base/rng.ts';
import { matchesTerm, untolerated } from '../../matching.ts';
import type { Amounts } from '../../quantity.ts';
import type { NodeInfo, PodInfo } from '../cluster-state.ts';
import { scoreAffinity, type NamespaceLabels } from './pod-affinity.ts';
import { scoreSpread } from './topology-spread.ts';

const MAX_SCORE = 100;

/** Weights of the default profile. Image locality is left out: nodes here hold no images. */
const WEIGHT = { taints: 3, nodeAffinity: 2, spread: 2, podAffinity: 2, leastAllocated: 1, balance: 1 } as const;

/**
 * Picks among nodes that passed the filters as the default profile does: by weighted scores, each plugin's normalized
 * to 0 … 100, and by draw among the best. The list must not be empty.
 */
export function pickNode(
  pod: PodInfo,
  candidates: ReadonlyArray<NodeInfo>,
  cluster: { readonly nodes: ReadonlyMap<string, NodeInfo>; readonly namespaces: NamespaceLabels; readonly rng: Rng },
): NodeInfo {
  const [only] = candidates;
  if (only === undefined) throw new Error('candidates: is empty; pick only among nodes that passed the filters');
  if (candidates.length === 1) return only;
  const all = [...cluster.nodes.values()];
  const taints = scaledDown(candidates, (info) => preferredAgainst(pod, info));
  const nodeAffinity = scaledUp(candidates, (info) => preferredFor(pod, info));
  const crowd = scoreSpread(pod, candidates, all);
  const spread = spreadScores(candidates, crowd);
  const near = scoreAffinity(pod, candidates, all, cluster.namespaces);
  const podAffinity = rangeScores(candidates, near);
  let best: Array<NodeInfo> = [];
  let bestScore = Number.NEGATIVE_INFINITY;
  for (const [index, info] of candidates.entries()) {
    const score =
      WEIGHT.taints * (taints[index] ?? 0) +
      WEIGHT.nodeAffinity * (nodeAffinity[index] ?? 0) +
      WEIGHT.spread * (spread[index] ?? 0) +
      WEIGHT.podAffinity * (podAffinity[index] ?? 0) +
      WEIGHT.leastAllocated * leastAllocated(pod, info) +
      WEIGHT.balance * balance(pod, info);
    if (score > bestScore) best = [];
    if (score >= bestScore) best.push(info);
    bestScore = Math.max(bestScore, score);
  }
  return best[cluster.rng.below(best.length)] ?? only;
}

/** Room left for CPU and memory, in percent, averaged. */
function leastAllocated(pod: PodInfo, info: NodeInfo): number {
  const left = (requested: number, allocatable: number): number =>
    allocatable === 0 || requested > allocatable
      ? 0
      : Math.floor(((allocatable - requested) * MAX_SCORE) / allocatable);
  const cpu = left(info.scoredCpu + pod.scoredCpu, info.allocatable['cpu'] ?? 0);
  const memory = left(info.scoredMemory + pod.scoredMemory, info.allocatable['memory'] ?? 0);
  return Math.floor((cpu + memory) / 2);
}

/** How much more evenly CPU and memory are used with the pod than without; nothing for a pod that requests nothing. */
function balance(pod: PodInfo, info: NodeInfo): number {
  if ((pod.requests['cpu'] ?? 0) === 0 && (pod.requests['memory'] ?? 0) === 0) return 0;
  const half = MAX_SCORE / 2;
  return half + Math.trunc((half + evenness(info, pod.requests) - evenness(info, {})) / 2);
}

function evenness(info: NodeInfo, more: Amounts): number {
  const used = (resource: string): number => {
    const requested = (info.requested[resource] ?? 0) + (more[resource] ?? 0);
    return Math.min(1, requested / (info.allocatable[resource] ?? 0) || 0);
  };
  return Math.floor((1 - Math.abs(used('cpu') - used('memory')) / 2) * MAX_SCORE);
}

function preferredAgainst({ pod }: PodInfo, { node }: NodeInfo): number {
  const soft = (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'PreferNoSchedule');
  return soft.filter((taint) => untolerated(pod.spec.tolerations, [taint], ['PreferNoSchedule']) !== undefined).length;
}

function preferredFor({ pod }: PodInfo, { node }: NodeInfo): number {
  const preferred = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  let weight = 0;
  for (const term of preferred) if (node !== null && matchesTerm(term.preference, node)) weight += term.weight;
  return weight;
}

type Scores = ReadonlyArray<number>;

function scaledUp(candidates: ReadonlyArray<NodeInfo>, score: (info: NodeInfo) => number): Scores {
  const raw = candidates.map(score);
  const most = Math.max(...raw);
  return raw.map((value) => (most === 0 ? 0 : Math.floor((value * MAX_SCORE) / most)));
}

function scaledDown(candidates: ReadonlyArray<NodeInfo>, score: (info: NodeInfo) => number): Scores {
  return scaledUp(candidates, score).map((value) => MAX_SCORE - value);
}

function spreadScores(candidates: ReadonlyArray<NodeInfo>, crowd: ReadonlyMap<string, number>): Scores {
  if (crowd.size === 0) return candidates.map(() => 0);
  const most = Math.max(...crowd.values());
  const least = Math.min(...crowd.values());
  return candidates.map(({ name }) => {
    const raw = crowd.get(name);
    // A node without the domain is the last choice.
    if (raw === undefined) return 0;
    return most === 0 ? MAX_SCORE : Math.floor((MAX_SCORE * (most + least - raw)) / most);
  });
}

function rangeScores(candidates: ReadonlyArray<NodeInfo>, near: ReadonlyMap<string, number>): Scores {
  const values = candidates.map(({ name }) => near.get(name) ?? 0);
  const least = Math.min(...values);
  const range = Math.max(...values) - least;
  return values.map((value) => (range === 0 ? 0 : Math.floor((MAX_SCORE * (value - least)) / range)));
}
