import { isTypeLevelKey, labelKey, normalizeKey, REGIONAL_ZONE } from '../../../kubernetes/labels.ts';
import type { NodePool, PodSpec, SelectorRequirement } from '../../../kubernetes/manifest.ts';
import { placeOf, type AuditedInput } from '../seen/audited-sizes.ts';
import { blockingTaint, meets, type PossibleLabels } from '../seen/matching.ts';
import type { OfferedDomains } from './spread-views.ts';

/**
 * Domains of a key that pools can offer now. "No zone" is one only where no pool offers zones: else kube-scheduler
 * counts it when such a machine is there, and what there is, or the plan makes, counts besides.
 */
export function offeredDomains(input: AuditedInput): OfferedDomains {
  const offered = new Map<NodePool, ReadonlyArray<OfferedKind>>();
  const kindsOf = (pool: NodePool): ReadonlyArray<OfferedKind> => {
    const kinds = offered.get(pool) ?? offeredKinds(input, pool);
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    offered.set(pool, kinds);
    return kinds;
  };
  const known = new Map<string, ReadonlyArray<string>>();
  return (key, { spec }, honored) => {
    const rules = honored.nodeRules ? [spec.nodeSelector, spec.affinity?.nodeAffinity] : [];
    const id = JSON.stringify([key, honored, rules, honored.taints ? spec.tolerations : []]);
    const lookedAt = (pool: NodePool): ReadonlyArray<OfferedKind> => {
      const taints = honored.taints ? (pool.spec.template.spec.taints ?? []) : [];
      if (blockingTaint(taints, spec.tolerations) !== null) return [];
      return kindsOf(pool).filter((kind) => !honored.nodeRules || mayMeet(kind, spec));
    };
    const found = known.get(id) ?? domainsAmong(input.cluster.nodePools, key, lookedAt);
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    known.set(id, found);
    return found;
  };
}

function domainsAmong(
  pools: ReadonlyArray<NodePool>,
  key: string,
  kindsOf: (pool: NodePool) => ReadonlyArray<OfferedKind>,
): ReadonlyArray<string> {
  const kinds = pools.flatMap(kindsOf);
  const all = new Set(kinds.flatMap(({ labels, chosen }) => labels.get(key) ?? chosen.get(key)?.listed ?? []));
  if (key === labelKey.zone && all.size > 1) all.delete(REGIONAL_ZONE);
  return [...all];
}

/** A node that a pool could have. */
interface OfferedKind {
  readonly labels: PossibleLabels;
  /** By key: what the pool says of a label that it leaves to its pods. */
  readonly chosen: ReadonlyMap<string, ChosenLabel>;
}

interface ChosenLabel {
  /** The values that the pool lists; none where it lists none. */
  readonly listed: ReadonlyArray<string>;
  readonly mayBe: (value: string) => boolean;
}

function offeredKinds(input: AuditedInput, pool: NodePool): ReadonlyArray<OfferedKind> {
  if (pool.metadata.deletionTimestamp !== undefined || pool.spec.replicas !== undefined) return [];
  const { requirements } = pool.spec.template.spec;
  const kinds: Array<OfferedKind> = [];
  for (const type of input.catalog.get(pool.metadata.name) ?? []) {
    for (const offering of type.offerings.filter(({ available }) => available)) {
      const { labels, contradictsTemplate } = input.sizes.nodeOf(pool, placeOf(type.name, offering));
      if (contradictsTemplate) continue;
      // Of a label that the size decides a node has what the size says, or none; any other is the pool's own to give.
      const isDecided = (key: string): boolean => labels.has(key) || isTypeLevelKey(key);
      const decided = requirements.filter(({ key }) => isDecided(normalizeKey(key)));
      if (!decided.every((requirement) => meets(labels, requirement))) continue;
      const open = new Set(requirements.map(({ key }) => normalizeKey(key)).filter((key) => !isDecided(key)));
      kinds.push({ labels, chosen: new Map([...open].map((key) => [key, chosenLabel(key, requirements)])) });
    }
  }
  return kinds;
}

/** The values among which the pods of a pool choose. */
function chosenLabel(key: string, requirements: ReadonlyArray<SelectorRequirement>): ChosenLabel {
  const about = requirements.filter((one) => normalizeKey(one.key) === key);
  const mayBe = (value: string): boolean => about.every((one) => meets(new Map([[key, [value]]]), one));
  return {
    listed: about.flatMap(({ operator, values = [] }) => (operator === 'In' ? values : [])).filter(mayBe),
    mayBe,
  };
}

/**
 * Could such a node meet the pod's node selector and required node affinity? Labels without listed values may be
 * anything that the pool does not rule out.
 */
function mayMeet({ labels, chosen }: OfferedKind, spec: PodSpec): boolean {
  const may = (expression: SelectorRequirement): boolean => {
    const { key, operator, values = [] } = expression;
    const label = chosen.get(normalizeKey(key));
    if (label === undefined) return meets(labels, expression);
    if (label.listed.length > 0) return meets(new Map([[normalizeKey(key), label.listed]]), expression);
    return operator !== 'In' || values.some(label.mayBe);
  };
  const selector = Object.entries(spec.nodeSelector ?? {});
  if (!selector.every(([key, value]) => may({ key, operator: 'In', values: [value] }))) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  return required.nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    // A node that is not there yet has a name that nobody can ask for.
    const named = matchFields.every((one) => meets(new Map([['metadata.name', ['']]]), one));
    return named && matchExpressions.every(may);
  });
}
