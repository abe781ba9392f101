import { spreadAgain } from '../../placing/crowding/crowd-hosts.ts';
import type { Pools } from '../candidates/pools.ts';
import { WAITED_FOR } from '../plan/disruption-plan.ts';
import type { DisruptionReason } from '../plan/disruption-reason.ts';
import type { Arena, Slot } from '../search/arena.ts';
import { mayWait } from '../search/own-pods.ts';
import { crowd, isAllowed } from '../search/reschedule.ts';
import { removeAs, restore } from '../search/slots.ts';
import { plainCostOf, poolTotals, scoreOf, LEAST_SCORE, type PoolTotals } from './score.ts';
import type { Replay } from './replay.ts';

/** What one step takes away and creates. */
export interface RawStep {
  readonly reason: DisruptionReason;
  readonly remove: ReadonlyArray<Slot>;
  readonly create: ReadonlyArray<Slot>;
}

export interface Sequence {
  readonly steps: ReadonlyArray<RawStep>;
  /** Slots that no order of steps could take away under the rules. */
  readonly dropped: ReadonlyArray<Slot>;
}

/** Karpenter's bound on a command: a step is a moment at which much is under way. */
const MOST_PER_STEP = 100;

/** Reasons in the order in which their steps come: what costs nothing first, what must be next. */
const REASONS: ReadonlyArray<DisruptionReason> = [
  'Empty',
  'StaticSurplus',
  'Unhealthy',
  'Expired',
  'Drifted',
  'Underutilized',
];

/**
 * Cuts what goes into steps, each of which keeps the budgets of pools, the rules of pods and what a pool asks of
 * savings. What cannot go yet is put off, as that makes few steps. Where it leads nowhere, all go in the order in which
 * the search took them instead. `mostTried`: where not all can go at once, so many nodes or groups are looked at one by
 * one once a step has any.
 */
export function sequence(replay: Replay, pools: Pools, mostTried = MOST_TRIED): Sequence {
  const few = sequenceBy(replay, pools, { isInOrder: false, mostTried });
  // Stryker disable next-line ConditionalExpression: a shortcut, no order leaves fewer than none
  if (few.dropped.length === 0) return few;
  takeBack(replay, few);
  const inOrder = sequenceBy(replay, pools, { isInOrder: true, mostTried });
  if (inOrder.dropped.length < few.dropped.length) return inOrder;
  takeBack(replay, inOrder);
  takeAway(replay, slotsIn(few));
  return few;
}

function slotsIn({ steps }: Sequence): ReadonlyArray<Slot> {
  return steps.flatMap(({ remove }) => remove);
}

function takeAway({ arena, going }: Replay, slots: ReadonlyArray<Slot>): void {
  for (const slot of slots) removeAs(arena, slot, going.get(slot) ?? []);
}

function takeBack({ arena }: Replay, taken: Sequence): void {
  for (const slot of slotsIn(taken)) restore(arena, slot);
}

function sequenceBy(replay: Replay, pools: Pools, manner: Manner): Sequence {
  const made = new Set<Slot>();
  const steps: Array<RawStep> = [];
  const dropped: Array<Slot> = [];
  for (const reason of REASONS) {
    let pending = [...replay.going.keys()].filter(({ node }) => node?.verdict.reason === reason);
    if (reason === 'Underutilized' && !manner.isInOrder) pending = mostSavedFirst(pending);
    // Ends: every turn takes a node off the list or drops all that are left.
    // Stryker disable next-line EqualityOperator: of none that are left there is no step, and none is dropped
    while (pending.length > 0) {
      const step = nextStep({ replay, pools, made, ...manner }, reason, pending);
      if (step === null) {
        dropped.push(...pending);
        break;
      }
      steps.push(step);
      for (const slot of step.create) made.add(slot);
      const gone = new Set(step.remove);
      pending = pending.filter((slot) => !gone.has(slot));
    }
  }
  return { steps, dropped };
}

/** Where budgets let only some go, go those that save most for their pods: the search may have taken them late. */
function mostSavedFirst(slots: ReadonlyArray<Slot>): Array<Slot> {
  return slots.toSorted((a, b) => b.reluctance - a.reluctance || a.takenAt - b.takenAt || a.index - b.index);
}

interface Manner {
  /** Nothing goes before what the search took before it. */
  readonly isInOrder: boolean;
  readonly mostTried: number;
}

interface Progress extends Manner {
  readonly replay: Replay;
  readonly pools: Pools;
  /** New slots that a step before has created. */
  readonly made: ReadonlySet<Slot>;
}

/** The next step for a reason, carried out in the arena; null where none is possible. */
function nextStep(progress: Progress, reason: DisruptionReason, pending: ReadonlyArray<Slot>): RawStep | null {
  const before = poolTotals(progress.replay.arena);
  const together = tryStep(progress, { reason, before }, pending);
  if (together !== null || progress.isInOrder) return together;
  return tryOneByOne(progress, { reason, before }, pending);
}

/** Each is a look at all that goes: a step that is not as large as it might be is better than a plan too late. */
const MOST_TRIED = 150;

/** A step of what goes along with what is in it already. */
function tryOneByOne(progress: Progress, rules: StepRules, pending: ReadonlyArray<Slot>): RawStep | null {
  const { arena } = progress.replay;
  const batch: Array<Slot> = [];
  let tried = 0;
  for (const unit of unitsOf(progress, pending)) {
    if (batch.length > 0 && tried++ >= progress.mostTried) break;
    const allowed = withinBudgets(progress, rules, [...batch, ...unit]);
    if (batch.length > 0 && allowed.length < batch.length + unit.length) continue;
    const before = new Set(batch);
    const more = allowed.filter((slot) => !before.has(slot));
    takeAway(progress.replay, more);
    if (wrongIn(progress, rules, [...batch, ...more]).size === 0) {
      batch.push(...more);
      continue;
    }
    for (const slot of more) restore(arena, slot);
  }
  if (batch.length === 0) return null;
  return { reason: rules.reason, remove: batch, create: createdBy(progress, batch) };
}

interface StepRules {
  readonly reason: DisruptionReason;
  readonly before: ReadonlyMap<string, PoolTotals>;
}

/** As many of `pending` as the rules let go at once. */
function tryStep(progress: Progress, rules: StepRules, pending: ReadonlyArray<Slot>): RawStep | null {
  const { arena } = progress.replay;
  let batch = withinBudgets(progress, rules, pending);
  takeAway(progress.replay, batch);
  // Ends: every turn takes a node out of the batch.
  while (batch.length > 0) {
    const wrong = wrongIn(progress, rules, batch);
    if (wrong.size === 0) return { reason: rules.reason, remove: batch, create: createdBy(progress, batch) };
    const off = progress.isInOrder ? lastOf(batch, wrong) : wrong;
    for (const slot of off) restore(arena, slot);
    batch = batch.filter((slot) => !off.has(slot));
  }
  return null;
}

/**
 * All from the first that is wrong; where that is all of them, half: those that came after it may be what is wrong with
 * it.
 */
function lastOf(batch: ReadonlyArray<Slot>, wrong: ReadonlySet<Slot>): ReadonlySet<Slot> {
  const first = batch.findIndex((slot) => wrong.has(slot));
  return new Set(batch.slice(first > 0 ? first : batch.length >> 1));
}

/** Nodes that share a new one come together, the dearest first, as long as budgets last. */
function withinBudgets(
  progress: Progress,
  { reason, before }: StepRules,
  pending: ReadonlyArray<Slot>,
): ReadonlyArray<Slot> {
  const left = new Map<string, number>();
  const batch: Array<Slot> = [];
  for (const unit of unitsOf(progress, pending)) {
    for (const slot of unit) {
      const pool = poolOf(slot);
      // A plan is made of nodes that stay; those that drain are of the pool until they are gone.
      const nodes = (before.get(pool)?.nodes ?? 0) + progress.pools.leaving(pool);
      const { pools } = progress;
      const room = left.get(pool) ?? Math.min(pools.allowed(pool, reason, nodes), pools.replaceable(pool, reason));
      if (room < 1 || batch.length >= MOST_PER_STEP) continue;
      left.set(pool, room - 1);
      batch.push(slot);
    }
  }
  return batch;
}

/** Groups of nodes whose pods go to the same nodes that are not there yet; all others alone. */
function unitsOf(progress: Progress, pending: ReadonlyArray<Slot>): ReadonlyArray<ReadonlyArray<Slot>> {
  const units: Array<Array<Slot>> = [];
  const byNew = new Map<Slot, Array<Slot>>();
  for (const slot of pending) {
    const fresh = newFor(progress, slot);
    const unit = fresh.map((one) => byNew.get(one)).find((one) => one !== undefined) ?? [];
    if (unit.length === 0) units.push(unit);
    unit.push(slot);
    for (const one of fresh) byNew.set(one, unit);
  }
  for (const unit of units) unit.sort((a, b) => b.price - a.price || a.index - b.index);
  return units;
}

/** New slots that a node's pods go to and that no step before creates. */
function newFor({ replay, made }: Progress, slot: Slot): ReadonlyArray<Slot> {
  return (replay.toNew.get(slot) ?? []).filter((target) => !made.has(target));
}

function createdBy(progress: Progress, batch: ReadonlyArray<Slot>): ReadonlyArray<Slot> {
  return [...new Set(batch.flatMap((slot) => newFor(progress, slot)))].toSorted((a, b) => a.index - b.index);
}

/** Nodes of the batch, which are gone, that must stay for now. */
function wrongIn(progress: Progress, rules: StepRules, batch: ReadonlyArray<Slot>): ReadonlySet<Slot> {
  const { arena } = progress.replay;
  const uneven = misplacedIn(arena, batch);
  const misplaced = WAITED_FOR.has(rules.reason) ? notAwaited(arena, batch, uneven) : uneven;
  if (misplaced.size > 0 || rules.reason !== 'Underutilized') return misplaced;
  const created = createdBy(progress, batch);
  const saved = plainCostOf(batch) - plainCostOf(created);
  if (created.length > 0 && saved <= 0) return new Set(batch.filter((slot) => newFor(progress, slot).length > 0));
  for (const [pool, own] of Map.groupBy(batch, poolOf)) {
    const totals = rules.before.get(pool);
    if (!progress.pools.isBalanced(pool) || totals === undefined) continue;
    const share = saved * (plainCostOf(own) / (plainCostOf(batch) || 1));
    if (scoreOf(share, own, totals) >= LEAST_SCORE) continue;
    return new Set(own.toSorted((a, b) => a.reluctance - b.reluctance || a.index - b.index).slice(0, 1));
  }
  return misplaced;
}

/**
 * Of nodes whose pods are where a rule forbids them as long as the nodes are there: those that must stay all the same.
 * The others are waited for; where budgets of pods do not let as many wait, by the pods of one of them.
 */
function notAwaited(arena: Arena, batch: ReadonlyArray<Slot>, uneven: ReadonlySet<Slot>): ReadonlySet<Slot> {
  // Stryker disable next-line ConditionalExpression: a shortcut, where all may be where they are none waits
  if (uneven.size === 0) return uneven;
  const crowded = crowd(arena, batch);
  const wrong = misplacedIn(arena, batch);
  spreadAgain(crowded);
  if (wrong.size > 0) return wrong;
  const awaited = [...uneven];
  if (mayWait(arena, awaited)) return wrong;
  return new Set(awaited.slice(mayWait(arena, awaited.slice(0, 1)) ? 1 : 0));
}

/** Nodes some pods of which are, once all have arrived, where a rule about other pods forbids them. */
function misplacedIn(arena: Arena, batch: ReadonlyArray<Slot>): ReadonlySet<Slot> {
  const wrong = new Set<Slot>();
  const answers = new Map<string, boolean>();
  for (const slot of batch) {
    for (const move of slot.moves) {
      // Stryker disable next-line ConditionalExpression: a shortcut, pods without rules are allowed anywhere
      if (arena.shapes.get(move.shape)?.isRuled === false) continue;
      const key = `${move.shape}/${move.target}`;
      const answer = answers.get(key) ?? isAllowed(arena, move);
      // Stryker disable next-line CallExpression: what is not kept is worked out again
      answers.set(key, answer);
      if (answer) continue;
      wrong.add(slot);
      break;
    }
  }
  return wrong;
}

function poolOf({ node, offering }: Slot): string {
  return node?.nodePool?.metadata.name ?? offering?.state.pool.name ?? '';
}
