import type { TopologySpreadConstraint } from '../../../kubernetes/manifest.ts';
import type { PodShape } from '../../model/cluster.ts';
import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import type { PodConstraints } from '../../rules/pod-constraints.ts';
import { admits, type LabelRules } from '../../rules/label-rule.ts';
import { requiredAlternatives } from '../../rules/pod-rules.ts';
import { addExclusion, counterOf, counts, type Counter, type NodeFilter, type Topology } from './topology.ts';
import { spreadPods, termPods, type PodSet } from '../../rules/topology-terms.ts';

/** One spread constraint of a need. */
export interface SpreadTerm {
  readonly counter: Counter;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** 1 when the pod counts itself. */
  readonly self: 0 | 1;
  /**
   * Domains that can hold pods and that the pod's own rules on the key allow; empty for hostnames, whose least is 0.
   */
  readonly domains: ReadonlyArray<string>;
  /** The same for each of the pod's required terms by itself; all of them where a term says nothing of the key. */
  readonly byTerm: ReadonlyArray<ReadonlyArray<string>>;
}

/** Does some required term of the pod leave fewer domains than all its terms together? */
export function isNarrowedByTerm({ domains, byTerm }: SpreadTerm): boolean {
  return byTerm.some((own) => own.length < domains.length);
}

/** The topology rules of a need. */
export interface NeedTerms {
  readonly spread: ReadonlyArray<SpreadTerm>;
  /** Counters of the pods that all affinity terms select together, one per term. */
  readonly affinity: ReadonlyArray<Counter>;
  /** Does the pod itself meet all its affinity terms, so that it may be the first? */
  readonly affinityToSelf: boolean;
  readonly antiAffinity: ReadonlyArray<Counter>;
}

/**
 * Domains of a key that nodes have or can get, as far as the filter looks at them. `hard`: the spread over them must be
 * met.
 */
export type DomainSource = (key: string, filter: NodeFilter | null, hard: boolean) => ReadonlyArray<string>;

/** Makes the counters that the constraints of a shape take. */
export function toTerms(
  topology: Topology,
  shape: PodShape,
  index: number,
  { constraints, domains }: { readonly constraints: PodConstraints; readonly domains: DomainSource },
): NeedTerms {
  const affinity = constraints.affinity.map((term) => ({ key: term.topologyKey, pods: termPods(shape, term) }));
  const together = affinity.map(({ key, pods }) => counterOf(topology, key, allOf(affinity, pods), null));
  const own = affinity.map(({ key, pods }) => counterOf(topology, key, pods, null));
  return {
    spread: constraints.spread.map((constraint) => toSpread(topology, shape, index, { constraint, domains })),
    affinity: affinity.length > 1 ? together : own,
    affinityToSelf: own.every((counter) => counts(topology, counter, index)),
    antiAffinity: constraints.antiAffinity.map((term) =>
      counterOf(topology, term.topologyKey, termPods(shape, term), null),
    ),
  };
}

/** Notes the required anti-affinity of a shape, which keeps others away wherever its pods are. */
export function addExclusions(topology: Topology, shape: PodShape, index: number): void {
  const terms = shape.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const term of terms) addExclusion(topology, term.topologyKey, termPods(shape, term), index);
}

/**
 * kube-scheduler looks for pods that meet all affinity terms at once. The sets are joined by their selectors; where the
 * terms name different namespaces, each keeps its own.
 */
function allOf(terms: ReadonlyArray<{ readonly pods: PodSet }>, own: PodSet): PodSet {
  const sameNamespaces = terms.filter(
    ({ pods }) =>
      JSON.stringify([pods.namespaces, pods.namespaceSelector]) ===
      JSON.stringify([own.namespaces, own.namespaceSelector]),
  );
  return { ...own, selectors: sameNamespaces.flatMap(({ pods }) => pods.selectors) };
}

function toSpread(
  topology: Topology,
  shape: PodShape,
  index: number,
  { constraint, domains }: { readonly constraint: TopologySpreadConstraint; readonly domains: DomainSource },
): SpreadTerm {
  const key = normalizeKey(constraint.topologyKey);
  const alternatives = requiredAlternatives(shape.spec);
  const filter = filterOf(constraint, shape, alternatives);
  const counter = counterOf(topology, key, spreadPods(shape, constraint), filter);
  const hard = constraint.whenUnsatisfiable !== 'ScheduleAnyway';
  const all = key === labelKey.hostname ? [] : domains(key, filter, hard);
  const byTerm = alternatives.map((rules) => {
    const rule = rules.get(key);
    return rule === undefined ? all : all.filter((domain) => admits(rule, domain));
  });
  return {
    counter,
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains ?? 1,
    self: counts(topology, counter, index) ? 1 : 0,
    domains: all.filter((domain) => byTerm.some((own) => own.includes(domain))),
    byTerm,
  };
}

function filterOf(
  { nodeAffinityPolicy, nodeTaintsPolicy }: TopologySpreadConstraint,
  { spec }: PodShape,
  alternatives: ReadonlyArray<LabelRules>,
): NodeFilter | null {
  const trivial = alternatives.length === 1 && alternatives[0]?.size === 0;
  const byAffinity = (nodeAffinityPolicy ?? 'Honor') === 'Honor' && !trivial;
  const byTaints = nodeTaintsPolicy === 'Honor';
  if (!byAffinity && !byTaints) return null;
  return { alternatives: byAffinity ? alternatives : null, tolerations: byTaints ? (spec.tolerations ?? []) : null };
}
