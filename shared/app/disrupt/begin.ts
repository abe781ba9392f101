import type { AuditedDisruption } from '../../core/disruption/sound-disruption.ts';
import { FORCED_REASONS, type DisruptionStep } from '../../core/disruption/plan/disruption-plan.ts';
import type { DisruptionInput, DisruptionPolicy } from '../../core/model/disruption-input.ts';
import type { Plan } from '../../core/model/plan.ts';
import { isPlacedByOwner } from '../../contract/snapshot/reduced/reduced-pod.ts';
import { leavingNames } from '../../core/present/leaving-names.ts';
import { withoutLeaving } from '../../core/present/without-leaving.ts';
import { type Instant, instant } from '../../core/quantity/units.ts';
import { hasEnded } from '../../kubernetes/pod-phase.ts';
import type { NodePod } from '../../ports/kubernetes.ts';
import type { Decision } from '../../ports/store.ts';
import { commitPlan } from '../commit/commit-plan.ts';
import { execute } from '../execute/execute.ts';
import { NODES_AT_ONCE } from '../execute/mark.ts';
import type { Gathered } from '../gather/gather.ts';
import { makeDisruption } from '../plan/make-disruption.ts';
import { makePlan } from '../plan/make-plan.ts';
import { alone, inParallel } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { wake } from '../ports/wake.ts';
import { recordLook } from '../tell/record-look.ts';
import { tellBreakers } from './brakes/breaker.ts';
import type { DisruptOutcome } from './disrupt-outcome.ts';
import { disruptionInput, type View } from './disruption-input.ts';
import { planReplacements, type Replaced } from './plan-replacements.ts';
import { decisionCounts, stateOf } from './tell/look-figures.ts';
import { tellBegun } from './tell/tell-begun.ts';
import { tellKept } from './tell/tell-kept.ts';
import { whatHolds, type Refused } from './what-holds.ts';

/**
 * Decides which nodes go next, creates what replaces them, and marks them. `otherwise`: the outcome where every node
 * has a reason to stay.
 */
export async function begin(
  ports: Ports,
  { gathered, rollouts }: View,
  otherwise: DisruptOutcome,
): Promise<DisruptOutcome> {
  // 1. Gather: what is planned from, beside the view.
  const now = instant(ports.now());
  const input = disruptionInput(ports, gathered.input, rollouts);
  const planWith: PlanWith = (changes) =>
    makeDisruption(ports, gathered, { ...input, policy: { ...input.policy, ...changes } });

  // 2. Plan: which nodes go. 3. Audit: by rules that do not know how the plan was made.
  const plan = planWith({});
  await tellPlan(ports, gathered, plan, now);
  if (plan.steps.length === 0) return otherwise;
  //    The same for what replaces them, by provisioning.
  const held = await planHolding(ports, gathered, { input, plan, planWith, now });
  return held.kind === 'holds' ? carryOut(ports, gathered, held) : held;
}

/** Commits and executes what holds up. */
export async function carryOut(ports: Ports, gathered: Gathered, held: Replaced): Promise<DisruptOutcome> {
  // 4. Commit: on condition that nobody has decided since the gathering.
  const { step, candidates, input, plan } = held;
  const cause = `${step.reason}: ${step.remove.join(', ')}`;
  const claims = candidates.map(({ claim: { metadata }, node }) => {
    return { name: metadata.name, uid: metadata.uid ?? '', node: node.metadata.name };
  });
  const committed = await commitPlan(ports, { ...gathered, input }, plan, cause, { step, claims });
  if (committed.kind === 'lost') return { kind: 'lost' };

  // 5. Execute: replacements are created, and then the nodes marked.
  const { decision, state } = committed;
  const { kept } = await execute(ports, state, decision);
  if (kept !== null) {
    ports.log('disruption-refused', { reason: step.reason, nodes: step.remove.join(','), why: kept });
    return { kind: 'denied', decision: decision.name, why: kept };
  }
  await tellDecision(ports, gathered, held, decision);
  const [nodes, replacements] = [candidates.length, decision.claimNames.length];
  return { kind: 'begun', decision: decision.name, nodes, replacements };
}

type PlanWith = (changes: Partial<DisruptionPolicy>) => AuditedDisruption;

/** A plan of disruption, what it was made from, and how others are made. */
interface Planned {
  readonly input: DisruptionInput;
  readonly plan: AuditedDisruption;
  readonly planWith: PlanWith;
  readonly now: Instant;
}

/** The first step of the plan for which provisioning finds replacements; where it has none, of a smaller plan. */
async function planHolding(
  ports: Ports,
  gathered: Gathered,
  { input, plan, planWith, now }: Planned,
): Promise<Replaced | DisruptOutcome> {
  // Pending pods may need the very room that looks too much.
  const before = planForPending(ports, gathered, now);
  const goes = before.claims.length > 0 ? 'forced' : 'all';
  if (goes === 'forced') await wake(ports, ports.now(), 'pods-before-disruption');
  const first = goes === 'all' ? plan : forcedAmong(plan, planWith);
  if (first.steps.length === 0) return { kind: 'waiting', for: 'nodes for pods that wait' };
  const fixed = fixedPoolsOf(input);
  const inUse = await nodesInUse(ports, gathered, first.steps[0]);
  const held = await whatHolds(
    inUse.size === 0 ? first : planWith({ goes, leftOut: inUse }),
    (leftOut) => planWith({ goes, leftOut: leftOut.union(inUse) }),
    async (one, step) => {
      const replaced = await planReplacements(ports, gathered, { plan: one, step, before, fixed });
      // Last, as plans take seconds: whoever comes between this and the marks finds them, and the set is taken back.
      return replaced.kind === 'holds' ? unlessInUse(ports, gathered, replaced) : replaced;
    },
    ports.now,
  );
  return held ?? { kind: 'idle' };
}

/** What started longer ago, and is not in the view, is none of those that plans are about. */
const NEWS_MS = 60_000;

/**
 * Refused for what has new pods by now, where something would be bought, or all nodes have some. Else those that have
 * none go, and the marks of the others come off at the second look: where pods come all the time nothing would go.
 */
async function unlessInUse(ports: Ports, gathered: Gathered, replaced: Replaced): Promise<Replaced | Refused> {
  const { step, plan } = replaced;
  const inUse = await nodesInUse(ports, gathered, step);
  const goes = inUse.size === 0 || (plan.claims.length === 0 && inUse.size < step.remove.length);
  if (goes) return replaced;
  const nodes = [...inUse];
  return { kind: 'refused', why: `new pods have come to ${nodes.join(', ')}`, nodes };
}

/**
 * Names of the nodes of the step that have a new pod which the view does not know, as it is as old as the plan: they
 * would be marked, and the marks taken off again. None of nodes that must go.
 */
async function nodesInUse(
  { kubernetes, now }: Ports,
  { snapshot }: Gathered,
  step: DisruptionStep | undefined,
): Promise<ReadonlySet<string>> {
  if (step === undefined || FORCED_REASONS.has(step.reason)) return new Set();
  const known = new Set(snapshot.pods.map(({ uid }) => uid));
  const inUse = await inParallel(step.remove, NODES_AT_ONCE, async (name) => {
    const pods = await alone(() => kubernetes.list('Pod', { fields: `spec.nodeName=${name}`, mayBeOld: true }));
    // Where nobody answers the second look sees who has come.
    const answer = pods.kind === 'done' ? pods.answer : [];
    return answer.some((pod) => !known.has(pod.metadata.uid) && isNew(pod, now())) ? [name] : [];
  });
  return new Set(inUse.flat());
}

function isNew({ metadata, status }: NodePod, nowMs: number): boolean {
  if (hasEnded(status?.phase) || metadata.deletionTimestamp !== undefined) return false;
  // Those that belong to the node go with it.
  if (metadata.ownerReferences?.some((owner) => isPlacedByOwner(owner)) === true) return false;
  return startedMs(status?.startTime) > nowMs - NEWS_MS;
}

/** Nothing is said of a pod that its kubelet has not heard of yet. */
function startedMs(time: string | undefined): number {
  return time === undefined ? Infinity : Date.parse(time);
}

/** What provisioning would do now for the pods that wait. */
function planForPending(ports: Ports, gathered: Gathered, now: Instant): Plan {
  return makePlan(ports, gathered, withoutLeaving(gathered.input, leavingNames(gathered.snapshot), now)).plan;
}

/**
 * What of a plan does not wait for pods that wait: nodes that must go, and that would wait for as long as pods arrive.
 */
function forcedAmong(plan: AuditedDisruption, planWith: PlanWith): AuditedDisruption {
  const [first] = plan.steps;
  return first !== undefined && FORCED_REASONS.has(first.reason) ? plan : planWith({ goes: 'forced' });
}

function fixedPoolsOf({ provisioning: { cluster } }: DisruptionInput): ReadonlySet<string> {
  return new Set(cluster.nodePools.flatMap(({ metadata, spec }) => (spec.replicas === undefined ? [] : metadata.name)));
}

async function tellPlan(ports: Ports, gathered: Gathered, plan: AuditedDisruption, now: Instant): Promise<void> {
  await tellBreakers(ports, gathered);
  await tellKept(ports, gathered, plan.kept);
  await recordLook(ports, { id: '', counts: [], state: stateOf(gathered, plan, now) });
}

async function tellDecision(
  ports: Ports,
  gathered: Gathered,
  { step, candidates, plan }: Replaced,
  { name, claimNames }: Decision,
): Promise<void> {
  const { reason, remove, moves, saved } = step;
  const counts = decisionCounts({ reason, candidates, replacements: claimNames.length });
  await recordLook(ports, { id: name, counts, state: null });
  ports.log('disruption-begun', {
    decision: name,
    reason,
    nodes: remove.join(','),
    replacements: claimNames.join(','),
    pods: moves.length,
    savedMicroPerHour: saved,
    currency: ports.catalogs.currency,
  });
  await tellBegun(ports, gathered, { decision: name, step, candidates, plan, claimNames });
}
