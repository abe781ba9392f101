import { describe, expect, test } from 'vitest';
import { renderClock, renderDuration, renderGap, renderHourly } from '../../../../../sandbox/start/view/amounts.ts';
import { numberFact, parseAppEvent, textFact } from '../../../../../sandbox/start/view/app-events.ts';
import type { Offering } from '../../../../../sandbox/start/view/cluster-objects.ts';
import { percentilesOf } from '../../../../../sandbox/start/record/percentiles.ts';
import {
  begunSentence,
  interruptedSentence,
  joinedSentence,
  noticeSentence,
  provisionedSentence,
  refusedSentence,
  removedSentence,
  renderMachines,
  shortageSentence,
} from '../../../../../sandbox/start/tell/sentences.ts';

function machine(size: string, capacityType: Offering['capacityType'] = 'on-demand'): Offering {
  return { size: `Standard_${size}`, zone: 'westeurope-1', capacityType };
}

describe('a sentence', () => {
  test('about quota names it as it is given, and how many others are too low', () => {
    const shortage = { name: 'standardDSv5Family', used: 1, limit: 2, pods: 1, suggested: 4, others: 1 };
    expect(shortageSentence(shortage)).toBe(
      '1 pod waits for quota: 1 of 2 cores of the family standardDSv5Family is used, and 1 other quota is too low as well. To raise it, start with --quota standardDSv5Family=4 or more.',
    );
    const spaced = { ...shortage, name: 'Standard NCASv3_T4 Family', others: 0 };
    expect(shortageSentence(spaced)).toContain("--quota 'Standard NCASv3_T4 Family=4' or more.");
    expect(shortageSentence({ ...shortage, name: 'virtualMachines', used: 2 })).toContain('2 of 2 VMs are used');
  });

  test('about a decision names the machines, the pods, the cost and how good it is', () => {
    const decision = { machines: [machine('D8ls_v5'), machine('D4als_v6')], pods: 10, left: 0 };
    expect(provisionedSentence({ ...decision, cost: 582_000, lowerBound: 554_286 })).toBe(
      'Provisioned 2 nodes (D4als_v6 + D8ls_v5) for 10 pods: $0.582/h, at most 5.0 % above the cheapest possible.',
    );
    expect(provisionedSentence({ ...decision, cost: 582_000, lowerBound: 582_000 })).toContain(
      ', the cheapest possible.',
    );
    expect(provisionedSentence({ ...decision, cost: 582_000, lowerBound: 0 })).toContain(': $0.582/h.');
  });

  test('about a decision does not hide the pods that found no place', () => {
    const decision = { machines: [machine('D2s_v5')], pods: 1, cost: 96_000, lowerBound: 0 };
    expect(provisionedSentence({ ...decision, left: 1 })).toContain('1 more pod has no place.');
    expect(provisionedSentence({ ...decision, left: 3 })).toContain('3 more pods have no place.');
  });

  test('counts machines of one size and names at most four sizes', () => {
    expect(renderMachines([machine('A'), machine('A'), machine('B', 'spot')])).toBe('2 × A + B spot');
    expect(renderMachines(['A', 'B', 'C', 'D', 'E', 'F'].map((size) => machine(size)))).toBe(
      'A + B + C + D + 2 other sizes',
    );
  });

  test('about a notice says who takes what and when', () => {
    expect(noticeSentence('aks-a', 'preempt', 29_990)).toBe('Azure will evict spot VM aks-a in 30 s.');
    expect(noticeSentence('aks-a', 'redeploy', 60_000)).toBe('Azure announces a redeploy of VM aks-a in 60 s.');
  });

  test('about an interruption says whether pods were told to go, or wait', () => {
    expect(interruptedSentence('aks-a', 3, true)).toBe('aks-a takes no more pods; the 3 pods on it were evicted.');
    expect(interruptedSentence('aks-a', 1, true)).toContain('the pod on it was evicted');
    expect(interruptedSentence('aks-a', 0, false)).toContain('wait for their replacement');
  });

  test('about many nodes counts them', () => {
    const nodes = Array.from({ length: 12 }, (_, index) => ({ name: `aks-${index}`, sinceLaunchMs: 1_000 * index }));
    expect(joinedSentence(nodes)).toBe('12 nodes joined, the last 11.0 s after its launch.');
    expect(joinedSentence(nodes.slice(3, 4))).toBe('aks-3 joined 3.00 s after its launch.');
    expect(removedSentence(['aks-1', 'aks-2'])).toBe('Removed aks-1 and aks-2: drained, and the VMs deleted.');
  });

  test('about a refusal says what Azure refuses and why', () => {
    expect(refusedSentence([{ ...machine('D8s_v5'), reason: 'ZonalAllocationFailed', wasLast: false }])).toBe(
      'Azure refuses D8s_v5 in zone 1 (ZonalAllocationFailed): trying the next best.',
    );
  });
});

describe('amounts', () => {
  test('are dollars per hour with as many digits as matter', () => {
    expect(renderHourly(582_000)).toBe('$0.582/h');
    expect(renderHourly(12_345_678)).toBe('$12.35/h');
  });

  test('a gap is rounded up, so that it never promises more than was proved', () => {
    expect(renderGap(1_000_001, 1_000_000)).toBe('at most 0.1 % above the cheapest possible');
    expect(renderGap(1_100_000, 1_000_000)).toBe('at most 10.0 % above the cheapest possible');
    // Such a bound ignores a rule that the plan obeys: as a share it would read as waste.
    expect(renderGap(1_500_000, 1_000_000)).toBe('not proved to be the cheapest');
    expect(renderGap(1, 0)).toBeNull();
  });

  test('durations and clocks fit what they tell', () => {
    expect(renderDuration(640)).toBe('0.64 s');
    expect(renderDuration(14_230)).toBe('14.2 s');
    expect(renderDuration(125_000)).toBe('2 min 05 s');
    expect(renderClock(83_999)).toBe('1:23');
    expect(renderClock(3_723_000)).toBe('1:02:03');
  });

  test('percentiles are values that occurred', () => {
    expect(percentilesOf([3, 1, 2])).toEqual({ count: 3, p50: 2, p99: 3 });
    expect(percentilesOf(Array.from({ length: 1_000 }, (_, index) => index + 1))).toMatchObject({ p50: 500, p99: 990 });
    expect(percentilesOf([])).toBeNull();
  });
});

describe("a line of the app's log", () => {
  test('is an event with facts', () => {
    const event = parseAppEvent('[2026-11-21T07:25:06.502Z] {"event":"provisioned","claims":2,"decision":"d"}');
    expect(event).toEqual({ event: 'provisioned', facts: { claims: 2, decision: 'd' } });
    expect(
      event === null ? null : [numberFact(event, 'claims'), textFact(event, 'decision'), numberFact(event, 'x')],
    ).toEqual([2, 'd', 0]);
  });

  test('names the notice it tells of beside its own name', () => {
    const line = '[t] {"event":"interrupted","notice":"preempt","claim":"a","toldAfterMs":300}';
    expect(parseAppEvent(line)).toEqual({
      event: 'interrupted',
      facts: { notice: 'preempt', claim: 'a', toldAfterMs: 300 },
    });
  });

  test.each(['', 'Host started', '[t] {"event":', '[t] {"noEvent":1}', '[t] {"event":7}'])('%j is none', (line) => {
    expect(parseAppEvent(line)).toBeNull();
  });
});

test('nodes that are to go are told with why, what moves, what comes first, and what it saves', () => {
  const facts = { reason: 'Underutilized', pods: 3, replacements: 1, saved: 200_000 };
  expect(begunSentence(['aks-a', 'aks-b'], facts)).toBe(
    'Removing aks-a and aks-b (Underutilized), 3 pods move, 1 new node first, saves $0.200/h.',
  );
  expect(begunSentence(['aks-a'], { reason: 'Drifted', pods: 1, replacements: 0, saved: -1 })).toBe(
    'Removing aks-a (Drifted), 1 pod moves.',
  );
});
