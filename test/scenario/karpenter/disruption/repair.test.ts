import { describe, expect, test } from 'vitest';
import { AKS_REPAIRS } from '../../../../shared/core/model/disruption-input.ts';
import { shape, spec } from '../../../kit/core/build.ts';
import { disruptable, keptFor, machine, on, plan, removed, type Machine } from '../../../kit/core/build-disruption.ts';

/** Nodes that are sick, as AKS says it. It is noon. */

const pod = shape(spec('500m', '1Gi'), { app: 'web' });
const NOT_READY = { type: 'Ready', status: 'False', lastTransitionTime: '1970-01-02T11:50:00Z' };
const UNHEALTHY = {
  type: 'kubernetes.azure.com/NodeHealthy',
  status: 'False',
  lastTransitionTime: '1970-01-02T12:00:00Z',
};

const sick = (name: string, condition: typeof NOT_READY, parts: Parameters<typeof machine>[1] = {}): Machine =>
  machine(name, { conditions: [], nodeConditions: [condition], ...parts });
const well = (count: number, nodePool = 'general'): ReadonlyArray<Machine> =>
  Array.from({ length: count }, (_, index) => machine(`${nodePool}-well-${index}`, { conditions: [], nodePool }));

function planFor(machines: ReadonlyArray<Machine>, more: Partial<Parameters<typeof plan>[0]> = {}) {
  return plan({
    machines,
    shapes: [pod],
    pods: machines.flatMap(({ node }) => on(node.metadata.name, 0, 1)),
    disruption: { repairs: AKS_REPAIRS },
    ...more,
  });
}

describe('a node is sick', () => {
  test.each([
    ['not ready for ten minutes', NOT_READY, ['a']],
    ['not ready for a moment less', { ...NOT_READY, lastTransitionTime: '1970-01-02T11:50:01Z' }, []],
    ['not heard of for ten minutes', { ...NOT_READY, status: 'Unknown' }, ['a']],
    ['ready', { ...NOT_READY, status: 'True' }, []],
    ['unhealthy, which AKS has made sure of', UNHEALTHY, ['a']],
    ['under some other pressure', { ...UNHEALTHY, type: 'DiskPressure', status: 'True' }, []],
    ['not ready since nobody knows when', { type: 'Ready', status: 'False' } as typeof NOT_READY, []],
  ])('when it is %s [L15]', (_, condition, gone) => {
    expect(removed(planFor([sick('a', condition), ...well(5)]))).toEqual(gone);
  });

  test('also where it never came into use [L15]', () => {
    expect(removed(planFor([sick('a', NOT_READY, { initialized: false }), ...well(5)]))).toEqual(['a']);
  });

  test('as soon as one of its conditions has lasted long enough [L15]', () => {
    const both = { nodeConditions: [{ ...NOT_READY, lastTransitionTime: '1970-01-02T11:59:00Z' }, UNHEALTHY] };
    expect(removed(planFor([sick('a', UNHEALTHY, both), ...well(5)]))).toEqual(['a']);
  });

  test('and stays while the gate is closed [L15]', () => {
    expect(removed(planFor([sick('a', NOT_READY), ...well(5)], { disruption: { repairs: [] } }))).toEqual([]);
  });
});

test('a sick node goes whatever budgets, annotations, its pods and its pool’s policy say [L15]', () => {
  const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  const made = planFor([sick('a', NOT_READY, { annotations }), ...well(5)], {
    shapes: [{ ...pod, annotations }],
    nodePools: [disruptable('general', { budgets: [{ nodes: '0' }], consolidateAfter: 'Never' })],
    podDisruptionBudgets: [
      {
        metadata: { name: 'web', namespace: 'default' },
        spec: { selector: { matchLabels: { app: 'web' } } },
        status: { disruptionsAllowed: 0 },
      },
    ],
  });
  expect(made.steps).toMatchObject([{ reason: 'Unhealthy', remove: ['a'] }]);
});

describe('no more than a fifth of a pool, rounded up, is replaced for being sick', () => {
  const many = (count: number, nodePool = 'general'): ReadonlyArray<Machine> =>
    Array.from({ length: count }, (_, index) => sick(`${nodePool}-sick-${index}`, NOT_READY, { nodePool }));

  test.each([
    [1, 1, 1],
    [1, 5, 1],
    [2, 5, 0],
    [2, 6, 2],
    [2, 10, 2],
    [3, 10, 0],
  ])('%i of %i: %i go [L15]', (ill, all, gone) => {
    const made = planFor([...many(ill), ...well(all - ill)]);
    expect(removed(made)).toHaveLength(gone);
    if (gone === 0) expect(keptFor(made, 'general-sick-0')).toBe('too-many-unhealthy');
  });

  test('where those count that are not sick for long enough yet [L15]', () => {
    const fresh = sick('fresh', { ...NOT_READY, lastTransitionTime: '1970-01-02T11:59:00Z' });
    const made = planFor([...many(1), fresh, ...well(3)]);
    expect([removed(made), keptFor(made, 'general-sick-0')]).toEqual([[], 'too-many-unhealthy']);
  });

  test('of each pool for itself: a sick one keeps no other’s [L15]', () => {
    const nodePools = [disruptable(), disruptable('other')];
    const made = planFor([...many(3), ...well(2), ...many(1, 'other'), ...well(4, 'other')], { nodePools });
    expect(removed(made)).toEqual(['other-sick-0']);
  });
});
