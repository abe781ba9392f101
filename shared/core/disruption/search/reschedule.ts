import { meetsNeed, allowsNode, hasRoom } from '../../placing/state/existing-nodes.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { crowdHosts, type SeenHost } from '../../placing/crowding/crowd-hosts.ts';
import { podName } from '../../model/pod-name.ts';
import { guardFor } from '../../placing/one-by-one/place.ts';
import type { Counter } from '../../placing/state/topology.ts';
import type { Draw } from '../../quantity/draw.ts';
import { factsOf, type Arena, type Group, type Move, type ShapeFacts, type Slot } from './arena.ts';
import { farOf, firstInOrder } from './fullest-first.ts';
import type { PoolOffering } from './pool-offerings.ts';
import { leave, put, record, restore, settle } from './slots.ts';

/** Where pods of one node may go. */
export interface Rescheduling {
  /** Where pods go before anywhere else that has room; null for no such slot. */
  readonly first: Slot | null;
  /** May pods give up what they prefer and have on their node? Else they go where as much of it is met. */
  readonly mayRelax: boolean;
  /**
   * May they go to a node that is removed as empty by itself? Those of a node that has to go may, rather than have a
   * new one.
   */
  readonly mayFill: boolean;
  /** Pods go to these slots only; null for all. */
  readonly among: ReadonlyArray<Slot> | null;
  /** What is left free is judged roughly by it, so that pods go elsewhere than last time; null for exactly. */
  readonly noise: Draw | null;
}

export const ANYWHERE: Rescheduling = { first: null, mayRelax: false, mayFill: false, among: null, noise: null };

/** Whether the pods of a node have all found places. */
export type Taken =
  | { readonly kind: 'taken' }
  /** Nothing has changed: a pod of `shape` found none, after `placed` others. */
  | { readonly kind: 'stuck'; readonly shape: number; readonly placed: number };

const TAKEN: Taken = { kind: 'taken' };

/** Takes a candidate away: all its pods go to places that have room under every rule, those that are fullest first. */
export function reschedule(arena: Arena, slot: Slot, rescheduling: Rescheduling): Taken {
  const levels = slot.own.map(({ shape }) => (rescheduling.mayRelax ? LAST_LEVEL : levelAtHome(arena, slot, shape)));
  leave(arena, slot);
  const moves: Array<Move> = [];
  const target = { ...rescheduling, mayFill: rescheduling.mayFill || slot.node?.verdict.kind === 'must' };
  for (const [index, group] of slot.own.entries()) {
    if (placeGroup(arena, group, { level: levels[index] ?? 0, target, moves })) continue;
    const placed = moves.reduce((sum, { count }) => sum + count, 0);
    settle(arena, slot, moves);
    restore(arena, slot);
    return { kind: 'stuck', shape: group.shape, placed };
  }
  settle(arena, slot, moves);
  return TAKEN;
}

/** The first pod of the node, largest first, that would find no place now; null where all do. Changes nothing. */
export function stuckPod(arena: Arena, slot: Slot, rescheduling: Rescheduling): string | null {
  const taken = reschedule(arena, slot, rescheduling);
  if (taken.kind === 'taken') {
    restore(arena, slot);
    return null;
  }
  const pod = slot.node?.moving.find(({ shape }) => shape === taken.shape);
  return pod === undefined ? null : podName(arena.workspace.input.cluster, pod);
}

/** What `look` returns with the node and its pods away. Changes nothing. */
export function whileGone<Answer>(arena: Arena, slot: Slot, look: () => Answer): Answer {
  leave(arena, slot);
  const answer = look();
  restore(arena, slot);
  return answer;
}

/** Does any place that is there take a pod of the shape that has given up all that it prefers? */
export function hasRoomFor(arena: Arena, shape: number): boolean {
  const facts = factsOf(arena, shape);
  return bestFor(arena, facts, facts.least, { ...ANYWHERE, mayFill: true }) !== null;
}

/** The first level of preferences that a pod's node meets: nowhere it goes may meet fewer. */
function levelAtHome(arena: Arena, slot: Slot, shape: number): number {
  const { needs } = factsOf(arena, shape);
  // Stryker disable next-line ConditionalExpression: a shortcut, a pod that prefers nothing has one level
  if (needs.length < 2) return 0;
  record(arena, slot, shape, -1);
  const level = needs.findIndex((need) => {
    if (!admits(arena, need, slot)) return false;
    return allowsNode(guardFor(arena.workspace, need, true), slot.room);
  });
  record(arena, slot, shape, 1);
  return level < 0 ? levelByNode(arena, slot, needs) : level;
}

/**
 * ... where rules about other pods do not hold for it as things stand, such as a spread over hosts while one is empty:
 * what it prefers of a node, it has all the same.
 */
function levelByNode(arena: Arena, slot: Slot, needs: ReadonlyArray<Need>): number {
  const met = needs.find((need) => admits(arena, need, slot));
  return met === undefined ? LAST_LEVEL : needs.findLastIndex(({ kind }) => kind === met.kind);
}

/** A pod has given up all that it prefers. */
const LAST_LEVEL = Infinity;

interface PlacingGroup {
  readonly level: number;
  readonly target: Target;
  /** Grows by where pods went. */
  readonly moves: Array<Move>;
}

type Target = Omit<Rescheduling, 'mayRelax'>;

function placeGroup(arena: Arena, { shape, count }: Group, { level, target, moves }: PlacingGroup): boolean {
  const facts = factsOf(arena, shape);
  let left = count;
  // Ends: every turn places a pod or gives up.
  while (left > 0) {
    const slot = slotFor(arena, facts, level, target);
    if (slot === null) return false;
    const fitting = facts.isRuled || facts.isSingle ? 1 : Math.min(left, fittingIn(slot, facts.requests));
    put(arena, slot, shape, fitting);
    const last = moves.at(-1);
    if (last?.target === slot.index && last.shape === shape) {
      moves[moves.length - 1] = { ...last, count: last.count + fitting };
    } else moves.push({ target: slot.index, shape, count: fitting });
    left -= fitting;
  }
  return true;
}

function slotFor(arena: Arena, facts: ShapeFacts, level: number, target: Target): Slot | null {
  // Pods of a node at level n may go where any level up to n is met.
  for (const need of facts.needs.slice(0, level + 1)) {
    const found = bestFor(arena, facts, need, target);
    if (found !== null) return found;
  }
  return null;
}

/** Of all slots that take the pod: `first` if it does, else where least is left free, candidates last. */
function bestFor(arena: Arena, facts: ShapeFacts, need: Need, target: Target): Slot | null {
  const { first, mayFill, among, noise } = target;
  const { work, workspace } = arena;
  const slots = among ?? arena.slots;
  const guard = facts.isRuled ? guardFor(workspace, need, true) : null;
  const takes = (slot: Slot): boolean => {
    if (slot.state !== 'there' || !admits(arena, need, slot)) return false;
    if (slot.goesByItself && !mayFill && slot.received === 0) return false;
    if (facts.isSingle && !hasRoom(slot.room, need.shape)) return false;
    return guard === null || allowsNode(guard, slot.room);
  };
  if (first !== null && leftAfter(arena, first, facts.requests, noise) < Infinity && takes(first)) return first;
  work.left -= slots.length;
  // Stryker disable next-line ConditionalExpression,EqualityOperator: both ways find the same
  const areFew = slots.length <= FEW;
  if (among !== null || noise !== null || areFew) {
    return bestAmong(arena, { slots, requests: facts.requests, noise }, takes);
  }
  return firstInOrder(arena, facts.requests, takes);
}

/** Looking at so many is quicker than keeping them in order. */
const FEW = 64;

interface Asked {
  readonly slots: ReadonlyArray<Slot>;
  readonly requests: Float64Array;
  readonly noise: Draw | null;
}

function bestAmong(arena: Arena, { slots, requests, noise }: Asked, takes: (slot: Slot) => boolean): Slot | null {
  let best: Slot | null = null;
  let least = Infinity;
  // Stryker disable next-line EqualityOperator: beyond the last there is none
  for (let index = 0; index < slots.length; index++) {
    const slot = slots[index];
    if (slot === undefined || slot.state !== 'there' || !slot.takesPods) continue;
    const far = farOf(slot);
    // Stryker disable next-line ConditionalExpression,EqualityOperator: a shortcut, its score would not be less
    if (far >= least) continue;
    const score = far + leftAfter(arena, slot, requests, noise);
    if (score >= least || !takes(slot)) continue;
    best = slot;
    least = score;
  }
  return best;
}

/** What is left free, by worth, once such a pod is there; Infinity where it has no room. */
function leftAfter({ worth }: Arena, { room: { free } }: Slot, requests: Float64Array, noise: Draw | null): number {
  let left = 0;
  // Stryker disable next-line EqualityOperator: beyond its end nothing is free, and nothing is asked for
  for (let k = 0; k < free.length; k++) {
    const asked = requests[k] ?? 0;
    const over = (free[k] ?? 0) - asked;
    if (over < 0 && asked > 0) return Infinity;
    left += over * (worth[k] ?? 0);
  }
  return noise === null ? left : left * (0.5 + noise.share());
}

function fittingIn({ room: { free } }: Slot, requests: Float64Array): number {
  let most = Infinity;
  // Stryker disable next-line EqualityOperator: beyond its end nothing is asked for
  for (let k = 0; k < free.length; k++) {
    const asked = requests[k] ?? 0;
    if (asked > 0) most = Math.min(most, Math.floor((free[k] ?? 0) / asked));
  }
  return Math.max(1, most);
}

/** May pods that have moved so be where they are, one like the other? */
export function isAllowed(arena: Arena, { target, shape }: Pick<Move, 'target' | 'shape'>): boolean {
  const { isRuled, least } = factsOf(arena, shape);
  const slot = arena.slots[target];
  if (slot === undefined) return false;
  // Stryker disable next-line ConditionalExpression: a shortcut, pods without rules are allowed anywhere
  if (!isRuled) return true;
  record(arena, slot, shape, -1);
  const allowed = allowsNode(guardFor(arena.workspace, least, true), slot.room);
  record(arena, slot, shape, 1);
  return allowed;
}

/**
 * Lets pods be as many on one host as on any of `going`, as long as the hosts that stay are even. Answers what ends it,
 * by `spreadAgain`; nothing where no host has more than one of a spread.
 */
export function crowd({ workspace, slots }: Arena, going: ReadonlyArray<Slot>): ReadonlyArray<Counter> {
  const starting = workspace.nodes.filter(({ capacity }) => capacity.kind === 'claim');
  const hosts = function* (): Iterable<SeenHost> {
    for (const { capacity } of starting) yield { labels: capacity.labels, taints: capacity.presentTaints };
    for (const { state, node, received, room } of slots) {
      // A new one that no pod has come to is not made, or not yet.
      if (state !== 'there' || (node === null && received === 0)) continue;
      yield { labels: room.capacity.labels, taints: room.capacity.presentTaints };
    }
  };
  return crowdHosts(
    workspace.topology,
    going.map(({ own, bound }) => [...own, ...bound]),
    hosts,
  );
}

/** Do labels, taints and volumes let pods of the need onto the slot? */
export function admits({ admitted }: Arena, need: Need, slot: Slot): boolean {
  const { offering } = slot;
  if (offering !== null) return admitsNew(admitted, offering, need, slot);
  const answers = admitted.there.get(need.kind) ?? new Uint8Array(ANSWERS);
  // Stryker disable next-line CallExpression: what is not kept is worked out again
  admitted.there.set(need.kind, answers);
  // Stryker disable next-line LogicalOperator: what is not known is worked out again
  const known = answers[slot.index] ?? 0;
  // Stryker disable next-line ConditionalExpression: what is known is the same when it is worked out again
  if (known !== 0) return known === 1;
  const answer = meetsNeed(slot.room, need);
  answers[slot.index] = answer ? 1 : 2;
  return answer;
}

/** New nodes of one offering differ in their names alone, which no pod knows. */
function admitsNew({ fresh }: Arena['admitted'], offering: PoolOffering, need: Need, { room }: Slot): boolean {
  const answers = fresh.get(offering) ?? new Map<string, boolean>();
  // Stryker disable next-line CallExpression: what is not kept is worked out again
  fresh.set(offering, answers);
  const answer = answers.get(need.kind) ?? meetsNeed(room, need);
  // Stryker disable next-line CallExpression: what is not kept is worked out again
  answers.set(need.kind, answer);
  return answer;
}

/** Answers are kept for as many nodes; a typed array keeps none beyond its end, and these are found each time. */
const ANSWERS = 8192;
