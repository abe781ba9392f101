import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { consolidated, emptied } from '../../../kit/app/consolidated.ts';
import { machine, since, START } from '../../../kit/app/small-cluster.ts';

/** What holds nodes of a pool back: an operator, a schedule, or a breaker. */

const HOUR_MS = 3_600_000;
const PAUSE = 'nodewright.dev/pause-disruption';

function annotate({ server }: ReturnType<typeof consolidated>, annotations: Fields, pool = 'general'): void {
  server.patch('nodepools', pool, { metadata: { annotations } }, 'object');
}

describe('a pool whose disruption is paused', () => {
  test('keeps its nodes, and they say why', async () => {
    const cluster = consolidated();
    annotate(cluster, { [PAUSE]: 'true' });
    expect((await disrupt(cluster.ports)).kind).toBe('idle');
    expect(cluster.events()).toContainEqual(['DisruptionBlocked', `NodePool general is annotated ${PAUSE}`]);
    annotate(cluster, { [PAUSE]: null });
    expect((await disrupt(cluster.ports)).kind).toBe('begun');
  });

  test('keeps them until the time that is given, and no longer', async () => {
    const cluster = consolidated();
    annotate(cluster, { [PAUSE]: new Date(START + HOUR_MS).toISOString() });
    expect((await disrupt(cluster.ports)).kind).toBe('idle');
    cluster.clock.advance(HOUR_MS - 1);
    expect((await disrupt(cluster.ports)).kind).toBe('idle');
    cluster.clock.advance(1);
    expect((await disrupt(cluster.ports)).kind).toBe('begun');
  });

  test('keeps them too when nobody can read until when, and says what can be read', async () => {
    const cluster = consolidated();
    annotate(cluster, { [PAUSE]: 'tomorrow' });
    expect((await disrupt(cluster.ports)).kind).toBe('idle');
    expect(cluster.events().map(([, message]) => message)).toContainEqual(
      expect.stringContaining('"tomorrow", which counts as true (write true, false, or a time such as'),
    );
  });

  test('takes back what has begun and is not removed yet', async () => {
    const cluster = consolidated();
    await disrupt(cluster.ports);
    annotate(cluster, { [PAUSE]: 'true' });
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toEqual({ kind: 'finished', removed: 0, takenBack: 1 });
    expect(cluster.stateOf('spare')).toBe('there');
  });

  test('holds drifted nodes, and lets expired ones go', async () => {
    const cluster = consolidated();
    const { server, ports, marks } = cluster;
    annotate(cluster, { [PAUSE]: 'true' });
    const status = server.get('nodeclaims', 'spare')?.status?.['conditions'] as ReadonlyArray<Fields>;
    const drifted = {
      type: 'Drifted',
      status: 'True',
      reason: 'NodePoolDrifted',
      lastTransitionTime: '2026-11-30T00:00:00Z',
    };
    server.patch('nodeclaims', 'spare', { status: { conditions: [...status, drifted] } }, 'status');
    expect((await disrupt(ports)).kind).toBe('idle');
    server.patch('nodeclaims', 'spare', { spec: { expireAfter: '1s' } }, 'object');
    cluster.clock.advance(60_000);
    expect((await disrupt(ports)).kind).toBe('begun');
    expect(marks('spare').reason).toBe('Expired');
  });

  test('holds no nodes of other pools', async () => {
    const cluster = consolidated();
    cluster.addPool('other');
    annotate(cluster, { [PAUSE]: 'true' }, 'other');
    expect((await disrupt(cluster.ports)).kind).toBe('begun');
  });
});

describe('a maintenance window', () => {
  /** Budgets of 0 for 22 hours from six o'clock: from four to six nodes may go. The cluster begins at midnight. */
  function windowed() {
    const cluster = consolidated();
    const budgets = [{ nodes: '0', schedule: '0 6 * * *', duration: '22h' }, { nodes: '100%' }];
    cluster.server.patch('nodepools', 'general', { spec: { disruption: { budgets } } }, 'object');
    return cluster;
  }

  test('lets no node go outside of it, and lets it go inside, as far as it is removed', async () => {
    const { ports, clock, stateOf, events } = windowed();
    expect((await disrupt(ports)).kind).toBe('idle');
    const text = 'No allowed disruptions for disruption reason Empty due to blocking budget';
    expect(events()).toContainEqual(['DisruptionBlocked', text]);
    clock.advance(4 * HOUR_MS + 60_000);
    expect((await disrupt(ports)).kind).toBe('begun');
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ removed: 1 });
    expect(stateOf('spare')).toBe('leaving');
  });

  test('that ends between the mark and the removal keeps the node', async () => {
    const { ports, clock, stateOf, marks } = windowed();
    clock.advance(6 * HOUR_MS - 3_000);
    expect((await disrupt(ports)).kind).toBe('begun');
    clock.advance(6_000);
    expect((await disrupt(ports)).kind).toBe('waiting');
    clock.advance(601_000);
    expect(await disrupt(ports)).toMatchObject({ removed: 0, takenBack: 1 });
    expect([stateOf('spare'), marks('spare').tainted]).toEqual(['there', false]);
  });
});

describe('the breaker of a pool', () => {
  /** One large node with one small pod, for which a small node would do. */
  function oversized() {
    const cluster = emptied({ types: 2 });
    const { server } = cluster;
    cluster.addReady('large', 8);
    cluster.addRunning('web', 'large');
    const logged: Array<string> = [];
    const ports = { ...cluster.ports, log: (event: string) => void logged.push(event) };
    /** A step whose replacement vanishes. */
    const fail = async (): Promise<void> => {
      expect((await disrupt(ports)).kind).toBe('begun');
      for (const { metadata } of server.list('nodeclaims')) {
        if (metadata.name !== 'large') server.remove('nodeclaims', metadata.name);
      }
      cluster.clock.advance(60_000);
      expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    };
    const health = () => cluster.conditionOf('general', 'DisruptionHealthy', 'nodepools');
    return { ...cluster, ports, logged, fail, health };
  }

  test('opens when the replacements of three steps fail within an hour, and closes an hour after the last', async () => {
    const { ports, fail, health, logged, events, clock } = oversized();
    await fail();
    await fail();
    expect(health()).toBeUndefined();
    await fail();
    expect((await disrupt(ports)).kind).toBe('idle');
    expect(health()).toMatchObject({ status: 'False', reason: 'BreakerTripped' });
    expect(health()?.['message']).toContain('replacements of 3 steps failed within an hour');
    expect(logged).toContain('breaker-tripped');
    expect(events()).toContainEqual(['DisruptionBlocked', expect.stringContaining('Disruption paused: ')]);
    clock.advance(HOUR_MS);
    expect((await disrupt(ports)).kind).toBe('begun');
    expect(health()).toMatchObject({ status: 'True' });
    expect(logged.filter((event) => event.startsWith('breaker'))).toEqual(['breaker-tripped', 'breaker-closed']);
  });

  test('stays closed when failures are further apart', async () => {
    const { ports, fail, health, clock } = oversized();
    await fail();
    await fail();
    clock.advance(HOUR_MS);
    await fail();
    expect((await disrupt(ports)).kind).toBe('begun');
    expect(health()).toBeUndefined();
  });

  test('closes at once when somebody removes the note of the failures', async () => {
    const cluster = oversized();
    for (let step = 0; step < 3; step++) await cluster.fail();
    expect((await disrupt(cluster.ports)).kind).toBe('idle');
    annotate(cluster, { 'nodewright.dev/disruption-failures': null });
    expect((await disrupt(cluster.ports)).kind).toBe('begun');
  });

  test('counts a failure once, though who noted it died before the marks were off', async () => {
    const cluster = oversized();
    const { ports, server, outside, clock } = cluster;
    await disrupt(ports);
    for (const { metadata } of server.list('nodeclaims')) {
      if (metadata.name !== 'large') server.remove('nodeclaims', metadata.name);
    }
    clock.advance(60_000);
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/nodes/')) throw new Error('the process died');
    };
    await expect(disrupt(ports)).rejects.toThrow('the process died');
    outside.onRequest = () => undefined;
    await disrupt(ports);
    const noted = server.get('nodepools', 'general')?.metadata.annotations?.['nodewright.dev/disruption-failures'];
    expect(noted?.split(',')).toHaveLength(1);
  });

  /**
   * A step whose replacement Azure has no capacity for: at once, or when it was to make the machine that it had
   * accepted.
   */
  async function refuse(cluster: ReturnType<typeof oversized>, when: 'at once' | 'later'): Promise<void> {
    const { ports, server, outside, clock } = cluster;
    const refusal = { scope: 'size', retryAfterMs: 60_000, reason: 'AllocationFailed', message: 'none left' } as const;
    outside.launch = ({ claim }) =>
      when === 'at once' ? { kind: 'unavailable', ...refusal } : { kind: 'accepted', machine: machine(claim) };
    outside.observe = (one) => ({ kind: 'failed', machine: one, refusal, ...refusal });
    expect((await disrupt(ports)).kind).toBe('begun');
    const name = server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'large')?.metadata.name ?? '';
    const object = { kind: 'NodeClaim', name } as const;
    // What a failure leaves on the NodePool makes it unjudged here, where nobody follows NodePools.
    const { status } = server.get('nodepools', 'general') ?? {};
    for (let look = 0; look < 5; look++) await follow(ports, object);
    // Its decision has just been executed: it stays for as long as that may make it again.
    clock.advance(35_000);
    await follow(ports, object);
    // Nothing is left that says why.
    expect(server.get('nodeclaims', name)).toBeNull();
    server.patch('nodepools', 'general', { status: { ...status } }, 'status');
    clock.advance(25_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
  }

  test.each(['at once', 'later'] as const)(
    'stays closed, however often Azure has no capacity for what would come in place of a node: %s',
    async (when) => {
      const cluster = oversized();
      for (let step = 0; step < 4; step++) await refuse(cluster, when);
      const { annotations = {} } = cluster.server.get('nodeclaims', 'large')?.metadata ?? {};
      expect(Object.keys(annotations).filter((key) => key.startsWith('nodewright.dev/repl'))).toEqual([]);
      expect(cluster.health()).toBeUndefined();
      expect((await disrupt(cluster.ports)).kind).toBe('begun');
      const text = 'Keeping node: Azure has no capacity for a replacement';
      expect(cluster.events()).toContainEqual(['DisruptionBlocked', text]);
    },
  );

  test('counts what fails otherwise, also beside such', async () => {
    const cluster = oversized();
    for (let step = 0; step < 3; step++) {
      await refuse(cluster, 'at once');
      await cluster.fail();
    }
    expect((await disrupt(cluster.ports)).kind).toBe('idle');
    expect(cluster.health()).toMatchObject({ status: 'False', reason: 'BreakerTripped' });
  });

  test('counts a refusal that nobody lets be noted', async () => {
    const cluster = oversized();
    const { ports, outside, server, clock } = cluster;
    outside.launch = () => ({ kind: 'unavailable', scope: 'size', retryAfterMs: 1, reason: 'no', message: 'none' });
    await disrupt(ports);
    outside.deny = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/nodeclaims/large') ? { status: 403, body: {} } : null;
    const name = server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'large')?.metadata.name ?? '';
    for (let look = 0; look < 3; look++) await follow(ports, { kind: 'NodeClaim', name });
    expect(cluster.logged).toContain('replacement-unavailable-not-noted');
    outside.deny = () => null;
    clock.advance(60_000);
    await disrupt(ports);
    const noted = server.get('nodepools', 'general')?.metadata.annotations?.['nodewright.dev/disruption-failures'];
    expect(noted?.split(',')).toHaveLength(1);
  });

  test('is open while more than a fifth of the nodes are not ready, and tells that once', async () => {
    const cluster = consolidated();
    const { server, ports, clock } = cluster;
    for (const name of ['third', 'fourth']) cluster.addReady(name);
    const ready = (name: string, status: string): void => {
      const conditions = [{ type: 'Ready', status, lastTransitionTime: new Date(clock.now()).toISOString() }];
      server.patch('nodes', `aks-${name}`, { status: { conditions } }, 'status');
    };
    ready('third', 'Unknown');
    ready('fourth', 'False');
    expect((await disrupt(ports)).kind).toBe('idle');
    clock.advance(60_000);
    expect((await disrupt(ports)).kind).toBe('idle');
    const stopped = cluster.events().filter(([, message]) => String(message).startsWith('Disruption paused'));
    expect(stopped).toEqual([['DisruptionBlocked', expect.stringContaining('2 of its 4 nodes are not ready')]]);
    ready('third', 'True');
    expect((await disrupt(ports)).kind).toBe('begun');
    expect(cluster.conditionOf('general', 'DisruptionHealthy', 'nodepools')).toMatchObject({ status: 'True' });
  });

  test('leaves a pool that had no trouble without a condition', async () => {
    const { ports, conditionOf, trace } = consolidated();
    await disrupt(ports);
    expect(conditionOf('general', 'DisruptionHealthy', 'nodepools')).toBeUndefined();
    expect(trace.filter((step) => step.includes('/nodepools/'))).toEqual([]);
  });
});

describe('a node that must go, whose pods would have room on one that never gets into use,', () => {
  /** `spare` has expired and has a pod, `used` is full, and a startup taint stays on `stuck` that nobody takes off. */
  function besideStuck() {
    const cluster = consolidated();
    const { server } = cluster;
    cluster.addRunning('web2', 'used');
    cluster.addRunning('old', 'spare');
    server.patch('nodeclaims', 'spare', { spec: { expireAfter: '1s' } }, 'object');
    cluster.addReady('stuck');
    const startup = { key: 'driver', effect: 'NoSchedule' };
    const changed = { metadata: { labels: { 'karpenter.sh/initialized': null } }, spec: { taints: [startup] } };
    server.patch('nodes', 'aks-stuck', changed, 'object');
    server.patch('nodeclaims', 'stuck', { spec: { startupTaints: [startup] } }, 'object');
    const conditions = [since(START, 'Launched'), since(START, 'Registered'), since(START, 'Initialized', 'Unknown')];
    server.patch('nodeclaims', 'stuck', { status: { conditions } }, 'status');
    return cluster;
  }

  test('gets another half an hour after that was made, and waits for it till then', async () => {
    const cluster = besideStuck();
    cluster.clock.advance(29 * 60_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'begun', replacements: 0 });
    const late = besideStuck();
    late.clock.advance(30 * 60_000);
    expect(await disrupt(late.ports)).toMatchObject({ kind: 'begun', replacements: 1 });
  });

  test('goes when its own has come, past the one that takes nobody', async () => {
    const cluster = besideStuck();
    const { server, clock, ports } = cluster;
    clock.advance(30 * 60_000);
    await disrupt(ports);
    const own = server.list('nodeclaims').map(({ metadata }) => metadata.name);
    const name = own.find((one) => !['spare', 'used', 'stuck'].includes(one)) ?? '';
    cluster.addReady(name);
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
  });

  test('buys nothing for pods that wait for that one', async () => {
    const cluster = besideStuck();
    cluster.addPod('waiting', '1800m');
    cluster.clock.advance(30 * 60_000);
    await disrupt(cluster.ports);
    const { decision } = await cluster.ports.ledger.read();
    const made = await cluster.ports.decisions.get(decision ?? '');
    expect(made?.plan.claims.flatMap(({ pods }) => pods.map(({ name }) => name))).toEqual(['default/old']);
  });
});
