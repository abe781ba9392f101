import type { Arena, Move, Slot } from './arena.ts';
import type { PoolOffering } from './pool-offerings.ts';
import { reschedule, type Rescheduling, type Taken } from './reschedule.ts';
import { changeSlot, closeSlot, noteTaken, openSlot, removeAs, reopenSlot, restore, type Before } from './slots.ts';

/** What has been done to an arena, so that it can be undone, and what it has changed in cost. */
export interface Trail {
  readonly arena: Arena;
  readonly done: Array<Change>;
  /**
   * What nodes count as, and the disruption costs of those that go, less what it was at the start; micro-USD per hour.
   */
  costChange: number;
}

type Change =
  | { readonly kind: 'took'; readonly slot: Slot }
  | { readonly kind: 'brought'; readonly slot: Slot; readonly moves: ReadonlyArray<Move> }
  | { readonly kind: 'opened'; readonly slot: Slot; readonly before: Before }
  | { readonly kind: 'closed'; readonly slot: Slot }
  | { readonly kind: 'changed'; readonly slot: Slot; readonly offering: PoolOffering };

export function trailOf(arena: Arena): Trail {
  return { arena, done: [], costChange: 0 };
}

/** Takes a node away; where its pods find no places nothing changes, and it returns which pod was stuck. */
export function take(trail: Trail, slot: Slot, rescheduling: Rescheduling): Taken {
  const taken = reschedule(trail.arena, slot, rescheduling);
  if (taken.kind === 'stuck') return taken;
  trail.costChange += slot.disruptionCost - slot.price;
  noteTaken(slot, trail.done.push({ kind: 'took', slot }));
  return taken;
}

/** Has it been taken away? */
export function isTaken({ kind }: Taken): boolean {
  return kind === 'taken';
}

/** Brings a node back. */
export function bring(trail: Trail, slot: Slot): void {
  const { moves } = slot;
  restore(trail.arena, slot);
  trail.costChange += slot.price - slot.disruptionCost;
  trail.done.push({ kind: 'brought', slot, moves });
}

/** Adds a new node, empty. */
export function open(trail: Trail, offering: PoolOffering): Slot {
  const { slot, before } = openSlot(trail.arena, offering);
  trail.costChange += offering.price;
  trail.done.push({ kind: 'opened', slot, before });
  return slot;
}

/** Drops a new node that has no pods. */
export function close(trail: Trail, slot: Slot): void {
  closeSlot(trail.arena, slot);
  trail.costChange -= slot.price;
  trail.done.push({ kind: 'closed', slot });
}

/** Makes a new node one of another offering; its pods stay. */
export function changeOffering(trail: Trail, slot: Slot, offering: PoolOffering): void {
  const { offering: before } = slot;
  if (before === null) return;
  trail.costChange += offering.price - before.price;
  changeSlot(trail.arena, slot, offering);
  trail.done.push({ kind: 'changed', slot, offering: before });
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
  switch (last.kind) {
    case 'took':
      restore(arena, slot);
      trail.costChange += slot.price - slot.disruptionCost;
      break;
    case 'brought':
      removeAs(arena, slot, last.moves);
      trail.costChange += slot.disruptionCost - slot.price;
      break;
    case 'opened':
      trail.costChange -= slot.price;
      closeSlot(arena, slot, last.before);
      break;
    case 'closed':
      reopenSlot(arena, slot);
      trail.costChange += slot.price;
      break;
    case 'changed':
      trail.costChange += last.offering.price - slot.price;
      changeSlot(arena, slot, last.offering);
      break;
  }
}
