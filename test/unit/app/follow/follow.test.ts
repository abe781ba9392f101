import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import type { ObservedMachine } from '../../../../shared/ports/cloud.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { START, machine, present, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const finalizer = 'karpenter.sh/termination';
const MINUTE_MS = 60_000;
const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

interface Given {
  readonly conditions?: ReadonlyArray<Fields>;
  readonly providerID?: string | null;
  readonly spec?: Fields;
  readonly labels?: Fields;
  readonly finalizers?: ReadonlyArray<string>;
  readonly withMachine?: boolean;
}

/** A claim `c` of a class that is ready, made at the start. A look is one run of `follow`, so long after that. */
function following(given: Given = {}) {
  const cluster = smallCluster();
  const { server, azure, ports, clock } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const { providerID = 'azure://c', conditions = [] } = given;
  cluster.addClaim('c', {
    labels: { 'karpenter.sh/nodepool': 'general', ...given.labels },
    ...(given.finalizers === undefined ? {} : { finalizers: given.finalizers }),
    spec: given.spec ?? {},
    status: { ...(providerID === null ? {} : { providerID }), conditions },
  });
  if (given.withMachine ?? false) azure.machines.set('c', machine('c'));
  return {
    ...cluster,
    look: (afterMs = 0) => {
      clock.advance(START + afterMs - clock.now());
      return follow(ports, { kind: 'NodeClaim', name: 'c' });
    },
    launches: () => azure.orders.map(({ claim }) => claim),
    writes: () => cluster.trace.filter((step) => !step.startsWith('GET')),
    reasons: () =>
      server
        .list('events')
        .map((event) => (event as unknown as Fields)['reason'] as string)
        .filter((reason) => !TRANSITIONS.has(reason)),
    health: () => cluster.conditionOf('general', 'NodeRegistrationHealthy', 'nodepools'),
  };
}

/** Events that only say how far a claim has come. */
const TRANSITIONS: ReadonlySet<string> = new Set(['Launched', 'Registered', 'Initialized', 'Drifted']);

const launched = (more: Given = {}): Given => ({ conditions: [since(START, 'Launched')], withMachine: true, ...more });
const registered = (more: Given = {}): Given => ({
  conditions: [since(START, 'Launched'), since(START, 'Registered')],
  withMachine: true,
  ...more,
});

describe('a claim that has no machine yet', () => {
  test('gets one, under our finalizer, which was put on before [J01]', async () => {
    const { look, launches, server, outside, stateOf, conditionOf } = following({ providerID: null, finalizers: [] });
    const { launch } = outside;
    let held: ReadonlyArray<string> | undefined;
    outside.launch = (order) => {
      held = server.get('nodeclaims', 'c')?.metadata.finalizers;
      return launch(order);
    };
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + 5_000 });
    expect([launches(), held, stateOf('c')]).toEqual([['c'], [finalizer], 'there']);
    expect(conditionOf('c', 'Launched')).toMatchObject({ status: 'True' });
    expect(server.get('nodeclaims', 'c')?.status).toMatchObject({ providerID: 'azure://c', imageID: 'image' });
  });

  test('keeps the finalizers of others', async () => {
    const { look, server } = following({ providerID: null, finalizers: ['other'] });
    await look();
    expect(server.get('nodeclaims', 'c')?.metadata.finalizers).toEqual(['other', finalizer]);
  });

  test('gets none while the finalizer cannot be put on', async () => {
    const { look, launches, outside, server } = following({ providerID: null, finalizers: [] });
    outside.onRequest = ({ method }) => {
      if (method === 'PATCH') server.patch('nodeclaims', 'c', { metadata: { labels: { a: 'b' } } }, 'object');
    };
    await expect(look()).rejects.toThrow(RetryableError);
    expect(launches()).toEqual([]);
  });

  test('is given up when it was not launched within five minutes, and not before [J05]', async () => {
    const { look, launches, stateOf, outside, reasons, azure } = following({ providerID: null });
    outside.launch = () => ({ kind: 'rejected', reason: 'Policy', message: 'no' });
    await look(5 * MINUTE_MS);
    expect([stateOf('c'), launches().length]).toEqual(['there', 1]);
    expect((await look(5 * MINUTE_MS + 1)).kind).toBe('ended');
    expect([stateOf('c'), launches().length, reasons(), azure.deleted]).toEqual(['leaving', 1, ['LaunchTimeout'], []]);
  });

  test('is given up in time though Azure shows a machine that it could not make', async () => {
    const { look, stateOf, launches, outside } = following({ providerID: null, withMachine: true });
    outside.observe = (found) => ({ kind: 'failed', machine: found, refusal: null, reason: 'Failed', message: 'no' });
    expect((await look(5 * MINUTE_MS + 1)).kind).toBe('ended');
    expect([stateOf('c'), launches()]).toEqual(['leaving', []]);
  });

  test('says why it is given up, for the relay to count, and nothing where its node was deleted [J05]', async () => {
    const { look, server } = following({ providerID: null });
    const givenUp = () => server.get('nodeclaims', 'c')?.metadata.annotations?.['nodewright.dev/given-up'];
    await look(5 * MINUTE_MS + 1);
    expect(givenUp()).toBe('LaunchTimeout');
    const deleted = following({
      conditions: ['Launched', 'Registered'].map((type) => since(START, type)),
      withMachine: true,
    });
    deleted.addNode('c', { id: 'c', ready: 'True', finalizers: ['karpenter.sh/termination'] });
    deleted.server.delete('nodes', 'aks-c');
    await deleted.look(MINUTE_MS);
    expect(deleted.stateOf('c')).toBe('leaving');
    expect(deleted.server.get('nodeclaims', 'c')?.metadata.annotations ?? {}).not.toHaveProperty(
      'nodewright.dev/given-up',
    );
  });

  test('that was not launched in time is seen on its pool, with what Azure said [J05]', async () => {
    const { look, outside, health } = following({ providerID: null });
    outside.launch = () => ({ kind: 'rejected', reason: 'Policy', message: 'no' });
    await look(5 * MINUTE_MS);
    expect(health()).toBeUndefined();
    await look(5 * MINUTE_MS + 1);
    expect(health()).toMatchObject({ status: 'True', message: 'last nodes: failed' });
    const silent = following({ providerID: null });
    const failures = { status: 'True', message: 'last nodes: failed', observedGeneration: 1 };
    const conditions = [{ ...since(START, 'NodeRegistrationHealthy'), ...failures }];
    silent.server.patch('nodepools', 'general', { status: { conditions } }, 'status');
    await silent.look(5 * MINUTE_MS + 1);
    expect(silent.health()).toMatchObject({ status: 'False', reason: 'LaunchTimeout' });
  });

  test('tells its pool what Azure said, when that becomes unhealthy by it [J05]', async () => {
    const { look, server, health } = following({
      providerID: null,
      conditions: [{ ...since(START, 'Launched', 'Unknown'), reason: 'Policy' }],
    });
    const failures = { status: 'True', message: 'last nodes: failed', observedGeneration: 1 };
    const conditions = [{ ...since(START, 'NodeRegistrationHealthy'), ...failures }];
    server.patch('nodepools', 'general', { status: { conditions } }, 'status');
    await look(5 * MINUTE_MS + 1);
    expect(health()).toMatchObject({ status: 'False', reason: 'Policy', message: 'last nodes: failed, failed' });
  });

  test('is not given up for its time when its machine is there: that is noted', async () => {
    const { look, stateOf, outside, conditionOf } = following({ providerID: null, withMachine: true });
    outside.launch = ({ claim }) => ({ kind: 'exists', machine: machine(claim) });
    await look(60 * MINUTE_MS);
    expect(stateOf('c')).toBe('there');
    expect(conditionOf('c', 'Launched')).toMatchObject({ status: 'True' });
  });

  test('is not given up when nothing is left to try and its machine is there, of an attempt that could not say so', async () => {
    const { look, stateOf, outside, conditionOf, launches } = following({ providerID: null, withMachine: true });
    outside.types = [];
    await look();
    expect([stateOf('c'), launches()]).toEqual(['there', []]);
    expect(conditionOf('c', 'Launched')).toMatchObject({ status: 'True' });
  });

  test('is told when Azure refuses it for good, cut to 300 characters, and is tried again a minute later [J01]', async () => {
    const { look, outside, conditionOf, stateOf } = following({ providerID: null });
    outside.launch = () => ({ kind: 'rejected', reason: 'Policy', message: 'x'.repeat(400) });
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + MINUTE_MS });
    expect(conditionOf('c', 'Launched')).toMatchObject({
      status: 'Unknown',
      reason: 'Policy',
      message: 'x'.repeat(300),
    });
    expect(stateOf('c')).toBe('there');
  });

  test('is given up when its class is being deleted [J01]', async () => {
    const { look, server, stateOf, launches, reasons } = following({ providerID: null });
    server.patch('aksnodeclasses', 'default', { metadata: { finalizers: ['other'] } }, 'object');
    server.delete('aksnodeclasses', 'default');
    await look(10_000);
    expect([stateOf('c'), launches(), reasons()]).toEqual(['leaving', [], ['NodeClassNotReady']]);
  });
});

describe('a claim is launched for once [J01]', () => {
  test('however often it is looked at', async () => {
    const { look, launches } = following({ providerID: null });
    await look();
    await look(5_000);
    await look(10_000);
    expect(launches()).toEqual(['c']);
  });

  test('when it says that it was, whatever has become of its machine', async () => {
    const { look, launches } = following(launched({ withMachine: false }));
    await look();
    expect(launches()).toEqual([]);
  });
});

describe('nothing is done for a claim', () => {
  test('of a class that is not ours', async () => {
    for (const nodeClassRef of [
      { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      { group: 'karpenter.azure.com', kind: 'Other', name: 'default' },
      { group: 'other', kind: 'AKSNodeClass', name: 'default' },
    ]) {
      const { look, server, writes, launches } = following({ spec: { nodeClassRef } });
      expect((await look()).kind).toBe('ended');
      server.delete('nodeclaims', 'c');
      await look();
      expect([writes(), launches()]).toEqual([[], []]);
    }
  });

  test('that is not there', async () => {
    const { ports, trace } = smallCluster();
    expect((await follow(ports, { kind: 'NodeClaim', name: 'nobody' })).kind).toBe('ended');
    expect(trace.filter((step) => !step.startsWith('GET'))).toEqual([]);
  });
});

describe('a claim whose node has not joined', () => {
  test.each([
    [0, 5_000],
    [20_000, 40_000],
    [10 * MINUTE_MS, MINUTE_MS],
  ])('is looked at again ever later: at %d ms after %d ms', async (afterMs, pauseMs) => {
    const { look, conditionOf } = following(launched());
    expect(await look(afterMs)).toMatchObject({ kind: 'wait', lookAgainMs: START + afterMs + pauseMs });
    expect(conditionOf('c', 'Registered')).toMatchObject({ status: 'Unknown', reason: 'NodeNotFound' });
  });

  test('is given up after 15 minutes, and not before, and its pool shows it [J05]', async () => {
    const { look, stateOf, reasons, health, azure } = following(launched());
    await look(15 * MINUTE_MS);
    expect(stateOf('c')).toBe('there');
    expect((await look(15 * MINUTE_MS + 1)).kind).toBe('ended');
    expect([stateOf('c'), reasons(), azure.deleted]).toEqual(['leaving', ['RegistrationTimeout'], []]);
    expect(health()).toMatchObject({ message: 'last nodes: failed' });
  });

  test.each([
    ['running', false, 1_000, ['equip c']],
    ['running', true, 1_000, []],
    ['creating', false, 1_000, []],
    ['running', true, 5 * MINUTE_MS, []],
    ['running', true, 5 * MINUTE_MS + 1, ['diagnose c']],
  ] as const)(
    'has its machine looked after: %s, equipped %s, after %d ms',
    async (state, isEquipped, afterMs, asked) => {
      const { look, outside, azure } = following(launched());
      outside.observe = present(state, { isEquipped });
      await look(afterMs);
      expect(azure.asked).toEqual(asked);
    },
  );

  test.each([
    [true, 1],
    [false, 0],
  ])(
    'is given up as soon as its set-up is known to have failed (of its size: %s), and says why',
    async (isOfSize, refusals) => {
      const { look, outside, azure, stateOf, server, conditionOf, health } = following(launched());
      const message = 'the GPU driver could not be installed (exit code 84 of the node’s set-up)';
      outside.observe = present('running', { failedBoot: { exitCode: 84, message, isOfSize } });
      await look(6 * MINUTE_MS);
      expect(stateOf('c')).toBe('leaving');
      expect(conditionOf('c', 'Registered')).toMatchObject({ status: 'False', reason: 'NodeBootFailed', message });
      expect(server.list('events')).toMatchObject([{ reason: 'NodeBootFailed', message }]);
      expect(health()).toMatchObject({ message: 'last nodes: failed' });
      expect(azure.refused).toHaveLength(refusals);
      if (refusals > 0) {
        expect(azure.refused).toMatchObject([
          { scope: 'size', untilMs: START + 36 * MINUTE_MS, reason: 'NodeBootFailed' },
        ]);
      }
    },
  );

  test('that did not join in time has its size passed over for a while', async () => {
    const { look, azure } = following(launched());
    await look(15 * MINUTE_MS + 1);
    const offering = { instanceType: 'Standard_D2_v5', zone: 'westeurope-1', capacityType: 'on-demand' };
    expect(azure.refused).toMatchObject([{ scope: 'size', offering, reason: 'RegistrationTimeout' }]);
  });

  test('is given up as itself: another that has taken its name stays', async () => {
    const { look, outside, server, addClaim, stateOf } = following(launched({ withMachine: false }));
    outside.onRequest = ({ method }) => {
      if (method !== 'DELETE') return;
      server.remove('nodeclaims', 'c');
      addClaim('c');
    };
    await expect(look(60_001)).rejects.toThrow('it has changed since it was read');
    expect(stateOf('c')).toBe('there');
  });

  test('is given up as it was read: one that another process has written to meanwhile is looked at again', async () => {
    const { look, outside, server, stateOf, reasons, health } = following(launched({ withMachine: false }));
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodeclaims/c')) return;
      outside.onRequest = () => undefined;
      server.patch('nodeclaims', 'c', { metadata: { labels: { by: 'another' } } }, 'object');
    };
    await expect(look(60_001)).rejects.toThrow(RetryableError);
    expect([stateOf('c'), reasons(), health()]).toEqual(['there', [], undefined]);
    await look(60_001);
    expect([stateOf('c'), reasons()]).toEqual(['leaving', ['AsyncProvisioningError']]);
  });

  test('is given up when its machine is gone, and its pool shows it', async () => {
    const { look, stateOf, reasons, health } = following(launched({ withMachine: false }));
    await look(60_001);
    expect([stateOf('c'), reasons()]).toEqual(['leaving', ['AsyncProvisioningError']]);
    expect(health()).toMatchObject({ message: 'last nodes: failed' });
  });

  test.each([
    ['and the offering is remembered as refused', { scope: 'zone', retryAfterMs: 180_000 } as const],
    ['and nothing is remembered when the failure says nothing of it', null],
  ])('is given up when Azure could not make its machine, %s', async (_, refusal) => {
    const { look, stateOf, outside, azure, server } = following(launched());
    outside.observe = (found): ObservedMachine => ({
      kind: 'failed',
      machine: found,
      refusal,
      reason: 'ZonalAllocationFailed',
      message: 'sold out',
    });
    await look(1_000);
    expect(stateOf('c')).toBe('leaving');
    expect(server.list('events')).toMatchObject([
      { reason: 'AsyncProvisioningError', message: 'ZonalAllocationFailed: sold out' },
    ]);
    const offering = { instanceType: 'Standard_D2_v5', zone: 'westeurope-1', capacityType: 'on-demand' };
    expect(azure.refused).toMatchObject(
      refusal === null ? [] : [{ scope: 'zone', offering, untilMs: START + 181_000, reason: 'ZonalAllocationFailed' }],
    );
  });

  test('shows nothing that was found out before somebody else wrote to it', async () => {
    const { look, outside, server, conditionOf } = following(launched());
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodeclaims/c/status')) return;
      server.patch('nodeclaims', 'c', { status: { conditions: [since(START, 'Registered')] } }, 'status');
    };
    await expect(look()).rejects.toMatchObject({ name: 'LostRaceError', retryAfterMs: 200 });
    expect(conditionOf('c', 'Registered')).toMatchObject({ status: 'True' });
  });

  test('is kept while Azure cannot be asked', async () => {
    const { look, stateOf, outside } = following(launched());
    outside.observe = () => {
      throw new RetryableError('Azure is down');
    };
    await expect(look(60 * MINUTE_MS)).rejects.toThrow('Azure is down');
    expect(stateOf('c')).toBe('there');
  });
});

describe('a claim whose node has joined before and is not there', () => {
  test.each(['creating', 'running'] as const)(
    'is waited for while its machine is %s, and looked at each minute',
    async (state) => {
      const { look, outside, stateOf } = following(registered());
      outside.observe = present(state);
      expect(await look(60 * MINUTE_MS)).toMatchObject({ kind: 'wait', lookAgainMs: START + 61 * MINUTE_MS });
      expect(stateOf('c')).toBe('there');
    },
  );

  test.each([
    ['is being removed', present('deleting')],
    [
      'has failed',
      (found: ReturnType<typeof machine>): ObservedMachine => ({
        kind: 'failed',
        machine: found,
        refusal: null,
        reason: 'r',
        message: 'm',
      }),
    ],
    ['is gone', (): ObservedMachine => ({ kind: 'gone' })],
  ])('is deleted when its machine %s, and its pool is not blamed', async (_, observe) => {
    const { look, outside, stateOf, reasons, health } = following(registered());
    outside.observe = observe;
    await look();
    expect([stateOf('c'), reasons(), health()]).toEqual(['leaving', ['InstanceGone'], undefined]);
  });
});

describe('a claim whose node is there', () => {
  test('is deleted when somebody has deleted the node [K01]', async () => {
    const { look, addNode, server, stateOf, reasons, azure } = following(registered());
    addNode('c', { finalizers: [finalizer] });
    server.delete('nodes', 'aks-c');
    expect((await look()).kind).toBe('ended');
    expect([stateOf('c'), reasons(), azure.deleted]).toEqual(['leaving', ['NodeDeleted'], []]);
  });

  test('is kept when somebody has deleted a node of its name on another machine', async () => {
    const { look, addNode, server, stateOf } = following(registered());
    addNode('c', { id: 'another', finalizers: [finalizer] });
    server.delete('nodes', 'aks-c');
    await look();
    expect(stateOf('c')).toBe('there');
  });

  test('does not touch a node of its name on another machine, and looks each minute whether its own has come [J02]', async () => {
    const { look, addNode, server, writes } = following(launched());
    addNode('c', { id: 'another', taints: [unregistered] });
    const node = server.get('nodes', 'aks-c');
    expect(await look(15 * MINUTE_MS)).toMatchObject({ lookAgainMs: START + 16 * MINUTE_MS });
    expect(server.get('nodes', 'aks-c')).toEqual(node);
    expect(writes().filter((step) => step.includes('/nodes/'))).toEqual([]);
  });

  test.each([['another'], ['']])(
    'is given up after 15 minutes, as one whose node has not joined, when that says it is on machine `%s` [J05]',
    async (id) => {
      const { look, addNode, stateOf, reasons, server } = following(launched());
      addNode('c', { id, taints: [unregistered] });
      await look(15 * MINUTE_MS);
      expect(stateOf('c')).toBe('there');
      await look(15 * MINUTE_MS + 1_000);
      expect([stateOf('c'), reasons()]).toEqual(['leaving', ['RegistrationTimeout']]);
      expect(server.get('nodes', 'aks-c')?.metadata.deletionTimestamp).toBeUndefined();
    },
  );

  test('has 15 minutes for its own node to come back, counted from when it was found to be another', async () => {
    const { look, addNode, stateOf } = following(registered());
    addNode('c', { id: 'another' });
    await look(60 * MINUTE_MS);
    await look(75 * MINUTE_MS);
    expect(stateOf('c')).toBe('there');
    await look(75 * MINUTE_MS + 1_000);
    expect(stateOf('c')).toBe('leaving');
  });

  test('is given up when its node was not ready for 15 minutes since it was registered, and never before', async () => {
    const { look, addNode, stateOf, reasons, health } = following(registered());
    addNode('c', { ready: 'False', labels: { 'karpenter.sh/registered': 'true' } });
    await look(15 * MINUTE_MS);
    expect(stateOf('c')).toBe('there');
    await look(15 * MINUTE_MS + 1_000);
    expect([stateOf('c'), reasons()]).toEqual(['leaving', ['InitializationTimeout']]);
    expect(health()).toMatchObject({ message: 'last nodes: failed' });
  });

  test.each([
    ['ready, and waits for a startup taint', { ready: 'True', changedMs: 0 }, []],
    ['ready until a moment ago', { ready: 'False', changedMs: 20 * MINUTE_MS }, []],
    ['in use, and is sick', { ready: 'False', changedMs: 0 }, ['Initialized']],
  ])('is kept for however long when its node is %s', async (_, { ready, changedMs }, more) => {
    const startupTaints = [{ key: 'driver', effect: 'NoSchedule' }];
    const conditions = ['Launched', 'Registered', ...more].map((type) => since(START, type));
    const { look, addNode, stateOf } = following(registered({ conditions, spec: { startupTaints } }));
    const seen = { conditions: [since(START + changedMs, 'Ready', ready)] };
    addNode('c', { taints: startupTaints, labels: { 'karpenter.sh/registered': 'true' }, status: seen });
    await look(30 * MINUTE_MS);
    expect(stateOf('c')).toBe('there');
  });

  test('waits for the node to become ready for 30 s after it has joined, and registers it then all the same', async () => {
    const { look, addNode, conditionOf, server, clock } = following(launched());
    clock.advance(1_000);
    addNode('c', { ready: 'False', taints: [unregistered] });
    expect(await look(30_999)).toMatchObject({ kind: 'wait', lookAgainMs: START + 31_000 });
    expect([conditionOf('c', 'Registered'), server.get('nodes', 'aks-c')?.spec?.['taints']]).toEqual([
      undefined,
      [unregistered],
    ]);
    await look(31_000);
    expect(conditionOf('c', 'Registered')).toMatchObject({ status: 'True' });
  });

  test('is deleted when its machine is gone and the node is not ready, and kept while it is ready [J08]', async () => {
    for (const [ready, state] of [
      ['False', 'leaving'],
      ['Unknown', 'leaving'],
      ['True', 'there'],
    ] as const) {
      const { look, addNode, stateOf, reasons, azure } = following(registered({ withMachine: false }));
      addNode('c', { ready });
      await look();
      expect([stateOf('c'), reasons(), azure.deleted]).toEqual([state, ready === 'True' ? [] : ['InstanceGone'], []]);
    }
  });

  test('is kept though the node is not ready, while its machine is there, and asks Azure only then [J08]', async () => {
    const { look, addNode, stateOf, outside, server } = following(registered());
    let asked = 0;
    outside.observe = (found) => {
      asked += 1;
      return present('running')(found);
    };
    addNode('c', { ready: 'Unknown' });
    await look();
    expect([stateOf('c'), asked]).toEqual(['there', 1]);
    server.patch('nodes', 'aks-c', { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, 'status');
    await look();
    expect(asked).toBe(1);
  });

  test('gives a ready node all that its claim says, and takes the unregistered taint away [J02]', async () => {
    const team = { key: 'team', value: 'red', effect: 'NoSchedule' };
    const kubelet = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
    const { look, addNode, server, health } = following(launched({ spec: { taints: [team] } }));
    server.patch(
      'nodeclaims',
      'c',
      { metadata: { annotations: { 'nodewright.dev/decision': 'd', mine: 'too' } } },
      'object',
    );
    addNode('c', { taints: [unregistered, kubelet], labels: { own: 'kept' }, finalizers: ['other'] });
    await look();
    const { uid } = server.get('nodeclaims', 'c')?.metadata ?? {};
    expect(server.get('nodes', 'aks-c')).toMatchObject({
      metadata: {
        labels: { own: 'kept', 'karpenter.sh/nodepool': 'general', 'karpenter.sh/registered': 'true' },
        annotations: { mine: 'too' },
        finalizers: ['other', finalizer],
        ownerReferences: [{ kind: 'NodeClaim', name: 'c', uid }],
      },
      spec: { taints: [kubelet, team] },
    });
    expect(server.get('nodes', 'aks-c')?.metadata.annotations).not.toHaveProperty(['nodewright.dev/decision']);
    expect(health()).toMatchObject({ status: 'True' });
  });

  test('owns the node once, beside those who own it already [J02]', async () => {
    const { look, addNode, server } = following(launched());
    const { uid } = server.get('nodeclaims', 'c')?.metadata ?? {};
    addNode('c', { taints: [unregistered] });
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'rack', uid: 'u-rack' };
    const own = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'c', uid };
    server.patch('nodes', 'aks-c', { metadata: { ownerReferences: [own, other] } }, 'object');
    await look();
    const { ownerReferences } = (server.get('nodes', 'aks-c')?.metadata ?? {}) as Fields;
    expect(ownerReferences).toEqual([other, { ...own, blockOwnerDeletion: true }]);
  });

  test('says so when the node has joined without the unregistered taint, and registers it all the same [J02]', async () => {
    const bare = following(launched());
    bare.addNode('c', { taints: [{ key: 'own', effect: 'NoSchedule' }] });
    await bare.look();
    const told = bare.server.list('events') as unknown as ReadonlyArray<Fields>;
    expect(told.filter(({ type }) => type === 'Warning')).toMatchObject([
      {
        type: 'Warning',
        reason: 'UnregisteredTaintMissing',
        message: 'Node aks-c has joined without the taint karpenter.sh/unregistered:NoExecute',
        involvedObject: { kind: 'NodeClaim', name: 'c' },
      },
    ]);
    expect(bare.conditionOf('c', 'Registered')).toMatchObject({ status: 'True' });
    const tainted = following(launched());
    tainted.addNode('c', { taints: [unregistered] });
    await tainted.look();
    const again = following(launched());
    again.addNode('c', { labels: { 'karpenter.sh/registered': 'true' } });
    await again.look();
    expect([tainted.reasons(), again.reasons()]).toEqual([[], []]);
  });

  test('gets no startup taint back that has gone from the node before it was registered [J02]', async () => {
    const startupTaints = [{ key: 'driver', effect: 'NoSchedule' }];
    const { look, addNode, server } = following(launched({ spec: { startupTaints } }));
    addNode('c', { taints: [unregistered] });
    await look();
    await look(1_000);
    expect(server.get('nodes', 'aks-c')?.spec?.['taints']).toEqual([]);
  });

  test('is not initialized before it is registered, whatever the node has [J04]', async () => {
    const { look, addNode, server, outside, conditionOf } = following(launched());
    addNode('c', { taints: [] });
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodes/aks-c')) throw new RetryableError('the API server is down');
    };
    await expect(look()).rejects.toThrow('the API server is down');
    expect(conditionOf('c', 'Initialized')?.['status']).not.toBe('True');
    expect(server.get('nodes', 'aks-c')?.metadata.labels).not.toHaveProperty(['karpenter.sh/initialized']);
  });

  test('adds no taint that the node has, and none at all where the node says that they are not to be synced [J02]', async () => {
    const team = { key: 'team', value: 'red', effect: 'NoSchedule' };
    const has = following(launched({ spec: { taints: [team] } }));
    has.addNode('c', {
      taints: [
        { ...team, value: 'blue' },
        { ...team, effect: 'NoExecute' },
      ],
    });
    await has.look();
    expect(has.server.get('nodes', 'aks-c')?.spec?.['taints']).toEqual([
      { ...team, value: 'blue' },
      { ...team, effect: 'NoExecute' },
    ]);
    const unsynced = following(launched({ spec: { taints: [team] } }));
    unsynced.addNode('c', { taints: [unregistered], labels: { 'karpenter.sh/do-not-sync-taints': 'true' } });
    await unsynced.look();
    expect(unsynced.server.get('nodes', 'aks-c')?.spec?.['taints']).toEqual([]);
  });

  test('is not registered when the node goes while that is written, and nothing is lost', async () => {
    const { look, addNode, server, outside, stateOf } = following(launched());
    addNode('c', { taints: [unregistered] });
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodes/aks-c')) return;
      outside.onRequest = ({ method: next }) => {
        if (next === 'GET') server.remove('nodes', 'aks-c');
      };
      server.patch('nodes', 'aks-c', { metadata: { labels: { a: 'b' } } }, 'object');
    };
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START });
    expect(stateOf('c')).toBe('there');
  });

  test('tries five times to write to a node that changes all the time, and then lets others have their turn', async () => {
    const { look, addNode, server, outside, trace } = following(launched());
    addNode('c', { taints: [unregistered] });
    let changes = 0;
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodes/aks-c')) return;
      changes += 1;
      server.patch('nodes', 'aks-c', { metadata: { labels: { changes: String(changes) } } }, 'object');
    };
    await expect(look()).rejects.toMatchObject({ name: 'RetryableError', retryAfterMs: 200 });
    expect(trace.filter((step) => step === 'PATCH /api/v1/nodes/aks-c')).toHaveLength(5);
  });

  test('tries again when the node has changed once meanwhile', async () => {
    const { look, addNode, server, outside, conditionOf } = following(launched());
    addNode('c', { taints: [unregistered] });
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodes/aks-c')) return;
      outside.onRequest = () => undefined;
      server.patch('nodes', 'aks-c', { metadata: { labels: { kubelet: 'new' } } }, 'object');
    };
    await look();
    expect(conditionOf('c', 'Registered')).toMatchObject({ status: 'True' });
    expect(server.get('nodes', 'aks-c')?.metadata.labels).toMatchObject({ kubelet: 'new' });
  });
});

describe('what keeps a registered node from being initialized [J04]', () => {
  const allocatable = { cpu: '2', memory: '8Gi' };
  const startup = { key: 'driver', effect: 'NoSchedule' };
  const one = (key: string, effect: string): Fields => ({ taints: [{ key, effect }] });

  test.each<readonly [string, string, Fields]>([
    ['it is not ready', 'NodeNotReady', { ready: 'False' }],
    ['its readiness is not known', 'NodeNotReady', { ready: 'Unknown' }],
    ['a startup taint of its claim', 'StartupTaintsExist', { taints: [startup] }],
    ['a taint of its start', 'KnownEphemeralTaintsExist', one('node.kubernetes.io/not-ready', 'NoSchedule')],
    ['another', 'KnownEphemeralTaintsExist', one('node.kubernetes.io/not-ready', 'NoExecute')],
    ['one of what it cannot reach', 'KnownEphemeralTaintsExist', one('node.kubernetes.io/unreachable', 'NoSchedule')],
    ['one of Azure', 'KnownEphemeralTaintsExist', one('node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule')],
    ['one before its registration', 'KnownEphemeralTaintsExist', { taints: [unregistered] }],
    ['one of a readiness rule', 'KnownEphemeralTaintsExist', one('readiness.k8s.io/network', 'NoSchedule')],
    [
      'a resource that is asked for and not there',
      'ResourceNotRegistered',
      { status: { allocatable: { cpu: '2', memory: '0' } } },
    ],
    ['a resource that is not named at all', 'ResourceNotRegistered', { status: { allocatable: { cpu: '2' } } }],
  ])('%s', async (_, reason, node) => {
    const spec = {
      startupTaints: [startup],
      resources: { requests: { cpu: '1', memory: '1Gi', 'nvidia.com/gpu': '0' } },
    };
    const { look, addNode, conditionOf, server } = following(registered({ spec }));
    addNode('c', { status: { allocatable }, ...node });
    expect((await look()).kind).toBe('wait');
    expect(conditionOf('c', 'Initialized')).toMatchObject({ status: 'Unknown', reason });
    expect(server.get('nodes', 'aks-c')?.metadata.labels).not.toHaveProperty(['karpenter.sh/initialized']);
  });

  test.each<readonly [string, Fields]>([
    ['a startup taint with another effect', { taints: [{ ...startup, effect: 'NoExecute' }] }],
    ['a taint that stays', one('team', 'NoSchedule')],
    [
      'a taint of its start with an effect that it never has',
      one('node.kubernetes.io/unreachable', 'PreferNoSchedule'),
    ],
    ['nothing', {}],
  ])('not %s', async (_, node) => {
    const spec = {
      startupTaints: [startup],
      resources: { requests: { cpu: '1', memory: '1Gi', 'nvidia.com/gpu': '0' } },
    };
    const { look, addNode, conditionOf, server } = following(registered({ spec }));
    addNode('c', { status: { allocatable }, ...node });
    await look();
    expect(conditionOf('c', 'Initialized')).toMatchObject({ status: 'True' });
    expect(server.get('nodes', 'aks-c')?.metadata.labels).toMatchObject({ 'karpenter.sh/initialized': 'true' });
  });

  test('is over once: a node that is marked is not marked again', async () => {
    const { look, addNode, writes } = following(registered());
    addNode('c', { labels: { 'karpenter.sh/initialized': 'true' } });
    await look();
    expect(writes().filter((step) => step.includes('/nodes/'))).toEqual([]);
  });
});
