import { FORCED_REASONS, type PlannedReplacement } from '../../core/disruption/plan/disruption-plan.ts';
import { candidatesOf, type Candidate } from '../../core/disruption/second-look/begun.ts';
import { withoutStalled } from '../../core/disruption/second-look/without-stalled.ts';
import type { AuditedDisruption, AuditedStep } from '../../core/disruption/sound-disruption.ts';
import { crowdsIn } from '../../core/disruption/steps/crowds.ts';
import type { Plan } from '../../core/model/plan.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { withoutBuffers } from '../../core/present/buffer-pods.ts';
import { leavingNames } from '../../core/present/leaving-names.ts';
import { withoutLeaving } from '../../core/present/without-leaving.ts';
import { type Instant, instant } from '../../core/quantity/units.ts';
import { judged, type AuditedPlan } from '../../core/recovery/sound-plan.ts';
import { withDefaultSpread } from '../../core/rules/default-spread.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import type { Gathered } from '../gather/gather.ts';
import { makePlan, type MadePlan } from '../plan/make-plan.ts';
import { tellRefused } from '../plan/tell-refused.ts';
import type { Ports } from '../ports/ports.ts';
import { onlyCheaper } from './only-cheaper.ts';
import { deniedRemovals } from './remove.ts';
import { haveRoomBeside } from './room-beside.ts';
import type { Refused } from './what-holds.ts';

/** A step that is to be begun, and what it is judged by. */
export interface Beginning {
  readonly plan: AuditedDisruption;
  readonly step: AuditedStep;
  /** Of provisioning, for the cluster as it is. */
  readonly before: Plan;
  /** Names of the NodePools with a fixed number of nodes. */
  readonly fixed: ReadonlySet<string>;
}

/** A step that holds up: its nodes, and the plan of provisioning for their pods. */
export interface Replaced {
  readonly kind: 'holds';
  readonly step: AuditedStep;
  readonly candidates: ReadonlyArray<Candidate>;
  readonly input: ProvisioningInput;
  readonly plan: AuditedPlan;
}

/**
 * Has provisioning plan for the cluster without the nodes of the step, and judges what it would buy. Nothing is
 * written.
 */
export async function planReplacements(
  ports: Ports,
  gathered: Gathered,
  beginning: Beginning,
): Promise<Replaced | Refused> {
  const { step } = beginning;
  const candidates = candidatesIn(gathered, step);
  if (candidates.length < step.remove.length) return { kind: 'refused', why: 'a node of the plan has no claim' };
  const short = candidates.map(poolOf).find((pool) => lackingIn(beginning).has(pool));
  if (short !== undefined) return { kind: 'refused', why: `NodePool ${short} is about to get nodes that it lacks` };
  const without = inputWithout(gathered, candidates, beginning, instant(ports.now()));
  const input = withoutFollowers(ports, gathered, without, { beginning, candidates });
  const made = makePlan(ports, gathered, input);
  await tellRefused(ports, made);
  const bought = await forWhatMayGo(ports, candidates, boughtFor(made, beginning));
  if (bought.kind === 'refused') {
    ports.log('disruption-refused', { reason: step.reason, nodes: step.remove.join(','), why: bought.why });
    return bought;
  }
  return { kind: 'holds', step, candidates, input: made.input, plan: bought.plan };
}

type Bought = { readonly kind: 'bought'; readonly plan: AuditedPlan } | Refused;

/** The same, but where something would be bought in the place of a node that may not be deleted. */
async function forWhatMayGo(ports: Ports, candidates: ReadonlyArray<Candidate>, bought: Bought): Promise<Bought> {
  if (bought.kind === 'refused' || bought.plan.claims.length === 0) return bought;
  const nodes = await deniedRemovals(ports, candidates);
  const why = `a policy does not let ${nodes[0] ?? ''} be removed`;
  return nodes.length === 0 ? bought : { kind: 'refused', why, nodes };
}

/** The plan as far as it may be bought: of what goes for its cost, only what is cheaper. */
function boughtFor(made: MadePlan, beginning: Beginning): Bought {
  const why = objection(made.plan, beginning) ?? tooManyFor(made, beginning);
  if (why !== null) return { kind: 'refused', why };
  const isForced = FORCED_REASONS.has(beginning.step.reason);
  const cheaper = isForced ? made.plan : onlyCheaper(made.plan, made.input, priceOf(beginning));
  if (cheaper === null) {
    return { kind: 'refused', why: 'minValues requires more instance types than there are cheaper ones' };
  }
  // What is left of a plan that holds is a plan to be audited.
  const plan = judged(cheaper, made.input);
  return plan === null
    ? { kind: 'refused', why: 'the audit rejects the plan without the more expensive sizes' }
    : { kind: 'bought', plan };
}

function candidatesIn({ snapshot }: Gathered, { remove }: AuditedStep): ReadonlyArray<Candidate> {
  const byNode = new Map(candidatesOf(snapshot).map((candidate) => [candidate.node.metadata.name, candidate]));
  return remove.flatMap((name) => byNode.get(name) ?? []);
}

/**
 * What is planned for: the cluster without these nodes and those that leave. They count against limits until they go,
 * as they may stay after all; those of static pools do not, or one with as many nodes as its limit could never be
 * brought up to date.
 */
function inputWithout(
  { input, snapshot }: Gathered,
  candidates: ReadonlyArray<Candidate>,
  beginning: Beginning,
  now: Instant,
): ProvisioningInput {
  const { step, before, fixed } = beginning;
  const held = new Set(
    candidates.flatMap((candidate) => (fixed.has(poolOf(candidate)) ? [] : [candidate.node.metadata.name])),
  );
  const left = withoutLeaving(input, [...leavingNames(snapshot), ...step.remove], now, held);
  const around = withoutStalled(left, input, now, before.nominations);
  const planned = before.claims.length === 0 ? around : withoutOthers(around, beginning);
  const own = crowdsIn(step, withDefaultSpread(input).cluster);
  return { ...planned, crowds: new Map([...(input.crowds ?? []), ...own]) };
}

/**
 * Without the pods whose place is what a pool with a fixed number of nodes makes in place of one that goes, as it makes
 * that for nobody in particular: pods of that node, and those of others that wait for room there, such as one that
 * may not be evicted from a node that drains.
 */
function withoutFollowers(
  ports: Ports,
  gathered: Gathered,
  input: ProvisioningInput,
  { beginning, candidates }: { readonly beginning: Beginning; readonly candidates: ReadonlyArray<Candidate> },
): ProvisioningInput {
  const { step, before } = beginning;
  const pools = new Map(candidates.map((candidate) => [candidate.node.metadata.name, poolOf(candidate)]));
  const followers = successorsIn(beginning).flatMap((successor) => {
    const moves = step.moves.flatMap(({ uid, to }) => (to.name === successor.name ? uid : []));
    const waiting = before.nominations.flatMap(({ target, pods }) =>
      pools.get(target.name) === successor.nodePool ? pods.map(({ uid }) => uid) : [],
    );
    const uids = new Set([...moves, ...waiting]);
    const isWithOthers = waiting.length > 0 && haveRoomBeside(ports, gathered, input, { successor, uids });
    return isWithOthers ? [...uids] : moves;
  });
  return withoutPods(input, new Set(followers));
}

function successorsIn({ plan, step, fixed }: Beginning): ReadonlyArray<PlannedReplacement> {
  return plan.replacements.filter(({ name, nodePool }) => step.create.includes(name) && fixed.has(nodePool));
}

function withoutPods(input: ProvisioningInput, uids: ReadonlySet<string>): ProvisioningInput {
  const { cluster } = input;
  return { ...input, cluster: { ...cluster, pods: cluster.pods.filter(({ uid }) => !uids.has(uid)) } };
}

/**
 * Without the pods, buffers and pools of a fixed number that provisioning is about to make nodes for: those could not
 * be told from what comes in place of the nodes that go.
 */
function withoutOthers(around: ProvisioningInput, beginning: Beginning): ProvisioningInput {
  const others = new Set(beginning.before.claims.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  const lacking = lackingIn(beginning);
  const { cluster } = around;
  const nodePools = cluster.nodePools.filter(({ metadata }) => !lacking.has(metadata.name));
  return withoutBuffers(withoutPods({ ...around, cluster: { ...cluster, nodePools } }, others));
}

/** The pools of a fixed number that provisioning is about to make nodes of. */
function lackingIn({ before, fixed }: Beginning): ReadonlySet<string> {
  return new Set(before.claims.flatMap(({ nodePool }) => (fixed.has(nodePool) ? [nodePool] : [])));
}

function poolOf({ node: { metadata } }: Candidate): string {
  return metadata.labels?.[labelKey.nodePool] ?? '';
}

/** What the nodes of the step cost, micro-USD per hour: what replaces them has to cost less. */
function priceOf({ plan: { replacements }, step }: Pick<Beginning, 'plan' | 'step'>): number {
  const prices = new Map(replacements.map(({ name, price }) => [name, price]));
  return step.create.reduce((sum, name) => sum + (prices.get(name) ?? 0), step.saved);
}

/** What speaks against the step now that the pods of its nodes have been planned for; null when nothing does. */
function objection(plan: Plan, beginning: Beginning): string | null {
  const { step, before } = beginning;
  const { replacements } = beginning.plan;
  const waited = new Set(before.left.map(({ pod }) => pod.uid));
  const stranded = plan.left.filter(({ pod }) => !waited.has(pod.uid));
  if (stranded.length > 0)
    return `${stranded.length} pods would have no place, ${stranded[0]?.pod.name ?? ''} among them`;
  for (const wanted of successorsIn(beginning)) {
    const isMade = plan.claims.some(
      ({ nodePool, offering }) => nodePool === wanted.nodePool && isSameOffering(offering, wanted),
    );
    if (!isMade) return `the next node of NodePool ${wanted.nodePool} would not be what its pods need`;
  }
  if (FORCED_REASONS.has(step.reason)) return null;
  if (step.reason === 'Empty' && plan.claims.length > 0) return 'empty nodes need no replacement';
  if (plan.cost > 0 && plan.cost >= priceOf(beginning)) return 'the replacements would cost as much';
  // A plan may buy otherwise than the search thought, but it may not slide from spot to spot.
  const bought = new Set(plan.claims.map(({ offering }) => offering.capacityType));
  const meant = new Set(replacements.filter(({ name }) => step.create.includes(name)).map((one) => one.capacityType));
  const unmeant = [...bought].filter((type) => !meant.has(type));
  return unmeant.length > 0 ? `the replacement would be ${unmeant.join(', ')}` : null;
}

/**
 * Pods that nodes which go together hold back may have been planned for as if none went: then each needs a host of its
 * own. Fewer nodes may be replaced one for one; for a single one that is all that can be done.
 */
function tooManyFor({ plan, input }: MadePlan, { step }: Beginning): string | null {
  if ((input.crowds?.size ?? 0) === 0 || step.remove.length < 2 || plan.claims.length <= step.create.length)
    return null;
  return 'pods that spread over its nodes would need more new nodes at once';
}

function isSameOffering(offering: Plan['claims'][number]['offering'], wanted: PlannedReplacement): boolean {
  return (
    offering.instanceType === wanted.instanceType &&
    offering.zone === wanted.zone &&
    offering.capacityType === wanted.capacityType
  );
}
