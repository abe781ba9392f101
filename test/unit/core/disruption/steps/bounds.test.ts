import { expect, test } from 'vitest';
import { offeringsIn, readCourse, readRound, type Course } from '../../../../../shared/core/disruption/read-round.ts';
import { searchToRest } from '../../../../../shared/core/disruption/search-to-rest.ts';
import { NO_ENDS, type Ends } from '../../../../../shared/core/disruption/steps/ends.ts';
import { replayOf } from '../../../../../shared/core/disruption/steps/replay.ts';
import { sequence } from '../../../../../shared/core/disruption/steps/sequence.ts';
import { order, untilOrdered } from '../../../../../shared/core/disruption/until-ordered.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { disruptionInput, NOW } from '../../../../kit/core/build-disruption.ts';
import { spreadCluster, type Drawn } from '../../../../kit/core/spread-cluster.ts';

type Few = Pick<Drawn, 'seed' | 'nodes' | 'apps' | 'cpus' | 'budget'>;

/** A drawn cluster, and the end that so many searches find for it. */
function searched(drawn: Few, most?: number): { course: Course; ends: Ends } {
  const cluster = spreadCluster({ ...drawn, maxSkew: 1 });
  const course = readCourse(disruptionInput({ ...cluster, disruption: { searchSteps: 5_000 } }), instant(NOW));
  return { course, ends: searchToRest(course, NO_ENDS, null, most) ?? NO_ENDS };
}

test('a search is followed by another in what it comes to, as often as it may', () => {
  const drawn: Few = { seed: 209, nodes: 4, apps: 8, cpus: [8, 4, 4, 2], budget: '100%' };
  expect([0, 1, 2, undefined].map((most) => searched(drawn, most).ends.gone.size)).toEqual([0, 1, 2, 2]);
});

test.each<Few>([
  { seed: 3, nodes: 10, apps: 8, cpus: [8, 2], budget: '100%' },
  { seed: 186, nodes: 6, apps: 2, cpus: [8], budget: '100%' },
])('what one search opens and the next takes away was never there: cluster $seed', (drawn) => {
  const { ends, course } = searched(drawn);
  const names = new Set(course.input.provisioning.cluster.nodes.map(({ metadata }) => metadata.name));
  expect([...ends.gone].filter((name) => !names.has(name))).toEqual([]);
  const homes = new Set(ends.homes.values());
  expect([...ends.created.keys()].filter((name) => !homes.has(name))).toEqual([]);
});

test.each<readonly [Few, ReadonlyArray<number>]>([
  [{ seed: 131, nodes: 6, apps: 4, cpus: [8], budget: '1' }, [2_400_000, 1_200_000, 1_000_000]],
  [{ seed: 394, nodes: 6, apps: 2, cpus: [2, 4, 8], budget: '30%' }, [1_400_000, 700_000, 400_000]],
])('the search goes on from what can be reached as often as it may, and no more often: %j', (drawn, costs) => {
  const { course, ends } = searched(drawn);
  const first = order(course, readRound(course, NO_ENDS), ends);
  expect(first.dropped.length).toBeGreaterThan(0);
  expect([0, 1, 2].map((most) => untilOrdered(course, first, most).after.cost)).toEqual(costs);
});

test.each<readonly [Few, ReadonlyArray<number>]>([
  [{ seed: 344, nodes: 14, apps: 8, cpus: [8], budget: '30%' }, [6, 5, 4, 4]],
  [{ seed: 46, nodes: 14, apps: 4, cpus: [8, 2], budget: '30%' }, [5, 4, 3, 3]],
])('a step that has a node is tried to be made larger so many times, and no more: %j', (drawn, steps) => {
  const { course, ends } = searched(drawn);
  const made = [0, 1, 2, 150].map((mostTried) => {
    const round = readRound(course, NO_ENDS);
    return sequence(replayOf(round.arena, offeringsIn(round), ends), course.pools, mostTried).steps.length;
  });
  expect(made).toEqual(steps);
});
