import { DEFAULT_EVICTION_COST_MS } from '../../../shared/core/offerings/weighed-price.ts';
import { isShunned } from '../../../shared/core/offerings/shunned-sizes.ts';
import { oneOf, toRules } from '../../../shared/core/rules/label-rule.ts';
import type { InstanceType, Offering } from '../../../shared/core/model/catalog.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import type { NodePool, PodSpec, SelectorRequirement } from '../../../shared/kubernetes/manifest.ts';
import {
  amountOf,
  hostPortsOf,
  isMet,
  isTolerated,
  keyNow,
  mayBeOn,
  takenBy,
  wants,
  type NodeLabels,
  type Taken,
} from './own-reading.ts';

/**
 * One node that a pool could have: found by trying every offering of every size, with every choice of the labels left
 * open.
 */
export interface SingleNode {
  readonly type: InstanceType;
  readonly offering: Offering;
  /** Those left open included. */
  readonly labels: NodeLabels;
  /** What it counts as for choices, in micro-USD per hour. */
  readonly weighed: number;
  /** True for a size that price alone must not choose. */
  readonly isShunned: boolean;
}

/** Is such a node worth a look? Asked before anything else is worked out. */
type IsWorth = (type: InstanceType, offering: Offering, weighed: number) => boolean;

/** Every node of the pool on which all of the pods could be together; what they ask of each other is not looked at. */
export function* singleNodes(
  input: ProvisioningInput,
  pool: NodePool,
  specs: ReadonlyArray<PodSpec>,
  isWorth: IsWorth = () => true,
): Generator<SingleNode> {
  const types = input.catalog.get(pool.metadata.name) ?? [];
  const kinds = [...new Set(specs)];
  const taints = pool.spec.template.spec.taints ?? [];
  if (!kinds.every((spec) => isTolerated(taints, spec))) return;
  const daemons = input.cluster.daemonSets.map(({ spec }) => spec.template.spec);
  const admitted = daemons.filter((spec) => isTolerated(taints, spec));
  const costMs = input.evictionCostMs.get(pool.metadata.name) ?? DEFAULT_EVICTION_COST_MS;
  const choices = choicesOf(pool, types, kinds);
  const taken = takenBy(specs);
  for (const type of types) {
    if (!hasRoom(type, taken)) continue;
    for (const offering of type.offerings) {
      const weighed = weighedPrice(offering, costMs);
      if (!offering.available || !isWorth(type, offering, weighed)) continue;
      const labels = labelsFor(pool, { type, offering, choices }, kinds);
      if (labels === null) continue;
      const beside = admitted.filter((spec) => mayBeOn(spec, labels));
      if (sharePort(beside, kinds) || !hasRoom(type, takenBy([...specs, ...beside]))) continue;
      yield { type, offering, labels, weighed, isShunned: isShunnedIn(pool, type) };
    }
  }
}

/**
 * The price with what evictions cost: their chance within an hour, times what one costs in hours of the node; rounded
 * up.
 */
function weighedPrice({ price, evictionsPerHour = 0 }: Offering, costMs: number): number {
  const millionths = Math.ceil((Math.round(evictionsPerHour * 1e6) * costMs) / 3_600_000);
  return Number((BigInt(price) * BigInt(1_000_000 + millionths) + 999_999n) / 1_000_000n);
}

interface Candidate {
  readonly type: InstanceType;
  readonly offering: Offering;
  readonly choices: ReadonlyArray<Choice>;
}

/** Labels with which all of the pods may be on such a node; null where there are none. */
function labelsFor(
  pool: NodePool,
  { type, offering, choices }: Candidate,
  kinds: ReadonlyArray<PodSpec>,
): NodeLabels | null {
  const own = labelsOf(pool, type, offering);
  if (own === null) return null;
  for (const choice of choices) {
    const labels = new Map([...own, ...choice]);
    if (kinds.every((spec) => mayBeOn(spec, labels))) return labels;
  }
  return null;
}

function sharePort(daemons: ReadonlyArray<PodSpec>, pods: ReadonlyArray<PodSpec>): boolean {
  const taken = new Set(daemons.flatMap(hostPortsOf));
  return pods.flatMap(hostPortsOf).some((port) => taken.has(port));
}

/** Which sizes and pools that is true of is a table of the product's. */
export function isShunnedIn({ spec }: NodePool, { name, labels }: InstanceType): boolean {
  const rules = toRules(spec.template.spec.requirements);
  for (const [key, value] of Object.entries(spec.template.metadata?.labels ?? {})) rules.set(key, oneOf([value]));
  const ruleOf = (key: string) => (labels[key] === undefined ? undefined : oneOf(labels[key]));
  return isShunned(name, ruleOf, rules);
}

/** Less than a millionth of a millicore or a byte is how the sums were made. */
const ROUNDING = 1e-9;

function hasRoom({ capacity, overhead }: InstanceType, taken: Taken): boolean {
  return [...taken].every(([name, amount]) => {
    const has = amountOf(capacity[name] ?? 0) - amountOf(overhead[name] ?? 0);
    return amount <= has + ROUNDING * (1 + amount);
  });
}

/** The labels of such a node of the pool, those left open apart; null where it is none that the pool allows. */
export function labelsOf(pool: NodePool, type: InstanceType, offering: Offering): NodeLabels | null {
  const { metadata, spec } = pool.spec.template;
  const made = new Map<string, ReadonlyArray<string>>(Object.entries(type.labels));
  for (const [key, value] of Object.entries(offering.labels)) made.set(key, [value]);
  made.set('topology.kubernetes.io/zone', [offering.zone]);
  made.set('karpenter.sh/capacity-type', [offering.capacityType]);
  const labels = new Map(made);
  labels.set('karpenter.sh/nodepool', [pool.metadata.name]);
  labels.set('karpenter.azure.com/aksnodeclass', [spec.nodeClassRef.name]);
  for (const [key, value] of Object.entries(metadata?.labels ?? {})) {
    if (made.get(keyNow(key))?.includes(value) === false) return null;
    if (isOfSizes(key) && !made.has(key)) return null;
    labels.set(keyNow(key), [value]);
  }
  for (const requirement of spec.requirements) {
    const key = keyNow(requirement.key);
    if ((labels.has(key) || isOfSizes(key)) && !isMet(requirement, labels)) return null;
  }
  return labels;
}

/** A label that a node has because of its size, or has not. */
function isOfSizes(key: string): boolean {
  return /^(karpenter[.]azure[.]com[/]sku-|kubernetes[.]io[/](arch|os)$)/.test(key);
}

type Choice = ReadonlyArray<readonly [string, ReadonlyArray<string>]>;

/** Every choice of the labels that the pool speaks of and no size or offering has. */
function choicesOf(
  { spec: { template } }: NodePool,
  types: ReadonlyArray<InstanceType>,
  kinds: ReadonlyArray<PodSpec>,
): ReadonlyArray<Choice> {
  const [type] = types;
  const known = new Set([
    ...Object.keys(type?.labels ?? {}),
    ...Object.keys(type?.offerings[0]?.labels ?? {}),
    ...Object.keys(template.metadata?.labels ?? {}),
    'topology.kubernetes.io/zone',
    'karpenter.sh/capacity-type',
  ]);
  const { requirements } = template.spec;
  const open = new Set(requirements.map(({ key }) => keyNow(key)).filter((key) => !known.has(key) && !isOfSizes(key)));
  return [...open].reduce<ReadonlyArray<Choice>>(
    (choices, key) => {
      const about = requirements.filter((one) => keyNow(one.key) === key);
      const states = [undefined, ...valuesNamed(key, [...about, ...kinds.flatMap(expressionsOf)])];
      const allowed = states.filter((state) => about.every((one) => wants(one, state)));
      return choices.flatMap((choice) =>
        allowed.map((state): Choice => (state === undefined ? choice : [...choice, [key, [state]]])),
      );
    },
    [[]],
  );
}

/** What anybody names for the key, what is beside the bounds, and one that nobody names. */
function valuesNamed(key: string, expressions: ReadonlyArray<SelectorRequirement>): ReadonlyArray<string> {
  const named = expressions.filter((one) => keyNow(one.key) === key).flatMap(({ values = [] }) => values);
  const beside = named.flatMap((value) => (/^\d+$/.test(value) ? [Number(value) - 1, Number(value) + 1] : []));
  return [...new Set([...named, ...beside.filter((number) => number >= 0).map(String), 'unnamed'])];
}

function expressionsOf({ nodeSelector = {}, affinity }: PodSpec): ReadonlyArray<SelectorRequirement> {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return [
    ...Object.entries(nodeSelector).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
    ...terms.flatMap(({ matchExpressions = [] }) => matchExpressions),
  ];
}
