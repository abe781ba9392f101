import { planDisruption } from '../../../../../shared/core/disruption/plan-disruption.ts';
import { planProvisioning } from '../../../../../shared/core/plan-provisioning.ts';
import { DEFAULT_DISRUPTION } from '../../../../../shared/core/model/disruption-input.ts';
import { expect, test } from 'vitest';
import { ApiServer, type Fields } from '../../../../simulation/world/api-server.ts';
import { answer } from '../../../../simulation/world/api-transport.ts';
import { VirtualClock } from '../../../../../sandbox/base/clock.ts';
import { createDefinitions } from '../../../../../shared/adapters/kubernetes/definitions.ts';
import { createKubernetes } from '../../../../../shared/adapters/kubernetes/kubernetes.ts';
import type { ApiRequest } from '../../../../../shared/adapters/kubernetes/transport.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import type { Ports } from '../../../../../shared/app/ports/ports.ts';
import { TerminalError } from '../../../../../shared/ports/errors.ts';

const START = Date.UTC(2026, 0, 1);
const dedicated = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };
const starting = { key: 'driver', effect: 'NoSchedule' };

/** A claim `c` whose node has joined and is ready, and the pods it was planned for; a look is one run of `follow`. */
function joined(
  names: ReadonlyArray<string>,
  given: {
    readonly dedicatesNodes?: boolean;
    /** Before a request is answered; may throw. */
    readonly onRequest?: (request: ApiRequest) => void;
    readonly startupTaints?: ReadonlyArray<Fields>;
  } = {},
) {
  const clock = new VirtualClock(START);
  const server = new ApiServer(clock);
  const { startupTaints = [] } = given;
  server.create('nodeclaims', {
    metadata: { name: 'c', labels: {}, annotations: { 'nodewright.dev/decision': 'd' } },
    spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'd' }, startupTaints },
  });
  const launched = { type: 'Launched', status: 'True', lastTransitionTime: new Date(START).toISOString() };
  server.patch('nodeclaims', 'c', { status: { providerID: 'azure://c', conditions: [launched] } }, 'status');
  server.create('nodes', {
    metadata: { name: 'aks-c' },
    spec: {
      providerID: 'azure://c',
      taints: [...startupTaints, { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
    },
  });
  server.patch('nodes', 'aks-c', { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, 'status');
  for (const name of names) server.create('pods', { metadata: { name, namespace: 'default' }, spec: {} });
  const pods = names.map((name) => ({
    name: `default/${name}`,
    uid: server.get('pods', `default/${name}`)?.metadata.uid ?? '',
  }));
  const kubernetes = createKubernetes((request) => {
    given.onRequest?.(request);
    return Promise.resolve(answer(server, request));
  });
  const ports = {
    kubernetes,
    definitions: createDefinitions(kubernetes, () => clock.now()),
    decisions: { get: () => Promise.resolve({ claimNames: ['c'], plan: { claims: [{ pods }] } }) },
    hints: { send: () => Promise.resolve() },
    cloud: { revokeTokens: () => Promise.resolve(), equip: () => Promise.resolve() },
    disruption: { isOn: true, policy: { ...DEFAULT_DISRUPTION, searchSteps: 100_000 } },
    planner: planProvisioning,
    disruptionPlanner: planDisruption,
    dedicatesNodes: given.dedicatesNodes ?? true,
    now: () => clock.now(),
    log: () => undefined,
    nodeClassFacts: { kubeletIdentity: () => Promise.resolve(null) },
  } as unknown as Ports;
  return {
    clock,
    server,
    look: (podEventMs?: number) =>
      follow(ports, { kind: 'NodeClaim', name: 'c', ...(podEventMs === undefined ? {} : { podEventMs }) }),
    taints: () => (server.get('nodes', 'aks-c')?.spec?.['taints'] ?? []) as ReadonlyArray<Fields>,
    tolerations: (name: string) => server.get('pods', `default/${name}`)?.spec?.['tolerations'] as unknown,
    nominated: (name: string) => server.get('pods', `default/${name}`)?.status?.['nominatedNodeName'] as unknown,
    bind: (name: string, nodeName = 'aks-c') =>
      server.patch('pods', `default/${name}`, { spec: { nodeName } }, 'object'),
  };
}

const passage = { ...dedicated, operator: 'Equal' };

test('a new node is kept for its planned pods, which alone may come', async () => {
  const { look, taints, tolerations, nominated } = joined(['a', 'b']);
  expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + 5_000 });
  expect(taints()).toEqual([dedicated]);
  expect([tolerations('a'), tolerations('b')]).toEqual([[passage], [passage]]);
  expect([nominated('a'), nominated('b')]).toEqual([undefined, undefined]);
});

test('a node is open to all once each planned pod is bound, wherever, or gone', async () => {
  const { server, look, taints, bind } = joined(['a', 'b', 'c', 'd', 'e']);
  await look();
  bind('a');
  bind('b', 'other');
  server.remove('pods', 'default/c');
  server.patch('pods', 'default/e', { status: { phase: 'Failed' } }, 'status');
  expect((await look()).kind).toBe('wait');
  expect(taints()).toEqual([dedicated]);
  bind('d');
  await look();
  expect(taints()).toEqual([]);
});

test('a node is open with its registration where each planned pod has found room while it booted', async () => {
  const { server, look, taints, bind } = joined(['a', 'b']);
  bind('a', 'other');
  server.remove('pods', 'default/b');
  await look();
  expect(taints()).toEqual([]);
  const conditions = server.get('nodeclaims', 'c')?.status?.['conditions'] as ReadonlyArray<Fields>;
  expect(conditions.map(({ type, status }) => [type, status])).toContainEqual(['Initialized', 'True']);
});

test('when a pod came is noted while its node is still kept for others, since nobody tells it again', async () => {
  const { server, look, bind } = joined(['a', 'b']);
  await look();
  bind('a');
  await look(START + 1_000);
  expect((await look()).kind).toBe('wait');
  const noted = (): unknown => server.get('nodeclaims', 'c')?.status?.['lastPodEventTime'];
  // A sender's clock that is ahead counts as now.
  expect(noted()).toBe('2026-01-01T00:00:00Z');
  bind('b');
  await look();
  expect(noted()).toBe('2026-01-01T00:00:00Z');
});

test('a pod that was replaced by another of its name keeps nobody out', async () => {
  const { server, look, taints, tolerations } = joined(['a']);
  await look();
  server.remove('pods', 'default/a');
  server.create('pods', { metadata: { name: 'a', namespace: 'default' }, spec: {} });
  await look();
  expect([taints(), tolerations('a')]).toEqual([[], undefined]);
});

test('a planned pod that does not come within half a minute is nominated, and everybody is let in', async () => {
  const { clock, look, taints, nominated } = joined(['a']);
  await look();
  clock.advance(29_000);
  expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + 30_000 });
  expect(taints()).toEqual([dedicated]);
  clock.advance(1_000);
  await look();
  expect([taints(), nominated('a')]).toEqual([[], 'aks-c']);
});

test('while a startup taint keeps the planned pods out, the node stays theirs for ten minutes', async () => {
  const { clock, look, taints } = joined(['a'], { startupTaints: [starting] });
  await look();
  clock.advance(599_000);
  expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + 600_000 });
  expect(taints()).toEqual([starting, dedicated]);
  clock.advance(1_000);
  await look();
  expect(taints()).toEqual([starting]);
});

test('what a claim whose node is dedicated waits for is said in its conditions', async () => {
  const { server, look } = joined(['a']);
  await look();
  await look();
  const conditions = server.get('nodeclaims', 'c')?.status?.['conditions'] as ReadonlyArray<Fields>;
  expect(conditions.find(({ type }) => type === 'Initialized')).toMatchObject({
    status: 'Unknown',
    message: 'taint nodewright.dev/reserved:NoSchedule is still present',
  });
});

test('a look that is repeated changes no pod twice', async () => {
  const { look, tolerations } = joined(['a']);
  for (let repeat = 0; repeat < 3; repeat++) await look();
  expect(tolerations('a')).toEqual([passage]);
});

test.each(['PATCH /api/v1/nodes/aks-c', 'PATCH /api/v1/namespaces/default/pods/a', 'status'])(
  'a crash at %s is mended by the look that follows it',
  async (place) => {
    let crashes = 1;
    const { look, taints, bind } = joined(['a', 'b'], {
      onRequest: ({ method, path }) => {
        if (crashes > 0 && `${method} ${path}`.endsWith(place)) {
          crashes -= 1;
          throw new Error('the worker has died');
        }
      },
    });
    await expect(look()).rejects.toThrow('died');
    expect((await look()).kind).toBe('wait');
    bind('a');
    bind('b');
    await look();
    expect(taints()).toEqual([]);
  },
);

test('a pod that may not be changed is nominated, and nobody is kept out for it', async () => {
  const { look, taints, tolerations, nominated, bind } = joined(['a', 'b'], {
    onRequest: ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/pods/a')) throw new TerminalError('403');
    },
  });
  await look();
  expect([nominated('a'), tolerations('a'), tolerations('b')]).toEqual(['aks-c', undefined, [passage]]);
  bind('b');
  await look();
  expect(taints()).toEqual([]);
});

test('where nodes are not to be dedicated, pods are nominated and not changed, and the node is open at once', async () => {
  const { look, taints, tolerations, nominated } = joined(['a'], { dedicatesNodes: false });
  await look();
  expect([taints(), tolerations('a'), nominated('a')]).toEqual([[], undefined, 'aks-c']);
});

test('a node that was made for no pod is open at once', async () => {
  const { look, taints } = joined([]);
  await look();
  expect(taints()).toEqual([]);
});

test.each([
  ['another node', { ...dedicated, value: 'other' }],
  ['another effect', { ...dedicated, effect: 'NoExecute' }],
  ['another taint of this name', { ...dedicated, key: 'other' }],
])('a pod that may pass %s is let onto this one all the same', async (_, toleration) => {
  const { look, server, tolerations } = joined(['a']);
  server.patch('pods', 'default/a', { spec: { tolerations: [toleration] } }, 'object');
  await look();
  expect(tolerations('a')).toEqual([toleration, passage]);
});

test('a planned pod that goes while it is let in keeps nobody out', async () => {
  let server: ApiServer | null = null;
  const made = joined(['a'], {
    onRequest: ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/pods/a')) server?.remove('pods', 'default/a');
    },
  });
  ({ server } = made);
  await made.look();
  made.clock.advance(10_000);
  await made.look();
  expect(made.taints()).toEqual([]);
});

test('taints that are not those that the claim starts with do not keep the node for its pods longer', async () => {
  const { look, server, clock, taints } = joined(['a'], { startupTaints: [starting] });
  await look();
  const others = [
    { ...starting, effect: 'NoExecute' },
    { key: 'other', effect: starting.effect },
  ];
  server.patch('nodes', 'aks-c', { spec: { taints: [...others, dedicated] } }, 'object');
  clock.advance(30_000);
  await look();
  expect(taints()).toEqual(others);
});
