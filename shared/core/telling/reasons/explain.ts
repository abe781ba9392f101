import type { NodePool, SelectorRequirement } from '../../../kubernetes/manifest.ts';
import type { Edit, Remedy } from '../../model/remedy.ts';
import type { PoolReason, LeftReason, TopologyRule } from '../../model/left-reason.ts';
import { renderAmount, type Amounts } from '../../../kubernetes/text/quantity.ts';
import { renderForPeople } from '../../quantity/render-for-people.ts';
import { at } from '../../quantity/at.ts';
import { allowedBy, capacityOf, isNone, listedIn, offeringsMeeting } from '../../offerings/compile-pool.ts';
import type { NeedTerms } from '../../placing/state/need-terms.ts';
import type { Need, CompiledShape, PoolOption } from '../../placing/state/compile-shape.ts';
import { contradictionOfPod, contradictionOfPool, saidBy } from './contradiction.ts';
import { deviceReason } from './device-reason.ts';
import { labelMeant } from './label-hint.ts';
import { conditionsOfPool } from '../remedies/conditions.ts';
import type { Condition } from '../remedies/condition.ts';
import { conflictsAmong } from '../remedies/conflicts.ts';
import type { PoolFacts } from '../remedies/facts-of-pool.ts';
import { explainConflict, type Explanation } from '../remedies/explain-conflict.ts';
import { byCodeUnit, overlaps, toExpressions, type LabelRule, type LabelRules } from '../../rules/label-rule.ts';
import { emptyClaim } from '../../placing/state/open-claim.ts';
import { joiningOf } from '../../placing/state/joining.ts';
import { guardFor } from '../../placing/one-by-one/place.ts';
import { amountOf, overLimits, poolObstacle, type PoolState } from '../../offerings/pool-state.ts';
import { untolerated } from '../../rules/taints.ts';
import type { Counter } from '../../placing/state/topology.ts';
import { optionsFor, type Workspace } from '../../placing/state/workspace.ts';

/** For a pod that was left: per NodePool the first rule that ruled it out. */
export function explainLeft(
  workspace: Workspace,
  shape: CompiledShape,
  factsOf: (state: PoolState) => PoolFacts,
): ReadonlyArray<LeftReason> {
  const devices = deviceReason(workspace, shape);
  if (devices !== null) return [devices];
  if (shape.volumes.kind === 'problem') return [shape.volumes.reason];
  const wanted = contradictionOfPod(shape.shape.spec);
  if (wanted !== null) return [{ kind: 'contradiction', nodePool: null, wanted }];
  const { cluster, foreignPools } = workspace.input;
  const reasons = [
    ...cluster.nodePools.map((pool) => reasonFrom(pool, shape, workspace, factsOf)),
    ...foreignPools.map(foreignReason),
  ];
  if (reasons.length === 0) return [{ kind: 'no-node-pool', nodePool: null }];
  // That a pool is static says least: it never was for pods that wait.
  return reasons.toSorted((a, b) => Number(isStatic(a)) - Number(isStatic(b)) || byCodeUnit(a.nodePool, b.nodePool));
}

function isStatic(reason: PoolReason): boolean {
  return reason.kind === 'pool-not-usable' && reason.why.kind === 'static';
}

function reasonFrom(
  manifest: NodePool,
  shape: CompiledShape,
  workspace: Workspace,
  factsOf: (state: PoolState) => PoolFacts,
): PoolReason {
  const nodePool = manifest.metadata.name;
  const why = poolObstacle(manifest, workspace.input);
  if (why !== null) return { kind: 'pool-not-usable', nodePool, why };
  const state = workspace.pools.find(({ pool }) => pool.name === nodePool);
  if (state !== undefined) return reasonOf(factsOf(state), shape, workspace);
  return { kind: 'no-instance-type', nodePool, conflicts: [], available: 'none', remedies: [] };
}

function foreignReason({ metadata, spec }: NodePool): PoolReason {
  const { group, kind } = spec.template.spec.nodeClassRef;
  return { kind: 'pool-not-usable', nodePool: metadata.name, why: { kind: 'foreign-class', classKind: kind, group } };
}

function reasonOf(facts: PoolFacts, shape: CompiledShape, workspace: Workspace): PoolReason {
  const { state } = facts;
  const nodePool = state.pool.name;
  const taint = untolerated(shape.tolerations, state.pool.taints, false);
  if (taint !== null) return { kind: 'taint', nodePool, taint, remedies: [tolerationsFor(state, shape)] };
  const need = workspace.needs.get(shape.index)?.at(-1);
  const alternatives = need?.constraints.alternatives ?? [];
  const explained = (): Explanation => explainConflict(facts, shape, alternatives[0] ?? new Map());
  if (state.pool.order.length === 0) return emptyPoolReason(facts, explained);
  const unmet = unmetRequirement(state, alternatives, explained);
  if (unmet !== null) return unmet;
  const options = need === undefined ? [] : optionsFor(workspace, state, need);
  if (need === undefined || options.length === 0) return sizeReason(facts, shape, workspace, explained().remedies);
  return limitReason(state, options) ?? ruleReason(workspace, state, need);
}

/** Tolerations of all taints of the pool that keep the pod off. */
function tolerationsFor({ pool: { taints } }: PoolState, { tolerations }: CompiledShape): Remedy {
  const keeping = taints.filter((taint) => untolerated(tolerations, [taint], false) !== null);
  return keeping.map(({ key, value, effect }) => ({
    object: 'Pod',
    field: 'spec.tolerations',
    key: null,
    value: value === undefined || value === '' ? { key, operator: 'Exists', effect } : { key, value, effect },
  }));
}

function emptyPoolReason(facts: PoolFacts, explained: () => Explanation): PoolReason {
  const { state } = facts;
  const { name: nodePool, manifest, catalog } = state.pool;
  const wanted = contradictionOfPool(manifest);
  if (wanted !== null) {
    return { kind: 'pool-contradiction', nodePool, wanted, remedies: withoutContradiction(manifest, wanted) };
  }
  const conditions = conditionsOfPool(facts);
  const { remedies } = explained();
  if (isNone(conditions.base))
    return { kind: 'no-instance-type', nodePool, conflicts: [], available: 'none', remedies };
  const conflicts = conflictsAmong(conditions).map((conflict) => conflict.flatMap((one) => saidOf(manifest, one)));
  const available = isNone(allowedBy(state.pool.rules, catalog, listedIn(catalog))) ? 'some' : 'others';
  return { kind: 'no-instance-type', nodePool, conflicts, available, remedies };
}

/** What the pool says of the label of a condition of its own. */
function saidOf(manifest: NodePool, condition: Condition): ReadonlyArray<SelectorRequirement> {
  return condition.of === 'pool' ? saidBy(manifest, condition.key) : [];
}

/** The pool without one of its requirements that contradict each other, the last of them first. */
function withoutContradiction(manifest: NodePool, wanted: ReadonlyArray<SelectorRequirement>): ReadonlyArray<Remedy> {
  const own = manifest.spec.template.spec.requirements.filter(({ key }) => wanted.some((one) => one.key === key));
  const isSame = (a: SelectorRequirement, b: SelectorRequirement): boolean =>
    a.operator === b.operator && JSON.stringify(a.values ?? []) === JSON.stringify(b.values ?? []);
  return wanted.toReversed().flatMap((one) => {
    const value = own.filter((each) => !isSame(each, one));
    if (value.length === own.length) return [];
    const [key] = value.length === 0 ? [one.key] : [value[0]?.key ?? one.key];
    return [[{ object: 'NodePool', field: 'spec.template.spec.requirements', key, value }]];
  });
}

/** Where no size that holds the pod is within the limits: what the first of them, by price, takes too much of. */
function limitReason({ pool, remaining }: PoolState, options: ReadonlyArray<PoolOption>): PoolReason | null {
  const { name: nodePool } = pool;
  let first: PoolReason | null = null;
  const toRaise = (capacity: Amounts): Remedy =>
    [...remaining].flatMap(([resource, left]) => {
      const missing = amountOf(capacity, resource) - left;
      if (missing <= 0 || amountOf(capacity, resource) === 0) return [];
      const enough = renderAmount(resource, (pool.limits.get(resource) ?? 0) + missing);
      const value = renderForPeople(resource, enough, 'up');
      return [{ object: 'NodePool', field: 'spec.limits', key: resource, value }];
    });
  for (const type of pool.order) {
    if (options.every(({ offered }) => at(offered, type) === 0)) continue;
    const over = overLimits(remaining, capacityOf(pool, type), null);
    if (over === null) return null;
    const { resource, more, left } = over;
    first ??= {
      kind: 'limit',
      nodePool,
      resource,
      wanted: renderAmount(resource, more),
      left: renderAmount(resource, left),
      remedies: [toRaise(capacityOf(pool, type))],
    };
  }
  return first;
}

const NO_TERMS: NeedTerms = { spread: [], affinity: [], affinityToSelf: false, antiAffinity: [] };

/** Can the pool launch a node for a pod of the need by itself, within its limits? */
export function opensIn(workspace: Workspace, state: PoolState, need: Need): boolean {
  if (untolerated(need.shape.tolerations, state.pool.taints, false) !== null) return false;
  const options = optionsFor(workspace, state, need);
  return options.length > 0 && limitReason(state, options) === null && opens(workspace, state, need, options);
}

function opens(workspace: Workspace, state: PoolState, need: Need, options: ReadonlyArray<PoolOption>): boolean {
  const claim = emptyClaim(state, workspace.dimensions.names.length, false);
  return joiningOf(claim, { need, guard: guardFor(workspace, need, true) }, options) !== null;
}

/** The first kind of rule that by itself keeps the pod off a new node of the pool. */
function ruleReason(workspace: Workspace, state: PoolState, need: Need): PoolReason {
  const nodePool = state.pool.name;
  const options = optionsFor(workspace, state, need);
  const opensFor = (one: Need): boolean => opens(workspace, state, one, options);
  if (!opensFor({ ...need, terms: NO_TERMS, exclusions: [] })) {
    const { requirements } = state.pool.manifest.spec.template.spec;
    const keys = requirements.filter(({ minValues }) => minValues !== undefined).map(({ key }) => key);
    return { kind: 'min-values', nodePool, keys: distinct(keys), remedies: [distinct(keys).map(withoutMinValues)] };
  }
  const rules = topologyRules(need);
  const alone = rules.find(({ only }) => !opensFor(only));
  const counters = alone?.counters ?? rules.flatMap((rule) => rule.counters);
  return { kind: alone?.kind ?? 'topology-together', nodePool, keys: distinct(counters.map(({ key }) => key)) };
}

function withoutMinValues(key: string): Edit {
  return { object: 'NodePool', field: 'spec.template.spec.requirements.minValues', key, value: null };
}

interface RuleAlone {
  readonly kind: TopologyRule;
  readonly counters: ReadonlyArray<Counter>;
  /** The need with this rule and no other. */
  readonly only: Need;
}

function topologyRules(need: Need): ReadonlyArray<RuleAlone> {
  const { spread, affinity, affinityToSelf, antiAffinity } = need.terms;
  const only = (terms: Partial<NeedTerms>): Need => ({ ...need, terms: { ...NO_TERMS, ...terms }, exclusions: [] });
  return [
    { kind: 'topology-spread', counters: spread.map(({ counter }) => counter), only: only({ spread }) },
    { kind: 'pod-affinity', counters: affinity, only: only({ affinity, affinityToSelf }) },
    { kind: 'pod-anti-affinity', counters: antiAffinity, only: only({ antiAffinity }) },
    { kind: 'anti-affinity-of-others', counters: need.exclusions, only: { ...need, terms: NO_TERMS } },
  ];
}

function distinct(keys: ReadonlyArray<string>): ReadonlyArray<string> {
  return [...new Set(keys)].toSorted(byCodeUnit);
}

function unmetRequirement(
  state: PoolState,
  alternatives: ReadonlyArray<LabelRules>,
  explained: () => Explanation,
): PoolReason | null {
  const nodePool = state.pool.name;
  const meets = (rules: LabelRules): boolean => !isNone(offeringsMeeting(state.pool, rules, state.pool.offered));
  if (alternatives.some(meets)) return null;
  const unmet = [...(alternatives[0] ?? [])].find(([key, rule]) => !meets(new Map([[key, rule]])));
  const { conflicts, remedies } = explained();
  if (unmet === undefined) {
    const conflict = conflicts[0] ?? [];
    const wanted = conflict.flatMap((one) => (one.of === 'pod' ? toExpressions(one.key, one.rule) : []));
    const pool = conflict.flatMap((one) => saidOf(state.pool.manifest, one));
    return { kind: 'requirements-together', nodePool, wanted, pool, remedies };
  }
  const [key, rule] = unmet;
  const wanted = toExpressions(key, rule);
  const [pool, meant] = [contradictedBy(state, key, rule), meantBy(state, key)];
  return { kind: 'requirement', nodePool, wanted, pool, meant, remedies };
}

function contradictedBy({ pool }: PoolState, key: string, rule: LabelRule): ReadonlyArray<SelectorRequirement> {
  const own = pool.rules.get(key);
  return own === undefined || overlaps(own, rule) ? [] : saidBy(pool.manifest, key);
}

function meantBy({ pool }: PoolState, key: string): string | null {
  return labelMeant(key, [...pool.catalog.labels.keys(), ...pool.catalog.marketKeys, ...pool.rules.keys()]);
}

function sizeReason(
  { state, largestOf }: PoolFacts,
  shape: CompiledShape,
  { dimensions }: Workspace,
  remedies: ReadonlyArray<Remedy>,
): PoolReason {
  const nodePool = state.pool.name;
  for (const [dimension, resource] of dimensions.names.entries()) {
    const [wanted, most] = [at(shape.requests, dimension), largestUsable(state, dimension, dimensions.names.length)];
    if (wanted <= most) continue;
    const largest = largestOf(resource);
    const render = (amount: number): string => renderAmount(resource, amount);
    const amounts = { wanted: render(wanted), most: render(most), largest: render(largest) };
    return { kind: 'resource', nodePool, resource, ...amounts, remedies };
  }
  return { kind: 'resources-together', nodePool, remedies };
}

function largestUsable({ usable }: PoolState, dimension: number, width: number): number {
  let largest = 0;
  for (let offset = dimension; offset < usable.length; offset += width) largest = Math.max(largest, at(usable, offset));
  return largest;
}
