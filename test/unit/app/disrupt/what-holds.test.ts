import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { whatHolds, type Refused } from '../../../../shared/app/disrupt/what-holds.ts';
import type { AuditedDisruption, AuditedStep } from '../../../../shared/core/disruption/sound-disruption.ts';
import { emptied } from '../../../kit/app/consolidated.ts';

const refused = (why: string): Refused => ({ kind: 'refused', why });
const holds = { kind: 'holds' } as const;

/**
 * What plans without which nodes are made, and what comes of it, when steps with a node among `bad` are refused. Each
 * plan is one step.
 */
async function tried(nodes: ReadonlyArray<string>, bad: ReadonlyArray<string>, { planMs = 0, isNamed = false } = {}) {
  const steps: Array<string> = [];
  let nowMs = 1_000_000;
  const planWithout = (without: ReadonlySet<string>): AuditedDisruption => {
    nowMs += planMs;
    const remove = nodes.filter((name) => !without.has(name));
    const step = { reason: 'Underutilized', remove, create: [], moves: [], saved: 1 } as const;
    return { steps: remove.length === 0 ? [] : [step] } as unknown as AuditedDisruption;
  };
  const tryStep = (_: AuditedDisruption, { remove }: AuditedStep): Promise<typeof holds | Refused> => {
    steps.push(remove.join(''));
    const wrong = remove.filter((name) => bad.includes(name));
    const named = isNamed ? { nodes: wrong.slice(0, 1) } : {};
    return Promise.resolve(wrong.length > 0 ? { ...refused(remove.join('')), ...named } : holds);
  };
  const outcome = await whatHolds(planWithout(new Set()), planWithout, tryStep, () => nowMs);
  return { steps, outcome };
}

describe('what goes', () => {
  test('is the first step of the plan where that holds up', async () => {
    expect(await tried(['a', 'b'], [])).toEqual({ steps: ['ab'], outcome: holds });
  });

  test('is planned anew without half of a step that is refused, until one holds up', async () => {
    expect(await tried(['a', 'b', 'c', 'd'], ['b'])).toEqual({ steps: ['abcd', 'cd'], outcome: holds });
    expect(await tried(['a', 'b', 'c'], ['c'])).toEqual({ steps: ['abc', 'c'], outcome: refused('abc') });
  });

  test('is planned anew without the nodes that a refusal names, and all others', async () => {
    const { steps, outcome } = await tried(['a', 'b', 'c', 'd'], ['b', 'd'], { isNamed: true });
    expect([steps, outcome]).toEqual([['abcd', 'acd', 'ac'], holds]);
  });

  test('is nothing where each is refused: the first refusal tells why', async () => {
    expect(await tried(['a'], ['a'])).toEqual({ steps: ['a'], outcome: refused('a') });
    expect(await tried([], [])).toEqual({ steps: [], outcome: null });
  });

  test('is looked for in eight plans, which leave one of a hundred', async () => {
    const names = Array.from({ length: 129 }, (_, index) => `-${index}`);
    const { steps } = await tried(names, names);
    expect(steps.map((step) => step.split('-').length - 1)).toEqual([129, 64, 32, 16, 8, 4, 2, 1]);
  });

  test('is looked for in no more, however many there are', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `-${index}`);
    const { steps } = await tried(names, names);
    expect(steps.map((step) => step.split('-').length - 1)).toEqual([300, 150, 75, 37, 18, 9, 4, 2]);
  });
});

test('no plan is tried 15 s after the first was refused: in a large cluster each takes its time', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  expect((await tried(names, names, { planMs: 7_499 })).steps).toHaveLength(4);
  expect((await tried(names, names, { planMs: 7_500 })).steps).toHaveLength(3);
  expect((await tried(names, names, { planMs: 20_000 })).steps).toHaveLength(2);
});

describe('two nodes that go in one step', () => {
  /**
   * Each has one small pod on a large node; a small one would do. Nodes of pool `general` must be of one of two sizes
   * at least.
   */
  function two() {
    const cluster = emptied({ types: 2 });
    const { server } = cluster;
    cluster.addPool('other');
    const disruption = {
      consolidateAfter: '0s',
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      budgets: [{ nodes: '1' }],
    };
    for (const name of ['general', 'other']) server.patch('nodepools', name, { spec: { disruption } }, 'object');
    const sizes = {
      key: 'node.kubernetes.io/instance-type',
      operator: 'In',
      values: ['Standard_D2_v5', 'Standard_D8_v5'],
      minValues: 2,
    };
    const general = server.get('nodepools', 'general')?.spec?.['template'];
    const requirements = [...general.spec.requirements, sizes];
    server.patch('nodepools', 'general', { spec: { template: { spec: { requirements } } } }, 'object');
    const own = (pool: string) => ({ nodeSelector: { 'karpenter.sh/nodepool': pool } });
    for (const [name, pool] of [
      ['a', 'general'],
      ['b', 'other'],
    ] as const) {
      cluster.addReady(name, 8);
      for (const [kind, key] of [
        ['nodeclaims', name],
        ['nodes', `aks-${name}`],
      ] as const) {
        server.patch(kind, key, { metadata: { labels: { 'karpenter.sh/nodepool': pool } } }, 'object');
      }
      cluster.addRunning(`web-${name}`, name, { metadata: { labels: { app: 'web' } }, spec: own(pool) });
    }
    return cluster;
  }

  test('go on with the one where the other cannot be replaced by anything cheaper', async () => {
    const cluster = two();
    const told: Array<readonly [string, object]> = [];
    const ports = { ...cluster.ports, log: (event: string, fields: object) => void told.push([event, fields]) };
    expect(await disrupt(ports as typeof cluster.ports)).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
    expect(told.filter(([event]) => event === 'disruption-refused')).toMatchObject([
      [
        'disruption-refused',
        { nodes: 'aks-a,aks-b', why: 'minValues requires more instance types than there are cheaper ones' },
      ],
    ]);
    expect([cluster.marks('a').reason, cluster.marks('b').reason]).toEqual([undefined, 'Underutilized']);
  });
});
