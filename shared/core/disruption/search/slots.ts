import { capacityOf } from '../../offerings/compile-pool.ts';
import { bookCapacity } from '../../offerings/pool-state.ts';
import type { ExistingNode } from '../../placing/state/existing-nodes.ts';
import { recordOnNode } from '../../placing/state/topology.ts';
import type { CompiledShape } from '../../placing/state/compile-shape.ts';
import { at } from '../../quantity/at.ts';
import { factsOf, type Arena, type Move, type Slot } from './arena.ts';
import { capacityOfOffering, freeOf, type PoolOffering } from './pool-offerings.ts';

/**
 * All that changes a slot, and nothing else does: so that what topology counts, the limits of pools and the order in
 * which slots take pods always say what is in the arena.
 */

type Own = { -readonly [Key in keyof Slot]: Slot[Key] } & {
  readonly content: Map<number, number> | null;
  readonly sources: Set<number>;
};

function own(slot: Slot): Own {
  // oxlint-disable-next-line no-unsafe-type-assertion -- the one module that changes what others only read
  return slot as Own;
}

/** Counts pods of a shape on a slot, or takes them out of the count. */
export function record({ workspace, shapes }: Arena, { room: { capacity } }: Slot, shape: number, count: number): void {
  // Stryker disable next-line ConditionalExpression: a shortcut, nobody counts pods that no rule looks at
  if (shapes.get(shape)?.isRuled === false) return;
  const node = { labels: capacity.labels, taints: capacity.presentTaints };
  recordOnNode(workspace.topology, shape, node, count);
}

/** Counts what is on a slot that has just been read. */
export function recordOwn(arena: Arena, slot: Slot): void {
  touch(arena, slot);
  for (const { shape, count } of slot.own) record(arena, slot, shape, count);
}

/** Puts pods of a shape on a slot, or with a negative count takes them off, whatever the rules say. */
export function put(arena: Arena, slot: Slot, shape: number, count: number): void {
  const facts = factsOf(arena, shape);
  const { free } = slot.room;
  // Stryker disable next-line EqualityOperator: beyond its end nothing is written to a typed array
  for (let k = 0; k < free.length; k++) free[k] = at(free, k) - count * at(facts.requests, k);
  if (facts.isSingle) putApart(slot, facts.least.shape, count);
  const changed = own(slot);
  changed.received += count;
  changed.receivedCost += count * facts.cost;
  changed.content?.set(shape, (changed.content.get(shape) ?? 0) + count);
  touch(arena, slot);
  record(arena, slot, shape, count);
}

/** Puts a pod on a slot that waits and is to come there. It disrupts nothing: what a pool has to lose is what runs. */
export function putAwaited(arena: Arena, slot: Slot, shape: number): void {
  put(arena, slot, shape, 1);
  own(slot).receivedCost = 0;
}

/** Host ports and volumes, for pods that have any. */
function putApart({ room }: Slot, { index, ports, attachments }: CompiledShape, count: number): void {
  for (const port of ports) {
    if (count > 0) room.ports.push(port);
    else room.ports.splice(room.ports.lastIndexOf(port), 1);
  }
  for (const { driver, claim, name } of attachments) {
    const there = room.attached.volumes.get(driver) ?? new Set<string>();
    room.attached.volumes.set(driver, there);
    // A volume that others on the node use too stays counted when they go, which at worst refuses a pod.
    if (claim === null) countOwn(there, `${index}/${name}`, count);
    else if (count > 0) there.add(claim);
    else there.delete(claim);
  }
}

/** Each of so many pods has a volume of its own by that name, which are numbered from 0 on; they go, if less than 0. */
function countOwn(there: Set<string>, name: string, count: number): void {
  let number = 0;
  // Ends: every turn passes a volume of a finite set.
  while (there.has(`${name}/${number}`)) number++;
  for (let come = 0; come < count; come++) there.add(`${name}/${number + come}`);
  for (let gone = -1; gone >= count; gone--) there.delete(`${name}/${number + gone}`);
}

/** The node is gone, and all that was on it; where its pods go is said by `settle`. */
export function leave(arena: Arena, slot: Slot): void {
  own(slot).state = 'gone';
  touch(arena, slot);
  for (const { shape, count } of slot.own) record(arena, slot, shape, -count);
  for (const { shape, count } of slot.bound) record(arena, slot, shape, -count);
}

/** Notes where the pods of a node that is gone have been put. */
export function settle({ slots }: Arena, slot: Slot, moves: ReadonlyArray<Move>): void {
  own(slot).moves = moves;
  for (const { target } of moves) {
    const to = slots[target];
    if (to !== undefined) own(to).sources.add(slot.index);
  }
}

/** Takes a node away as was planned before. */
export function removeAs(arena: Arena, slot: Slot, moves: ReadonlyArray<Move>): void {
  leave(arena, slot);
  for (const { target, shape, count } of moves) {
    const to = arena.slots[target];
    if (to !== undefined) put(arena, to, shape, count);
  }
  settle(arena, slot, moves);
}

/** Brings a node back that has been taken away, and its pods with it. */
export function restore(arena: Arena, slot: Slot): void {
  for (const { target, shape, count } of slot.moves) {
    const to = arena.slots[target];
    if (to === undefined) continue;
    put(arena, to, shape, -count);
    own(to).sources.delete(slot.index);
  }
  own(slot).moves = [];
  own(slot).state = 'there';
  touch(arena, slot);
  for (const { shape, count } of slot.own) record(arena, slot, shape, count);
  for (const { shape, count } of slot.bound) record(arena, slot, shape, count);
}

/** Says when the node was taken away: the later, the higher. */
export function noteTaken(slot: Slot, takenAt: number): void {
  own(slot).takenAt = takenAt;
}

/** Says what it counts as to disrupt the node, micro-USD per hour. */
export function setDisruptionCost(slot: Slot, cost: number): void {
  own(slot).disruptionCost = cost;
}

/** What a slot for new nodes was before it became one. */
export type Before = Pick<Slot, 'offering' | 'room' | 'price' | 'pool'>;

/** A new node, empty, in a slot that none is in; with what was in it before. */
export function openSlot(arena: Arena, offering: PoolOffering): { readonly slot: Slot; readonly before: Before } {
  const slot = absentSlot(arena) ?? newSlot(arena, offering);
  // The slot may be that of a new node that was dropped, which undoing brings back.
  const before = { offering: slot.offering, room: slot.room, price: slot.price, pool: slot.pool };
  become(arena, slot, offering);
  reopenSlot(arena, slot);
  return { slot, before };
}

/** The new node that was dropped last from the slot is there again, empty. */
export function reopenSlot(arena: Arena, slot: Slot): void {
  own(slot).state = 'there';
  touch(arena, slot);
  book(slot, 1);
}

/** Drops a new node that has no pods. `before`: what the slot is then, where that is not what it was last. */
export function closeSlot(arena: Arena, slot: Slot, before: Before = slot): void {
  own(slot).state = 'absent';
  touch(arena, slot);
  book(slot, -1);
  const { offering, room, price, pool } = before;
  Object.assign(own(slot), { offering, room, price, pool });
}

/** Makes a new node one of another offering; its pods stay. */
export function changeSlot(arena: Arena, slot: Slot, offering: PoolOffering): void {
  const pods = [...(slot.content ?? [])];
  for (const [shape, count] of pods) record(arena, slot, shape, -count);
  book(slot, -1);
  become(arena, slot, offering);
  touch(arena, slot);
  book(slot, 1);
  for (const [shape, count] of pods) {
    const { requests, ports } = factsOf(arena, shape).least.shape;
    const { free } = slot.room;
    // Stryker disable next-line EqualityOperator: beyond its end nothing is written to a typed array
    for (let k = 0; k < free.length; k++) free[k] = at(free, k) - count * at(requests, k);
    for (let one = 0; one < count; one++) slot.room.ports.push(...ports);
    record(arena, slot, shape, count);
  }
}

/** What is free on the slot, or whether it is there, has changed. */
function touch({ order }: Arena, slot: Slot): void {
  order.changed.add(slot);
}

/** Counts the node towards the limits of its pool, or takes it out of the count. */
function book({ offering }: Slot, sign: 1 | -1): void {
  if (offering === null) return;
  const { state, type } = offering;
  bookCapacity(state.remaining, capacityOf(state.pool, type), sign);
}

function absentSlot({ slots, existing }: Arena): Slot | null {
  for (let index = existing; index < slots.length; index++) {
    const slot = slots[index];
    if (slot?.state === 'absent') return slot;
  }
  return null;
}

function newSlot(arena: Arena, offering: PoolOffering): Slot {
  const index = arena.slots.length;
  const slot: Slot = {
    index,
    room: roomOf(arena, offering, index),
    node: null,
    offering: null,
    price: 0,
    disruptionCost: 0,
    pool: null,
    state: 'absent',
    isCandidate: false,
    takesPods: true,
    goesByItself: false,
    own: [],
    bound: [],
    received: 0,
    receivedCost: 0,
    content: new Map(),
    sources: new Set(),
    moves: [],
    takenAt: 0,
    reluctance: 0,
  };
  arena.slots.push(slot);
  return slot;
}

function become(arena: Arena, slot: Slot, offering: PoolOffering): void {
  const changed = own(slot);
  changed.offering = offering;
  changed.price = offering.price;
  changed.pool = offering.state.pool.name;
  changed.room = roomOf(arena, offering, slot.index);
}

/** New nodes have names that no node has: two dots do not come up in one. The plan gives them others. */
function roomOf({ worth }: Arena, offering: PoolOffering, index: number): ExistingNode {
  const capacity = capacityOfOffering(offering, `..new-${index}`);
  return {
    capacity,
    free: freeOf(offering, worth.length),
    ports: [...capacity.daemonPorts],
    pods: [],
    attached: { limits: new Map(), volumes: new Map() },
  };
}
