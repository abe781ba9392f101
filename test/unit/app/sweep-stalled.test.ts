import { describe, expect, test } from 'vitest';
import { sweep } from '../../../shared/app/sweep.ts';
import { START, machine, namesIn, since, smallCluster } from './small-cluster.ts';

const STILL_MS = 20_000;

/** A claim `c` with these conditions, and what it has in Azure and in the cluster; a sweep so long after it was made. */
async function swept(
  given: {
    readonly conditions?: ReadonlyArray<object>;
    readonly isLeaving?: boolean;
    readonly machine?: boolean;
    readonly node?: boolean;
  },
  afterMs: number,
): Promise<ReadonlyArray<string>> {
  const { ports, clock, sent, azure, server, addClaim, addNode } = smallCluster();
  addClaim('c', { status: { conditions: given.conditions ?? [] } });
  if (given.machine ?? true) azure.machines.set('c', machine('c'));
  if (given.node ?? true) addNode('c');
  clock.advance(afterMs);
  if (given.isLeaving ?? false) server.delete('nodeclaims', 'c');
  const { hinted } = await sweep(ports);
  const names = sent.flatMap(({ hint }) => namesIn(hint));
  expect(hinted).toBe(names.length);
  return names;
}

const atRest = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(START, type));
const onItsWay = (changedMs: number): ReadonlyArray<object> => [
  since(START, 'Launched'),
  since(START + changedMs, 'Registered', 'Unknown'),
  since(START, 'Ready', 'Unknown'),
];

describe('a sweep asks for a look at a claim', () => {
  test('that stands still on its way for 20 s since it was made, and not before', async () => {
    expect(await swept({}, STILL_MS - 1)).toEqual([]);
    expect(await swept({}, STILL_MS)).toEqual(['c']);
  });

  test('that stands still for 20 s since any of its conditions changed, and not before', async () => {
    expect(await swept({ conditions: onItsWay(100_000) }, 100_000 + STILL_MS - 1)).toEqual([]);
    expect(await swept({ conditions: onItsWay(100_000) }, 100_000 + STILL_MS)).toEqual(['c']);
  });

  test('at rest that has lost its machine, at once [J08]', async () => {
    expect(await swept({ conditions: atRest, machine: false }, 1_000)).toEqual(['c']);
  });

  test('at rest that has lost its node, at once', async () => {
    expect(await swept({ conditions: atRest, node: false }, 1_000)).toEqual(['c']);
  });

  test('never while it is at rest and has both', async () => {
    expect(await swept({ conditions: atRest }, 1_000)).toEqual([]);
    expect(await swept({ conditions: atRest }, 24 * 3_600_000)).toEqual([]);
  });

  test('not at once for having no machine or node, when it is on its way', async () => {
    expect(await swept({ machine: false, node: false }, STILL_MS - 1)).toEqual([]);
  });

  test('not yet when its deletion has just begun', async () => {
    expect(await swept({ conditions: atRest, isLeaving: true }, 3_600_000)).toEqual([]);
  });
});

test('a sweep asks for all claims that stand still together, and once a minute [J08]', async () => {
  const { ports, clock, sent, addClaim } = smallCluster();
  for (const name of ['a', 'b']) addClaim(name);
  clock.advance(STILL_MS);
  await sweep(ports);
  await sweep(ports);
  expect(sent.map(({ hint }) => namesIn(hint))).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
  expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
  clock.advance(60_000);
  await sweep(ports);
  expect(new Set(sent.map(({ key }) => key)).size).toBe(2);
});

describe('a node at rest whose pool asks for something else by now', () => {
  const requirements = (family: string) => [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: [family] },
  ];

  /** The claims that a sweep asks for a look at, of a node of family D whose pool asks for `family`. */
  async function sweptIn(family: string, said: ReadonlyArray<object> = []): Promise<ReadonlyArray<string>> {
    const { ports, clock, sent, azure, server, addClass, addPool, addClaim, addNode } = smallCluster();
    addClass('True');
    addPool();
    server.patch(
      'nodepools',
      'general',
      { spec: { template: { spec: { requirements: requirements(family) } } } },
      'object',
    );
    const labels = { 'karpenter.sh/nodepool': 'general', 'karpenter.azure.com/sku-family': 'D' };
    addClaim('c', { labels, status: { conditions: [...atRest, ...said], nodeName: 'aks-c' } });
    azure.machines.set('c', machine('c'));
    addNode('c', { labels });
    clock.advance(1_000);
    await sweep(ports);
    return sent.flatMap(({ hint }) => namesIn(hint)).filter((name) => name === 'c');
  }

  test('is looked at though the look that the change asked for was lost', async () => {
    expect(await sweptIn('E')).toEqual(['c']);
  });

  test('is left alone where it is what the pool asks for, or says already that it is not', async () => {
    expect(await sweptIn('D')).toEqual([]);
    expect(await sweptIn('E', [since(START, 'Drifted')])).toEqual([]);
  });
});
