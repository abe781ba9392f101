import type { PodShape } from '../../../shared/core/model/cluster.ts';
import type { LabelSelector, PodAffinityTerm, PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { parseQuantity } from '../../../shared/kubernetes/text/quantity.ts';

export const ZONE = 'topology.kubernetes.io/zone';
export const HOST = 'kubernetes.io/hostname';

type Labels = Readonly<Record<string, string>>;

/** One rule about where other pods are, as far as the benchmarks use them: labels matched exactly, one namespace. */
export interface YardstickRule {
  readonly kind: 'spread' | 'affinity' | 'anti-affinity';
  readonly key: typeof ZONE | typeof HOST;
  readonly matches: Labels;
  readonly maxSkew: number;
}

/** A pod as first-fit-decreasing sees it. */
export interface YardstickPod {
  readonly cpuM: number;
  readonly memoryBytes: number;
  readonly labels: Labels;
  readonly rules: ReadonlyArray<YardstickRule>;
  /** Preferred anti-affinity, heaviest first; dropped first to last. */
  readonly preferred: ReadonlyArray<YardstickRule>;
  /** The preferred zone, dropped after the anti-affinity; null for none. */
  readonly preferredZone: string | null;
}

/** Reads a shape. Throws on rules that the yardstick does not know, so that it cannot compare unlike things. */
export function toYardstickPod({ labels, spec }: PodShape, policy: 'Respect' | 'Ignore'): YardstickPod {
  const requests = spec.containers.map(({ resources }) => resources?.requests ?? {});
  const total = (name: string, perUnit: number): number =>
    requests.reduce((sum, one) => sum + (parseQuantity(one[name] ?? 0, perUnit, 'up') ?? 0), 0);
  const respects = policy === 'Respect';
  return {
    cpuM: total('cpu', 1000),
    memoryBytes: total('memory', 1),
    labels,
    rules: requiredRules(spec),
    preferred: respects ? preferredRules(spec) : [],
    preferredZone: respects ? preferredZoneOf(spec) : null,
  };
}

function requiredRules({ affinity, topologySpreadConstraints = [] }: PodSpec): ReadonlyArray<YardstickRule> {
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  return [
    ...topologySpreadConstraints.map(({ topologyKey, labelSelector, maxSkew }) =>
      toRule('spread', topologyKey, labelSelector, maxSkew),
    ),
    ...(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(termRule('affinity')),
    ...(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(termRule('anti-affinity')),
  ];
}

function preferredRules({ affinity }: PodSpec): ReadonlyArray<YardstickRule> {
  const terms = affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return terms
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ podAffinityTerm }) => termRule('anti-affinity')(podAffinityTerm));
}

function preferredZoneOf({ affinity }: PodSpec): string | null {
  const [first, ...others] = affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  if (first === undefined) return null;
  const { key, values: [zone, ...more] = [] } = first.preference.matchExpressions?.[0] ?? { key: '' };
  if (zone === undefined || key !== ZONE || others.length + more.length > 0) {
    throw new Error('the yardstick knows one preferred zone only');
  }
  return zone;
}

function termRule(kind: YardstickRule['kind']): (term: PodAffinityTerm) => YardstickRule {
  return ({ topologyKey, labelSelector }) => toRule(kind, topologyKey, labelSelector, 0);
}

function toRule(
  kind: YardstickRule['kind'],
  key: string,
  selector: LabelSelector | undefined,
  maxSkew: number,
): YardstickRule {
  if ((key !== ZONE && key !== HOST) || selector?.matchLabels === undefined) {
    throw new Error(`the yardstick does not know the rule ${kind} by ${key}`);
  }
  return { kind, key, matches: selector.matchLabels, maxSkew };
}

/** Does the rule look at such pods? */
export function looksAt({ matches }: YardstickRule, labels: Labels): boolean {
  return Object.entries(matches).every(([name, value]) => labels[name] === value);
}
