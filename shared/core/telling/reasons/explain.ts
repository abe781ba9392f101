import type { NodePool, SelectorRequirement } from '../../../kubernetes/manifest.ts';
import type { PoolReason, LeftReason, TopologyRule } from '../../model/left-reason.ts';
import { renderAmount } from '../../../kubernetes/quantity.ts';
import { at } from '../../quantity/at.ts';
import { capacityOf, offeringsMeeting } from '../../offerings/compile-pool.ts';
import type { NeedTerms } from '../../placing/state/need-terms.ts';
import type { Need, CompiledShape, PoolOption } from '../../placing/state/compile-shape.ts';
import { contradictionOfPod, contradictionOfPool, saidBy } from './contradiction.ts';
import { deviceReason } from './device-reason.ts';
import { labelMeant } from './label-hint.ts';
import { byCodeUnit, overlaps, toExpressions, type LabelRule, type LabelRules } from '../../rules/label-rule.ts';
import { emptyClaim } from '../../placing/state/open-claim.ts';
import { joiningOf } from '../../placing/state/joining.ts';
import { guardFor } from '../../placing/one-by-one/place.ts';
import { overLimits, poolObstacle, type PoolState } from '../../offerings/pool-state.ts';
import { untolerated } from '../../rules/taints.ts';
import type { Counter } from '../../placing/state/topology.ts';
import { optionsFor, type Workspace } from '../../placing/state/workspace.ts';

/** For a pod that was left: per NodePool the first rule that ruled it out. */
export function explainLeft(workspace: Workspace, shape: CompiledShape): ReadonlyArray<LeftReason> {
  const devices = deviceReason(workspace, shape);
  if (devices !== null) return [devices];
  if (shape.volumes.kind === 'problem') return [shape.volumes.reason];
  const wanted = contradictionOfPod(shape.shape.spec);
  if (wanted !== null) return [{ kind: 'contradiction', nodePool: null, wanted }];
  const { cluster, foreignPools } = workspace.input;
  const reasons = [
    ...cluster.nodePools.map((pool) => reasonFrom(pool, shape, workspace)),
    ...foreignPools.map(foreignReason),
  ];
  if (reasons.length === 0) return [{ kind: 'no-node-pool', nodePool: null }];
  return reasons.toSorted((a, b) => byCodeUnit(a.nodePool, b.nodePool));
}

function reasonFrom(manifest: NodePool, shape: CompiledShape, workspace: Workspace): PoolReason {
  const nodePool = manifest.metadata.name;
  const why = poolObstacle(manifest, workspace.input);
  if (why !== null) return { kind: 'pool-not-usable', nodePool, why };
  const state = workspace.pools.find(({ pool }) => pool.name === nodePool);
  return state === undefined ? { kind: 'no-instance-type', nodePool } : reasonOf(state, shape, workspace);
}

function foreignReason({ metadata, spec }: NodePool): PoolReason {
  const { group, kind } = spec.template.spec.nodeClassRef;
  return { kind: 'pool-not-usable', nodePool: metadata.name, why: { kind: 'foreign-class', classKind: kind, group } };
}

function reasonOf(state: PoolState, shape: CompiledShape, workspace: Workspace): PoolReason {
  const nodePool = state.pool.name;
  const taint = untolerated(shape.tolerations, state.pool.taints, false);
  if (taint !== null) return { kind: 'taint', nodePool, taint };
  if (state.pool.order.length === 0) return emptyPoolReason(state);
  const need = workspace.needs.get(shape.index)?.at(-1);
  const unmet = unmetRequirement(state, need?.constraints.alternatives ?? []);
  if (unmet !== null) return unmet;
  const options = need === undefined ? [] : optionsFor(workspace, state, need);
  if (need === undefined || options.length === 0) return sizeReason(state, shape, workspace);
  return limitReason(state, options) ?? ruleReason(workspace, state, need);
}

function emptyPoolReason({ pool: { name: nodePool, manifest } }: PoolState): PoolReason {
  const wanted = contradictionOfPool(manifest);
  return wanted === null ? { kind: 'no-instance-type', nodePool } : { kind: 'pool-contradiction', nodePool, wanted };
}

/** Where no size that holds the pod is within the limits: what the first of them, by price, takes too much of. */
function limitReason({ pool, remaining }: PoolState, options: ReadonlyArray<PoolOption>): PoolReason | null {
  const { name: nodePool } = pool;
  let first: PoolReason | null = null;
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
    };
  }
  return first;
}

const NO_TERMS: NeedTerms = { spread: [], affinity: [], affinityToSelf: false, antiAffinity: [] };

/** The first kind of rule that by itself keeps the pod off a new node of the pool. */
function ruleReason(workspace: Workspace, state: PoolState, need: Need): PoolReason {
  const nodePool = state.pool.name;
  const options = optionsFor(workspace, state, need);
  const opens = (one: Need): boolean => {
    const claim = emptyClaim(state, workspace.dimensions.names.length, false);
    return joiningOf(claim, { need: one, guard: guardFor(workspace, one, true) }, options) !== null;
  };
  if (!opens({ ...need, terms: NO_TERMS, exclusions: [] })) {
    const { requirements } = state.pool.manifest.spec.template.spec;
    const keys = requirements.filter(({ minValues }) => minValues !== undefined).map(({ key }) => key);
    return { kind: 'min-values', nodePool, keys: distinct(keys) };
  }
  const rules = topologyRules(need);
  const alone = rules.find(({ only }) => !opens(only));
  const counters = alone?.counters ?? rules.flatMap((rule) => rule.counters);
  return { kind: alone?.kind ?? 'topology-together', nodePool, keys: distinct(counters.map(({ key }) => key)) };
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

function unmetRequirement(state: PoolState, alternatives: ReadonlyArray<LabelRules>): PoolReason | null {
  const nodePool = state.pool.name;
  const meets = (rules: LabelRules): boolean =>
    offeringsMeeting(state.pool, rules, state.pool.offered).some((mask) => mask !== 0);
  if (alternatives.some(meets)) return null;
  const unmet = [...(alternatives[0] ?? [])].find(([key, rule]) => !meets(new Map([[key, rule]])));
  if (unmet === undefined) return { kind: 'requirements-together', nodePool };
  const [key, rule] = unmet;
  const wanted = toExpressions(key, rule);
  return { kind: 'requirement', nodePool, wanted, pool: contradictedBy(state, key, rule), meant: meantBy(state, key) };
}

function contradictedBy({ pool }: PoolState, key: string, rule: LabelRule): ReadonlyArray<SelectorRequirement> {
  const own = pool.rules.get(key);
  return own === undefined || overlaps(own, rule) ? [] : saidBy(pool.manifest, key);
}

function meantBy({ pool }: PoolState, key: string): string | null {
  return labelMeant(key, [...pool.catalog.labels.keys(), ...pool.catalog.marketKeys, ...pool.rules.keys()]);
}

function sizeReason(state: PoolState, shape: CompiledShape, { dimensions }: Workspace): PoolReason {
  const nodePool = state.pool.name;
  for (const [dimension, resource] of dimensions.names.entries()) {
    const [wanted, most] = [at(shape.requests, dimension), largestUsable(state, dimension, dimensions.names.length)];
    if (wanted <= most) continue;
    const amounts = { wanted: renderAmount(resource, wanted), most: renderAmount(resource, most) };
    return { kind: 'resource', nodePool, resource, ...amounts };
  }
  return { kind: 'resources-together', nodePool };
}

function largestUsable({ usable }: PoolState, dimension: number, width: number): number {
  let largest = 0;
  for (let offset = dimension; offset < usable.length; offset += width) largest = Math.max(largest, at(usable, offset));
  return largest;
}
