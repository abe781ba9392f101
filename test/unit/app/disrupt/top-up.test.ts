import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { DISRUPTED, emptied } from '../../../kit/app/consolidated.ts';
import { denying, since, START } from '../../../kit/app/small-cluster.ts';
import { offering, onDemand, size } from '../../../kit/core/build.ts';
import type { Fields, Reply } from '../../../simulation/world/api-server.ts';

const CAPACITY_TYPE = 'karpenter.sh/capacity-type';
const SIZE = 'node.kubernetes.io/instance-type';

/** All nodes are full; those with a decision must go, and are marked by it. */
function markedNodes(marked: Readonly<Record<string, string>>) {
  const cluster = emptied();
  const { server, clock } = cluster;
  const fill = (name: string): void => {
    for (const n of [1, 2]) cluster.addRunning(`${name}${n}`, name);
  };
  cluster.addReady('a');
  fill('a');
  for (const [name, decision] of Object.entries(marked)) {
    cluster.addReady(name, 2, { annotations: { 'nodewright.dev/disruption': decision } });
    fill(name);
    const types = ['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable', 'Drifted'];
    const conditions = types.map((type) => since(clock.now() - 3_600_000, type));
    const reason = { ...since(clock.now() - 30_000, 'DisruptionReason'), reason: 'Drifted' };
    server.patch('nodeclaims', name, { status: { conditions: [...conditions, reason] } }, 'status');
    server.patch('nodes', `aks-${name}`, { spec: { taints: [DISRUPTED] } }, 'object');
  }
  const own = new Set(['a', ...Object.keys(marked)]);
  const bought = (): ReadonlyArray<string> =>
    server.list('nodeclaims').flatMap(({ metadata: { name } }) => (own.has(name) ? [] : [name]));
  return { ...cluster, bought };
}

type Marked = ReturnType<typeof markedNodes>;

test('of two sets that are short of room each gets its node, one a look', async () => {
  const { ports, bought, clock } = markedNodes({ b: 'd', c: 'e' });
  const counts: Array<number> = [];
  for (let look = 0; look < 2; look++) {
    await disrupt(ports);
    counts.push(bought().length);
    await provision(ports);
    clock.advance(1_000);
  }
  expect(counts).toEqual([1, 2]);
});

test('a set that has room keeps no other from its node', async () => {
  const { ports, bought, server, stateOf } = markedNodes({ b: 'd', c: 'e' });
  for (const name of ['b1', 'b2']) server.remove('pods', `default/${name}`);
  await disrupt(ports);
  expect([stateOf('b'), bought().length]).toEqual(['leaving', 1]);
});

describe('a set that is short of room, and one of whose two replacements somebody has deleted', () => {
  /** One look, at which requests to make a claim are met with `onMake`. */
  async function looked(
    named = 'x,a',
    onMake: (cluster: Marked) => Reply | null = () => null,
    before: (cluster: Marked) => void = () => {},
  ) {
    const cluster = markedNodes({ b: 'd' });
    const { server, outside, trace, addClaim } = cluster;
    const replaced = { 'nodewright.dev/replaced-by': named };
    server.patch('nodeclaims', 'b', { metadata: { annotations: replaced } }, 'object');
    addClaim('x');
    server.delete('nodeclaims', 'x');
    const lines: Array<object> = [];
    const log: typeof cluster.ports.log = (event, facts) => void lines.push({ event, ...facts });
    outside.deny = ({ method, path }) => (method === 'POST' && path.endsWith('/nodeclaims') ? onMake(cluster) : null);
    before(cluster);
    trace.length = 0;
    await disrupt({ ...cluster.ports, log });
    const writes = trace.filter((step) => step === 'PATCH /apis/karpenter.sh/v1/nodeclaims/b').length;
    const annotations = server.get('nodeclaims', 'b')?.metadata.annotations ?? {};
    return { ...cluster, lines, writes, replacedBy: annotations['nodewright.dev/replaced-by'] };
  }
  const denied = () => denying('POST', '')({ method: 'POST', path: '/' });

  test('waits for the other and for the one that is bought, which the log tells', async () => {
    const { replacedBy, bought, lines } = await looked();
    const name = bought().find((one) => one !== 'x');
    expect(replacedBy).toBe(`a,${name}`);
    const facts = { removal: 'd', nodes: 'aks-b', replacements: name, pods: 2 };
    expect(lines).toContainEqual(expect.objectContaining({ event: 'disruption-topped-up', ...facts }));
  });

  test('waits for the other alone where none may be made, and that is written once', async () => {
    expect(await looked('x,a', denied)).toMatchObject({ replacedBy: 'a', writes: 1 });
  });

  test('waits for nobody where it was the only one', async () => {
    expect(await looked('x', denied)).toMatchObject({ replacedBy: undefined, writes: 1 });
  });

  test('is not written to where nothing was lost', async () => {
    expect(await looked('a', denied)).toMatchObject({ replacedBy: 'a', writes: 0 });
  });

  test('keeps all their names where its pods have room after all, as it goes', async () => {
    const { replacedBy, stateOf } = await looked(
      'x,a',
      () => null,
      ({ server }) => {
        for (const name of ['b1', 'b2']) server.remove('pods', `default/${name}`);
      },
    );
    expect([replacedBy, stateOf('b')]).toEqual(['x,a', 'leaving']);
  });

  test('waits for the other alone while it is too early to tell whether there is room', async () => {
    const justNow = ({ server }: Marked): void => {
      const conditions = server.get('nodeclaims', 'b')?.status?.['conditions'] as ReadonlyArray<Fields>;
      const marked = { ...since(START, 'DisruptionReason'), reason: 'Drifted' };
      const others = conditions.filter(({ type }) => type !== 'DisruptionReason');
      server.patch('nodeclaims', 'b', { status: { conditions: [...others, marked] } }, 'status');
    };
    const { replacedBy, bought } = await looked('x,a', undefined, justNow);
    expect([replacedBy, bought()]).toEqual(['a', ['x']]);
  });

  test('is not told of what is bought where another decision has marked it by then', async () => {
    const { replacedBy } = await looked('x', ({ server }) => {
      const annotations = { 'nodewright.dev/disruption': 'e' };
      server.patch('nodeclaims', 'b', { metadata: { annotations } }, 'object');
      return null;
    });
    expect(replacedBy).toBeUndefined();
  });
});

test('what has to go gets a node of whatever capacity type its NodePool allows', async () => {
  const { ports, server, outside, bought } = markedNodes({ b: 'd' });
  const offerings = [offering('westeurope-1', 'spot', 30_000), offering('westeurope-1', 'on-demand', 100_000)];
  outside.types = [size('Standard_D2_v5', 2, 8, 100_000, { offerings })];
  const any = { key: CAPACITY_TYPE, operator: 'In', values: ['spot', 'on-demand'] };
  server.patch('nodepools', 'general', { spec: { template: { spec: { requirements: [any] } } } }, 'object');
  await disrupt(ports);
  const [claim] = bought().map(
    (name) => server.get('nodeclaims', name)?.spec?.['requirements'] as ReadonlyArray<Fields>,
  );
  expect(claim?.find(({ key }) => key === CAPACITY_TYPE)?.['values']).toEqual(['on-demand', 'spot']);
});

test('nothing is bought for a set where somebody else has decided at the same moment, but by the next look', async () => {
  const { ports, bought, clock } = markedNodes({ b: 'd' });
  const commit = () => Promise.resolve({ kind: 'lost' } as const);
  for (let look = 0; look < 3; look++) {
    await disrupt({ ...ports, ledger: { ...ports.ledger, commit } });
    expect(bought()).toEqual([]);
    clock.advance(2_000);
  }
  await disrupt(ports);
  expect(bought()).toHaveLength(1);
});

test('what is bought and vanishes each time is not bought at every look', async () => {
  const { ports, bought, clock, server } = markedNodes({ b: 'd' });
  let count = 0;
  for (let n = 0; n < 120; n++) {
    await disrupt(ports);
    for (const name of bought()) {
      count++;
      server.remove('nodeclaims', name);
    }
    clock.advance(2_000);
  }
  expect(count).toBeLessThan(10);
});

test('a bought node that never joins counts as a failure of the step', async () => {
  const { ports, bought, clock, server } = markedNodes({ b: 'd' });
  for (let n = 0; n < 250; n++) {
    await disrupt(ports);
    for (const name of n % 12 === 0 ? bought() : []) await follow(ports, { kind: 'NodeClaim', name });
    clock.advance(5_000);
  }
  expect(server.get('nodepools', 'general')?.metadata.annotations).toHaveProperty([
    'nodewright.dev/disruption-failures',
  ]);
});

describe('a set that saves money, for which something has come that others have filled', () => {
  /** The large node costs 0.4 an hour, and what has come for it 0.1: one more may cost less than 0.3. */
  async function filled(minValues?: number) {
    const cluster = emptied();
    const { ports, server, outside, addReady, addRunning } = cluster;
    const prices = { 2: 100_000, 4: 290_000, 8: 400_000 };
    outside.types = Object.entries(prices).map(([cpu, price]) =>
      size(`Standard_D${cpu}_v5`, Number(cpu), 4 * Number(cpu), price),
    );
    const sizes = { key: SIZE, operator: 'Exists', minValues };
    server.patch(
      'nodepools',
      'general',
      { spec: { template: { spec: { requirements: [onDemand, sizes] } } } },
      'object',
    );
    addReady('large', 8, { annotations: { 'nodewright.dev/disruption': 'd', 'nodewright.dev/replaced-by': 'small' } });
    const reason = { ...since(START - 30_000, 'DisruptionReason'), reason: 'Underutilized' };
    const conditions = [
      ...['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable'].map((type) => since(0, type)),
      reason,
    ];
    server.patch('nodeclaims', 'large', { status: { conditions } }, 'status');
    server.patch('nodes', 'aks-large', { spec: { taints: [DISRUPTED] } }, 'object');
    addReady('small');
    for (const [name, node] of Object.entries({ moving: 'large', new: 'small', newer: 'small' }))
      addRunning(name, node);
    await disrupt(ports);
    const bought = server.list('nodeclaims').filter(({ metadata: { name } }) => name !== 'large' && name !== 'small');
    return { ...cluster, requirements: bought.map(({ spec }) => spec?.['requirements'] as ReadonlyArray<Fields>) };
  }

  test('gets one more node, of no size that costs as much as is left to save', async () => {
    const { requirements, marks } = await filled();
    const sizes = requirements.map((own) => own.find(({ key }) => key === SIZE)?.['values']);
    expect([sizes, marks('large').tainted]).toEqual([[['Standard_D2_v5', 'Standard_D4_v5']], true]);
  });

  test('stays where its NodePool asks for more sizes than are so cheap', async () => {
    const { requirements, marks } = await filled(3);
    expect([requirements, marks('large').tainted]).toEqual([[], false]);
  });
});
