import { meetsNeed, allowsNode, hasRoom } from '../../placing/state/existing-nodes.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { crowdHosts, type SeenHost } from '../../placing/crowding/crowd-hosts.ts';
import { guardFor } from '../../placing/one-by-one/place.ts';
import type { Counter } from '../../placing/state/topology.ts';
import { farOf, firstInOrder } from './fullest-first.ts';
import type { Offer } from './offers.ts';
import { put, record, touch, type Arena, type Group, type Move, type Place, type ShapeFacts } from './arena.ts';

/** Looked for while pods of one node find places. */
export interface Pouring {
  /** Where pods go before anywhere else that has room; null for no such place. */
  readonly first: Place | null;
  /** May pods give up what they prefer and have on their node? Else they go where as much of it is met. */
  readonly mayRelax: boolean;
  /** May they go to a node that is removed as empty by itself? Those of a node that has to go may, rather than have a new one. */
  readonly mayFill: boolean;
}

export const ANYWHERE: Pouring = { first: null, mayRelax: false, mayFill: false };

/**
 * Takes a candidate away: all its pods go to places that have room under every rule, those that are fullest first. False, and
 * nothing has changed, where one finds none.
 */
export function remove(arena: Arena, place: Place, pouring: Pouring): boolean {
  const levels = place.own.map(({ shape }) =>
    pouring.mayRelax ? lastLevel(arena, shape) : levelAtHome(arena, place, shape),
  );
  leave(arena, place);
  const moves: Array<Move> = [];
  const mayFill = pouring.mayFill || place.node?.verdict.kind === 'must';
  for (let index = 0; index < place.own.length; index++) {
    const group = place.own[index];
    if (
      group === undefined ||
      pour(arena, group, { level: levels[index] ?? 0, pouring: { ...pouring, mayFill }, moves })
    )
      continue;
    arena.stuck.shape = group?.shape ?? -1;
    arena.stuck.placed = moves.reduce((sum, { count }) => sum + count, 0);
    place.moves = moves;
    restore(arena, place);
    return false;
  }
  place.moves = moves;
  for (const { target } of moves) arena.places[target]?.sources.add(place.index);
  return true;
}

/** The first pod of the node, largest first, that would find no place now; null where all do. Changes nothing. */
export function stuckPod(arena: Arena, place: Place, pouring: Pouring): string | null {
  if (remove(arena, place, pouring)) {
    restore(arena, place);
    return null;
  }
  const { shapes } = arena.workspace.input.cluster;
  const pod = place.node?.moving.find(({ shape }) => shape === arena.stuck.shape);
  return pod === undefined ? null : `${shapes[pod.shape]?.namespace ?? ''}/${pod.name}`;
}

/** What `look` answers with the node and its pods away. Changes nothing. */
export function whileGone<Answer>(arena: Arena, place: Place, look: () => Answer): Answer {
  leave(arena, place);
  const answer = look();
  restore(arena, place);
  return answer;
}

/** Does any place that is there take such a pod? */
export function hasPlace(arena: Arena, facts: ShapeFacts, need: Need): boolean {
  return bestFor(arena, facts, need, { first: null, mayFill: true }) !== null;
}

/** Takes it away as was planned before. */
export function removeAs(arena: Arena, place: Place, moves: ReadonlyArray<Move>): void {
  leave(arena, place);
  for (const { target, shape, count } of moves) {
    const to = arena.places[target];
    if (to === undefined) continue;
    put(arena, to, shape, count);
    to.sources.add(place.index);
  }
  place.moves = moves;
}

/** Brings a node back that has been taken away, and its pods with it. */
export function restore(arena: Arena, place: Place): void {
  for (const { target, shape, count } of place.moves) {
    const to = arena.places[target];
    if (to === undefined) continue;
    put(arena, to, shape, -count);
    to.sources.delete(place.index);
  }
  place.moves = [];
  place.state = 'there';
  touch(arena, place);
  for (const { shape, count } of place.own) record(arena, place, shape, count);
  for (const { shape, count } of place.bound) record(arena, place, shape, count);
}

function leave(arena: Arena, place: Place): void {
  place.state = 'gone';
  touch(arena, place);
  for (const { shape, count } of place.own) record(arena, place, shape, -count);
  for (const { shape, count } of place.bound) record(arena, place, shape, -count);
}

/** The first level of preferences that a pod's node meets: nowhere it goes may meet fewer. */
function levelAtHome(arena: Arena, place: Place, shape: number): number {
  const facts = arena.shapes.get(shape);
  const needs = facts?.needs ?? [];
  if (needs.length < 2) return 0;
  record(arena, place, shape, -1);
  const level = needs.findIndex((need) => {
    if (!admits(arena, need, place)) return false;
    return allowsNode(guardFor(arena.workspace, need, true), place.room);
  });
  record(arena, place, shape, 1);
  return level < 0 ? levelByNode(arena, place, needs) : level;
}

/**
 * ... where rules about other pods do not hold for it as things stand, such as a spread over hosts while one is empty: what it prefers of a
 * node, it has all the same.
 */
function levelByNode(arena: Arena, place: Place, needs: ReadonlyArray<Need>): number {
  const met = needs.find((need) => admits(arena, need, place));
  return met === undefined ? needs.length - 1 : needs.findLastIndex(({ kind }) => kind === met.kind);
}

/** The level at which a pod has given up all that it prefers. */
function lastLevel({ shapes }: Arena, shape: number): number {
  return Math.max(0, (shapes.get(shape)?.needs.length ?? 0) - 1);
}

interface PouringGroup {
  readonly level: number;
  readonly pouring: Target;
  /** Grows by where pods went. */
  readonly moves: Array<Move>;
}

type Target = Pick<Pouring, 'first' | 'mayFill'>;

function pour(arena: Arena, { shape, count }: Group, { level, pouring, moves }: PouringGroup): boolean {
  const facts = arena.shapes.get(shape);
  if (facts === undefined) return false;
  let left = count;
  // Ends: every turn places a pod or gives up.
  while (left > 0) {
    const target = targetFor(arena, facts, level, pouring);
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

function targetFor(arena: Arena, facts: ShapeFacts, level: number, target: Target): Place | null {
  // Pods of a node at level n may go where any level up to n is met.
  for (let index = 0; index <= level; index++) {
    const need = facts.needs[index];
    const found = need === undefined ? null : bestFor(arena, facts, need, target);
    if (found !== null) return found;
  }
  return null;
}

/** Of all places that take the pod: `first` if it does, else where least is left free, candidates last. */
function bestFor(arena: Arena, facts: ShapeFacts, need: Need, { first, mayFill }: Target): Place | null {
  const { work, workspace } = arena;
  const places = arena.window.places ?? arena.places;
  const guard = facts.isRuled ? guardFor(workspace, need, true) : null;
  const takes = (place: Place): boolean => {
    if (place.state !== 'there' || !admits(arena, need, place)) return false;
    if (place.goesByItself && !mayFill && place.received === 0) return false;
    if (facts.isSingle && !hasRoom(place.room, need.shape)) return false;
    return guard === null || allowsNode(guard, place.room);
  };
  if (first !== null && leftAfter(arena, first, facts.requests) < Infinity && takes(first)) return first;
  work.left -= places.length;
  if (arena.window.places !== null || arena.blur.draw !== null || places.length <= FEW) {
    return bestAmong(arena, places, facts, takes);
  }
  return firstInOrder(arena, facts.requests, takes);
}

/** Looking at so many is quicker than keeping them in order. */
const FEW = 64;

function bestAmong(
  arena: Arena,
  places: ReadonlyArray<Place>,
  { requests }: ShapeFacts,
  takes: (place: Place) => boolean,
): Place | null {
  let best: Place | null = null;
  let least = Infinity;
  for (let index = 0; index < places.length; index++) {
    const place = places[index];
    if (place === undefined || place.state !== 'there' || !place.takesPods) continue;
    const far = farOf(place);
    if (far >= least) continue;
    const score = far + leftAfter(arena, place, requests);
    if (score >= least || !takes(place)) continue;
    best = place;
    least = score;
  }
  return best;
}

/** What is left free, by worth, once such a pod is there; Infinity where it has no room. */
function leftAfter({ worth, blur }: Arena, { room: { free } }: Place, requests: Float64Array): number {
  let left = 0;
  for (let k = 0; k < free.length; k++) {
    const asked = requests[k] ?? 0;
    const over = (free[k] ?? 0) - asked;
    if (over < 0 && asked > 0) return Infinity;
    left += over * (worth[k] ?? 0);
  }
  return blur.draw === null ? left : left * (0.5 + blur.draw.share());
}

function fittingIn({ room: { free } }: Place, requests: Float64Array): number {
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
  const place = arena.places[target];
  const need = facts?.needs.at(-1);
  if (place === undefined || need === undefined) return false;
  if (!facts?.isRuled) return true;
  record(arena, place, shape, -1);
  const allowed = allowsNode(guardFor(arena.workspace, need, true), place.room);
  record(arena, place, shape, 1);
  return allowed;
}

/**
 * Lets pods be as many on one host as on any of `going`, as long as the hosts that stay are even. Answers what ends it, by `spreadAgain`;
 * nothing where no host has more than one of a spread.
 */
export function crowd({ workspace, places }: Arena, going: ReadonlyArray<Place>): ReadonlyArray<Counter> {
  const starting = workspace.nodes.filter(({ capacity }) => capacity.kind === 'claim');
  const hosts = function* (): Iterable<SeenHost> {
    for (const { capacity } of starting) yield { labels: capacity.labels, taints: capacity.presentTaints };
    for (const { state, node, received, room } of places) {
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

/** Do labels, taints and volumes let pods of the need onto the place? */
export function admits({ admitted }: Arena, need: Need, place: Place): boolean {
  const { offer } = place;
  if (offer !== null) return admitsNew(admitted, offer, need, place);
  const answers = admitted.there.get(need.kind) ?? new Uint8Array(ANSWERS);
  admitted.there.set(need.kind, answers);
  if (place.index >= ANSWERS) return meetsNeed(place.room, need);
  const known = answers[place.index] ?? 0;
  if (known !== 0) return known === 1;
  const answer = meetsNeed(place.room, need);
  answers[place.index] = answer ? 1 : 2;
  return answer;
}

/** New nodes of one offering differ in their names alone, which no pod knows. */
function admitsNew({ fresh }: Arena['admitted'], offer: Offer, need: Need, { room }: Place): boolean {
  const answers = fresh.get(offer) ?? new Map<string, boolean>();
  fresh.set(offer, answers);
  const answer = answers.get(need.kind) ?? meetsNeed(room, need);
  answers.set(need.kind, answer);
  return answer;
}

/** Answers are kept for as many nodes: beyond it they are found again each time. */
const ANSWERS = 8192;
