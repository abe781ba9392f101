import { bookCapacity } from '../../offerings/pool-state.ts';
import { capacityOf } from '../../offerings/compile-pool.ts';
import type { ExistingNode } from '../../placing/state/existing-nodes.ts';
import { record, touch, type Arena, type Move, type Slot } from './arena.ts';
import { capacityOfOffering, freeOf, type PoolOffering } from './pool-offerings.ts';
import { remove, removeAs, restore, type Rescheduling } from './reschedule.ts';

/** What has been done to an arena, so that it can be undone, and what it has changed in cost. */
export interface Trail {
  readonly arena: Arena;
  readonly done: Array<Change>;
  /** What nodes count as, and the disruption costs of those that go, less what it was at the start; micro-USD per hour. */
  change: number;
}

type Change =
  | { readonly kind: 'took'; readonly slot: Slot }
  | { readonly kind: 'brought'; readonly slot: Slot; readonly moves: ReadonlyArray<Move> }
  | { readonly kind: 'opened'; readonly slot: Slot; readonly before: Pick<Slot, 'offering' | 'room' | 'price'> }
  | { readonly kind: 'closed'; readonly slot: Slot }
  | { readonly kind: 'changed'; readonly slot: Slot; readonly offering: PoolOffering; readonly room: ExistingNode };

export function trailOf(arena: Arena): Trail {
  return { arena, done: [], change: 0 };
}

/** Takes a node away; false, and nothing changes, where its pods find no places. */
export function take(trail: Trail, slot: Slot, rescheduling: Rescheduling): boolean {
  if (!remove(trail.arena, slot, rescheduling)) return false;
  trail.change += slot.disruptionCost - slot.price;
  slot.takenAt = trail.done.push({ kind: 'took', slot });
  return true;
}

/** Brings a node back. */
export function bring(trail: Trail, slot: Slot): void {
  const { moves } = slot;
  restore(trail.arena, slot);
  trail.change += slot.price - slot.disruptionCost;
  trail.done.push({ kind: 'brought', slot, moves });
}

/** Adds a new node, empty. */
export function open(trail: Trail, offering: PoolOffering): Slot {
  const { arena } = trail;
  const slot = absentSlot(arena) ?? newSlot(arena);
  // The slot may be that of a new node that was dropped, which undoing brings back.
  const before = { offering: slot.offering, room: slot.room, price: slot.price };
  become(arena, slot, offering);
  slot.state = 'there';
  touch(arena, slot);
  arena.window.slots?.push(slot);
  book(offering, 1);
  trail.change += offering.price;
  trail.done.push({ kind: 'opened', slot, before });
  return slot;
}

/** Drops a new node that has no pods. */
export function close(trail: Trail, slot: Slot): void {
  slot.state = 'absent';
  touch(trail.arena, slot);
  if (slot.offering !== null) book(slot.offering, -1);
  trail.change -= slot.price;
  trail.done.push({ kind: 'closed', slot });
}

/** Makes a new node one of another offering; its pods stay. */
export function changeOffering(trail: Trail, slot: Slot, offering: PoolOffering): void {
  const { offering: before, room } = slot;
  if (before === null) return;
  trail.change += offering.price - before.price;
  changeTo(trail.arena, slot, offering);
  trail.done.push({ kind: 'changed', slot, offering: before, room });
}

function changeTo(arena: Arena, slot: Slot, offering: PoolOffering): void {
  const pods = [...(slot.content ?? [])].filter(([, count]) => count > 0);
  for (const [shape, count] of pods) record(arena, slot, shape, -count);
  if (slot.offering !== null) book(slot.offering, -1);
  become(arena, slot, offering);
  touch(arena, slot);
  book(offering, 1);
  for (const [shape, count] of pods) {
    const requests = arena.shapes.get(shape)?.requests ?? new Float64Array();
    const { free } = slot.room;
    for (let k = 0; k < free.length; k++) free[k] = (free[k] ?? 0) - count * (requests[k] ?? 0);
    const ports = arena.workspace.shapes.get(shape)?.ports ?? [];
    for (let one = 0; one < count; one++) slot.room.ports.push(...ports);
    record(arena, slot, shape, count);
  }
}

/** Undoes the latest changes, until only so many are left. */
export function undoTo(trail: Trail, length: number): void {
  while (trail.done.length > length) {
    const last = trail.done.pop();
    if (last !== undefined) undo(trail, last);
  }
}

function undo(trail: Trail, last: Change): void {
  const { arena } = trail;
  const { slot } = last;
  touch(arena, slot);
  switch (last.kind) {
    case 'took':
      restore(arena, slot);
      trail.change += slot.price - slot.disruptionCost;
      break;
    case 'brought':
      removeAs(arena, slot, last.moves);
      trail.change += slot.disruptionCost - slot.price;
      break;
    case 'opened':
      slot.state = 'absent';
      if (slot.offering !== null) book(slot.offering, -1);
      trail.change -= slot.price;
      Object.assign(slot, last.before);
      break;
    case 'closed':
      slot.state = 'there';
      if (slot.offering !== null) book(slot.offering, 1);
      trail.change += slot.price;
      break;
    case 'changed':
      trail.change += last.offering.price - slot.price;
      changeTo(arena, slot, last.offering);
      break;
  }
}

function book({ state, type }: PoolOffering, sign: 1 | -1): void {
  bookCapacity(state.remaining, capacityOf(state.pool, type), sign);
}

function absentSlot({ slots, existing }: Arena): Slot | null {
  for (let index = existing; index < slots.length; index++) {
    const slot = slots[index];
    if (slot?.state === 'absent') return slot;
  }
  return null;
}

function newSlot(arena: Arena): Slot {
  const slot: Slot = {
    index: arena.slots.length,
    room: EMPTY_ROOM,
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

const EMPTY_ROOM: ExistingNode = {
  capacity: {
    kind: 'claim',
    name: '',
    claim: null,
    nodePool: null,
    initialized: true,
    labels: {},
    taints: [],
    presentTaints: [],
    capacity: new Map(),
    free: new Map(),
    daemonPorts: [],
  },
  free: new Float64Array(),
  ports: [],
  pods: [],
  attached: { limits: new Map(), volumes: new Map() },
};

/** New nodes have names that no node has: two dots do not come up in one. The plan gives them others. */
function become({ worth }: Arena, slot: Slot, offering: PoolOffering): void {
  const capacity = capacityOfOffering(offering, `..new-${slot.index}`);
  slot.offering = offering;
  slot.price = offering.price;
  slot.pool = offering.state.pool.name;
  slot.room = {
    capacity,
    free: freeOf(offering, worth.length),
    ports: [...capacity.daemonPorts],
    pods: [],
    attached: { limits: new Map(), volumes: new Map() },
  };
}
