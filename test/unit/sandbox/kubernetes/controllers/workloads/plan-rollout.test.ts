import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  planRollout,
  type Rollout,
  type RolloutSet,
} from '../../../../../../sandbox/kubernetes/controllers/workloads/plan-rollout.ts';

const set = (replicas: number, available = replicas): RolloutSet => ({ replicas, available, existing: replicas });

/** Steps a rollout on until it stands still, with every pod available at once; answers the steps. */
function play(start: Rollout): ReadonlyArray<Rollout> {
  const steps = [start];
  for (let count = 0; count < 200; count++) {
    const last = steps.at(-1) ?? start;
    const targets = planRollout(last);
    const next = { ...last, current: set(targets.current), older: targets.older.map((replicas) => set(replicas)) };
    if (JSON.stringify(next) === JSON.stringify(last)) return steps;
    steps.push(next);
  }
  throw new Error('the rollout does not end');
}

describe('a rollout', () => {
  it('never has more pods than desired and surge, never fewer available than it may, and ends with new pods only', () => {
    const arbitrary = fc.record({ desired: fc.nat(12), surge: fc.nat(4), unavailable: fc.nat(4), groups: fc.nat(3) });
    fc.assert(
      fc.property(arbitrary, ({ desired, surge, unavailable, groups }) => {
        fc.pre(surge + unavailable > 0);
        const older = Array.from({ length: groups }, (_, index) => set(index === 0 ? desired : 0));
        const current = set(groups === 0 ? desired : 0);
        const steps = play({ strategy: 'RollingUpdate', desired, surge, unavailable, current, older });
        for (const step of steps) {
          const total = step.current.replicas + step.older.reduce((sum, { replicas }) => sum + replicas, 0);
          expect(total).toBeLessThanOrEqual(desired + surge);
          expect(total).toBeGreaterThanOrEqual(desired - unavailable);
        }
        const last = steps.at(-1);
        expect(last?.current.replicas).toBe(desired);
        expect(last?.older.every(({ replicas }) => replicas === 0)).toBe(true);
      }),
    );
  });

  it('takes no old pod while new ones are not available', () => {
    const waiting = {
      strategy: 'RollingUpdate',
      desired: 4,
      surge: 1,
      unavailable: 0,
      current: set(1, 0),
      older: [set(4)],
    } as const;
    expect(planRollout(waiting)).toStrictEqual({ current: 1, older: [4] });
  });

  it('takes pods that do not work before those that do', () => {
    const rollout = {
      strategy: 'RollingUpdate',
      desired: 4,
      surge: 0,
      unavailable: 1,
      current: set(0),
      older: [set(2), set(2, 1)],
    } as const;
    expect(planRollout(rollout)).toStrictEqual({ current: 0, older: [2, 1] });
  });

  it('that recreates starts new pods only when the old are gone', () => {
    const rollout = {
      strategy: 'Recreate',
      desired: 3,
      surge: 0,
      unavailable: 0,
      current: set(0),
      older: [set(3)],
    } as const;
    expect(planRollout(rollout)).toStrictEqual({ current: 0, older: [0] });
    const ending = { ...rollout, older: [{ replicas: 0, available: 0, existing: 1 }] };
    expect(planRollout(ending).current).toBe(0);
    expect(planRollout({ ...rollout, older: [set(0)] }).current).toBe(3);
  });
});
