import type {
  Affinity,
  NodeSelectorTerm,
  PodAffinityTerm,
  PodSpec,
  TopologySpreadConstraint,
} from '../../kubernetes/manifest.ts';
import type { LabelRules } from './label-rule.ts';
import { hasExpressions, requiredAlternatives, withTerm } from './pod-rules.ts';
import type { SchedulingPolicy } from '../model/provisioning-input.ts';

/** What a pod requires at one level of relaxation: everything in here must hold. */
export interface PodConstraints {
  readonly alternatives: ReadonlyArray<LabelRules>;
  readonly spread: ReadonlyArray<TopologySpreadConstraint>;
  readonly affinity: ReadonlyArray<PodAffinityTerm>;
  readonly antiAffinity: ReadonlyArray<PodAffinityTerm>;
  /** True: taints with PreferNoSchedule keep the pod off too. */
  readonly avoidsSoftTaints: boolean;
}

/** Preferences not dropped yet, heaviest first. */
interface Preferences {
  readonly affinity: ReadonlyArray<PodAffinityTerm>;
  readonly antiAffinity: ReadonlyArray<PodAffinityTerm>;
  readonly node: ReadonlyArray<NodeSelectorTerm>;
  readonly spread: ReadonlyArray<TopologySpreadConstraint>;
  readonly avoidsSoftTaints: boolean;
}

/** Karpenter copies a pod at each step, too; a pod with more preferences loses the lightest at once. */
const MAX_LEVELS = 40;

/**
 * The levels to try, all preferences first and none last, in Karpenter's order of dropping: pod affinity, pod
 * anti-affinity, node affinity (each heaviest first), ScheduleAnyway, soft taints. Required terms are alternatives at
 * every level instead of being dropped in turn.
 */
export function constraintLevels(
  spec: PodSpec,
  policy: SchedulingPolicy,
  softTaints: boolean,
): ReadonlyArray<PodConstraints> {
  let left: Preferences | null = preferencesOf(spec, policy, softTaints);
  const levels: Array<PodConstraints> = [];
  const required = requiredAlternatives(spec);
  while (left !== null && levels.length < MAX_LEVELS) {
    levels.push(toConstraints(spec, required, left));
    left = relaxed(left);
  }
  if (left !== null) levels.push(toConstraints(spec, required, NO_PREFERENCES));
  return levels;
}

const NO_PREFERENCES: Preferences = { affinity: [], antiAffinity: [], node: [], spread: [], avoidsSoftTaints: false };

function toConstraints(spec: PodSpec, required: ReadonlyArray<LabelRules>, preferences: Preferences): PodConstraints {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const preferred = preferences.node[0];
  return {
    alternatives: preferred === undefined ? required : required.map((rules) => withTerm(rules, preferred)),
    spread: [
      ...(spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable !== ANYWAY),
      ...preferences.spread,
    ],
    affinity: [...(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []), ...preferences.affinity],
    antiAffinity: [
      ...(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...preferences.antiAffinity,
    ],
    avoidsSoftTaints: preferences.avoidsSoftTaints,
  };
}

const ANYWAY = 'ScheduleAnyway';

function preferencesOf(spec: PodSpec, policy: SchedulingPolicy, avoidsSoftTaints: boolean): Preferences {
  if (policy.preferencePolicy === 'Ignore') return { ...NO_PREFERENCES, avoidsSoftTaints };
  const { nodeAffinity, podAffinity, podAntiAffinity }: Affinity = spec.affinity ?? {};
  const node = heaviestFirst(nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
  return {
    affinity: heaviestFirst(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution).map(
      ({ podAffinityTerm }) => podAffinityTerm,
    ),
    antiAffinity: heaviestFirst(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution).map(
      ({ podAffinityTerm }) => podAffinityTerm,
    ),
    node: node.map(({ preference }) => preference).filter(hasExpressions),
    spread: (spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === ANYWAY),
    avoidsSoftTaints,
  };
}

function heaviestFirst<T extends { readonly weight: number }>(terms: ReadonlyArray<T> | undefined): ReadonlyArray<T> {
  return (terms ?? []).toSorted((a, b) => b.weight - a.weight);
}

/** One preference fewer; null when there is none left. */
function relaxed(left: Preferences): Preferences | null {
  if (left.affinity.length > 0) return { ...left, affinity: left.affinity.slice(1) };
  if (left.antiAffinity.length > 0) return { ...left, antiAffinity: left.antiAffinity.slice(1) };
  if (left.node.length > 0) return { ...left, node: left.node.slice(1) };
  if (left.spread.length > 0) return { ...left, spread: left.spread.slice(1) };
  return left.avoidsSoftTaints ? { ...left, avoidsSoftTaints: false } : null;
}
