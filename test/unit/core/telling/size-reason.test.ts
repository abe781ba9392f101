import { describe, expect, test } from 'vitest';
import type { PlannedClaim } from '../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { renderSizeReason } from '../../../../shared/core/telling/cheaper/size-reason.ts';

const offering = (instanceType: string, price: number) =>
  ({ instanceType, zone: 'westeurope-1', capacityType: 'on-demand', price: microUsdPerHour(price) }) as const;

function claim(given: Partial<PlannedClaim>): PlannedClaim {
  const own = offering('Standard_D8ls_v5', 388_000);
  return { pods: [{ name: 'a/b', uid: 'u' }], offering: own, cheaper: [], runnerUp: null, ...given } as PlannedClaim;
}

const tooSmall = {
  nodePool: 'general',
  reason: { kind: 'too-small', resource: 'cpu', wanted: '7', has: '3860m' },
  offerings: 12,
  instanceTypes: 4,
  example: offering('Standard_D4_v5', 148_000),
} as const;

describe('the reason for a size', () => {
  test('is what it holds, why what is cheaper was ruled out, and what comes next', () => {
    const runnerUp = offering('Standard_D8_v5', 400_000);
    expect(renderSizeReason(claim({ cheaper: [tooSmall], runnerUp }), 'USD')).toBe(
      'holds 1 pod; ruled out 12 cheaper offerings, such as Standard_D4_v5: too small: the pods want 7 cpu, it has 3.86',
    );
    expect(renderSizeReason(claim({ runnerUp }), 'USD')).toBe(
      'holds 1 pod; no offering costs less; next best: Standard_D8_v5 (on-demand) at $0.4 an hour',
    );
  });

  test('does not name the same size in another zone as the next best', () => {
    const runnerUp = { ...offering('Standard_D8ls_v5', 388_000), zone: 'westeurope-2' };
    expect(renderSizeReason(claim({ runnerUp }), 'USD')).toBe('holds 1 pod; no offering costs less');
  });

  test('says so where nothing costs less and nothing else would do', () => {
    expect(renderSizeReason(claim({}), 'USD')).toBe('holds 1 pod; no offering costs less; no other offering would do');
  });

  test('names the largest group and counts the others', () => {
    const gone = { ...tooSmall, reason: { kind: 'unavailable' }, offerings: 3 } as const;
    expect(renderSizeReason(claim({ cheaper: [gone, tooSmall] }), 'USD')).toContain(
      'it has 3.86; 3 more have other reasons',
    );
  });

  test('is never longer than what kubectl describe shows of an annotation', () => {
    const long = { ...tooSmall, reason: { kind: 'volume', pod: `team/${'p'.repeat(400)}` } } as const;
    const text = renderSizeReason(claim({ cheaper: [long] }), 'USD');
    expect([text.length, text.endsWith('…')]).toEqual([140, true]);
  });
});
