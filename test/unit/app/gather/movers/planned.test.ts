import { expect, test } from 'vitest';
import {
  kindOf,
  moversOf,
  plannedElsewhere,
  plannedIn,
  plannedOn,
  shapeDigest,
} from '../../../../../shared/app/gather/movers/planned.ts';
import type { Decision } from '../../../../../shared/ports/store.ts';

const decision = {
  claimNames: ['x', 'y', 'later'],
  movers: [{ uid: 'a', owner: 'o', shape: 's' }],
  plan: { claims: [{ pods: [{ uid: 'a' }] }, { pods: [{ uid: 'b' }] }] },
} as unknown as Decision;

test('who is planned on a claim, on the others and on all, and who of them moves', () => {
  expect([plannedOn(decision, 'x'), plannedOn(decision, 'later'), plannedOn(decision, 'other')]).toEqual([
    ['a'],
    [],
    [],
  ]);
  expect([...plannedElsewhere(decision, 'x')]).toEqual(['b']);
  expect(plannedIn(decision)).toEqual(['a', 'b']);
  expect(moversOf(decision, 'x').map(({ uid }) => uid)).toEqual(['a']);
  expect(moversOf(decision, 'y')).toEqual([]);
});

test('nobody is planned where no decision was made', () => {
  expect([plannedOn(null, 'x'), plannedIn(null), moversOf(null, 'x')]).toEqual([[], [], []]);
  expect([...plannedElsewhere(null, 'x')]).toEqual([]);
});

test('pods of one owner and shape are of one kind; a shape that is not there is none', () => {
  const shape = { namespace: 'a', labels: {}, annotations: {}, spec: { containers: [] } };
  const shapes = [
    { ...shape, owner: { uid: 'o' } },
    { ...shape, owner: null },
  ] as unknown as Parameters<typeof kindOf>[0]['shapes'];
  expect(kindOf({ shapes }, 0)).toBe(`o/${shapeDigest(shapes[0])}`);
  expect(kindOf({ shapes }, 1)).toBe(`/${shapeDigest(shapes[0])}`);
  expect(kindOf({ shapes }, 2)).toBe('/');
});
