import { bookCapacity } from '../../offerings/pool-state.ts';
import { capacityOf } from '../../offerings/compile-pool.ts';
import type { ExistingNode } from '../../placing/state/existing-nodes.ts';
import { record, touch, type Arena, type Move, type Place } from './arena.ts';
import { capacityOfOffer, freeOf, type Offer } from './offers.ts';
import { remove, removeAs, restore, type Pouring } from './pour.ts';

/** What has been done to an arena, so that it can be undone, and what it has changed in cost. */
export interface Trail {
  readonly arena: Arena;
  readonly done: Array<Deed>;
  /** What nodes count as, and the tolls of those that go, less what it was at the start; micro-USD per hour. */
  change: number;
}

type Deed =
  | { readonly kind: 'took'; readonly place: Place }
  | { readonly kind: 'brought'; readonly place: Place; readonly moves: ReadonlyArray<Move> }
  | { readonly kind: 'opened'; readonly place: Place; readonly before: Pick<Place, 'offer' | 'room' | 'price'> }
  | { readonly kind: 'closed'; readonly place: Place }
  | { readonly kind: 'recast'; readonly place: Place; readonly offer: Offer; readonly room: ExistingNode };

export function trailOf(arena: Arena): Trail {
  return { arena, done: [], change: 0 };
}

/** Takes a node away; false, and nothing changes, where its pods find no places. */
export function take(trail: Trail, place: Place, pouring: Pouring): boolean {
  if (!remove(trail.arena, place, pouring)) return false;
  trail.change += place.toll - place.price;
  place.takenAt = trail.done.push({ kind: 'took', place });
  return true;
}

/** Brings a node back. */
export function bring(trail: Trail, place: Place): void {
  const { moves } = place;
  restore(trail.arena, place);
  trail.change += place.price - place.toll;
  trail.done.push({ kind: 'brought', place, moves });
}

/** Adds a new node, empty. */
export function open(trail: Trail, offer: Offer): Place {
  const { arena } = trail;
  const place = absentPlace(arena) ?? newPlace(arena);
  // The slot may be that of a new node that was dropped, which undoing brings back.
  const before = { offer: place.offer, room: place.room, price: place.price };
  cast(arena, place, offer);
  place.state = 'there';
  touch(arena, place);
  arena.window.places?.push(place);
  book(offer, 1);
  trail.change += offer.price;
  trail.done.push({ kind: 'opened', place, before });
  return place;
}

/** Drops a new node that has no pods. */
export function close(trail: Trail, place: Place): void {
  place.state = 'absent';
  touch(trail.arena, place);
  if (place.offer !== null) book(place.offer, -1);
  trail.change -= place.price;
  trail.done.push({ kind: 'closed', place });
}

/** Makes a new node one of another offering; its pods stay. */
export function recast(trail: Trail, place: Place, offer: Offer): void {
  const { offer: before, room } = place;
  if (before === null) return;
  trail.change += offer.price - before.price;
  recastTo(trail.arena, place, offer);
  trail.done.push({ kind: 'recast', place, offer: before, room });
}

function recastTo(arena: Arena, place: Place, offer: Offer): void {
  const pods = [...(place.content ?? [])].filter(([, count]) => count > 0);
  for (const [shape, count] of pods) record(arena, place, shape, -count);
  if (place.offer !== null) book(place.offer, -1);
  cast(arena, place, offer);
  touch(arena, place);
  book(offer, 1);
  for (const [shape, count] of pods) {
    const requests = arena.shapes.get(shape)?.requests ?? new Float64Array();
    const { free } = place.room;
    for (let k = 0; k < free.length; k++) free[k] = (free[k] ?? 0) - count * (requests[k] ?? 0);
    const ports = arena.workspace.shapes.get(shape)?.ports ?? [];
    for (let one = 0; one < count; one++) place.room.ports.push(...ports);
    record(arena, place, shape, count);
  }
}

/** Undoes the latest deeds, until only so many are left. */
export function undoTo(trail: Trail, length: number): void {
  while (trail.done.length > length) {
    const deed = trail.done.pop();
    if (deed !== undefined) undo(trail, deed);
  }
}

function undo(trail: Trail, deed: Deed): void {
  const { arena } = trail;
  const { place } = deed;
  touch(arena, place);
  switch (deed.kind) {
    case 'took':
      restore(arena, place);
      trail.change += place.price - place.toll;
      break;
    case 'brought':
      removeAs(arena, place, deed.moves);
      trail.change += place.toll - place.price;
      break;
    case 'opened':
      place.state = 'absent';
      if (place.offer !== null) book(place.offer, -1);
      trail.change -= place.price;
      Object.assign(place, deed.before);
      break;
    case 'closed':
      place.state = 'there';
      if (place.offer !== null) book(place.offer, 1);
      trail.change += place.price;
      break;
    case 'recast':
      trail.change += deed.offer.price - place.price;
      recastTo(arena, place, deed.offer);
      break;
  }
}

function book({ state, type }: Offer, sign: 1 | -1): void {
  bookCapacity(state.remaining, capacityOf(state.pool, type), sign);
}

function absentPlace({ places, existing }: Arena): Place | null {
  for (let index = existing; index < places.length; index++) {
    const place = places[index];
    if (place?.state === 'absent') return place;
  }
  return null;
}

function newPlace(arena: Arena): Place {
  const place: Place = {
    index: arena.places.length,
    room: EMPTY_ROOM,
    node: null,
    offer: null,
    price: 0,
    toll: 0,
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
  arena.places.push(place);
  return place;
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
function cast({ worth }: Arena, place: Place, offer: Offer): void {
  const capacity = capacityOfOffer(offer, `..new-${place.index}`);
  place.offer = offer;
  place.price = offer.price;
  place.pool = offer.state.pool.name;
  place.room = {
    capacity,
    free: freeOf(offer, worth.length),
    ports: [...capacity.daemonPorts],
    pods: [],
    attached: { limits: new Map(), volumes: new Map() },
  };
}
