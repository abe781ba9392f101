import { describe, expect, test } from 'vitest';
import { resume, resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { sweep } from '../../../../shared/app/sweep/sweep.ts';
import { RetryableError, UnreadableError } from '../../../../shared/ports/errors.ts';
import type { Decision } from '../../../../shared/ports/store.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { POLICY, decisionOf, denying, namesIn, since, smallCluster } from '../../../kit/app/small-cluster.ts';

/** What is denied of one NodeClaim, or one NodePool, keeps no other waiting. */

const MINUTE_MS = 60_000;

/** A cluster whose latest decision, of these claims, is committed and not executed. */
function committed(...names: ReadonlyArray<string>) {
  return committedTo(decisionOf(names));
}

async function committedTo(decision: Decision) {
  const cluster = smallCluster();
  const { ports, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  await ports.decisions.put(decision);
  await ports.ledger.commit(await ports.ledger.read(), decision.name);
  const logged: Array<Fields> = [];
  const telling = { ...ports, log: (event: string, facts: object) => void logged.push({ event, ...facts }) };
  const claims = () => server.list('nodeclaims').map(({ metadata }) => metadata.name);
  return { ...cluster, ports: telling, logged, claims };
}

/** Two pools, the first of which is preferred and may have no NodeClaims. */
function denied() {
  const cluster = smallCluster();
  const { server, outside, clock } = cluster;
  cluster.addClass('True');
  cluster.addPool('denied');
  cluster.addPool('general');
  server.patch('nodepools', 'denied', { spec: { weight: 100 } }, 'object');
  const policy = denying('POST', '');
  outside.deny = (request) => {
    const isOfPool = JSON.stringify(request.body ?? {}).includes('"karpenter.sh/nodepool":"denied"');
    return request.path.endsWith('/nodeclaims') && isOfPool ? policy(request) : null;
  };
  const poolsOf = () => server.list('nodeclaims').map(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool']);
  const events = (kind: string) =>
    (server.list('events') as ReadonlyArray<Fields>).filter(({ involvedObject }) => involvedObject.kind === kind);
  /** A pod for which no other is awaited any more. */
  const addWaiting = (name: string): void => {
    cluster.addPod(name);
    clock.advance(10_000);
  };
  return { ...cluster, poolsOf, events, addWaiting };
}

describe('a decision of which one NodeClaim is denied', () => {
  test('is executed: the others are made, before it and behind it, and their machines are asked for', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `c-${String(index).padStart(2, '0')}`);
    const { ports, outside, claims, sent, logged } = await committed(...names);
    outside.deny = denying('POST', '/c-03');
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    const others = names.filter((name) => name !== 'c-03');
    expect(claims()).toEqual(others);
    expect(sent.map(({ hint }) => namesIn(hint))).toEqual([others]);
    expect(logged.filter(({ event }) => event === 'nodeclaim-refused')).toEqual([
      expect.objectContaining({ claim: 'c-03', policy: `ValidatingAdmissionPolicy '${POLICY}'` }),
    ]);
  });

  test('says on its NodePool what is denied, by whom and what to do, by a condition and an event', async () => {
    const { ports, outside, conditionOf, server } = await committed('a');
    outside.deny = denying('POST', '/a');
    await resumeNow(ports);
    const said = conditionOf('general', 'WriteDenied', 'nodepools');
    expect(said).toMatchObject({ status: 'True', reason: 'DeniedByPolicy' });
    const words = `ValidatingAdmissionPolicy '${POLICY}' does not allow Nodewright to create NodeClaim a: things "a" is forbidden`;
    expect(said?.['message']).toContain(`Tried again from 2026-12-01T00:02:00Z: ${words}`);
    expect(said?.['message']).toContain('exempt the identity of Nodewright');
    expect(server.list('events')).toEqual([
      expect.objectContaining({
        reason: 'WriteDenied',
        type: 'Warning',
        message: expect.stringContaining(words),
        involvedObject: expect.objectContaining({ kind: 'NodePool', name: 'general', uid: expect.stringMatching(/./) }),
      }),
    ]);
  });

  test('whose pool may not be written either is executed all the same, and the log has it', async () => {
    const { ports, outside, logged, claims } = await committed('a', 'b');
    const [claim, pool, event] = [denying('POST', '/a'), denying('PATCH', '/general/status'), denying('POST', '')];
    outside.deny = (request) =>
      claim(request) ?? pool(request) ?? (request.path.endsWith('/events') ? event(request) : null);
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    expect(claims()).toEqual(['b']);
    expect(logged).toContainEqual(expect.objectContaining({ event: 'write-denied', act: 'create', name: 'a' }));
  });
});

describe('a decision of which one NodeClaim fails for now', () => {
  const busy = (name: string, outside: { onRequest: (request: never) => void }): void => {
    outside.onRequest = ({ method, body }: { readonly method: string; readonly body?: Fields }) => {
      if (method === 'POST' && body?.['metadata']?.name === name) throw new RetryableError('busy');
    };
  };

  test('makes the others at once, and that one when it is tried again', async () => {
    const { ports, outside, claims, clock, sent } = await committed('a', 'b', 'c');
    busy('a', outside);
    await expect(resumeNow(ports)).rejects.toThrow('busy');
    expect([claims(), (await ports.ledger.read()).executed]).toEqual([['b', 'c'], false]);
    expect(sent.map(({ hint }) => namesIn(hint))).toEqual([['b', 'c']]);
    outside.onRequest = () => undefined;
    clock.advance(MINUTE_MS);
    expect(await resume(ports)).toMatchObject({ kind: 'ready', ledger: { executed: true } });
    expect(claims().toSorted()).toEqual(['a', 'b', 'c']);
  });

  test('is over two minutes after it was made, with what could be done, and people are told', async () => {
    const { ports, outside, claims, clock, logged, server } = await committed('a', 'b');
    busy('a', outside);
    clock.advance(2 * MINUTE_MS - 1);
    await expect(resumeNow(ports)).rejects.toThrow('busy');
    clock.advance(1);
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    expect(claims()).toEqual(['b']);
    expect(logged).toContainEqual(expect.objectContaining({ event: 'nodeclaim-not-made', claim: 'a', why: 'busy' }));
    expect(server.list('events')).toContainEqual(expect.objectContaining({ reason: 'NodeClaimNotCreated' }));
  });

  test('for want of a class’s sizes keeps no claim of another pool', async () => {
    const decision = decisionOf(['a', 'b'], [], (name) => (name === 'a' ? 'other' : 'general'));
    const { ports, claims, addPool, addClass } = await committedTo(decision);
    addClass('True', 'odd');
    addPool('other', 'odd');
    const instanceTypes: Ports['catalogs']['instanceTypes'] = ({ metadata }) =>
      metadata.name === 'odd' ? Promise.reject(new RetryableError('no sizes')) : Promise.resolve([]);
    const catalogs = { ...ports.catalogs, instanceTypes };
    await expect(resumeNow({ ...ports, catalogs })).rejects.toThrow('no sizes');
    expect(claims()).toEqual(['b']);
  });
});

describe('a NodePool whose NodeClaims are denied', () => {
  test('keeps no pod of another pool waiting, and its own have another pool a moment later', async () => {
    const { ports, addWaiting, poolsOf, clock, sent } = denied();
    addWaiting('a');
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 0 });
    expect([poolsOf(), sent.at(-1)]).toMatchObject([
      [],
      { hint: { reason: 'claims-denied' }, atMs: clock.now() + 2_000 },
    ]);
    clock.advance(2_000);
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
    expect(poolsOf()).toEqual(['general']);
  });

  test('is what its pods are told of that may have no other', async () => {
    const { ports, server, addWaiting, clock, events } = denied();
    server.remove('nodepools', 'general');
    addWaiting('a');
    await provision(ports);
    clock.advance(2_000);
    expect(await provision(ports)).toMatchObject({ kind: 'nothing-to-launch', left: 1 });
    expect(events('Pod')[0]?.['message']).toContain(`ValidatingAdmissionPolicy '${POLICY}'`);
  });

  test('is told by one event an hour, however many names of NodeClaims are tried', async () => {
    const { ports, server, addWaiting, clock, events } = denied();
    server.remove('nodepools', 'general');
    addWaiting('a');
    for (let tries = 0; tries < 5; tries++) {
      // One after the other.
      await provision(ports);
      clock.advance(3 * MINUTE_MS);
    }
    expect(events('NodePool').filter(({ reason }) => reason === 'WriteDenied')).toHaveLength(1);
  });

  test('is tried again after two minutes, and says nothing of it any more once its claims are let in', async () => {
    const { ports, server, addWaiting, clock, outside, poolsOf, conditionOf } = denied();
    server.remove('nodepools', 'general');
    addWaiting('a');
    await provision(ports);
    outside.deny = () => null;
    clock.advance(2 * MINUTE_MS - 1_000);
    expect(await provision(ports)).toMatchObject({ kind: 'nothing-to-launch' });
    clock.advance(1_000);
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
    expect(poolsOf()).toEqual(['denied']);
    expect(conditionOf('denied', 'WriteDenied', 'nodepools')).toBeUndefined();
  });

  test('says nothing of it any more a while later where nobody asks it for nodes', async () => {
    const { ports, addWaiting, clock, outside, conditionOf, server } = denied();
    addWaiting('a');
    await provision(ports);
    server.remove('pods', 'default/a');
    outside.deny = () => null;
    await follow(ports, { kind: 'NodePool', name: 'denied' });
    expect(conditionOf('denied', 'WriteDenied', 'nodepools')).toBeDefined();
    clock.advance(2 * MINUTE_MS);
    await follow(ports, { kind: 'NodePool', name: 'denied' });
    expect(conditionOf('denied', 'WriteDenied', 'nodepools')).toBeUndefined();
  });

  test('is planned with where it names a time further ahead than anything is left alone for', async () => {
    const { ports, server, addWaiting, poolsOf, outside, clock } = denied();
    outside.deny = () => null;
    const again = new Date(clock.now() + 24 * 60 * MINUTE_MS).toISOString().replace('.000Z', 'Z');
    const { conditions = [] } = (server.get('nodepools', 'denied')?.status ?? {}) as {
      conditions?: ReadonlyArray<object>;
    };
    const told = { ...since(clock.now(), 'WriteDenied'), message: `Tried again from ${again}: no` };
    server.patch('nodepools', 'denied', { status: { conditions: [...conditions, told] } }, 'status');
    addWaiting('a');
    await provision(ports);
    expect(poolsOf()).toEqual(['denied']);
  });

  test('that cannot say so is left alone all the same by this process', async () => {
    const { ports, outside, addWaiting, clock, poolsOf } = denied();
    const [claims, pool] = [outside.deny, denying('PATCH', '/denied/status')];
    outside.deny = (request) => claims(request) ?? pool(request);
    addWaiting('a');
    await provision(ports);
    clock.advance(2_000);
    await provision(ports);
    expect(poolsOf()).toEqual(['general']);
  });

  test('that said so before, and may not be written any more, is left alone by this process too', async () => {
    const { ports, outside, server, addWaiting, clock, poolsOf, trace } = denied();
    addWaiting('a');
    await provision(ports);
    clock.advance(2 * MINUTE_MS);
    expect(server.get('nodepools', 'denied')?.status?.['conditions']).toContainEqual(
      expect.objectContaining({ type: 'WriteDenied' }),
    );
    const [claims, pool] = [outside.deny, denying('PATCH', '/denied/status')];
    outside.deny = (request) => claims(request) ?? pool(request);
    trace.length = 0;
    for (let look = 0; look < 5; look++) {
      // One after the other.
      await provision(ports);
      clock.advance(2_000);
    }
    expect(poolsOf()).toEqual(['general']);
    expect(trace.filter((step) => step.startsWith('POST') && step.endsWith('/nodeclaims'))).toHaveLength(2);
  });

  test('fails no look of a whole day: each provisions, disrupts and sweeps what is not denied', async () => {
    const { ports, server, addWaiting, clock, poolsOf } = denied();
    server.remove('nodepools', 'general');
    addWaiting('a');
    for (let minute = 0; minute < 24 * 60; minute += 10) {
      await provision(ports);
      await disrupt(ports);
      await sweep(ports);
      clock.advance(10 * MINUTE_MS);
    }
    expect(poolsOf()).toEqual([]);
    expect((await ports.ledger.read()).executed).toBe(true);
  });
});

describe('a decision whose record', () => {
  test('is gone is passed over, which is told, and its pods are planned for again', async () => {
    const { ports, claims, logged, addPod, addClaim, clock } = await committed('a');
    addPod('web');
    addClaim('made-before');
    const fresh = { ...ports, decisions: { ...ports.decisions, get: () => Promise.resolve(null) } };
    clock.advance(MINUTE_MS);
    expect(await provision(fresh)).toMatchObject({ kind: 'provisioned', claims: 1 });
    expect(claims()).toHaveLength(2);
    expect(logged.filter(({ event }) => event === 'decision-lost')).toEqual([
      { event: 'decision-lost', decision: '000000001-d', why: 'there is no such record' },
    ]);
    expect(logged).toContainEqual({ event: 'decision-passed-over', decision: '000000001-d', claims: 1 });
  });

  test('cannot be read is as one that is gone, for who decides and for those whose claims it made', async () => {
    const { ports, claims, logged, addPod, addClaim, clock } = await committed('a');
    addPod('web');
    addClaim('made-before', { annotations: { 'nodewright.dev/decision': 'other' } });
    const get = (name: string): Promise<null> =>
      Promise.reject(new UnreadableError(`decision ${name} is of version 9`));
    clock.advance(MINUTE_MS);
    expect(await provision({ ...ports, decisions: { ...ports.decisions, get } })).toMatchObject({
      kind: 'provisioned',
    });
    expect(claims()).toHaveLength(2);
    const lost = logged.filter(({ event }) => event === 'decision-lost').map(({ decision }) => decision as string);
    expect(lost.toSorted()).toEqual(['000000001-d', 'other']);
  });

  test('cannot be read for now, as storage is down, is waited for', async () => {
    const { ports, claims, clock } = await committed('a');
    const get = (): Promise<null> => Promise.reject(new RetryableError('storage is down'));
    clock.advance(MINUTE_MS);
    await expect(provision({ ...ports, decisions: { ...ports.decisions, get } })).rejects.toThrow('storage is down');
    expect([claims(), (await ports.ledger.read()).executed]).toEqual([[], false]);
  });

  test('is passed over with the newest of all claims known: what it has made is planned with', async () => {
    const { ports, server, addClaim, clock } = await committed('a');
    addClaim('made-before');
    const get = (): Promise<null> => Promise.resolve(null);
    clock.advance(MINUTE_MS);
    const resumed = await resume({ ...ports, decisions: { ...ports.decisions, get } });
    const { resourceVersion } = server.get('nodeclaims', 'made-before')?.metadata ?? {};
    expect(resumed).toMatchObject({ ledger: { executed: true, claimsResourceVersion: resourceVersion } });
  });
});
