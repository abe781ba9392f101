import { describe, expect, test } from 'vitest';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { RefusedError, RetryableError } from '../../../../shared/ports/errors.ts';
import { START, decisionOf, denying, machine, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const CLAIM = 'PATCH /apis/karpenter.sh/v1/nodeclaims/c';
const NODE = 'PATCH /api/v1/nodes/aks-c';
const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
const reserved = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };
const driver = { key: 'driver', effect: 'NoSchedule' };

/** The node of claim `c` has joined and is ready. A look is one run of `follow`, and answers what it wrote. */
async function joined(
  given: {
    readonly pods?: ReadonlyArray<string>;
    /** Its pods run elsewhere, and come when they have been evicted there. */
    readonly areMovers?: boolean;
    readonly startupTaints?: ReadonlyArray<object>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly readsDevices?: boolean;
  } = {},
) {
  const cluster = smallCluster();
  const { server, trace, azure } = cluster;
  const { startupTaints = [] } = given;
  cluster.addClass('True');
  cluster.addPool();
  const pods = (given.pods ?? []).map((name) => cluster.addPod(name));
  const movers = pods.map(({ uid }) => ({ uid, owner: 'shop', shape: 's' }));
  const decision = { ...decisionOf(['c'], pods), ...(given.areMovers === true ? { movers } : {}) };
  const lines: Array<string> = [];
  const outcomes: Array<Awaited<ReturnType<typeof follow>>> = [];
  const ports = {
    ...cluster.ports,
    ...(given.readsDevices === true ? { deviceSelectors: () => Promise.reject(new Error('not asked')) } : {}),
    log: (event: string) => void lines.push(event),
  };
  await ports.decisions.put(decision);
  azure.machines.set('c', machine('c'));
  cluster.addClaim('c', {
    labels: { 'karpenter.sh/nodepool': 'general' },
    annotations: { 'nodewright.dev/decision': decision.name, ...given.annotations },
    spec: { startupTaints },
    status: { providerID: 'azure://c', conditions: [since(START, 'Launched')] },
  });
  cluster.addNode('c', { taints: [unregistered, ...startupTaints] });
  return {
    ...cluster,
    lines,
    outcomes,
    look: async (): Promise<ReadonlyArray<string>> => {
      trace.length = 0;
      outcomes.push(await follow(ports, { kind: 'NodeClaim', name: 'c' }));
      return trace.filter((step) => step.startsWith('PATCH') && /nodes|nodeclaims/.test(step));
    },
    says: () => ['Registered', 'Initialized', 'Consolidatable', 'Ready'].filter(isTrue),
    labels: () => Object.keys(server.get('nodes', 'aks-c')?.metadata.labels ?? {}).toSorted(),
  };

  function isTrue(type: string): boolean {
    return cluster.conditionOf('c', type)?.['status'] === 'True';
  }
}

const ALL = ['Registered', 'Initialized', 'Consolidatable', 'Ready'];
const MARKS = ['karpenter.sh/initialized', 'karpenter.sh/nodepool', 'karpenter.sh/registered'];

describe('a node that is open as soon as it has joined', () => {
  test('is registered and initialized by one write of it and one of its claim', async () => {
    const { look, says, labels, lines } = await joined();
    expect(await look()).toEqual([NODE, `${CLAIM}/status`]);
    expect([says(), labels()]).toEqual([ALL, MARKS]);
    expect(lines.filter((line) => line.startsWith('nodeclaim-'))).toEqual([
      'nodeclaim-registered',
      'nodeclaim-initialized',
    ]);
    expect(await look()).toEqual([]);
  });

  test('is registered alone while a startup taint is on it, and its claim says so in the same write', async () => {
    const { look, says, labels, conditionOf, server, outcomes } = await joined({ startupTaints: [driver] });
    expect(await look()).toEqual([NODE, `${CLAIM}/status`]);
    expect([says(), labels()]).toEqual([['Registered'], MARKS.slice(1)]);
    expect(conditionOf('c', 'Initialized')).toMatchObject({ status: 'Unknown', reason: 'StartupTaintsExist' });
    // That it goes is told.
    expect(outcomes).toEqual([{ kind: 'wait', for: expect.stringContaining('startup taint'), lookAgainMs: null }]);
    server.patch('nodes', 'aks-c', { spec: { taints: [] } }, 'object');
    expect(await look()).toEqual([NODE, `${CLAIM}/status`]);
    expect([says(), labels()]).toEqual([ALL, MARKS]);
  });

  test('is registered alone while drivers have to be asked about', async () => {
    const annotations = { 'karpenter.sh/requested-dra-drivers': 'gpu.example.com' };
    const { look, says, labels } = await joined({ annotations, readsDevices: true });
    expect(await look()).toEqual([NODE, `${CLAIM}/status`]);
    expect([says(), labels()]).toEqual([['Registered'], MARKS.slice(1)]);
  });

  test('is looked at again after five seconds while drivers are waited for, as nobody tells what they publish', async () => {
    const annotations = { 'karpenter.sh/requested-dra-drivers': 'gpu.example.com' };
    const { look, outcomes, clock } = await joined({ annotations, readsDevices: true });
    await look();
    expect(outcomes).toEqual([
      { kind: 'wait', for: expect.stringContaining('gpu.example.com'), lookAgainMs: clock.now() + 5_000 },
    ]);
  });

  test('is judged as it is when it is written, not as it was when it was read', async () => {
    const { look, says, labels, outside, server } = await joined();
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodes/aks-c')) return;
      outside.onRequest = () => undefined;
      server.patch('nodes', 'aks-c', { status: { conditions: [{ type: 'Ready', status: 'False' }] } }, 'status');
    };
    await look();
    expect([says(), labels()]).toEqual([['Registered'], MARKS.slice(1)]);
  });
});

describe('a node that is kept for its planned pods', () => {
  test('costs two writes of it and two of its claim until it is in use', async () => {
    const { look, says, labels, server, conditionOf } = await joined({ pods: ['a'] });
    expect(await look()).toEqual([NODE, `${CLAIM}/status`]);
    expect([says(), labels()]).toEqual([['Registered'], MARKS.slice(1)]);
    expect(conditionOf('c', 'Initialized')).toMatchObject({ reason: 'KnownEphemeralTaintsExist' });
    expect(await look()).toEqual([]);
    server.patch('pods', 'default/a', { spec: { nodeName: 'aks-c' } }, 'object');
    expect(await look()).toEqual([NODE, `${CLAIM}/status`]);
    expect([says(), labels()]).toEqual([ALL, MARKS]);
  });

  test('is in use at once when they are evicted elsewhere first', async () => {
    const { look, says, labels, server } = await joined({ pods: ['a'], areMovers: true });
    expect(await look()).toEqual([NODE, `${CLAIM}/status`]);
    expect([says(), labels()]).toEqual([['Registered', 'Initialized', 'Ready'], MARKS]);
    expect(server.get('nodes', 'aks-c')?.spec?.['taints']).toEqual([reserved]);
    expect(await look()).toEqual([]);
  });
});

describe('a node that others wait for, which Kubernetes has not opened yet', () => {
  const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

  async function shut(areMovers: boolean) {
    const cluster = await joined({ pods: ['a'], areMovers });
    cluster.server.patch('nodes', 'aks-c', { spec: { taints: [unregistered, notReady] } }, 'object');
    await cluster.look();
    return { ...cluster, pauseMs: () => (cluster.outcomes.at(-1) as Wait).lookAgainMs - cluster.clock.now() };
  }

  type Wait = { readonly lookAgainMs: number };

  test('is looked at a second later, then after as long as it is there, as nobody tells that it is open', async () => {
    const { look, says, clock, server, pauseMs } = await shut(true);
    expect([says(), pauseMs()]).toEqual([['Registered'], 1_000]);
    clock.advance(4_000);
    await look();
    expect(pauseMs()).toBe(4_000);
    server.patch('nodes', 'aks-c', { spec: { taints: [reserved] } }, 'object');
    await look();
    expect([says(), pauseMs()]).toEqual([['Registered', 'Initialized', 'Ready'], 5_000]);
  });

  test('is not looked at sooner for a startup taint, whose end is told', async () => {
    const { look, outcomes, clock } = await joined({ pods: ['a'], areMovers: true, startupTaints: [driver] });
    await look();
    expect((outcomes.at(-1) as Wait).lookAgainMs - clock.now()).toBe(5_000);
  });

  test('is not where it waits for pods that may come as it is', async () => {
    expect((await shut(false)).pauseMs()).toBe(5_000);
  });
});

describe('a claim whose status cannot be written once its node is registered', () => {
  test('is looked at again, and nothing is left out then', async () => {
    const { look, says, outside, server, azure, lines } = await joined();
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodeclaims/c/status')) return;
      outside.onRequest = () => undefined;
      server.patch('nodeclaims', 'c', { metadata: { labels: { a: 'b' } } }, 'object');
    };
    await expect(look()).rejects.toThrow(RetryableError);
    expect([says(), azure.asked, lines]).toEqual([[], [], []]);
    await look();
    expect([says(), azure.asked]).toEqual([ALL, ['revoke the token of c', 'equip c']]);
  });

  test('asks for no look at its consolidation, which counts from that write, until it is written', async () => {
    const { look, says, outside, server, sent } = await joined();
    server.patch('nodepools', 'general', { spec: { disruption: { consolidateAfter: '1m' } } }, 'object');
    const looks = (): number => sent.filter(({ key }) => key.startsWith('consolidatable/')).length;
    outside.deny = denying('PATCH', '/nodeclaims/c/status');
    await expect(look()).rejects.toThrow(RefusedError);
    expect([says(), looks()]).toEqual([[], 0]);
    outside.deny = () => null;
    await look();
    expect([says(), looks()]).toEqual([ALL.filter((type) => type !== 'Consolidatable'), 1]);
  });

  test('asks for the look at its consolidation again where the queue was away', async () => {
    const { look, outside, server, sent } = await joined();
    server.patch('nodepools', 'general', { spec: { disruption: { consolidateAfter: '1m' } } }, 'object');
    outside.onSend = ({ key }) => {
      if (key.startsWith('consolidatable/')) throw new RetryableError('the queue is away');
    };
    await expect(look()).rejects.toThrow(RetryableError);
    outside.onSend = () => undefined;
    await look();
    expect(sent.filter(({ key }) => key.startsWith('consolidatable/'))).toHaveLength(1);
  });
});

test.each([
  ['its only token is', {}, 'revoke the token of c'],
  ['all its tokens are', { 'nodewright.dev/several-tokens': 'true' }, 'revoke all tokens of c'],
])('%s taken back once a claim has its node', async (_, annotations, asked) => {
  const { look, azure, server } = await joined({ annotations });
  await look();
  expect(azure.asked).toEqual([asked, 'equip c']);
  expect(server.get('nodes', 'aks-c')?.metadata.annotations ?? {}).toEqual({});
});
