import { meetsNeed, allowsNode, hasRoom } from '../../placing/state/existing-nodes.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { crowdHosts, type SeenHost } from '../../placing/crowding/crowd-hosts.ts';
import { guardFor } from '../../placing/one-by-one/place.ts';
import type { Counter } from '../../placing/state/topology.ts';
import { farOf, firstInOrder } from './fullest-first.ts';
import type { PoolOffering } from './pool-offerings.ts';
import { put, record, touch, type Arena, type Group, type Move, type Slot, type ShapeFacts } from './arena.ts';

/** Looked for while pods of one node find places. */
export interface Rescheduling {
  /** Where pods go before anywhere else that has room; null for no such slot. */
  readonly first: Slot | null;
  /** May pods give up what they prefer and have on their node? Else they go where as much of it is met. */
  readonly mayRelax: boolean;
  /** May they go to a node that is removed as empty by itself? Those of a node that has to go may, rather than have a new one. */
  readonly mayFill: boolean;
}

export const ANYWHERE: Rescheduling = { first: null, mayRelax: false, mayFill: false };

/**
 * Takes a candidate away: all its pods go to places that have room under every rule, those that are fullest first. False, and
 * nothing has changed, where one finds none.
 */
export function remove(arena: Arena, slot: Slot, rescheduling: Rescheduling): boolean {
  const levels = slot.own.map(({ shape }) =>
    rescheduling.mayRelax ? lastLevel(arena, shape) : levelAtHome(arena, slot, shape),
  );
  leave(arena, slot);
  const moves: Array<Move> = [];
  const mayFill = rescheduling.mayFill || slot.node?.verdict.kind === 'must';
  for (let index = 0; index < slot.own.length; index++) {
    const group = slot.own[index];
    if (
      group === undefined ||
      rescheduleGroup(arena, group, { level: levels[index] ?? 0, rescheduling: { ...rescheduling, mayFill }, moves })
    )
      continue;
    arena.stuck.shape = group?.shape ?? -1;
    arena.stuck.placed = moves.reduce((sum, { count }) => sum + count, 0);
    slot.moves = moves;
    restore(arena, slot);
    return false;
  }
  slot.moves = moves;
  for (const { target } of moves) arena.slots[target]?.sources.add(slot.index);
  return true;
}

/** The first pod of the node, largest first, that would find no place now; null where all do. Changes nothing. */
export function stuckPod(arena: Arena, slot: Slot, rescheduling: Rescheduling): string | null {
  if (remove(arena, slot, rescheduling)) {
    restore(arena, slot);
    return null;
  }
  const { shapes } = arena.workspace.input.cluster;
  const pod = slot.node?.moving.find(({ shape }) => shape === arena.stuck.shape);
  return pod === undefined ? null : `${shapes[pod.shape]?.namespace ?? ''}/${pod.name}`;
}

/** What `look` answers with the node and its pods away. Changes nothing. */
export function whileGone<Answer>(arena: Arena, slot: Slot, look: () => Answer): Answer {
  leave(arena, slot);
  const answer = look();
  restore(arena, slot);
  return answer;
}

/** Does any place that is there take such a pod? */
export function hasRoomFor(arena: Arena, facts: ShapeFacts, need: Need): boolean {
  return bestFor(arena, facts, need, { first: null, mayFill: true }) !== null;
}

/** Takes it away as was planned before. */
export function removeAs(arena: Arena, slot: Slot, moves: ReadonlyArray<Move>): void {
  leave(arena, slot);
  for (const { target, shape, count } of moves) {
    const to = arena.slots[target];
    if (to === undefined) continue;
    put(arena, to, shape, count);
    to.sources.add(slot.index);
  }
  slot.moves = moves;
}

/** Brings a node back that has been taken away, and its pods with it. */
export function restore(arena: Arena, slot: Slot): void {
  for (const { target, shape, count } of slot.moves) {
    const to = arena.slots[target];
    if (to === undefined) continue;
    put(arena, to, shape, -count);
    to.sources.delete(slot.index);
  }
  slot.moves = [];
  slot.state = 'there';
  touch(arena, slot);
  for (const { shape, count } of slot.own) record(arena, slot, shape, count);
  for (const { shape, count } of slot.bound) record(arena, slot, shape, count);
}

function leave(arena: Arena, slot: Slot): void {
  slot.state = 'gone';
  touch(arena, slot);
  for (const { shape, count } of slot.own) record(arena, slot, shape, -count);
  for (const { shape, count } of slot.bound) record(arena, slot, shape, -count);
}

/** The first level of preferences that a pod's node meets: nowhere it goes may meet fewer. */
function levelAtHome(arena: Arena, slot: Slot, shape: number): number {
  const facts = arena.shapes.get(shape);
  const needs = facts?.needs ?? [];
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
 * ... where rules about other pods do not hold for it as things stand, such as a spread over hosts while one is empty: what it prefers of a
 * node, it has all the same.
 */
function levelByNode(arena: Arena, slot: Slot, needs: ReadonlyArray<Need>): number {
  const met = needs.find((need) => admits(arena, need, slot));
  return met === undefined ? needs.length - 1 : needs.findLastIndex(({ kind }) => kind === met.kind);
}

/** The level at which a pod has given up all that it prefers. */
function lastLevel({ shapes }: Arena, shape: number): number {
  return Math.max(0, (shapes.get(shape)?.needs.length ?? 0) - 1);
}

interface ReschedulingGroup {
  readonly level: number;
  readonly rescheduling: Target;
  /** Grows by where pods went. */
  readonly moves: Array<Move>;
}

type Target = Pick<Rescheduling, 'first' | 'mayFill'>;

function rescheduleGroup(
  arena: Arena,
  { shape, count }: Group,
  { level, rescheduling, moves }: ReschedulingGroup,
): boolean {
  const facts = arena.shapes.get(shape);
  if (facts === undefined) return false;
  let left = count;
  // Ends: every turn places a pod or gives up.
  while (left > 0) {
    const target = targetFor(arena, facts, level, rescheduling);
    if (target === null) return false;
    const fitting = facts.isRuled || facts.isSingle ? 1 : Math.min(left, fittingIn(target, facts.requests));
    put(arena, target, shape, fitting);
    const last = moves.at(-1);
    if (last?.target === target.index && last.shape === shape) {
      moves[moves.length - 1] = { ...last, count: last.count + fitting };
    } else moves.push({ target: target.index, shape, count: fitting });
    left -= fitting;
  }
  return true;
}

function targetFor(arena: Arena, facts: ShapeFacts, level: number, target: Target): Slot | null {
  // Pods of a node at level n may go where any level up to n is met.
  for (let index = 0; index <= level; index++) {
    const need = facts.needs[index];
    const found = need === undefined ? null : bestFor(arena, facts, need, target);
    if (found !== null) return found;
  }
  return null;
}

/** Of all slots that take the pod: `first` if it does, else where least is left free, candidates last. */
function bestFor(arena: Arena, facts: ShapeFacts, need: Need, { first, mayFill }: Target): Slot | null {
  const { work, workspace } = arena;
  const slots = arena.window.slots ?? arena.slots;
  const guard = facts.isRuled ? guardFor(workspace, need, true) : null;
  const takes = (slot: Slot): boolean => {
    if (slot.state !== 'there' || !admits(arena, need, slot)) return false;
    if (slot.goesByItself && !mayFill && slot.received === 0) return false;
    if (facts.isSingle && !hasRoom(slot.room, need.shape)) return false;
    return guard === null || allowsNode(guard, slot.room);
  };
  if (first !== null && leftAfter(arena, first, facts.requests) < Infinity && takes(first)) return first;
  work.left -= slots.length;
  if (arena.window.slots !== null || arena.blur.draw !== null || slots.length <= FEW) {
    return bestAmong(arena, slots, facts, takes);
  }
  return firstInOrder(arena, facts.requests, takes);
}

/** Looking at so many is quicker than keeping them in order. */
const FEW = 64;

function bestAmong(
  arena: Arena,
  slots: ReadonlyArray<Slot>,
  { requests }: ShapeFacts,
  takes: (slot: Slot) => boolean,
): Slot | null {
  let best: Slot | null = null;
  let least = Infinity;
  for (let index = 0; index < slots.length; index++) {
    const slot = slots[index];
    if (slot === undefined || slot.state !== 'there' || !slot.takesPods) continue;
    const far = farOf(slot);
    if (far >= least) continue;
    const score = far + leftAfter(arena, slot, requests);
    if (score >= least || !takes(slot)) continue;
    best = slot;
    least = score;
  }
  return best;
}

/** What is left free, by worth, once such a pod is there; Infinity where it has no room. */
function leftAfter({ worth, blur }: Arena, { room: { free } }: Slot, requests: Float64Array): number {
  let left = 0;
  for (let k = 0; k < free.length; k++) {
    const asked = requests[k] ?? 0;
    const over = (free[k] ?? 0) - asked;
    if (over < 0 && asked > 0) return Infinity;
    left += over * (worth[k] ?? 0);
  }
  return blur.draw === null ? left : left * (0.5 + blur.draw.share());
}

function fittingIn({ room: { free } }: Slot, requests: Float64Array): number {
  let most = Infinity;
  for (let k = 0; k < free.length; k++) {
    const asked = requests[k] ?? 0;
    if (asked > 0) most = Math.min(most, Math.floor((free[k] ?? 0) / asked));
  }
  return Math.max(1, most);
}

/** May pods that have moved so be where they are, one like the other? */
export function isAllowed(arena: Arena, { target, shape }: Pick<Move, 'target' | 'shape'>): boolean {
  const facts = arena.shapes.get(shape);
  const slot = arena.slots[target];
  const need = facts?.needs.at(-1);
  if (slot === undefined || need === undefined) return false;
  if (!facts?.isRuled) return true;
  record(arena, slot, shape, -1);
  const allowed = allowsNode(guardFor(arena.workspace, need, true), slot.room);
  record(arena, slot, shape, 1);
  return allowed;
}

/**
 * Lets pods be as many on one host as on any of `going`, as long as the hosts that stay are even. Answers what ends it, by `spreadAgain`;
 * nothing where no host has more than one of a spread.
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
  admitted.there.set(need.kind, answers);
  if (slot.index >= ANSWERS) return meetsNeed(slot.room, need);
  const known = answers[slot.index] ?? 0;
  if (known !== 0) return known === 1;
  const answer = meetsNeed(slot.room, need);
  answers[slot.index] = answer ? 1 : 2;
  return answer;
}

/** New nodes of one offering differ in their names alone, which no pod knows. */
function admitsNew({ fresh }: Arena['admitted'], offering: PoolOffering, need: Need, { room }: Slot): boolean {
  const answers = fresh.get(offering) ?? new Map<string, boolean>();
  fresh.set(offering, answers);
  const answer = answers.get(need.kind) ?? meetsNeed(room, need);
  answers.set(need.kind, answer);
  return answer;
}

/** Answers are kept for as many nodes: beyond it they are found again each time. */
const ANSWERS = 8192;
