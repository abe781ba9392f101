import { expect, test } from 'vitest';
import { allOfferings, offeringsOf } from '../../../../../shared/core/disruption/search/pool-offerings.ts';
import { ANYWHERE } from '../../../../../shared/core/disruption/search/reschedule.ts';
import { close, open, take, trailOf } from '../../../../../shared/core/disruption/search/trail.ts';
import { endsOf } from '../../../../../shared/core/disruption/steps/ends.ts';
import { replayOf } from '../../../../../shared/core/disruption/steps/replay.ts';
import { shape, spec } from '../../../../kit/core/build.ts';
import { arenaOf, slotOf } from '../../../../kit/core/build-arena.ts';
import { disruptable, machine, on } from '../../../../kit/core/build-disruption.ts';

/** Two full nodes, the pods of one of which go to a new one of spot and the other stays. */
function ended() {
  const read = () =>
    arenaOf({
      machines: [machine('a'), machine('b')],
      shapes: [shape(spec('1500m', '1Gi'))],
      pods: [...on('a', 0, 2), ...on('b', 0, 2)],
      nodePools: [disruptable('general', {}, { requirements: [] })],
    });
  const arena = read();
  const offerings = allOfferings(offeringsOf(arena.workspace));
  const [offering] = offerings.filter(({ isSpot, zone }) => isSpot && zone === 'westeurope-2').slice(-1);
  if (offering === undefined) throw new Error('there is no spot');
  const trail = trailOf(arena);
  const fresh = open(trail, offering);
  take(trail, slotOf(arena, 'a'), { ...ANYWHERE, first: fresh });
  close(trail, open(trail, offering));
  const ends = endsOf(arena, new Set(['a', 'b', 'general-1', 'general-2']));
  return { ends, offering, read };
}

test('a new node has the first free name of its NodePool, and is what the search has opened', () => {
  const { ends, offering } = ended();
  expect([...ends.gone]).toEqual(['a']);
  expect([...ends.created.values()]).toEqual([
    {
      name: 'general-3',
      nodePool: 'general',
      instanceType: offering.state.pool.catalog.types[offering.type]?.name,
      zone: 'westeurope-2',
      capacityType: 'spot',
      price: offering.plainPrice,
    },
  ]);
  expect([...ends.homes.values()]).toEqual(['general-3', 'general-3']);
});

test('an end is carried out where its new node can still be had; else its pods go nowhere, which no rule allows', () => {
  const { ends, read } = ended();
  const arena = read();
  const offerings = allOfferings(offeringsOf(arena.workspace));
  const replay = replayOf(arena, offerings, ends);
  const fresh = replay.created.get('general-3');
  expect([...replay.going].map(([slot, moves]) => [slot.node?.name, moves])).toEqual([
    ['a', [{ target: fresh?.index, shape: 0, count: 2 }]],
  ]);
  expect([...replay.toNew.values()]).toEqual([[fresh]]);

  const without = replayOf(read(), [], ends);
  expect([without.created.size, ...without.going.values()]).toEqual([0, [{ target: -1, shape: 0, count: 2 }]]);
});

test('nodes are gone in the order in which they were taken', () => {
  const arena = arenaOf({ machines: ['a', 'b', 'c'].map((name) => machine(name)), shapes: [], pods: [] });
  const trail = trailOf(arena);
  for (const name of ['b', 'c', 'a']) take(trail, slotOf(arena, name), ANYWHERE);
  expect([...endsOf(arena, new Set()).gone]).toEqual(['b', 'c', 'a']);
});
