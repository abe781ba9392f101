import { describe, expect, test } from 'vitest';
import { sweep } from '../../../../shared/app/sweep/sweep.ts';
import { START, machine, namesIn, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const STILL_MS = 20_000;

/**
 * A claim `c` with these conditions, and what it has in Azure and in the cluster; a sweep so long after it was made.
 */
async function swept(
  given: {
    readonly conditions?: ReadonlyArray<object>;
    readonly isLeaving?: boolean;
    readonly machine?: boolean;
    readonly node?: boolean;
    readonly taints?: ReadonlyArray<object>;
  },
  afterMs: number,
): Promise<ReadonlyArray<string>> {
  const { ports, clock, sent, azure, server, addClaim, addNode } = smallCluster();
  addClaim('c', { status: { conditions: given.conditions ?? [] } });
  if (given.machine ?? true) azure.machines.set('c', machine('c'));
  if (given.node ?? true) addNode('c', { taints: given.taints ?? [] });
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

  test('not while it is at rest and has both, but for its turn', async () => {
    expect(await swept({ conditions: atRest }, 1_000)).toEqual([]);
    expect(await swept({ conditions: atRest }, 1_800_000)).toEqual([]);
  });

  test('at rest whose node is kept for some still, as the look that was to open it was lost', async () => {
    const taints = [{ key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' }];
    expect(await swept({ conditions: atRest, taints }, STILL_MS - 1)).toEqual([]);
    expect(await swept({ conditions: atRest, taints }, STILL_MS)).toEqual(['c']);
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

describe('what is at rest', () => {
  /** How often each is asked about in sweeps so many minutes apart, over so many hours. */
  async function askedAbout(everyMinutes: number, hours: number): Promise<ReadonlyMap<string, number>> {
    const { ports, clock, sent, azure, addClass, addPool, addClaim, addNode } = smallCluster();
    addClass('True');
    addPool();
    for (let index = 0; index < 12; index++) {
      const name = `c-${index}`;
      addClaim(name, { status: { conditions: atRest } });
      azure.machines.set(name, machine(name));
      addNode(name);
    }
    for (let minute = 0; minute < hours * 60; minute += everyMinutes) {
      // Each reads the cluster.
      await sweep(ports);
      clock.advance(everyMinutes * 60_000);
    }
    const names = sent.flatMap(({ hint }) =>
      'objects' in hint ? hint.objects.map(({ kind, name }) => `${kind} ${name}`) : [],
    );
    return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
  }

  test('is looked at once an hour all the same: claims, pools and classes, a part of them in each minute', async () => {
    const asked = await askedAbout(1, 3);
    expect(asked.size).toBe(14);
    expect([...asked.keys()]).toEqual(
      expect.arrayContaining(['NodePool general', 'AKSNodeClass default', 'NodeClaim c-7']),
    );
    for (const count of asked.values()) expect([2, 3, 4]).toContain(count);
  });

  test('is looked at each few hours where the sweep comes less often', async () => {
    expect((await askedAbout(5, 6)).size).toBe(14);
  });
});

test('a pool or class whose spec has changed since its status was written is asked about at once', async () => {
  const { ports, sent, server, addClass, addPool } = smallCluster();
  addClass('True');
  addPool();
  for (const [resource, name] of [
    ['aksnodeclasses', 'default'],
    ['nodepools', 'general'],
  ] as const) {
    const ready = { type: 'Ready', status: 'True', observedGeneration: 1 };
    server.patch(resource, name, { status: { conditions: [ready] } }, 'status');
  }
  await sweep(ports);
  expect(sent).toEqual([]);
  server.patch('nodepools', 'general', { spec: { weight: 7 } }, 'object');
  server.patch('aksnodeclasses', 'default', { spec: { osDiskSizeGB: 77 } }, 'object');
  await sweep(ports);
  expect(sent.flatMap(({ hint }) => namesIn(hint))).toEqual(['general', 'default']);
});

describe('a node at rest whose pool asks for something else by now', () => {
  const requirements = (family: string) => [
    { key: 'karpenter.azure.com/sku-family', operator: 'In', values: [family] },
  ];

  /** The claims that a sweep asks for a look at, of a node of family D whose pool asks for `family`. */
  async function sweptIn(family: string, said: ReadonlyArray<object> = [], nodeLabels = {}) {
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
    addNode('c', { labels: { ...labels, ...nodeLabels } });
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

  test('is left alone whatever identity its kubelet has: its own looks know which one that should be', async () => {
    const identity = { 'kubernetes.azure.com/kubelet-identity-client-id': '11111111-1111-1111-1111-111111111111' };
    expect(await sweptIn('D', [], identity)).toEqual([]);
  });
});
