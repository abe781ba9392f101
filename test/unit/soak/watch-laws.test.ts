import { describe, expect, test } from 'vitest';
import type { Departure } from '../../soak/observe.ts';
import { judge, type Look } from '../../soak/watch-laws.ts';
import { claim, pod } from './lives.ts';

const NOW = 600_000;

function broken(of: Partial<Look>, book: Partial<Look['book']> = {}): ReadonlyArray<string> {
  const look: Look = {
    atMs: NOW,
    pods: [],
    claims: [],
    departures: [],
    vms: [],
    creations: {},
    queues: null,
    confessions: [],
    memoryMb: new Map(),
    ...of,
    book: { troubles: [], touched: new Map(), struck: new Map(), limits: new Map(), ...book },
  };
  return judge(look).map(({ law, what }) => `${law}: ${what}`);
}

function departure(of: Partial<Departure> = {}): Departure {
  return { pod: 'web-1', app: 'web', isProtected: false, node: 'aks-a', atMs: NOW, left: 6, reason: '', ...of };
}

describe('a pod that can run runs in time', () => {
  const late = pod({ seenMs: NOW - 91_000 });

  test('one that waits for more than 90 s is told', () => {
    expect(broken({ pods: [late] })).toEqual([expect.stringContaining('web-1 has no node')]);
  });

  test('one that waits for less, has a node, has gone or can never run is not', () => {
    const fine = [{ seenMs: NOW - 89_000 }, { boundMs: NOW }, { goneMs: NOW }, { canRun: false }];
    expect(broken({ pods: fine.map((of) => ({ ...late, ...of })) })).toEqual([]);
  });

  test('time in which something is broken is not its time', () => {
    const trouble = { what: 'x', fromMs: NOW - 60_000, dueMs: 0, endedMs: NOW - 50_000, end: () => Promise.resolve() };
    expect(broken({ pods: [late] }, { troubles: [trouble] })).toEqual([]);
  });

  test('after five minutes nothing that is broken excuses it', () => {
    const trouble = { what: 'x', fromMs: 0, dueMs: 0, endedMs: null, end: () => Promise.resolve() };
    const waits = (ms: number): ReadonlyArray<string> =>
      broken({ pods: [pod({ seenMs: NOW - ms })] }, { troubles: [trouble] });
    expect(waits(299_000)).toEqual([]);
    expect(waits(301_000)).toEqual([expect.stringContaining('web-1 has no node after 300 s')]);
  });
});

describe('machines', () => {
  test('one whose claim has been gone for long, or never was there, is an orphan', () => {
    const claims = [
      claim({ name: 'a', goneMs: NOW - 151_000 }),
      claim({ name: 'b', goneMs: NOW - 9_000 }),
      claim({ name: 'c' }),
    ];
    const vms = ['aks-a', 'aks-b', 'aks-c', 'aks-d'].map((name) => ({ name, vCpus: 4, seenMs: 0 }));
    expect(broken({ claims, vms })).toEqual([
      'no machine without its claim: aks-a has no NodeClaim',
      'no machine without its claim: aks-d has no NodeClaim',
    ]);
  });

  test('one that was made twice is told', () => {
    expect(broken({ creations: { 'aks-a': 1, 'aks-b': 2 } })).toEqual([
      'no machine is made twice: aks-b was made 2 times',
    ]);
  });
});

test('dead letters and poison are told; while Service Bus cannot be asked nothing is', () => {
  const queues = { claims: { active: 4, deadLettered: 1 }, poison: { active: 2, deadLettered: 0 } };
  expect(broken({ queues })).toEqual([
    'nothing in dead letters or poison: queue claims has 1 dead letters',
    'nothing in dead letters or poison: 2 messages are poison',
  ]);
  expect(broken({ queues: null })).toEqual([]);
});

describe('protected pods', () => {
  const claims = [claim({ name: 'a' })];
  const departures = [departure({ isProtected: true, app: 'steady' })];

  test('one that is told to go without a reason is told', () => {
    expect(broken({ claims, departures })).toEqual([
      expect.stringContaining('do-not-disrupt and was told to leave aks-a'),
    ]);
  });

  test('an interruption, the loss of its node, its owner and another pod may take it', () => {
    expect(broken({ claims: [claim({ name: 'a', isInterrupted: true })], departures })).toEqual([]);
    expect(broken({ claims: [], departures })).toEqual([]);
    expect(broken({ claims, departures }, { struck: new Map([['aks-a', 1]]) })).toEqual([]);
    expect(broken({ claims, departures }, { touched: new Map([['steady', NOW - 29_000]]) })).toEqual([]);
    const preempted = departures.map((one) => ({ ...one, reason: 'PreemptionByScheduler' }));
    expect(broken({ claims, departures: preempted })).toEqual([]);
  });

  test('a change of its owner long ago is no reason', () => {
    expect(broken({ claims, departures }, { touched: new Map([['steady', NOW - 31_000]]) })).toHaveLength(1);
  });
});

describe('budgets of pods', () => {
  const claims = [claim({ name: 'a' })];
  const pods = Array.from({ length: 6 }, () => pod({ boundMs: 1, isRunning: true }));

  test('one pod may be away at a time, and not two', () => {
    expect(broken({ claims, pods, departures: [departure({ left: 5 })] })).toEqual([]);
    expect(broken({ claims, pods, departures: [departure({ left: 4 })] })).toEqual([
      'budgets of pods hold: web-1 left aks-a, and 4 of 6 run',
    ]);
  });

  test('pods that have ended, as those that a kubelet had no room for, count among nobody', () => {
    const ended = pods.map((one, index) => ({ ...one, isFinished: index > 0 && index < 3 }));
    expect(broken({ claims, pods: ended, departures: [departure({ left: 3 })] })).toEqual([]);
  });

  test('where the scheduler has just removed another for a pod that comes first, nothing is said', () => {
    const departures = [departure({ left: 4 })];
    const preempted = pod({ goneMs: NOW - 29_000, goneFor: 'PreemptionByScheduler' });
    expect(broken({ claims, pods: [...pods, preempted], departures })).toEqual([]);
    for (const other of [{ goneMs: NOW - 31_000 }, { app: 'api' }, { goneFor: 'EvictionByEvictionAPI' }])
      expect(broken({ claims, pods: [...pods, { ...preempted, ...other }], departures })).toHaveLength(1);
  });

  test('without a budget, or just after pods were lost or scaled, nothing is said', () => {
    const departures = [departure({ left: 4 })];
    expect(broken({ claims, pods, departures: departures.map((one) => ({ ...one, app: 'small' })) })).toEqual([]);
    expect(broken({ claims, pods, departures }, { struck: new Map([['aks-z', NOW - 50_000]]) })).toEqual([]);
    expect(broken({ claims, pods, departures }, { touched: new Map([['web', NOW - 50_000]]) })).toEqual([]);
  });
});

test('no more nodes of a pool go at once by our own choice than its budget says', () => {
  const going = (count: number, of = {}): Array<ReturnType<typeof claim>> =>
    Array.from({ length: count }, (_, index) => claim({ name: `a${index}`, disruption: 'Drifted', ...of }));
  expect(broken({ claims: going(3) })).toEqual([]);
  expect(broken({ claims: going(4) })).toEqual(['budgets of pools hold: 4 nodes of general go at once: a0,a1,a2,a3']);
  const [first, ...others] = going(4);
  expect(broken({ claims: first === undefined ? [] : [{ ...first, isTerminating: true }, ...others] })).toEqual([]);
  expect(broken({ claims: going(4, { goneMs: 1 }) })).toEqual([]);
  expect(broken({ claims: going(4, { isInterrupted: true }) })).toEqual([]);
  expect(broken({ claims: going(4, { disruption: 'Expired' }) })).toEqual([]);
});

test('a pool grows past its limit by nothing that comes after it was set', () => {
  const limits = new Map([['general', { cpu: 8, sinceMs: 100_000 }]]);
  const vms = ['aks-a', 'aks-b'].map((name) => ({ name, vCpus: 8, seenMs: NOW }));
  const claims = (seenMs: number): Array<ReturnType<typeof claim>> => [
    claim({ name: 'a' }),
    claim({ name: 'b', seenMs }),
  ];
  expect(broken({ claims: claims(114_000), vms }, { limits })).toEqual([]);
  expect(broken({ claims: claims(116_000), vms }, { limits })).toEqual([
    'limits of pools hold: general has 16 cores, and its limit is 8',
  ]);
  const [old, fresh] = claims(116_000).map((one, index) => ({ ...one, isInterrupted: index === 0 }));
  expect(broken({ claims: [old, fresh].filter((one) => one !== undefined), vms }, { limits })).toEqual([]);
});

test('confessions and memory past its bound are told', () => {
  expect(broken({ confessions: ['plan-refused {}'] })).toEqual(['no plan is refused: plan-refused {}']);
  const memoryMb = new Map([
    ['relay', 251],
    ['functions host', 800],
  ]);
  expect(broken({ memoryMb })).toEqual(['memory has a bound: relay takes 251 MB, more than 250']);
});
