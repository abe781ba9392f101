import { expect, test } from 'vitest';
import { judgeNodes } from '../../../../../shared/core/disruption/candidates/judge-nodes.ts';
import type { Arena, Slot } from '../../../../../shared/core/disruption/search/arena.ts';
import { drawFrom } from '../../../../../shared/core/quantity/draw.ts';
import { farOf, firstInOrder } from '../../../../../shared/core/disruption/search/fullest-first.ts';
import { offeringsOf } from '../../../../../shared/core/disruption/search/pool-offerings.ts';
import { arenaFor } from '../../../../../shared/core/disruption/search/read-arena.ts';
import { leave, put, restore } from '../../../../../shared/core/disruption/search/slots.ts';
import { close, open, trailOf } from '../../../../../shared/core/disruption/search/trail.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { disruptionInput, NOW } from '../../../../kit/core/build-disruption.ts';
import { spreadCluster } from '../../../../kit/core/spread-cluster.ts';

function arenaOf(nodes: number): Arena {
  const given = disruptionInput(spreadCluster({ seed: 4, nodes, apps: 6, maxSkew: 2, budget: '100%' }));
  const { provisioning } = given;
  return arenaFor({ provisioning, nodes: judgeNodes(given, instant(NOW)), awaited: new Map(), searchSteps: 0 });
}

/** The same by looking at all. */
function byLooking(arena: Arena, requests: Float64Array, takes: (slot: Slot) => boolean): Slot | null {
  const keyOf = (slot: Slot): number =>
    slot.room.free.reduce((sum, one, k) => sum + one * (arena.worth[k] ?? 0), farOf(slot));
  const roomy = arena.slots.filter(
    (slot) =>
      slot.state === 'there' &&
      slot.takesPods &&
      requests.every((one, k) => one === 0 || (slot.room.free[k] ?? 0) >= one) &&
      takes(slot),
  );
  return roomy.toSorted((a, b) => keyOf(a) - keyOf(b) || a.index - b.index)[0] ?? null;
}

test('the first slot in order is the fullest that has room, candidates without new pods last, whatever has changed since', () => {
  const arena = arenaOf(60);
  const draw = drawFrom(7);
  const trail = trailOf(arena);
  const offerings = offeringsOf(arena.workspace)[0]?.list ?? [];
  const shapes = [...arena.shapes.keys()];
  const fresh: Array<Slot> = [];
  const change = (shape: number): void => {
    const slot = arena.slots[draw.below(arena.slots.length)];
    if (slot?.state === 'there') put(arena, slot, shape, slot.received > 0 && draw.below(2) === 0 ? -1 : 1);
  };
  const openOrClose = (): void => {
    const offering = offerings[draw.below(offerings.length)];
    if (draw.below(10) === 0 && offering !== undefined) fresh.push(open(trail, offering));
    const last = fresh.at(-1);
    if (last?.received !== 0 || draw.below(3) > 0) return;
    close(trail, last);
    fresh.pop();
  };
  const comeOrGo = (slot: Slot | undefined): void => {
    if (slot === undefined || draw.below(5) > 0) return;
    if (slot.state === 'there') leave(arena, slot);
    else restore(arena, slot);
  };
  for (let turn = 0; turn < 400; turn++) {
    const shape = shapes[draw.below(shapes.length)] ?? 0;
    // Of some pods at once few slots have room, and of many none.
    const scale = 1 + draw.below(50);
    const requests = (arena.shapes.get(shape)?.requests ?? new Float64Array()).map((amount) => scale * amount);
    const isTaken = draw.below(4) === 0 ? ({ index }: Slot) => index % 3 === 0 : () => true;
    const found = firstInOrder(arena, requests, isTaken);
    expect(found?.index).toBe(byLooking(arena, requests, isTaken)?.index);
    // Now and then many places change at once.
    for (let times = draw.below(8) === 0 ? 12 : 1; times > 0; times--) change(shape);
    openOrClose();
    comeOrGo(arena.slots[draw.below(60)]);
  }
});

test('a slot that has less than nothing of one resource still takes pods that need for none of it', () => {
  const arena = arenaOf(3);
  const [slot] = arena.slots;
  if (slot === undefined) throw new Error('there is no slot');
  slot.room.free[0] = -1e9;
  const requests = Float64Array.from(arena.worth, (_, k) => (k === 1 ? 1 : 0));
  expect(firstInOrder(arena, requests, ({ index }) => index === 0)?.index).toBe(0);
});

test('a slot that has exactly what is asked for takes it, and of two that are alike the first does', () => {
  const arena = arenaOf(6);
  const [first] = arena.slots;
  if (first === undefined) throw new Error('there is no slot');
  const isLike = ({ index }: Slot): boolean => index === 0 || index === 3 || index === 5;
  for (const slot of arena.slots.filter(isLike)) {
    slot.room.free.set(first.room.free);
    Object.assign(slot, { isCandidate: false });
  }
  expect(firstInOrder(arena, first.room.free, isLike)?.index).toBe(0);
});

test('a candidate takes pods last, those that save much for their pods after the others, until pods have come to it', () => {
  const far = (isCandidate: boolean, received: number, reluctance: number): number =>
    farOf({ isCandidate, received, reluctance } as unknown as Slot);
  expect([far(true, 0, 7), far(true, 0, 5), far(true, 1, 7), far(false, 0, 7), far(false, 1, 7)]).toEqual([
    1007, 1005, 0, 0, 0,
  ]);
});

test('new slots are found however many there are', () => {
  const arena = arenaOf(3);
  const none = new Float64Array(arena.worth.length);
  firstInOrder(arena, none, () => true);
  const offering = offeringsOf(arena.workspace)[0]?.list[0];
  if (offering === undefined) throw new Error('there is no offering');
  const trail = trailOf(arena);
  // One after another: few change at a time.
  for (let count = 0; count < 300; count++) {
    open(trail, offering);
    if (count % 8 === 0) firstInOrder(arena, none, () => false);
  }
  const looked: Array<number> = [];
  expect(firstInOrder(arena, none, ({ index }) => looked.push(index) < 0)).toBeNull();
  expect(looked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 303 }, (_, index) => index));
});
