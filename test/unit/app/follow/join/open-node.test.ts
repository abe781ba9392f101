import { describe, expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RefusedError, RetryableError } from '../../../../../shared/ports/errors.ts';
import { START, decisionOf, denying, machine, since, smallCluster } from '../../../../kit/app/small-cluster.ts';

const dedicated = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };
const starting = { key: 'driver', effect: 'NoSchedule' };

/** The node of claim `c`, dedicated to so many pods, all of which have come; what one look asks and does. */
async function opened(count: number, given: { readonly startupTaint?: boolean; readonly come?: number } = {}) {
  const cluster = smallCluster();
  const { ports, server, trace } = cluster;
  const names = Array.from({ length: count }, (_, index) => `p-${index}`);
  const decision = decisionOf(
    ['c'],
    names.map((name) => cluster.addPod(name)),
  );
  await ports.decisions.put(decision);
  const startupTaints = (given.startupTaint ?? false) ? [starting] : [];
  cluster.azure.machines.set('c', machine('c'));
  cluster.addClaim('c', {
    annotations: { 'nodewright.dev/decision': decision.name },
    spec: { startupTaints },
    status: { providerID: 'azure://c', conditions: [since(START, 'Launched'), since(START, 'Registered')] },
  });
  cluster.addNode('c', { taints: [...startupTaints, dedicated] });
  for (const name of names.slice(0, given.come ?? count)) {
    server.patch('pods', `default/${name}`, { spec: { nodeName: 'aks-c' } }, 'object');
  }
  trace.length = 0;
  const step = await follow(ports, { kind: 'NodeClaim', name: 'c' });
  const node = server.get('nodes', 'aks-c');
  return {
    ...cluster,
    step,
    asked: trace.filter((request) => request.startsWith('GET') && request.includes('/pods/')).length,
    lists: trace.filter((request) => request.includes('/pods?')).length,
    writes: trace.filter((request) => request.startsWith('PATCH') && request.includes('/nodes/')).length,
    taints: node?.spec?.['taints'] as unknown,
    mark: node?.metadata.labels?.['karpenter.sh/initialized'],
  };
}

describe('whether the planned pods of a node have come', () => {
  test.each([1, 5])('is asked one by one of up to five: %d', async (count) => {
    expect(await opened(count)).toMatchObject({ asked: count, lists: 0, taints: [] });
  });

  test('is read from one list of more, and those that have come are not asked', async () => {
    expect(await opened(6)).toMatchObject({ asked: 0, lists: 1, taints: [] });
    expect(await opened(7, { come: 5 })).toMatchObject({ asked: 2, lists: 1, taints: [dedicated] });
  });
});

describe('a node whose planned pods have come', () => {
  test('is opened and marked initialized in one write when nothing else is missing', async () => {
    const { writes, taints, mark, conditionOf } = await opened(2);
    expect({ writes, taints, mark }).toEqual({ writes: 1, taints: [], mark: 'true' });
    expect(conditionOf('c', 'Initialized')).toMatchObject({ status: 'True' });
  });

  test('is opened and not marked while a startup taint is on it', async () => {
    const { writes, taints, mark, conditionOf } = await opened(2, { startupTaint: true });
    expect({ writes, taints, mark }).toEqual({ writes: 1, taints: [starting], mark: undefined });
    expect(conditionOf('c', 'Initialized')).toMatchObject({ status: 'Unknown', reason: 'StartupTaintsExist' });
  });
});

describe('when a node is opened', () => {
  test('its pods are looked for again once it counts as settled', async () => {
    const { sent } = await opened(2);
    const looks = sent.filter(({ hint }) => hint.kind === 'pods');
    expect(looks).toMatchObject([{ hint: { reason: 'nodes-settled' }, atMs: START + 25_000 }]);
  });
});

describe('a planned pod that has not come', () => {
  const isAbout = (steps: ReadonlyArray<string>): ReadonlyArray<string> =>
    steps.filter((step) => step.startsWith('PATCH') && step.includes('/pods/'));

  /** One that waits at the start; what a look makes of it when `change` happens before the first request that fits. */
  async function meanwhile(
    fits: (method: string, path: string) => boolean,
    change: (cluster: ReturnType<typeof smallCluster>) => void,
  ) {
    const cluster = smallCluster();
    const { ports, outside, server, trace } = cluster;
    const decision = decisionOf(['c'], [cluster.addPod('p')]);
    await ports.decisions.put(decision);
    cluster.addClaim('c', {
      annotations: { 'nodewright.dev/decision': decision.name },
      status: { providerID: 'azure://c', conditions: [since(START, 'Launched'), since(START, 'Registered')] },
    });
    cluster.addNode('c', { taints: [dedicated] });
    outside.onRequest = ({ method, path }) => {
      if (!fits(method, path)) return;
      outside.onRequest = () => undefined;
      change(cluster);
    };
    const logged: Array<string> = [];
    trace.length = 0;
    await follow({ ...ports, log: (event) => void logged.push(event) }, { kind: 'NodeClaim', name: 'c' });
    return {
      logged,
      patches: isAbout(trace),
      taints: server.get('nodes', 'aks-c')?.spec?.['taints'] as unknown,
      pod: server.get('pods', 'default/p'),
    };
  }
  const replace = ({ server, addPod }: ReturnType<typeof smallCluster>): void => {
    server.remove('pods', 'default/p');
    addPod('p');
  };
  const first = (method: string): boolean => method === 'GET';
  const firstPatch = (method: string, path: string): boolean => method === 'PATCH' && path.includes('/pods/');

  test('keeps its room, and is let in', async () => {
    const { taints, pod } = await meanwhile(first, () => undefined);
    expect(taints).toEqual([dedicated]);
    expect(pod?.spec?.['tolerations']).toEqual([{ ...dedicated, operator: 'Equal' }]);
  });

  test.each<readonly [string, (cluster: ReturnType<typeof smallCluster>) => void]>([
    ['another has taken its name', replace],
    [
      'it is on its way out',
      ({ server }) => server.patch('pods', 'default/p', { metadata: { deletionTimestamp: 'now' } }, 'object'),
    ],
    ['it has ended', ({ server }) => server.patch('pods', 'default/p', { status: { phase: 'Failed' } }, 'status')],
    ['it has gone', ({ server }) => server.remove('pods', 'default/p')],
  ])('keeps nobody out and is not written to when %s', async (_, change) => {
    expect(await meanwhile(first, change)).toMatchObject({ patches: [], taints: [] });
  });

  test('lets nobody in for it who has taken its name while that was written', async () => {
    const { pod } = await meanwhile(firstPatch, replace);
    expect([pod?.spec?.['tolerations'], pod?.status?.['nominatedNodeName']]).toEqual([undefined, undefined]);
  });

  test('is let in by two nodes at the same moment, and neither is told that it may not', async () => {
    const other = { ...dedicated, value: 'other', operator: 'Equal' };
    const { logged, pod, taints } = await meanwhile(firstPatch, ({ server }) =>
      server.patch('pods', 'default/p', { spec: { tolerations: [other] } }, 'object'),
    );
    expect(pod?.spec?.['tolerations']).toEqual([other, { ...dedicated, operator: 'Equal' }]);
    expect([logged.includes('pods-not-let-in'), taints]).toEqual([false, [dedicated]]);
  });

  test('is not reported as refused when it goes while that is written', async () => {
    const { logged, taints } = await meanwhile(firstPatch, ({ server }) => server.remove('pods', 'default/p'));
    expect([logged.includes('pods-not-let-in'), taints]).toEqual([false, []]);
  });
});

test('sixteen pods are asked for at once, and no more', async () => {
  const cluster = smallCluster();
  const { ports } = cluster;
  const pods = Array.from({ length: 40 }, (_, index) => cluster.addPod(`p-${index}`));
  const decision = decisionOf(['c'], pods);
  await ports.decisions.put(decision);
  cluster.addClaim('c', {
    annotations: { 'nodewright.dev/decision': decision.name },
    status: { providerID: 'azure://c', conditions: [since(START, 'Launched'), since(START, 'Registered')] },
  });
  cluster.addNode('c', { taints: [dedicated] });
  let [now, most] = [0, 0];
  const get = (async (...given: Parameters<typeof ports.kubernetes.get>) => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((done) => setImmediate(done));
    now -= 1;
    return ports.kubernetes.get(...given);
  }) as typeof ports.kubernetes.get;
  await follow({ ...ports, kubernetes: { ...ports.kubernetes, get } }, { kind: 'NodeClaim', name: 'c' });
  expect(most).toBe(16);
});

describe('a node that is to be opened though a planned pod waits', () => {
  /** Half a minute after the claim was registered; a look answers the error, or null. */
  async function late(conditions: ReadonlyArray<object> = []) {
    const cluster = smallCluster();
    const { ports, server, clock } = cluster;
    const decision = decisionOf(['c'], [cluster.addPod('p')]);
    await ports.decisions.put(decision);
    const registered = [since(START, 'Launched'), since(START, 'Registered')];
    cluster.addClaim('c', {
      annotations: { 'nodewright.dev/decision': decision.name },
      status: { providerID: 'azure://c', conditions: [...registered, ...conditions] },
    });
    cluster.addNode('c', { taints: [dedicated] });
    clock.advance(30_000);
    const lines: Array<object> = [];
    const log: typeof ports.log = (event, facts) => void lines.push({ event, ...facts });
    const look = () => follow({ ...ports, log }, { kind: 'NodeClaim', name: 'c' }).catch((error: unknown) => error);
    const nominated = () => server.get('pods', 'default/p')?.status?.['nominatedNodeName'] as unknown;
    const nominate = (nominatedNodeName: string): void => {
      server.patch('pods', 'default/p', { status: { nominatedNodeName } }, 'status');
    };
    return { ...cluster, lines, look, nominated, nominate, decision };
  }

  test('says how many it was made for, how many wait and how long it took', async () => {
    const { look, nominated, lines } = await late();
    await look();
    expect(nominated()).toBe('aks-c');
    const facts = { node: 'aks-c', planned: 1, stillWaiting: 1, sinceCreatedMs: 30_000 };
    expect(lines).toContainEqual(expect.objectContaining({ event: 'node-opened', ...facts }));
  });

  test('is no pod’s where a policy denies it', async () => {
    const { look, nominated, outside } = await late();
    outside.deny = denying('PATCH', '/nodes/aks-c');
    expect(await look()).toBeInstanceOf(RefusedError);
    expect(nominated()).toBeUndefined();
  });

  test('leaves a pod nominated that the scheduler has sent elsewhere by then', async () => {
    const { look, nominated, nominate, outside } = await late();
    outside.deny = (request) => {
      const reply = denying('PATCH', '/nodes/aks-c')(request);
      if (reply !== null) nominate('aks-other');
      return reply;
    };
    expect(await look()).toBeInstanceOf(RefusedError);
    expect(nominated()).toBe('aks-other');
  });

  test('stays a pod’s where the write fails for a moment only', async () => {
    const { look, nominated, outside } = await late();
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodes/aks-c')) throw new RetryableError('no answer');
    };
    expect(await look()).toBeInstanceOf(RetryableError);
    expect(nominated()).toBe('aks-c');
  });

  test('is no pod’s and takes back no nomination while it is known that a policy denies it', async () => {
    const { look, nominated, nominate, outside } = await late([since(START, 'WriteDenied')]);
    outside.deny = denying('PATCH', '/nodes/aks-c');
    await look();
    expect(nominated()).toBeUndefined();
    nominate('aks-c');
    await look();
    expect(nominated()).toBe('aks-c');
  });

  test('is opened where the record of its decision is lost', async () => {
    const { look, server, blobs } = await late();
    for (const name of blobs.names()) blobs.lose(name);
    await look();
    expect(server.get('nodes', 'aks-c')?.spec?.['taints']).toEqual([]);
  });
});
