import { expect, test } from 'vitest';
import { shape, spec } from '../../../../kit/core/build.ts';
import { machine, on, plan, removed } from '../../../../kit/core/build-disruption.ts';

/** What goes of two half empty nodes and one without pods, where a move costs that share. */
function removedAt(share: number): ReadonlyArray<string> {
  return removed(
    plan({
      machines: [machine('a'), machine('b'), machine('empty')],
      shapes: [shape(spec('500m', '1Gi'))],
      pods: [...on('a', 0, 2), ...on('b', 0, 2)],
      disruption: { moveCostOf: new Map([['general', share]]) },
    }),
  );
}

test('a node whose moves cost more than it does stays, also where one goes that moves nothing', () => {
  expect([0.8, 0.9, 1.1].map(removedAt)).toEqual([['a', 'b', 'empty'], ['b', 'empty'], ['empty']]);
});
