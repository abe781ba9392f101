import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { unmark } from '../../../../shared/app/execute/mark.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { RefusedError, RetryableError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { begunReplacement, candidateOf, consolidated, sick } from '../../../kit/app/consolidated.ts';

/** What the second look leaves on the objects and in the log. */

const DEADLINE = 'karpenter.sh/nodeclaim-termination-timestamp';
const FAILURES = 'nodewright.dev/disruption-failures';

type Line = Readonly<Record<string, unknown>>;

function logging<Cluster extends { readonly ports: Ports }>(cluster: Cluster) {
  const logged: Array<Line> = [];
  const log: Ports['log'] = (event, facts) => void logged.push({ event, ...facts });
  const of = (event: string): ReadonlyArray<Line> => logged.filter((line) => line['event'] === event);
  return { ...cluster, ports: { ...cluster.ports, log }, of };
}

/** The empty node `spare` is marked, and its time has come. */
async function marked() {
  const cluster = logging(consolidated());
  const outcome = await disrupt(cluster.ports);
  if (outcome.kind !== 'begun') throw new Error(`nothing has begun: ${JSON.stringify(outcome)}`);
  cluster.clock.advance(6_000);
  return { ...cluster, decision: outcome.decision };
}

/** Events of the kind, as `name: message`. */
function told({ server }: Pick<ReturnType<typeof consolidated>, 'server'>, wanted: string): ReadonlyArray<string> {
  return server.list('events').flatMap((event) => {
    const { involvedObject, reason, message } = event as Fields;
    return reason === wanted ? [`${(involvedObject as Fields)['name']}: ${message}`] : [];
  });
}

describe('a node that goes', () => {
  test('is told of by its decision, and gets no deadline unless it is sick', async () => {
    const { ports, decision, of, server } = await marked();
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(of('disrupted')).toEqual([
      expect.objectContaining({ claim: 'spare', nodePool: 'general', removal: decision, reason: 'Empty' }),
    ]);
    expect(server.get('nodeclaims', 'spare')?.metadata.annotations).not.toHaveProperty([DEADLINE]);
  });

  test('goes before smaller ones, as the largest pods are on it', async () => {
    const cluster = logging(consolidated({ types: 2 }));
    cluster.addReady('vast', 8);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'begun', nodes: 2 });
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', removed: 2 });
    expect(cluster.of('disrupted').map(({ claim }) => claim)).toEqual(['vast', 'spare']);
  });

  test('stays where its claim has gone meanwhile, and that is no error', async () => {
    const { ports, outside, server, of } = await marked();
    outside.onRequest = ({ method, path }) => {
      if (method === 'GET' && path.endsWith('/nodeclaims/spare')) server.remove('nodeclaims', 'spare');
    };
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 0, takenBack: 0 });
    expect(of('disrupted')).toEqual([]);
  });

  test('stays where another claim has its name by then, though that is marked too', async () => {
    const { ports, outside, server, stateOf, addReady, of } = await marked();
    let isNew = false;
    outside.onRequest = ({ method, path }) => {
      if (isNew || method !== 'GET' || !path.endsWith('/nodeclaims/spare')) return;
      isNew = true;
      const { metadata, status } = server.get('nodeclaims', 'spare') ?? {};
      server.remove('nodeclaims', 'spare');
      server.remove('nodes', 'aks-spare');
      addReady('spare');
      server.patch('nodeclaims', 'spare', { metadata: { annotations: metadata?.annotations } }, 'object');
      server.patch('nodeclaims', 'spare', { status: { conditions: status?.['conditions'] } }, 'status');
      const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
      server.patch('nodes', 'aks-spare', { spec: { taints } }, 'object');
    };
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 0 });
    expect([stateOf('spare'), of('disrupted')]).toEqual(['there', []]);
  });
});

describe('a deletion that stands still on its way', () => {
  type Marked = Awaited<ReturnType<typeof marked>>;

  /** What is done to `spare` while a deletion of it is on its way, for so many of them. */
  async function standing(times: number, change: (cluster: Marked) => void) {
    const cluster = await marked();
    let standings = 0;
    cluster.outside.onRequest = ({ method, path }) => {
      if (method !== 'DELETE' || !path.endsWith('/nodeclaims/spare') || standings++ >= times) return;
      change(cluster);
    };
    const outcome = await disrupt(cluster.ports);
    return { ...cluster, outcome, standings: () => standings };
  }

  const annotate = ({ server }: Marked, annotations: Fields): void =>
    void server.patch('nodeclaims', 'spare', { metadata: { annotations } }, 'object');

  let writes = 0;
  const write = (cluster: Marked): void => annotate(cluster, { written: `${++writes}` });

  test('removes nothing from which another look has taken the marks meanwhile', async () => {
    const { outcome, of, stateOf, server } = await standing(1, (cluster) => {
      const { decision } = cluster;
      expect(cluster.server.get('nodeclaims', 'spare')?.metadata.annotations).toMatchObject({
        'nodewright.dev/disruption': decision,
      });
      cluster.server.patch('nodes', 'aks-spare', { spec: { taints: [] } }, 'object');
      cluster.server.patch('nodeclaims', 'spare', { status: { conditions: [] } }, 'status');
      annotate(cluster, { 'nodewright.dev/disruption': null });
    });
    expect(outcome).toMatchObject({ kind: 'finished', removed: 0 });
    expect([stateOf('spare'), of('disrupted')]).toEqual(['there', []]);
    expect(told({ server }, 'DisruptionTerminating')).toEqual([]);
  });

  test('is asked for again where the claim was written and is still marked, and told of once', async () => {
    const { outcome, of, stateOf, standings } = await standing(3, write);
    expect(outcome).toMatchObject({ kind: 'finished', removed: 1 });
    expect([stateOf('spare'), of('disrupted').length, standings()]).toEqual(['leaving', 1, 4]);
  });

  test('is left to the next look where the claim is written each time', async () => {
    const { outcome, of, stateOf, marks } = await standing(1_000, write);
    expect(outcome).toEqual({ kind: 'waiting', for: '1 nodes that cannot be written' });
    expect([stateOf('spare'), marks('spare').tainted, of('disrupted')]).toEqual(['there', true, []]);
  });

  test('counts as nothing removed where the claim has gone meanwhile', async () => {
    const { outcome, of } = await standing(1, ({ server }) => server.remove('nodeclaims', 'spare'));
    expect(outcome).toMatchObject({ kind: 'finished', removed: 0 });
    expect(of('disrupted')).toEqual([]);
  });

  test('is told of by whoever else has deleted the claim meanwhile', async () => {
    const { outcome, of, stateOf } = await standing(1, ({ server }) => void server.delete('nodeclaims', 'spare'));
    expect(outcome).toMatchObject({ kind: 'finished', removed: 0 });
    expect([stateOf('spare'), of('disrupted')]).toEqual(['leaving', []]);
  });

  test('removes no node that somebody has opened who died before all marks were off', async () => {
    const cluster = await marked();
    const { ports, server, outside, stateOf } = cluster;
    const { claim, node } = await candidateOf(ports, 'spare');
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodeclaims/spare')) throw new RetryableError('killed');
    };
    await expect(unmark(ports, { claim, node }, 'it stays')).rejects.toThrow('killed');
    expect(server.get('nodes', 'aks-spare')).toMatchObject({ spec: { taints: [] } });
    const { name, resourceVersion } = claim.metadata;
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    expect(await ports.kubernetes.delete('NodeClaim', { name, namespace: null }, version)).toBe('conflict');
    expect(stateOf('spare')).toBe('there');
  });

  test('is known though its answer is lost, and told of', async () => {
    const { outcome, of, server } = await standing(1, (cluster) => {
      cluster.server.delete('nodeclaims', 'spare');
      throw new RetryableError('the answer is lost');
    });
    expect(outcome).toMatchObject({ kind: 'finished', removed: 1 });
    expect([of('disrupted').length, of('disruption-step-refused')]).toEqual([1, []]);
    expect(told({ server }, 'DisruptionTerminating')).toHaveLength(2);
  });

  test.each([
    ['it has gone', false],
    ['another has its name, and is being deleted', true],
  ])('is not known where its answer is lost and %s', async (_, isFollowed) => {
    const { outcome, of } = await standing(1, ({ server, addClaim }) => {
      server.remove('nodeclaims', 'spare');
      if (isFollowed) {
        addClaim('spare', { finalizers: ['karpenter.sh/termination'] });
        server.delete('nodeclaims', 'spare');
      }
      throw new RetryableError('the answer is lost');
    });
    expect(outcome).toEqual({ kind: 'waiting', for: '1 nodes that cannot be written' });
    expect([of('disrupted'), of('disruption-step-refused').length]).toEqual([[], 1]);
  });

  test('is told of though nobody can be woken for it', async () => {
    const { ports, outside, of, server } = await marked();
    outside.onSend = ({ hint }) => {
      if (JSON.stringify(hint).includes('disrupted')) throw new RetryableError('no broker');
    };
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect([of('disrupted').length, of('disruption-step-refused')]).toEqual([1, []]);
    expect(told({ server }, 'DisruptionTerminating')).toHaveLength(2);
  });

  test.each([
    ['its claim says no more why', 'nodeclaims', { status: { conditions: [] } }, 'status'],
    ['its node is open', 'nodes', { spec: { taints: [] } }, 'object'],
  ] as const)('is not asked for where %s by then', async (_, resource, patch, part) => {
    const { ports, outside, server, stateOf } = await marked();
    const name = resource === 'nodes' ? 'aks-spare' : 'spare';
    outside.onRequest = ({ method, path }) => {
      if (method === 'GET' && path.endsWith(`/${resource}/${name}`)) server.patch(resource, name, patch, part);
    };
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 0 });
    expect(stateOf('spare')).toBe('there');
  });
});

describe('the removal of a sick node', () => {
  /** `used` has not been ready for eleven minutes, and is marked for it. */
  async function sickAndMarked() {
    const own = logging(sick());
    const { server, clock, says } = own;
    says('Unknown');
    clock.advance(11 * 60_000);
    expect(await disrupt(own.ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    clock.advance(6_000);
    const deadline = () => server.get('nodeclaims', 'used')?.metadata.annotations?.[DEADLINE];
    /** For the first request of the kind to its claim, before that is heard. */
    const once = (verb: string, change: () => unknown): void => {
      let isOver = false;
      own.outside.onRequest = ({ method, path }) => {
        if (isOver || method !== verb || !path.endsWith('/nodeclaims/used')) return;
        isOver = true;
        change();
      };
    };
    return { ...own, deadline, once };
  }

  test('asks for no patience: its deadline is now', async () => {
    const { ports, clock, deadline, stateOf } = await sickAndMarked();
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect([stateOf('used'), Date.parse(deadline() ?? '')]).toEqual(['leaving', clock.now()]);
  });

  test.each(['PATCH', 'DELETE'])('is asked for again where the claim is written meanwhile (%s)', async (verb) => {
    const { ports, server, once, stateOf, of } = await sickAndMarked();
    once(verb, () => server.patch('nodeclaims', 'used', { metadata: { annotations: { a: 'b' } } }, 'object'));
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect([stateOf('used'), of('disrupted').length]).toEqual(['leaving', 1]);
  });

  test('writes and removes nothing where the marks have come off meanwhile', async () => {
    const { ports, server, once, stateOf, deadline } = await sickAndMarked();
    once('PATCH', () => server.patch('nodeclaims', 'used', { status: { conditions: [] } }, 'status'));
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 0 });
    expect([stateOf('used'), deadline()]).toEqual(['there', undefined]);
  });

  test('deletes the claim as it has written it, at the first try', async () => {
    const { ports, trace } = await sickAndMarked();
    trace.length = 0;
    await disrupt(ports);
    expect(trace.filter((step) => /^DELETE .*nodeclaims\/used/.test(step))).toHaveLength(1);
  });

  test('leaves the deadline of another that deletes it meanwhile', async () => {
    const { ports, server, clock, once, deadline } = await sickAndMarked();
    let before = '';
    once('DELETE', () => {
      server.delete('nodeclaims', 'used');
      before = deadline() ?? '';
      clock.advance(29_000);
    });
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 0 });
    expect(deadline()).toBe(before);
  });
});

describe('a node that stays after all', () => {
  test('is told of by its decision, and counts as a failure only where a replacement has failed', async () => {
    const { ports, decision, server, of, addRunning } = await marked();
    addRunning('new', 'spare');
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(of('disruption-taken-back')).toEqual([
      expect.objectContaining({ claim: 'spare', nodePool: 'general', removal: decision, why: expect.any(String) }),
    ]);
    expect(server.get('nodepools', 'general')?.metadata.annotations ?? {}).not.toHaveProperty([FAILURES]);
  });

  test('stays marked for as long as its failure cannot be noted, and the log says so', async () => {
    const cluster = logging(await begunReplacement());
    const { ports, server, outside, clock, replacement, marks, of } = cluster;
    server.remove('nodeclaims', replacement);
    clock.advance(60_000);
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/nodepools/general')) throw new RetryableError('the pool is locked');
    };
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: '1 nodes that cannot be written' });
    expect(of('disruption-step-refused')).toEqual([
      { event: 'disruption-step-refused', claim: 'large', step: 'note', why: 'the pool is locked' },
    ]);
    expect([marks('large').tainted, of('disruption-taken-back')]).toEqual([true, []]);
    outside.onRequest = () => undefined;
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(server.get('nodepools', 'general')?.metadata.annotations?.[FAILURES]).toBeDefined();
    expect(of('disruption-step-refused')).toHaveLength(1);
  });
});

describe('a node that nobody can delete', () => {
  test('stays after ten minutes where the deletion fails, and counts as a step that failed', async () => {
    const { ports, outside, clock, server, marks, of } = await marked();
    outside.onRequest = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/nodeclaims/spare')) throw new RetryableError('the webhook is down');
    };
    const failures = () => server.get('nodepools', 'general')?.metadata.annotations?.[FAILURES];
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: '1 nodes that cannot be written' });
    expect([marks('spare').tainted, failures()]).toEqual([true, undefined]);
    clock.advance(600_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect([marks('spare').tainted, of('disruption-taken-back').length]).toEqual([false, 1]);
    expect(failures()).toBeDefined();
  });

  test('is waited for where it cannot be opened again either', async () => {
    const { ports, outside, clock, marks } = await marked();
    outside.onRequest = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/nodeclaims/spare')) throw new RetryableError('the webhook is down');
      if (method === 'PATCH' && path.endsWith('/nodes/aks-spare')) throw new RetryableError('so is this one');
    };
    clock.advance(600_000);
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: '1 nodes that cannot be written' });
    expect(marks('spare').tainted).toBe(true);
  });

  test('is left alone for twenty minutes where a policy denies it, and nothing is bought for it meanwhile', async () => {
    const cluster = logging(await begunReplacement());
    const { ports, outside, clock, initialize, server, of } = cluster;
    initialize();
    outside.onRequest = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/nodeclaims/large'))
        throw new RefusedError({
          act: 'delete',
          kind: 'NodeClaim',
          key: { name: 'large', namespace: null },
          policy: 'keep',
          reason: 'kept',
        });
    };
    const before = server.list('nodeclaims').length;
    for (let look = 0; look < 20; look++) {
      clock.advance(60_000);
      await disrupt(ports);
    }
    // What came in its place is empty, and goes.
    expect(of('disruption-begun').map(({ reason, replacements }) => [reason, replacements])).toEqual([['Empty', '']]);
    expect(server.list('nodeclaims').length).toBeLessThanOrEqual(before);
  });
});

describe('of several nodes', () => {
  /**
   * `spare` and `third` are empty and marked; what is denied or fails is named by the request's method and the end of
   * its path.
   */
  async function both() {
    const cluster = logging(consolidated());
    cluster.addReady('third');
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'begun', nodes: 2 });
    cluster.clock.advance(6_000);
    const failing = (...requests: ReadonlyArray<readonly [method: string, end: string]>): void => {
      cluster.outside.onRequest = ({ method, path }) => {
        if (requests.some(([verb, end]) => method === verb && path.endsWith(end))) throw new RetryableError('busy');
      };
    };
    const takenBack = (): ReadonlyArray<unknown> => cluster.of('disruption-taken-back').map(({ claim }) => claim);
    return { ...cluster, failing, takenBack };
  }

  test('one that cannot be deleted keeps no other, and it alone stays after ten minutes', async () => {
    const { ports, clock, failing, takenBack, stateOf, marks, server } = await both();
    failing(['DELETE', '/nodeclaims/spare']);
    clock.advance(600_000 - 6_000 - 1);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1, takenBack: 0 });
    expect([stateOf('spare'), stateOf('third'), marks('spare').tainted, takenBack()]).toEqual([
      'there',
      'leaving',
      true,
      [],
    ]);
    server.remove('nodeclaims', 'third');
    server.remove('nodes', 'aks-third');
    clock.advance(1);
    expect(await disrupt(ports)).toEqual({ kind: 'finished', removed: 0, takenBack: 1 });
    expect([takenBack(), marks('spare').tainted]).toEqual([['spare'], false]);
  });

  test('those that go after all are not taken back for one that cannot', async () => {
    const { ports, clock, failing, takenBack } = await both();
    failing(['DELETE', '/nodeclaims/spare']);
    clock.advance(600_000);
    expect(await disrupt(ports)).toEqual({ kind: 'finished', removed: 1, takenBack: 1 });
    expect(takenBack()).toEqual(['spare']);
  });

  test('one whose marks cannot be taken off is not counted as taken back', async () => {
    const { ports, clock, failing, takenBack, addRunning } = await both();
    addRunning('new', 'spare');
    addRunning('newer', 'third');
    failing(['PATCH', '/nodes/aks-spare']);
    expect(await disrupt(ports)).toEqual({ kind: 'finished', removed: 0, takenBack: 1 });
    expect(takenBack()).toEqual(['third']);
    failing(['PATCH', '/nodes/aks-spare'], ['DELETE', '/nodeclaims/spare']);
    clock.advance(600_000);
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: '1 nodes that cannot be written' });
  });
});

describe('a replacement that is waited for', () => {
  const text = 'Waiting on readiness to continue disruption';

  test('says so once, and no other claim does', async () => {
    const cluster = logging(await begunReplacement());
    const { ports, clock, replacement, addClaim, trace } = cluster;
    addClaim('other', { labels: { 'karpenter.sh/nodepool': 'general' } });
    trace.length = 0;
    for (let look = 0; look < 3; look++) {
      clock.advance(10_000);
      expect((await disrupt(ports)).kind).toBe('waiting');
    }
    expect(told(cluster, 'DisruptionWaitingReadiness')).toEqual([`${replacement}: ${text}`]);
    expect(trace.filter((step) => /^(POST|PATCH) .*\/events/.test(step))).toHaveLength(1);
  });

  test('says nothing of it where it is waited for no more', async () => {
    const cluster = logging(await begunReplacement());
    cluster.clock.advance(600_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(told(cluster, 'DisruptionWaitingReadiness')).toEqual([]);
  });

  test('says so no more when it is in use', async () => {
    const cluster = logging(await begunReplacement());
    cluster.initialize();
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(told(cluster, 'DisruptionWaitingReadiness')).toEqual([]);
  });
});
