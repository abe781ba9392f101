import { expect, test } from 'vitest';
import { renderReport, type Report } from '../../soak/report.ts';

const spread = { count: 10, p50: 0.2, p90: 14.5, p99: 24.5, most: 38.94 };
const report: Report = {
  seed: 's-1',
  controlPlane: 'embedded',
  churnSeconds: 420,
  restSeconds: 180,
  actions: { scale: 18, job: 11 },
  pods: { waits: spread, besideFaults: { ...spread, most: 21.04 }, longest: ['web-1: 38.9 s, from 12.0 s on'] },
  atRest: {
    settledAfter: 41,
    unrest: [],
    running: 60,
    cost: 1.2,
    planned: 1,
    plannedBesideHeld: 1.15,
    letGo: ['steady-1'],
  },
  machines: { made: 30, evicted: 2, claims: 31, neverUsed: 1, longEmpty: 2, unused: ['general-7: made at 1.0 s'] },
  removals: {
    sets: [{ reason: 'Empty', told: 4, takenBack: 1 }],
    readyToRemoved: spread,
    heldByPods: 2,
    toldToRemoved: { ...spread, most: 7.04 },
    takenBack: ['9.0 s c (d2): pods came'],
  },
  nodes: { minutes: 100, keptMinutes: 7.6, longestKept: ['aks-general-1: 30.0 s'] },
  memoryMb: {
    relay: { least: 100, most: 130, live: [], grew: false },
    'functions host': { least: 500, most: 590, live: [60.4, 42], grew: null },
  },
  cpuAtRest: { relay: 0.52, 'functions host': null },
  failedExecutions: 3,
  told: { 'spot-storm': 1, 'orphan-kept': 0 },
  breaches: [],
  lastActions: ['10.0 s  web scaled to 3'],
};

test('the report tells every figure with its unit, and that every law held', () => {
  const text = renderReport(report);
  for (const part of [
    'Soak of seed s-1 on the embedded control plane: 7.0 minutes of churn, 3.0 of rest',
    '29: 18 scale, 11 job',
    'waited p50 0.2 s, p90 14.5, p99 24.5, worst 38.9 (10)',
    'waited p50 0.2 s, p90 14.5, p99 24.5, worst 21.0 (10)',
    'worst 7.0 (10), where nothing comes in their place',
    'reached after 41 s, 60 pods run; do-not-disrupt taken off 1 pods',
    '30 made, 2 evicted; 31 claims, 1 never used, 2 empty for more than 45 s',
    '$1.200 an hour; $1.000 planned for an empty cluster, 1.20 times; $1.150 planned for one with the nodes that',
    'do-not-disrupt pods hold, 1.04 times',
    '4 Empty (1 taken back)',
    'general-7: made at 1.0 s',
    '9.0 s c (d2): pods came',
    'aks-general-1: 30.0 s',
    '7.6 % of 100 node-minutes',
    'relay 100 to 130 MB, flat; functions host 500 to 590 MB (without garbage 60, 42), no life long enough to see growth',
    'relay 0.5 % of a core, functions host not known',
    'Every law held.',
  ]) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain('orphan-kept');
});

test('a law that was broken is told with the seed, the time and what was done before', () => {
  const breaches = [{ law: 'no machine is made twice', atMs: 61_240, what: 'aks-a was made 2 times' }];
  const text = renderReport({ ...report, breaches });
  expect(text).toContain('Broken once (seed s-1):\n  61.2 s  no machine is made twice: aks-a was made 2 times');
  expect(text).toContain('What was done before the first:\n  10.0 s  web scaled to 3');
});

test('a world that never came to rest is told with the reasons', () => {
  const atRest = {
    ...report.atRest,
    settledAfter: null,
    unrest: ['pods wait: web-1'],
    cost: null,
    planned: null,
    plannedBesideHeld: null,
  };
  const text = renderReport({ ...report, atRest });
  expect(text).toContain('not reached: pods wait: web-1');
  expect(text).toMatch(/cost at rest +not known/);
});
