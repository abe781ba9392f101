import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { markForRemoval } from '../../../../shared/app/execute/mark.ts';
import { followAll } from '../../../../shared/app/follow/follow-all.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { interrupt } from '../../../../shared/app/interruption/interrupt.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { tellDenied } from '../../../../shared/app/tell/tell-denied.ts';
import { RefusedError, RetryableError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { begunReplacement, consolidated, DISRUPTED } from '../../../kit/app/consolidated.ts';
import { notice, running } from '../../../kit/app/running.ts';
import { POLICY, START, decisionOf, denying, machine, since, smallCluster } from '../../../kit/app/small-cluster.ts';

/** What is denied of one node or its claim keeps no other from going. */

const HOUR_MS = 3_600_000;
const denier = `ValidatingAdmissionPolicy '${POLICY}'`;

/** Three nodes, two of them empty; what is written to one of those is denied by `method` and the end of the path. */
function twoEmpty(method: 'PATCH' | 'DELETE', end: string) {
  const cluster = consolidated();
  cluster.addReady('other');
  cluster.outside.deny = denying(method, end);
  return cluster;
}

describe('of two empty nodes one that may not be closed', () => {
  test('stays, says who denies it, and the other goes', async () => {
    const cluster = twoEmpty('PATCH', '/nodes/aks-spare');
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'begun' });
    expect(cluster.marks('spare')).toEqual({ tainted: false, decision: false, reason: undefined });
    expect(cluster.marks('other').tainted).toBe(true);
    const said = cluster.conditionOf('spare', 'WriteDenied');
    expect(said).toMatchObject({ status: 'True', reason: 'DeniedByPolicy', message: expect.stringContaining(denier) });
    const about = (cluster.server.list('events') as ReadonlyArray<Fields>)
      .filter(({ reason }) => reason === 'WriteDenied')
      .map(({ involvedObject }) => `${involvedObject.kind} ${involvedObject.name}`);
    expect(about.toSorted()).toEqual(['Node aks-spare', 'NodeClaim spare']);
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toEqual({ kind: 'finished', removed: 1, takenBack: 0 });
    expect([cluster.stateOf('spare'), cluster.stateOf('other')]).toEqual(['there', 'leaving']);
  });

  test('is not tried again for an hour, and then goes when it may', async () => {
    const cluster = twoEmpty('PATCH', '/nodes/aks-spare');
    for (const name of ['other', 'used']) {
      cluster.server.remove('nodes', `aks-${name}`);
      cluster.server.remove('nodeclaims', name);
    }
    cluster.server.remove('pods', 'default/web');
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'denied', why: expect.stringContaining(denier) });
    expect((await disrupt(cluster.ports)).kind).toBe('idle');
    const told = cluster.events().filter(([reason]) => reason === 'DisruptionBlocked');
    expect(told.map(([, message]) => message)).toContainEqual(
      expect.stringContaining('see WriteDenied of its NodeClaim'),
    );
    cluster.outside.deny = () => null;
    cluster.clock.advance(HOUR_MS - 1_000);
    expect((await disrupt(cluster.ports)).kind).toBe('idle');
    cluster.clock.advance(1_000);
    expect((await disrupt(cluster.ports)).kind).toBe('begun');
    expect(cluster.conditionOf('spare', 'WriteDenied')).toBeUndefined();
  });

  test('because its NodeClaim may not be written stays too, and the other goes', async () => {
    const cluster = twoEmpty('PATCH', '/nodeclaims/spare');
    await disrupt(cluster.ports);
    expect(cluster.conditionOf('spare', 'WriteDenied')).toMatchObject({
      message: expect.stringContaining('NodeClaim spare'),
    });
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect([cluster.stateOf('spare'), cluster.stateOf('other')]).toEqual(['there', 'leaving']);
  });

  test('because its NodeClaim may not be deleted stays, and the other goes', async () => {
    const cluster = twoEmpty('DELETE', '/nodeclaims/spare');
    await disrupt(cluster.ports);
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect([cluster.stateOf('spare'), cluster.stateOf('other')]).toEqual(['there', 'leaving']);
    expect(cluster.conditionOf('spare', 'WriteDenied')).toMatchObject({ status: 'True' });
  });
});

describe('a node whose taint may not be taken off', () => {
  /** Two marked nodes, of which pods have come to one. */
  async function takenBack() {
    const cluster = consolidated();
    cluster.addReady('other');
    await disrupt(cluster.ports);
    cluster.addRunning('late', 'spare');
    cluster.outside.deny = denying('PATCH', '/nodes/aks-spare');
    cluster.clock.advance(6_000);
    return cluster;
  }

  test('is told of, and told where people look', async () => {
    const cluster = await takenBack();
    const lines: Array<Fields> = [];
    const outcome = await disrupt({ ...cluster.ports, log: (event, facts) => void lines.push({ event, ...facts }) });
    expect(outcome).toMatchObject({ kind: 'finished', removed: 1, takenBack: 0 });
    expect(lines).toContainEqual(
      expect.objectContaining({ event: 'disruption-step-refused', claim: 'spare', step: 'unmark' }),
    );
    expect(cluster.conditionOf('spare', 'WriteDenied')).toMatchObject({ message: expect.stringContaining(denier) });
    expect(cluster.stateOf('other')).toBe('leaving');
  });

  test('keeps no other node from going, look after look', async () => {
    const cluster = await takenBack();
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(await disrupt(cluster.ports)).toMatchObject({
      kind: 'waiting',
      for: expect.stringContaining('1 nodes that cannot be written'),
    });
    cluster.addReady('another');
    cluster.clock.advance(2 * 60_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(cluster.stateOf('spare')).toBe('there');
  });

  test('keeps no other marks from coming off where disruption is switched off', async () => {
    const cluster = await takenBack();
    const off = { ...cluster.ports, disruption: { ...cluster.ports.disruption, isOn: false } };
    expect(await disrupt(off)).toEqual({ kind: 'off', takenBack: 1 });
    expect(cluster.marks('other').tainted).toBe(false);
  });
});

test('a node whose replacement is denied stays as it is, and nothing else is left behind', async () => {
  const cluster = consolidated({ types: 2 });
  for (const name of ['spare', 'used']) {
    cluster.server.remove('nodes', `aks-${name}`);
    cluster.server.remove('nodeclaims', name);
  }
  cluster.server.remove('pods', 'default/web');
  cluster.addReady('large', 8);
  cluster.addRunning('web', 'large');
  const policy = denying('POST', '');
  cluster.outside.deny = (request) => (request.path.endsWith('/nodeclaims') ? policy(request) : null);
  expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'denied', why: expect.stringContaining(denier) });
  expect([cluster.marks('large').tainted, cluster.server.list('nodeclaims').length]).toEqual([false, 1]);
  expect((await cluster.ports.ledger.read()).executed).toBe(true);
  // The pool is left alone for a while, and so is the node.
  expect((await disrupt(cluster.ports)).kind).toBe('idle');
});

test('a replacement whose node may not be closed goes again', async () => {
  const cluster = consolidated({ types: 2 });
  for (const name of ['spare', 'used']) {
    cluster.server.remove('nodes', `aks-${name}`);
    cluster.server.remove('nodeclaims', name);
  }
  cluster.server.remove('pods', 'default/web');
  cluster.addReady('large', 8);
  cluster.addRunning('web', 'large');
  cluster.outside.deny = denying('PATCH', '/nodes/aks-large');
  expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'denied' });
  const others = cluster.server.list('nodeclaims').filter(({ metadata }) => metadata.name !== 'large');
  expect(others.every(({ metadata }) => metadata.deletionTimestamp !== undefined)).toBe(true);
  expect(cluster.marks('large')).toEqual({ tainted: false, decision: false, reason: undefined });
});

test('of nodes that go together for one replacement none goes where one may not be closed', async () => {
  const cluster = consolidated();
  cluster.addClaim('replacement', { labels: { 'karpenter.sh/nodepool': 'general' } });
  const claims = ['used', 'spare'].map((name) => {
    const uid = cluster.server.get('nodeclaims', name)?.metadata.uid ?? '';
    return { name, uid, node: `aks-${name}` };
  });
  const decision = { ...decisionOf(['replacement']), removal: { reason: 'Underutilized', claims } } as const;
  cluster.outside.deny = denying('PATCH', '/nodes/aks-spare');
  const marked = await markForRemoval(cluster.ports, decision);
  expect(marked).toMatchObject({ kept: expect.stringContaining('aks-spare cannot be tainted: '), failed: null });
  for (const name of ['used', 'spare']) {
    expect(cluster.marks(name)).toEqual({ tainted: false, decision: false, reason: undefined });
  }
});

test('a decision that waits for its replacement is not touched by what is denied of another', async () => {
  const cluster = await begunReplacement();
  cluster.outside.deny = denying('PATCH', '/nodes/aks-nobody');
  expect((await disrupt(cluster.ports)).kind).toBe('waiting');
  expect(cluster.marks('large').tainted).toBe(true);
});

describe('a step that failed', () => {
  test('and cannot be noted on its pool leaves its marks on for the next look, which notes it', async () => {
    const cluster = await begunReplacement();
    cluster.server.remove('nodeclaims', cluster.replacement);
    cluster.outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodepools/general')) throw new RetryableError('busy');
    };
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'waiting' });
    expect(cluster.marks('large').tainted).toBe(true);
    cluster.outside.onRequest = () => undefined;
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(cluster.marks('large').tainted).toBe(false);
    expect(cluster.server.get('nodepools', 'general')?.metadata.annotations).toHaveProperty([
      'nodewright.dev/disruption-failures',
    ]);
  });

  test.each(['fails for now', 'is denied'])(
    'of another pool of which telling %s keeps no node from going',
    async (how) => {
      const cluster = consolidated();
      cluster.addPool('other');
      const failures = ['a', 'b', 'c'].map((name) => `${name}=2026-11-30T23:50:00Z`).join(',');
      const annotations = { 'nodewright.dev/disruption-failures': failures };
      cluster.server.patch('nodepools', 'other', { metadata: { annotations } }, 'object');
      const isDenied = how === 'is denied';
      const policy = denying('PATCH', '/other/status');
      cluster.outside.deny = (request) => {
        if (!isDenied && policy(request) !== null) throw new RetryableError('busy');
        return policy(request);
      };
      expect((await disrupt(cluster.ports)).kind).toBe('begun');
      expect(cluster.events().some(([reason]) => reason === 'WriteDenied')).toBe(isDenied);
    },
  );
});

describe('an object that may not be written', () => {
  const launched = { providerID: 'azure://c', conditions: [since(START, 'Launched')] };

  /** Claims `c` and `d`, whose nodes have joined. */
  function joined() {
    const cluster = smallCluster();
    cluster.addClass('True');
    cluster.addPool();
    for (const name of ['c', 'd']) {
      cluster.addClaim(name, {
        labels: { 'karpenter.sh/nodepool': 'general' },
        status: { ...launched, providerID: `azure://${name}` },
      });
      cluster.addNode(name, { taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] });
      cluster.azure.machines.set(name, machine(name));
    }
    const objects = ['c', 'd'].map((name) => ({ kind: 'NodeClaim' as const, name }));
    return { ...cluster, objects };
  }

  test('keeps no other from being moved, and people are told on it and on its claim', async () => {
    const { ports, outside, objects, conditionOf, server } = joined();
    outside.deny = denying('PATCH', '/nodes/aks-c');
    const followed = await followAll(ports, objects);
    expect(followed[0]?.outcome).toMatchObject({ kind: 'wait', for: `${denier} to let it be written` });
    expect(conditionOf('d', 'Registered')?.['status']).toBe('True');
    expect(conditionOf('c', 'WriteDenied')).toMatchObject({ message: expect.stringContaining('patch Node aks-c') });
    const told = (server.list('events') as ReadonlyArray<Fields>).filter(({ reason }) => reason === 'WriteDenied');
    expect(told.map(({ involvedObject }) => involvedObject.kind as string).toSorted()).toEqual(['Node', 'NodeClaim']);
  });

  test('is told of once, however often it is tried within two minutes', async () => {
    const { ports, outside, objects, clock } = joined();
    outside.deny = denying('PATCH', '/nodes/aks-c');
    const lines: Array<string> = [];
    const telling = { ...ports, log: (event: string) => void lines.push(event) };
    for (let times = 0; times < 3; times++) await followAll(telling, objects);
    expect(lines.filter((line) => line === 'write-denied')).toHaveLength(1);
    clock.advance(2 * 60_000);
    await followAll(telling, objects);
    expect(lines.filter((line) => line === 'write-denied')).toHaveLength(2);
  });

  test('says so no longer once the time has come that it named, where nothing is denied any more', async () => {
    const { ports, outside, objects, conditionOf, clock } = joined();
    outside.deny = denying('PATCH', '/nodes/aks-c');
    await followAll(ports, objects);
    outside.deny = () => null;
    clock.advance(2 * 60_000 - 1_000);
    await followAll(ports, objects);
    expect(conditionOf('c', 'Initialized')?.['status']).toBe('True');
    expect(conditionOf('c', 'WriteDenied')).toBeDefined();
    clock.advance(1_000);
    await followAll(ports, objects);
    expect(conditionOf('c', 'WriteDenied')).toBeUndefined();
  });

  test('that is left alone for an hour is so whatever else is denied of it meanwhile', async () => {
    const { ports, conditionOf, clock } = joined();
    const key = { name: 'c', namespace: null };
    const refusal = { act: 'patch', kind: 'Node', key: { name: 'aks-c', namespace: null }, reason: 'no' } as const;
    const about = [{ kind: 'NodeClaim', key }] as const;
    await tellDenied(ports, { ...refusal, policy: 'a' }, about, HOUR_MS);
    clock.advance(60_000);
    await tellDenied(ports, { ...refusal, policy: 'b' }, about);
    const message = conditionOf('c', 'WriteDenied')?.['message'] as string;
    expect(message).toMatch(/^Tried again from 2026-12-01T01:00:00Z: b does not allow/);
  });

  test('for the API server’s own rules names those, and what may be wrong with us', async () => {
    const { ports, conditionOf } = joined();
    const key = { name: 'c', namespace: null };
    await tellDenied(ports, { act: 'patch', kind: 'NodeClaim', key, reason: 'spec is immutable', policy: null });
    expect(conditionOf('c', 'WriteDenied')).toMatchObject({
      reason: 'RefusedByApiServer',
      message: expect.stringContaining('The API server refuses to patch NodeClaim c: spec is immutable'),
    });
  });

  test('as a node that joins is given up after 15 minutes, so that its pods get another', async () => {
    const { ports, outside, clock, stateOf, objects } = joined();
    outside.deny = denying('PATCH', '/nodes/aks-c');
    clock.advance(15 * 60_000);
    await followAll(ports, objects);
    expect(stateOf('c')).toBe('there');
    clock.advance(1);
    await followAll(ports, objects);
    expect([stateOf('c'), stateOf('d')]).toEqual(['leaving', 'there']);
  });

  test.for([
    ['its node', '/nodes/aks-c'],
    ['it', '/nodeclaims/c/status'],
  ] as const)('as a node that is given up says which it was: %s', async ([which, path]) => {
    const { ports, outside, clock, objects, server } = joined();
    outside.deny = denying('PATCH', path);
    clock.advance(15 * 60_000);
    await followAll(ports, objects);
    clock.advance(1);
    await followAll(ports, objects);
    const told = (server.list('events') as ReadonlyArray<Fields>).filter(
      ({ reason }) => reason === 'RegistrationTimeout',
    );
    expect(told.map(({ message }) => (message as string).split(' may not be written')[0])).toEqual([which]);
  });

  test('as a node that is given up at the first look that finds it denied is told of all the same', async () => {
    const { ports, outside, clock, objects, server } = joined();
    outside.deny = denying('PATCH', '/nodes/aks-c');
    clock.advance(15 * 60_000 + 1);
    await followAll(ports, objects);
    const told = (server.list('events') as ReadonlyArray<Fields>).filter(({ reason }) => reason === 'WriteDenied');
    expect(told.map(({ involvedObject }) => involvedObject.name as string).toSorted()).toEqual(['aks-c', 'c']);
  });

  test('as a claim of which it may not be said that its node has joined is given up after 15 minutes too', async () => {
    const { ports, outside, clock, stateOf, objects } = joined();
    outside.deny = denying('PATCH', '/nodeclaims/c/status');
    clock.advance(15 * 60_000 + 1);
    await followAll(ports, objects);
    expect([stateOf('c'), stateOf('d')]).toEqual(['leaving', 'there']);
  });

  test('as a claim whose machine may not be noted on it is given up after 5 minutes, so that its pods get another', async () => {
    const { ports, outside, clock, stateOf, objects, server } = joined();
    for (const name of ['c', 'd']) server.patch('nodeclaims', name, { status: { conditions: null } }, 'status');
    server.remove('nodes', 'aks-c');
    outside.deny = denying('PATCH', '/nodeclaims/c');
    clock.advance(5 * 60_000);
    for (let look = 0; look < 3; look++) await followAll(ports, objects);
    expect(stateOf('c')).toBe('there');
    clock.advance(1);
    await followAll(ports, objects);
    await followAll(ports, objects);
    expect([stateOf('c'), stateOf('d')]).toEqual(['leaving', 'there']);
  });

  test('as a claim on which its machine could not be noted has a node that is no room for pods', async () => {
    const cluster = smallCluster();
    cluster.addClass('True');
    cluster.addPool();
    cluster.addClaim('c', { labels: { 'karpenter.sh/nodepool': 'general' } });
    cluster.server.delete('nodeclaims', 'c');
    cluster.addNode('c', {
      taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
      labels: { 'karpenter.sh/nodepool': 'general', 'kubernetes.io/hostname': 'aks-c' },
      status: { allocatable: { cpu: '8', memory: '32Gi', pods: '110' } },
    });
    cluster.addPod('waits');
    cluster.clock.advance(10_000);
    expect(await provision(cluster.ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1 });
  });

  test('is looked at again ten seconds later, and its pool or class a minute, once for however many hints', async () => {
    const { ports, outside, sent, clock } = joined();
    const [node, pool] = [denying('PATCH', '/nodes/aks-c'), denying('PATCH', '/general/status')];
    outside.deny = (request) => node(request) ?? pool(request);
    const looks = async (kind: 'NodeClaim' | 'NodePool', name: string) => {
      sent.length = 0;
      for (let hints = 0; hints < 3; hints++) await followAll(ports, [{ kind, name }]);
      return new Set(sent.map(({ key, atMs }) => `${key} ${(atMs ?? 0) - clock.now()}`));
    };
    expect([...(await looks('NodeClaim', 'c'))]).toEqual([expect.stringMatching(/^look\/\d+ 10000$/)]);
    expect([...(await looks('NodePool', 'general'))]).toEqual([expect.stringMatching(/^look\/\d+ 60000$/)]);
  });

  test('is a refusal to who asks for it alone, and no lost race', async () => {
    const { ports, outside } = joined();
    outside.deny = denying('PATCH', '/nodes/aks-c');
    const failure = await follow(ports, { kind: 'NodeClaim', name: 'c' }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure).toMatchObject({ retryAfterMs: null, refusal: { act: 'patch', kind: 'Node', policy: denier } });
  });

  test('as a NodePool or a class, in its status, says so by an event', async () => {
    const { ports, outside, server } = joined();
    server.patch('nodepools', 'general', { status: { conditions: [] } }, 'status');
    const [pool, nodeClass] = [denying('PATCH', '/general/status'), denying('PATCH', '/default/status')];
    outside.deny = (request) => pool(request) ?? nodeClass(request);
    const followed = await followAll(ports, [
      { kind: 'NodePool', name: 'general' },
      { kind: 'AKSNodeClass', name: 'default' },
    ]);
    expect(followed.map(({ outcome }) => outcome.kind)).toEqual(['wait', 'wait']);
    const told = (server.list('events') as ReadonlyArray<Fields>).map(
      ({ involvedObject, reason }) => `${reason} ${involvedObject.kind}`,
    );
    expect(told.toSorted()).toEqual(['WriteDenied AKSNodeClass', 'WriteDenied NodePool']);
  });
});

describe('a node that is drained', () => {
  /** A claim that goes, with two pods on its node. */
  function leaving() {
    const cluster = running({ pods: 2 });
    cluster.server.patch('nodeclaims', 'c', { metadata: { finalizers: ['karpenter.sh/termination'] } }, 'object');
    cluster.server.delete('nodeclaims', 'c');
    const gone = () =>
      cluster.server.list('pods').filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length;
    return { ...cluster, gone, look: () => follow(cluster.ports, { kind: 'NodeClaim', name: 'c' }) };
  }

  test('loses the other pods where one may not be evicted, which that one says', async () => {
    const { outside, look, gone, server } = leaving();
    outside.deny = denying('POST', '/p-0/eviction');
    expect(await look()).toMatchObject({ kind: 'wait', for: expect.stringContaining(denier) });
    expect(gone()).toBe(1);
    const told = (server.list('events') as ReadonlyArray<Fields>).filter(({ reason }) => reason === 'WriteDenied');
    expect(told.map(({ involvedObject: { kind, name } }) => `${kind} ${name}`)).toEqual(['Pod p-0']);
    expect(told[0]?.['message']).toContain(`${denier} does not allow Nodewright to evict Pod default/p-0`);
  });

  test('is drained where the Node may not be deleted, and says so', async () => {
    const { outside, look, gone, conditionOf, taints } = leaving();
    outside.deny = denying('DELETE', '/nodes/aks-c');
    await look();
    expect([gone(), taints()]).toEqual([2, [DISRUPTED]]);
    expect(conditionOf('c', 'WriteDenied')).toMatchObject({ message: expect.stringContaining('delete Node aks-c') });
  });

  test('of a machine that Azure takes back tells its pods, whatever is denied of it, and people', async () => {
    const { ports, outside, server, conditionOf, leavingPods } = running({ pods: 2 });
    outside.deny = denying('PATCH', '/nodes/aks-c');
    await interrupt(ports, notice());
    expect(leavingPods()).toEqual(['p-0', 'p-1']);
    expect(conditionOf('c', 'WriteDenied')).toMatchObject({ message: expect.stringContaining(denier) });
    expect((server.list('events') as ReadonlyArray<Fields>).map(({ reason }) => reason)).toContain('WriteDenied');
  });

  test('of a machine that Azure takes back whose claim may not be written: its pods are told, people too, and it is tried again', async () => {
    const { ports, outside, conditionOf, leavingPods } = running({ pods: 2 });
    outside.deny = denying('PATCH', '/nodeclaims/c');
    await expect(interrupt(ports, notice())).rejects.toBeInstanceOf(RefusedError);
    expect(leavingPods()).toEqual(['p-0', 'p-1']);
    expect(conditionOf('c', 'WriteDenied')).toMatchObject({ message: expect.stringContaining(denier) });
  });
});
