import type { Refusal } from '../plan/plan.ts';
import { at, offeringsMeeting } from './compile-pool.ts';
import type { AskTerms } from './ask-terms.ts';
import type { Ask, CompiledShape, PoolOption } from './compile-shape.ts';
import { byCodeUnit, toExpressions, type LabelRules } from './label-rule.ts';
import { emptyClaim, joiningOf } from './open-claim.ts';
import { guardFor } from './place.ts';
import { unusableReason, withinLimits, type PoolState } from './pool-state.ts';
import { renderTaint, untolerated } from './taints.ts';
import { unsupportedFeature } from './unsupported.ts';
import { optionsFor, type Workspace } from './workspace.ts';

/** For a pod that was left: per NodePool the first rule that ruled it out, and what would let it in. */
export function explainLeft(workspace: Workspace, shape: CompiledShape): ReadonlyArray<Refusal> {
  const feature = unsupportedFeature(shape.shape.spec);
  if (feature !== null) {
    const fix = 'remove it from the pod, or give the pod a node by other means';
    return [{ nodePool: null, rule: 'unsupported', detail: `the pod uses ${feature}, which is not planned for`, fix }];
  }
  if (shape.volumes.kind === 'problem') {
    return [{ nodePool: null, rule: 'volume', detail: shape.volumes.detail, fix: shape.volumes.fix }];
  }
  const { nodePools } = workspace.input.cluster;
  if (nodePools.length === 0) {
    return [{ nodePool: null, rule: 'no-node-pool', detail: 'there is no NodePool', fix: 'create a NodePool' }];
  }
  return nodePools
    .toSorted((a, b) => byCodeUnit(a.metadata.name, b.metadata.name))
    .map((manifest): Refusal => {
      const nodePool = manifest.metadata.name;
      const state = workspace.pools.find(({ pool }) => pool.name === nodePool);
      if (state !== undefined) return refusalOf(state, shape, workspace);
      const detail = `the NodePool ${unusableReason(manifest, workspace.input) ?? 'is not used'}`;
      return {
        nodePool,
        rule: 'pool-not-usable',
        detail,
        fix: 'see the conditions of the NodePool and its node class',
      };
    });
}

function refusalOf(state: PoolState, shape: CompiledShape, workspace: Workspace): Refusal {
  const nodePool = state.pool.name;
  const taint = untolerated(shape.tolerations, state.pool.taints, false);
  if (taint !== null) {
    const text = renderTaint(taint);
    return { nodePool, rule: 'taint', detail: `taint ${text} is not tolerated`, fix: `add a toleration for ${text}` };
  }
  if (state.pool.order.length === 0) {
    const detail = 'no available instance type meets the requirements of the NodePool';
    return { nodePool, rule: 'no-instance-type', detail, fix: 'widen the requirements of the NodePool' };
  }
  const ask = workspace.asks.get(shape.index)?.at(-1);
  const key = unmetKey(state, ask?.wishes.alternatives ?? []);
  if (key !== null) return { nodePool, rule: 'requirements', ...key };
  if (ask === undefined || optionsFor(workspace, state, ask).length === 0) return refuseSize(state, shape, workspace);
  return limitRefusal(state, optionsFor(workspace, state, ask)) ?? ruleRefusal(workspace, state, ask);
}

function limitRefusal(state: PoolState, options: ReadonlyArray<PoolOption>): Refusal | null {
  const { pool, remaining } = state;
  const within = [...pool.order].some(
    (type) =>
      options.some(({ offered }) => at(offered, type) !== 0) &&
      withinLimits(remaining, pool.catalog.types[type]?.capacity ?? new Map(), null),
  );
  if (within) return null;
  const detail = `no size that holds the pod is within what is left of the limits: ${renderLimits(state)}`;
  return { nodePool: pool.name, rule: 'limits', detail, fix: 'raise spec.limits of the NodePool' };
}

const NO_TERMS: AskTerms = { spread: [], affinity: [], affinityToSelf: false, antiAffinity: [] };

/** The first kind of rule that by itself keeps the pod off a new node of the pool. */
function ruleRefusal(workspace: Workspace, state: PoolState, ask: Ask): Refusal {
  const { spread, affinity, affinityToSelf, antiAffinity } = ask.terms;
  const kinds: ReadonlyArray<readonly [string, string, Ask]> = [
    ['topology-spread', 'its topology spread', { ...ask, terms: { ...NO_TERMS, spread }, exclusions: [] }],
    ['pod-affinity', 'its pod affinity', { ...ask, terms: { ...NO_TERMS, affinity, affinityToSelf }, exclusions: [] }],
    ['pod-anti-affinity', 'its pod anti-affinity', { ...ask, terms: { ...NO_TERMS, antiAffinity }, exclusions: [] }],
    ['anti-affinity-of-others', 'the anti-affinity of other pods', { ...ask, terms: NO_TERMS }],
  ];
  const options = optionsFor(workspace, state, ask);
  const opens = (one: Ask): boolean => {
    const claim = emptyClaim(state, workspace.dimensions.names.length, false);
    return joiningOf(claim, { ask: one, guard: guardFor(workspace, one, true) }, options) !== null;
  };
  const nodePool = state.pool.name;
  if (!opens({ ...ask, terms: NO_TERMS, exclusions: [] })) {
    const detail = 'too few instance types that hold the pod are left for the minValues of the NodePool';
    return { nodePool, rule: 'min-values', detail, fix: 'lower minValues, widen the NodePool, or use BestEffort' };
  }
  const [rule, text] = kinds.find(([, , one]) => !opens(one)) ?? ['topology', 'its topology rules together'];
  const detail = `${text} allow${text.endsWith('s') ? '' : 's'} no domain that the NodePool can give a node`;
  return { nodePool, rule, detail, fix: 'let the NodePool offer more zones, or relax the rule' };
}

function renderLimits({ remaining }: PoolState): string {
  return [...remaining].map(([name, left]) => `${name} ${left}`).join(', ');
}

function unmetKey(
  state: PoolState,
  alternatives: ReadonlyArray<LabelRules>,
): { readonly detail: string; readonly fix: string } | null {
  const meets = (rules: LabelRules): boolean =>
    offeringsMeeting(state.pool, rules, state.pool.offered).some((mask) => mask !== 0);
  if (alternatives.some(meets)) return null;
  for (const [key, rule] of alternatives[0] ?? []) {
    if (meets(new Map([[key, rule]]))) continue;
    const wanted = toExpressions(key, rule)
      .map(({ operator, values }) => `${operator} [${(values ?? []).join(', ')}]`)
      .join(' and ');
    return {
      detail: `the pod asks for ${key} ${wanted}, which no node of the NodePool has`,
      fix: `let the NodePool have ${key} ${wanted}, or change the pod`,
    };
  }
  const detail = 'no instance type meets all of the pod’s node requirements at once';
  return { detail, fix: 'relax one of the pod’s node requirements or widen the NodePool' };
}

function refuseSize(state: PoolState, shape: CompiledShape, { dimensions }: Workspace): Refusal {
  const nodePool = state.pool.name;
  const short = dimensions.names.find((_, dimension) => {
    const wanted = at(shape.requests, dimension);
    return wanted > largestUsable(state, dimension, dimensions.names.length);
  });
  const subject = short === undefined ? 'the resources and host ports together' : short;
  return {
    nodePool,
    rule: 'resources',
    detail: `no instance type that meets the requirements has ${subject} for the pod beside the daemonsets`,
    fix: 'allow larger sizes in the NodePool, or lower the pod’s requests',
  };
}

function largestUsable({ usable }: PoolState, dimension: number, width: number): number {
  let largest = 0;
  for (let offset = dimension; offset < usable.length; offset += width) largest = Math.max(largest, at(usable, offset));
  return largest;
}
