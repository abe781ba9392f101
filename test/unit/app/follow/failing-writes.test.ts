import { describe, expect, test } from 'vitest';
import { followAll } from '../../../../shared/app/follow/follow-all.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import type { ApiRequest } from '../../../../shared/adapters/kubernetes/transport.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { running } from '../../../kit/app/running.ts';
import { START, decisionOf, denying, machine, present, since, smallCluster } from '../../../kit/app/small-cluster.ts';

/** What is written to one object and fails, for good, keeps nothing else from going on. */

const MINUTE_MS = 60_000;
const C = { kind: 'NodeClaim', name: 'c' } as const;
const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
const requirement = (key: string, value: string): Fields => ({ key, operator: 'In', values: [value] });

/** As where a webhook that is called for it does not answer. */
function failing(end: RegExp): (request: ApiRequest) => void {
  return ({ method, path }) => {
    if (method === 'PATCH' && end.test(path)) throw new RetryableError('no answer');
  };
}

/** Claim `c`, made for pods `a` and `b`. */
async function planned(given: { readonly isLaunched: boolean }) {
  const cluster = smallCluster();
  const { ports, azure } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const decision = decisionOf(
    ['c'],
    ['a', 'b'].map((name) => cluster.addPod(name)),
  );
  await ports.decisions.put(decision);
  const requirements = [
    requirement('node.kubernetes.io/instance-type', 'Standard_D2_v5'),
    requirement('topology.kubernetes.io/zone', 'westeurope-1'),
  ];
  cluster.addClaim('c', {
    labels: { 'karpenter.sh/nodepool': 'general' },
    annotations: { 'nodewright.dev/decision': decision.name },
    spec: { requirements },
    status: given.isLaunched ? { providerID: 'azure://c', conditions: [since(START, 'Launched')] } : {},
  });
  if (given.isLaunched) {
    azure.machines.set('c', machine('c'));
    cluster.addNode('c', { taints: [unregistered] });
  }
  return cluster;
}

describe('a node that has joined', () => {
  test('is registered and opened though one of its pods cannot be written', async () => {
    const { ports, outside, server, clock, conditionOf } = await planned({ isLaunched: true });
    outside.onRequest = failing(/\/pods\/a(\/status)?$/);
    await follow(ports, C);
    expect(conditionOf('c', 'Registered')?.['status']).toBe('True');
    server.patch('pods', 'default/b', { spec: { nodeName: 'aks-c' } }, 'object');
    clock.advance(MINUTE_MS);
    await follow(ports, C);
    expect(conditionOf('c', 'Initialized')?.['status']).toBe('True');
  });

  test('has its token taken back though its NodePool cannot be written', async () => {
    const { ports, outside, azure } = await planned({ isLaunched: true });
    outside.onRequest = failing(/\/nodepools\/general\/status$/);
    await follow(ports, C);
    expect(azure.asked).toEqual(['revoke the token of c', 'equip c']);
  });
});

describe('a claim on its way', () => {
  test.each([
    ['its machine cannot be noted on it', false, /\/nodeclaims\/c\/status$/, 'LaunchTimeout'],
    ['it cannot be said that its node has joined', true, /\/nodeclaims\/c\/status$/, 'RegistrationTimeout'],
    ['its node cannot be written', true, /\/nodes\/aks-c$/, 'RegistrationTimeout'],
  ])('is given up after twenty minutes where %s, and its pods are told', async (_, isLaunched, end, reason) => {
    const { ports, outside, server, clock, stateOf } = await planned({ isLaunched });
    outside.onRequest = failing(end);
    await expect(follow(ports, C)).rejects.toThrow('no answer');
    clock.advance(20 * MINUTE_MS);
    await expect(follow(ports, C)).rejects.toThrow('no answer');
    clock.advance(1);
    expect(await follow(ports, C)).toEqual({ kind: 'ended', why: reason });
    expect(stateOf('c')).toBe('leaving');
    const told = (server.list('events') as ReadonlyArray<Fields>).filter((one) => one['reason'] === 'NodeGivenUp');
    expect(told.map(({ involvedObject }) => involvedObject.name as string)).toEqual(['a', 'b']);
  });

  test.each(['is denied', 'fails'])(
    'is given up when its machine has not booted, though to write it %s',
    async (how) => {
      const { ports, outside, azure, stateOf } = await planned({ isLaunched: false });
      await follow(ports, C);
      expect(azure.orders).toHaveLength(1);
      outside.observe = present('running', { failedBoot: { message: 'no network', isOfSize: false, exitCode: 1 } });
      const denied = denying('PATCH', '');
      const isOfClaim = ({ path }: ApiRequest): boolean => path.includes('/nodeclaims/c');
      if (how === 'fails') outside.onRequest = failing(/\/nodeclaims\/c/);
      else outside.deny = (request) => (isOfClaim(request) ? denied(request) : null);
      expect(await follow(ports, C)).toEqual({ kind: 'ended', why: 'NodeBootFailed' });
      expect(stateOf('c')).toBe('leaving');
    },
  );

  test('is not given up as somebody else writes at the same moment', async () => {
    const { ports, outside, server, clock, stateOf } = await planned({ isLaunched: true });
    clock.advance(21 * MINUTE_MS);
    let writes = 0;
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodeclaims/c/status')) return;
      server.patch('nodeclaims', 'c', { metadata: { annotations: { write: String(writes++) } } }, 'object');
    };
    await expect(follow(ports, C)).rejects.toThrow('writing c: conflict');
    expect(stateOf('c')).toBe('there');
  });
});

describe.each(['is denied', 'fails'])('of a claim that goes, what %s', (how) => {
  /** It is looked at so often, a minute apart; its pods go when they are told to. */
  async function looks(end: string, times: number, annotations: Fields = {}) {
    const cluster = running({ pods: 1, annotations });
    const { ports, server, outside, clock } = cluster;
    await ports.kubernetes.delete('NodeClaim', { name: 'c', namespace: null });
    if (how === 'fails') outside.onRequest = failing(new RegExp(`${end}$`));
    else outside.deny = denying('PATCH', end);
    for (let look = 0; look < times; look++) {
      // One after the other.
      await followAll(ports, [C]);
      for (const { metadata } of server.list('pods')) {
        if (metadata.deletionTimestamp !== undefined) server.remove('pods', `default/${metadata.name}`);
      }
      clock.advance(MINUTE_MS);
    }
    return cluster;
  }

  test('to its status keeps no machine that is empty', async () => {
    const { azure, stateOf } = await looks('/nodeclaims/c/status', 3);
    expect([azure.deleted, stateOf('c')]).toEqual([['c'], 'gone']);
  });

  test('to its node keeps no pod and no machine past the deadline', async () => {
    const annotations = {
      'karpenter.sh/nodeclaim-termination-timestamp': new Date(START + 10 * MINUTE_MS).toISOString(),
    };
    const before = await looks('/nodes/aks-c', 10, annotations);
    expect([before.azure.deleted, before.server.list('pods').length]).toEqual([[], 1]);
    const after = await looks('/nodes/aks-c', 14, annotations);
    expect([after.azure.deleted[0], after.server.list('pods').length]).toEqual(['c', 0]);
  });
});
