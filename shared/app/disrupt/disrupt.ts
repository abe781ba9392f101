import { planDisruption } from '../../core/disruption/plan-disruption.ts';
import {
  FORCED_REASONS,
  type DisruptionPlan,
  type DisruptionStep,
} from '../../core/disruption/plan/disruption-plan.ts';
import type { Plan } from '../../core/model/plan.ts';
import { withoutNodes } from '../../core/present/without-nodes.ts';
import { instant } from '../../core/quantity/units.ts';
import { judged } from '../../core/recovery/sound-plan.ts';
import { commitPlan, execute, resume } from '../commit-plan.ts';
import { type Gathered, gather, readSnapshot } from '../gather.ts';
import { inParallel } from '../in-parallel.ts';
import { leavingNames } from '../leaving.ts';
import { makePlan } from '../make-plan.ts';
import type { Ports } from '../ports.ts';
import { recordLook } from '../record-look.ts';
import { wake } from '../wake.ts';
import { beginWhatHolds } from './begin-what-holds.ts';
import { begunIn, machinesIn, type Begun, type Candidate } from './begun.ts';
import { tellBreakers } from './breaker.ts';
import { disruptionInput } from './disruption-input.ts';
import { goOn } from './go-on.ts';
import { onlyCheaper } from './only-cheaper.ts';
import { watchRollouts } from './halt-rollouts.ts';
import { NODES_AT_ONCE, unmark } from './mark.ts';
import { decisionCounts, stateOf } from './look-figures.ts';
import { tellRefused } from '../tell-refused.ts';
import { tellKept } from './tell-kept.ts';

export type DisruptOutcome =
  | { readonly kind: 'no-snapshot' }
  /** The claims of the last decision are being created: whatever is decided now would not know them. */
  | { readonly kind: 'executing' }
  /** Switched off. `takenBack`: nodes that had been marked to go, and stay. */
  | { readonly kind: 'off'; readonly takenBack: number }
  /** Every node has a reason to stay. */
  | { readonly kind: 'idle' }
  /** What has begun is not ready, or pods get nodes first. */
  | { readonly kind: 'waiting'; readonly for: string }
  | { readonly kind: 'begun'; readonly decision: string; readonly nodes: number; readonly replacements: number }
  | { readonly kind: 'finished'; readonly removed: number; readonly takenBack: number }
  /** The nodes may go, and what would come in their place does not hold up. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Another plan came first. */
  | { readonly kind: 'lost' };

/**
 * Removes nodes that are not needed, or not as they should be, and what replaces them comes first. In two looks: the first
 * commits a decision, creates replacements and marks the nodes; a later one finds the marks, waits until replacements are
 * initialized, judges everything anew, and then deletes the claims or takes the marks off. What stands between the two is
 * written on the objects, so that any instance can go on, whenever the last one ended.
 */
export async function disrupt(ports: Ports): Promise<DisruptOutcome> {
  const resumed = await resume(ports);
  if (resumed.kind === 'executing') return { kind: 'executing' };

  if (!ports.disruption.isOn) return takeBack(ports);

  // 1. Gather.
  const gathered = await gather(ports, resumed.ledger, true);
  if (gathered === null) return { kind: 'no-snapshot' };
  const waiting = await watchRollouts(ports, gathered);
  const begun = begunIn(gathered.snapshot);
  const outcome = begun.length === 0 ? null : await goOn(ports, gathered, begun, waiting);
  if (outcome !== null && !(outcome.kind === 'waiting' && areSlow(begun, ports.now()))) return outcome;

  // 2. Plan: which nodes go first, and then, by the planner of provisioning, where their pods go.
  const now = instant(ports.now());
  const input = disruptionInput(ports, gathered.input, waiting);
  const plan = planDisruption(input, now);
  await tellBreakers(ports, gathered);
  await tellKept(ports, gathered, plan.kept);
  await recordLook(ports, { id: '', counts: [], state: stateOf(gathered, plan, now) });
  if (plan.steps.length === 0) return outcome ?? { kind: 'idle' };

  // Whoever waits may need the very room that looks too much.
  const { plan: before } = makePlan(ports, gathered, withoutNodes(gathered.input, leavingNames(gathered.snapshot)));
  if (before.claims.length > 0) {
    await wake(ports, ports.now(), 'pods-before-disruption');
    return { kind: 'waiting', for: 'nodes for pods that wait' };
  }
  const planWithout = (leftOut: ReadonlySet<string>): DisruptionPlan =>
    planDisruption({ ...input, policy: { ...input.policy, leftOut } }, now);
  return beginWhatHolds(
    plan,
    planWithout,
    (one, step) => begin(ports, gathered, { plan: one, step, before }),
    ports.now,
  );
}

/**
 * From here on a decision that waits keeps no other from being made. Before, the cluster is about to change, and what is decided on it as
 * it is would be decided otherwise a moment later; a machine that boots well is a node by then.
 */
const SLOW_MS = 2 * 60_000;

function areSlow(begun: ReadonlyArray<Begun>, now: number): boolean {
  return begun.every(({ sinceMs }) => now >= sinceMs + SLOW_MS);
}

/** Marks are all that matters here: where it is switched off, a timer need not read prices. */
async function takeBack(ports: Ports): Promise<DisruptOutcome> {
  const snapshot = await readSnapshot(ports, true);
  if (snapshot === null) return { kind: 'no-snapshot' };
  const candidates = begunIn(snapshot).flatMap((one) => one.candidates);
  await inParallel(candidates, NODES_AT_ONCE, (candidate) => unmark(ports, candidate, 'disruption is switched off'));
  return { kind: 'off', takenBack: candidates.length };
}

interface Beginning {
  readonly plan: DisruptionPlan;
  readonly step: DisruptionStep;
  /** Of provisioning, for the cluster as it is. */
  readonly before: Plan;
}

async function begin(ports: Ports, gathered: Gathered, beginning: Beginning): Promise<DisruptOutcome> {
  const { step } = beginning;
  const leaving = leavingNames(gathered.snapshot);
  const candidates = candidatesOf(gathered, step);
  if (candidates.length < step.remove.length) return { kind: 'refused', why: 'a node of the plan has no claim' };
  const made = makePlan(ports, gathered, withoutNodes(gathered.input, [...leaving, ...step.remove]));
  const { input } = made;
  await tellRefused(ports, made);
  const why = objection(made.plan, beginning);
  const cheaper = FORCED_REASONS.has(step.reason) ? made.plan : onlyCheaper(made.plan, input, priceOf(beginning));
  // What is left of a plan that holds is a plan to be audited.
  const bought = cheaper === null ? null : judged(cheaper, input);
  if (why !== null || bought === null) {
    const audit = 'the audit refuses the plan without what is dearer';
    const said = why ?? (cheaper === null ? 'minValues asks for more sizes than are cheaper' : audit);
    ports.log('disruption-refused', { reason: step.reason, nodes: step.remove.join(','), why: said });
    return { kind: 'refused', why: said };
  }

  // 4. Commit, 5. execute: replacements are created, and the nodes marked.
  const cause = `${step.reason}: ${step.remove.join(', ')}`;
  const claims = candidates.map(({ claim: { metadata }, node }) => {
    return { name: metadata.name, uid: metadata.uid ?? '', node: node.metadata.name };
  });
  const removal = { reason: step.reason, claims };
  const committed = await commitPlan(ports, { ...gathered, input }, bought, cause, removal);
  if (committed.kind === 'lost') return { kind: 'lost' };
  const { name: decision, claimNames: replacements } = committed.decision;
  await execute(ports, committed.state, committed.decision);
  const counts = decisionCounts({ reason: step.reason, candidates, replacements: replacements.length });
  await recordLook(ports, { id: decision, counts, state: null });
  ports.log('disruption-begun', {
    decision,
    reason: step.reason,
    nodes: step.remove.join(','),
    replacements: replacements.join(','),
    pods: step.moves.length,
    savedMicroPerHour: step.saved,
    currency: ports.catalogs.currency,
  });
  return { kind: 'begun', decision, nodes: candidates.length, replacements: replacements.length };
}

function candidatesOf({ snapshot }: Gathered, { remove }: DisruptionStep): ReadonlyArray<Candidate> {
  const byNode = new Map(machinesIn(snapshot).map((machine) => [machine.node.metadata.name, machine]));
  return remove.flatMap((name) => byNode.get(name) ?? []);
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
    return `${stranded.length} pods would find no place, ${stranded[0]?.pod.name ?? ''} among them`;
  if (FORCED_REASONS.has(step.reason)) return null;
  if (step.reason === 'Empty' && plan.claims.length > 0) return 'what is empty needs no replacement';
  if (plan.cost > 0 && plan.cost >= priceOf(beginning)) return 'the replacements would cost as much';
  // A plan may buy otherwise than the search thought, but it may not slide from spot to spot.
  const bought = new Set(plan.claims.map(({ offering }) => offering.capacityType));
  const meant = new Set(replacements.filter(({ name }) => step.create.includes(name)).map((one) => one.capacityType));
  const unmeant = [...bought].filter((type) => !meant.has(type));
  return unmeant.length > 0 ? `the replacement would be ${unmeant.join(', ')}` : null;
}
