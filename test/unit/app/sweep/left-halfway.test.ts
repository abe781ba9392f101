import { describe, expect, test } from 'vitest';
import { endNotices, openWordless } from '../../../../shared/app/sweep/left-halfway.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { NodeClaim } from '../../../../shared/kubernetes/manifest.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { POLICY, denying, namesIn, smallCluster, START } from '../../../kit/app/small-cluster.ts';

const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
const other = { key: 'mine', effect: 'NoSchedule' };
const INTERRUPTION = 'nodewright.dev/interruption';

interface Given {
  readonly annotations?: Fields;
  readonly taints?: ReadonlyArray<Fields>;
  readonly spec?: Fields;
}

/** A claim `c` with these annotations, whose node is closed unless said. */
function halfway(given: Given = {}) {
  const cluster = smallCluster();
  cluster.addClaim('c', { annotations: given.annotations ?? {}, spec: given.spec ?? {} });
  cluster.addNode('c', { taints: given.taints ?? [other, disrupted] });
  const logged: Array<unknown> = [];
  /** What others do while it waits for a word, in the order of its waits; and for how long it has waited. */
  const meanwhile: Array<() => void> = [];
  const waits: Array<number> = [];
  const ports = {
    ...cluster.ports,
    log: (event: string, facts: object) => void logged.push([event, facts]),
    sleep: async (ms: number) => {
      waits.push(ms);
      meanwhile.shift()?.();
    },
  };
  const read = async () => ({
    claims: await ports.kubernetes.list('NodeClaim'),
    snapshot: await ports.snapshots.list(),
  });
  return {
    ...cluster,
    ports,
    logged,
    meanwhile,
    waits,
    read,
    end: async (afterMs = 0, seen?: { readonly claims: ReadonlyArray<NodeClaim> }) => {
      cluster.clock.advance(START + afterMs - cluster.clock.now());
      const found = { ...(await read()), ...seen };
      await endNotices(ports, found.claims);
      await openWordless(ports, found);
    },
    taints: () => cluster.server.get('nodes', 'aks-c')?.spec?.['taints'] as ReadonlyArray<Fields>,
  };
}

describe('a node that is closed, with no word on its claim,', () => {
  test('is opened again, with the taints that others have put on it', async () => {
    const { end, taints, logged, waits } = halfway();
    await end();
    expect([taints(), waits]).toEqual([[other], [10_000]]);
    expect(logged).toMatchObject([['left-halfway', { claim: 'c', done: 'opened' }]]);
    await end();
    expect(logged).toHaveLength(1);
  });

  test('says on its claim where a policy does not let it be opened, and keeps no other from being opened', async () => {
    const { end, taints, outside, addClaim, addNode, server, conditionOf } = halfway();
    addClaim('d');
    addNode('d', { taints: [disrupted] });
    outside.deny = denying('PATCH', '/nodes/aks-c');
    await end();
    expect([taints(), server.get('nodes', 'aks-d')?.spec?.['taints']]).toEqual([[other, disrupted], []]);
    expect(conditionOf('c', 'WriteDenied')).toMatchObject({ message: expect.stringContaining(POLICY) });
  });

  test.each([
    ['disruption has marked it', { annotations: { 'nodewright.dev/disruption': 'd' } }],
    ['Azure takes its machine back', { annotations: { [INTERRUPTION]: 'preempt by x since 2026-12-01T00:00:00Z' } }],
    ['its class is not ours', { spec: { nodeClassRef: { group: 'other', kind: 'Class', name: 'x' } } }],
    [
      'it has the key with another effect, which is nothing of ours',
      { taints: [{ ...disrupted, effect: 'NoExecute' }] },
    ],
  ])('is left alone where %s', async (_, given) => {
    const { end, taints, logged } = halfway(given);
    const before = taints();
    await end();
    expect([taints(), logged]).toEqual([before, []]);
  });

  test('stays closed where its interruption says so a little later: pods would come to a machine that goes', async () => {
    const { end, taints, server, meanwhile, logged } = halfway();
    const annotations = { [INTERRUPTION]: `preempt by then since ${new Date(START).toISOString()}` };
    meanwhile.push(() => void server.patch('nodeclaims', 'c', { metadata: { annotations } }, 'object'));
    await end();
    expect([taints(), logged]).toEqual([[other, disrupted], []]);
  });

  test('is closed again where the word comes while it is opened: its interruption found it closed', async () => {
    const { end, taints, server, outside, logged } = halfway();
    const annotations = { [INTERRUPTION]: `preempt by then since ${new Date(START).toISOString()}` };
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodes/aks-c')) return;
      server.patch('nodeclaims', 'c', { metadata: { annotations } }, 'object');
    };
    await end();
    expect(taints()).toEqual([other, disrupted]);
    expect(logged).toMatchObject([
      ['left-halfway', { claim: 'c', done: 'opened' }],
      ['left-halfway', { claim: 'c', done: 'closed' }],
    ]);
  });

  test('is left to the next sweep where it changes between the look and the write', async () => {
    const { end, taints, server, outside, logged } = halfway();
    let isFirst = true;
    outside.onRequest = ({ method, path }) => {
      if (!isFirst || method !== 'PATCH' || !path.endsWith('/nodes/aks-c')) return;
      isFirst = false;
      server.patch('nodes', 'aks-c', { metadata: { labels: { of: 'the kubelet' } } }, 'object');
    };
    await end();
    expect([taints(), logged]).toMatchObject([[other, disrupted], [['left-halfway', { claim: 'c', done: 'nothing' }]]]);
    await end();
    expect(taints()).toEqual([other]);
  });

  test('is not written where it has gone meanwhile, is going, or somebody has opened it', async () => {
    const changes: ReadonlyArray<(server: ReturnType<typeof halfway>['server']) => void> = [
      (server) => void server.remove('nodes', 'aks-c'),
      (server) => {
        server.patch('nodes', 'aks-c', { metadata: { finalizers: ['a/b'] } }, 'object');
        server.delete('nodes', 'aks-c');
      },
      (server) => void server.patch('nodes', 'aks-c', { spec: { taints: [other] } }, 'object'),
      (server) => void server.remove('nodeclaims', 'c'),
    ];
    for (const change of changes) {
      const { end, server, meanwhile, logged, trace } = halfway();
      meanwhile.push(() => {
        change(server);
        trace.length = 0;
      });
      await end();
      expect([trace.filter((what) => !what.startsWith('GET')), logged]).toEqual([[], []]);
    }
  });

  test('that is being deleted is waited for by nobody', async () => {
    const { end, server, waits } = halfway();
    server.patch('nodes', 'aks-c', { metadata: { finalizers: ['a/b'] } }, 'object');
    server.delete('nodes', 'aks-c');
    await end();
    expect(waits).toEqual([]);
  });

  test('of others whose word is there keeps none waiting', async () => {
    const { end, waits } = halfway({ annotations: { 'nodewright.dev/disruption': 'd' } });
    await end();
    expect(waits).toEqual([]);
  });

  test('stays closed where something is said on the claim by the time that it is looked at', async () => {
    for (const change of ['mark', 'delete'] as const) {
      const { end, read, taints, server } = halfway();
      const seen = await read();
      const annotations = { 'nodewright.dev/disruption': 'd' };
      if (change === 'mark') server.patch('nodeclaims', 'c', { metadata: { annotations } }, 'object');
      else server.delete('nodeclaims', 'c');
      await end(0, { claims: seen.claims });
      expect(taints()).toContainEqual(disrupted);
    }
  });
});

describe('a claim on which a notice was written, and that nobody has deleted,', () => {
  const annotations = { [INTERRUPTION]: `preempt by then since ${new Date(START).toISOString()}` };

  test('is deleted two minutes later, and looked at; until then its execution may be at it', async () => {
    const { end, stateOf, sent, logged } = halfway({ annotations });
    await end(119_999);
    expect([stateOf('c'), sent]).toEqual(['there', []]);
    await end(120_000);
    expect([stateOf('c'), sent.flatMap(({ hint }) => namesIn(hint))]).toEqual(['leaving', ['c']]);
    expect(logged).toMatchObject([['left-halfway', { claim: 'c', done: 'deleted' }]]);
    await end(180_000);
    expect(sent).toHaveLength(1);
  });

  test('and that by a clock that is ahead is deleted at once: nobody knows when that was', async () => {
    const noticed = { [INTERRUPTION]: `preempt by then since ${new Date(START + 3_600_000).toISOString()}` };
    const { end, stateOf } = halfway({ annotations: noticed });
    await end();
    expect(stateOf('c')).toBe('leaving');
  });

  test('is the one that is deleted, and no other of its name', async () => {
    const { end, server, outside } = halfway({ annotations });
    const asked: Array<unknown> = [];
    outside.onRequest = ({ method, body }) => {
      if (method === 'DELETE') asked.push((body as Fields)['preconditions']);
    };
    const { uid } = server.get('nodeclaims', 'c')?.metadata ?? {};
    await end(120_000);
    expect(asked).toEqual([{ uid }]);
  });

  test('and that may not be deleted now keeps no other waiting', async () => {
    const { end, addClaim, stateOf, outside, logged } = halfway({ annotations });
    addClaim('d', { annotations });
    outside.onRequest = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/c')) throw new RetryableError('429');
    };
    await end(120_000);
    expect([stateOf('c'), stateOf('d')]).toEqual(['there', 'leaving']);
    expect(logged).toContainEqual(['left-halfway', { claim: 'c', done: 'nothing', why: '429' }]);
  });
});

test('without a snapshot nodes are left as they are', async () => {
  const { ports, taints, read } = halfway();
  await openWordless(ports, { ...(await read()), snapshot: null });
  expect(taints()).toEqual([other, disrupted]);
});
