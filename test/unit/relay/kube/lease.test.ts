import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { KubeClient } from '../../../../relay/kube/kube-client.ts';
import { Election, leaseTiming } from '../../../../relay/kube/lease.ts';
import type { Log } from '../../../../relay/process/log.ts';

interface Spec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

interface Lease {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec: Spec;
}

const path = '/apis/coordination.k8s.io/v1/namespaces/n/leases';

/** An API server that keeps one Lease and holds its writers to its resource version. */
class LeaseServer {
  lease: Lease | null = null;
  readonly asked: Array<{ readonly what: string; readonly body: unknown; readonly atMs: number }> = [];
  #version = 0;

  put(spec: Spec): void {
    this.#version += 1;
    this.lease = { metadata: { name: 'relay', resourceVersion: String(this.#version) }, spec };
  }

  answer(method: string, body: unknown): { readonly status: number; readonly body: unknown } {
    if (method === 'GET') return { status: this.lease === null ? 404 : 200, body: this.lease };
    const { metadata, spec } = body as Lease;
    const isCurrent = metadata.resourceVersion === this.lease?.metadata.resourceVersion;
    if (method === 'POST' ? this.lease !== null : !isCurrent) return { status: 409, body: {} };
    this.put(spec);
    return { status: method === 'POST' ? 201 : 200, body: this.lease };
  }
}

interface Candidate {
  readonly election: Election;
  readonly changes: Array<number | null>;
  /** What it logged as warnings, and the reasons; all else it logged is in `said`. */
  readonly warnings: Array<string>;
  readonly reasons: Array<unknown>;
  readonly said: Array<string>;
  /** Before a request of this candidate's is answered; may throw, answer otherwise, or take its time. */
  interfere: (method: string) => unknown;
}

const elections: Array<Election> = [];

function join(
  server: LeaseServer,
  identity: string,
  interfere: Candidate['interfere'] = () => null,
  timing = leaseTiming,
): Candidate {
  const client = {
    async request(method: string, asked: string, body: unknown) {
      server.asked.push({ what: `${method} ${asked}`, body, atMs: performance.now() });
      const other = (await candidate.interfere(method)) as { readonly status: number } | null;
      return { retryAfterMs: null, ...(other ?? server.answer(method, body)) };
    },
  } as unknown as KubeClient;
  const warnings: Array<string> = [];
  const reasons: Array<unknown> = [];
  const said: Array<string> = [];
  const changes: Array<number | null> = [];
  const log: Log = {
    info: (what, fields) => void said.push(`${what} ${JSON.stringify(fields)}`),
    warn: (what, fields) => void (warnings.push(what) && reasons.push(fields?.['reason'])),
    error: () => expect.fail('nothing here is an error of ours'),
  };
  const onChange = (): void => void changes.push(election.term());
  const candidate = { changes, warnings, reasons, said, interfere } as Candidate & { election: Election };
  const election = new Election({
    client,
    namespace: 'n',
    name: 'relay',
    identity,
    pod: identity.includes('_') ? identity.replace(/_.*/, '') : null,
    timing,
    log,
    onChange,
  });
  candidate.election = election;
  elections.push(election);
  return candidate;
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const START = Date.UTC(2026, 10, 22);
const away = (): never => {
  throw new Error('the API server is away');
};

beforeEach(() => void vi.useFakeTimers({ now: START }));
afterEach(async () => {
  const stopped = Promise.all(elections.splice(0).map((one) => one.stop()));
  await pass(100);
  await stopped;
  vi.useRealTimers();
});

describe('a relay that is alone', () => {
  test('makes the lease and leads in its first term', async () => {
    const server = new LeaseServer();
    const { election, changes, said } = join(server, 'a');
    expect(election.term()).toBeNull();
    await pass(0);
    expect([election.term(), changes]).toEqual([1, [1]]);
    expect(said).toEqual(['leading {"term":1,"identity":"a"}']);
    expect(server.asked[1]?.body).toMatchObject({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'relay', namespace: 'n' },
    });
    expect(server.asked.map(({ what }) => what)).toEqual([`GET ${path}/relay`, `POST ${path}`]);
    expect(server.lease?.spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-11-22T00:00:00.000000Z',
      renewTime: '2026-11-22T00:00:00.000000Z',
      leaseTransitions: 1,
    });
  });

  test('renews it every two seconds and a little, over what it wrote last, in one request and one term', async () => {
    const server = new LeaseServer();
    const { election, changes } = join(server, 'a');
    await pass(60_000);
    const times = server.asked.slice(1).map(({ atMs }) => atMs);
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(2_000);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(2_400);
    // Replicas that started together do not meet at every attempt.
    expect(new Set(pauses.map(Math.round)).size).toBeGreaterThan(1);
    expect(new Set(server.asked.slice(2).map(({ what }) => what))).toEqual(new Set([`PUT ${path}/relay`]));
    expect(server.lease?.spec).toMatchObject({ acquireTime: '2026-11-22T00:00:00.000000Z', leaseTransitions: 1 });
    expect(Date.parse(server.lease?.spec.renewTime ?? '')).toBeGreaterThan(START + 57_000);
    expect([election.term(), changes]).toEqual([1, [1]]);
  });

  test('lets go of the lease when it stops, and asks for nothing more', async () => {
    const server = new LeaseServer();
    const { election, changes } = join(server, 'a');
    await pass(10_000);
    await election.stop();
    expect(server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 1 });
    expect(server.lease?.spec.renewTime).toBe('2026-11-22T00:00:10.000000Z');
    expect([election.term(), changes]).toEqual([null, [1, null]]);
    const before = server.asked.length;
    await pass(60_000);
    expect(server.asked).toHaveLength(before);
  });

  test('stops all the same when it cannot let go, and says so', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = away;
    await leader.election.stop();
    expect([leader.election.term(), leader.warnings]).toEqual([null, ['lease not released']]);
    expect(leader.reasons).toEqual(['the API server is away']);
    expect(leader.said.at(-1)).toBe('no longer leading {"term":null,"identity":"a"}');
  });

  test('asks for nothing when it stops without leading', async () => {
    const server = new LeaseServer();
    server.put({ holderIdentity: 'b', leaseDurationSeconds: 15 });
    const { election } = join(server, 'a');
    await pass(0);
    const before = server.asked.length;
    await election.stop();
    expect(server.asked).toHaveLength(before);
  });

  test('does not let go of a lease that another holds', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    server.put({ holderIdentity: 'b', leaseDurationSeconds: 15, leaseTransitions: 2 });
    await leader.election.stop();
    expect(server.lease?.spec.holderIdentity).toBe('b');
  });
});

describe('a relay that cannot renew', () => {
  test('goes on for ten seconds, leads no more then, and leads again in a new term once it can', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = away;
    await pass(10_000);
    expect(leader.election.term()).toBe(1);
    await pass(1);
    expect(leader.election.term()).toBeNull();
    await pass(2_400);
    expect(leader.changes).toEqual([1, null]);
    expect(new Set(leader.warnings)).toEqual(new Set(['lease not renewed']));
    leader.interfere = () => null;
    await pass(2_400);
    expect([leader.election.term(), leader.changes]).toEqual([2, [1, null, 2]]);
  });

  test('for a moment leads on in its term, by what it reads', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = away;
    await pass(5_000);
    leader.interfere = () => null;
    server.asked.length = 0;
    await pass(10_000);
    expect(server.asked.slice(0, 2).map(({ what }) => what)).toEqual([`GET ${path}/relay`, `PUT ${path}/relay`]);
    expect([leader.election.term(), leader.changes]).toEqual([1, [1]]);
  });

  test.for([
    ['5xx', { status: 500, body: {} }],
    ['a refusal', { status: 422, body: { metadata: {}, spec: {} } }],
    ['no lease', { status: 200, body: { metadata: {} } }],
    ['nothing', { status: 200, body: null }],
    ['a lease without metadata', { status: 200, body: { spec: {} } }],
  ] as const)('is one that is answered with %s', async ([, answer]) => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = () => answer;
    await pass(12_500);
    expect([leader.election.term(), leader.warnings.length > 0]).toEqual([null, true]);
  });

  test.for([
    ['5xx, whatever comes with it', { status: 500, body: { metadata: {}, spec: { holderIdentity: '' } } }, 500],
    ['a spec that is none', { status: 200, body: { metadata: {}, spec: null } }, 200],
    ['a spec in words', { status: 200, body: { metadata: {}, spec: 'x' } }, 200],
    ['metadata that are none', { status: 200, body: { metadata: null, spec: {} } }, 200],
    ['metadata in words', { status: 200, body: { metadata: 'x', spec: {} } }, 200],
    ['words', { status: 200, body: 'x' }, 200],
    ['nothing', { status: 200, body: null }, 200],
  ] as const)('takes no lease of a server that answers with %s', async ([, answer, status]) => {
    const server = new LeaseServer();
    const { election, reasons } = join(server, 'a', () => answer);
    await pass(20_000);
    expect([election.term(), new Set(reasons)]).toEqual([null, new Set([`lease: answered ${status}`])]);
    expect(new Set(server.asked.map(({ what }) => what))).toEqual(new Set([`GET ${path}/relay`]));
  });

  test.for([300, 403, 500])('leads not by a write that is answered with %s', async (status) => {
    const server = new LeaseServer();
    const body = { metadata: {}, spec: {} };
    const { election, reasons } = join(server, 'a', (method) => (method === 'POST' ? { status, body } : null));
    await pass(0);
    expect([election.term(), reasons]).toEqual([null, [`lease: answered ${status}`]]);
  });

  test('is not one whose writes are refused but leads on by reads', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = (method) => (method === 'GET' ? null : { status: 403, body: {} });
    await pass(12_500);
    expect(leader.election.term()).toBeNull();
  });

  test('whose renewal comes when ten seconds are over begins a new term: who asked meanwhile took the old one for ended', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = async (method) => {
      if (method === 'PUT') await new Promise((resolve) => void setTimeout(resolve, 9_000));
      return null;
    };
    await pass(10_500);
    expect([leader.election.term(), leader.changes]).toEqual([null, [1]]);
    leader.interfere = () => null;
    await pass(1_000);
    expect([server.lease?.spec.leaseTransitions, leader.election.term(), leader.changes]).toEqual([1, null, [1, null]]);
    await pass(2_400);
    expect([server.lease?.spec.leaseTransitions, leader.election.term(), leader.changes]).toEqual([2, 2, [1, null, 2]]);
    await pass(60_000);
    expect(leader.changes).toEqual([1, null, 2]);
  });

  test('as its process stood still for ten seconds begins a new term with its first request', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a', () => null, { ...leaseTiming, retryMs: 11_000 });
    await pass(0);
    server.asked.length = 0;
    await pass(13_200);
    expect([leader.election.term(), leader.changes]).toEqual([2, [1, null, 2]]);
    expect(server.asked.map(({ what }) => what)).toEqual([`PUT ${path}/relay`]);
  });

  test('in time, be it the last moment, leads on in its term', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = async (method) => {
      if (method === 'PUT') await new Promise((resolve) => void setTimeout(resolve, 3_700));
      return null;
    };
    await pass(60_000);
    expect([leader.election.term(), leader.changes]).toEqual([1, [1]]);
    leader.interfere = () => null;
    await pass(4_000);
  });

  test('counts from before it asked: an answer that took eleven seconds makes nobody lead', async () => {
    const server = new LeaseServer();
    const slow = async (method: string): Promise<null> => {
      if (method === 'POST') await new Promise((resolve) => void setTimeout(resolve, 11_000));
      return null;
    };
    const { election } = join(server, 'a', slow);
    await pass(11_000);
    expect([server.lease?.spec.holderIdentity, election.term()]).toEqual(['a', null]);
  });
});

describe('of two relays', () => {
  test('one leads however long both run, and the other never does', async () => {
    const server = new LeaseServer();
    const candidates = [join(server, 'a'), join(server, 'b')];
    await pass(120_000);
    expect(candidates.map(({ changes }) => changes)).toEqual([[1], []]);
    expect(server.lease?.spec.leaseTransitions).toBe(1);
  });

  test('that make the lease at once one leads: the other’s write comes too late', async () => {
    const server = new LeaseServer();
    const meet = async (method: string): Promise<null> => {
      if (method === 'GET') await new Promise((resolve) => void setTimeout(resolve, 50));
      return null;
    };
    const candidates = [join(server, 'a', meet), join(server, 'b', meet)];
    await pass(50);
    expect(candidates.map(({ election }) => election.term())).toEqual([1, null]);
    expect(candidates[1]?.warnings).toEqual([]);
  });

  test('the second leads in a later term as soon as the first has stopped', async () => {
    const server = new LeaseServer();
    const [first, second] = [join(server, 'a'), join(server, 'b')];
    await pass(5_000);
    await first.election.stop();
    await pass(2_400);
    expect([first.election.term(), second.election.term()]).toEqual([null, 2]);
  });

  test('no two ever lead at once when the first is cut off, and the second leads soon after', async () => {
    const server = new LeaseServer();
    const [first, second] = [join(server, 'a'), join(server, 'b')];
    await pass(5_000);
    first.interfere = away;
    let ended = 0;
    for (let ms = 0; ms < 25_000; ms += 50) {
      await pass(50);
      const terms = [first.election.term(), second.election.term()];
      expect(terms).toContain(null);
      if (ended === 0 && terms[1] !== null) ended = ms;
    }
    expect(second.election.term()).toBe(2);
    expect(ended).toBeGreaterThanOrEqual(12_000);
    expect(ended).toBeLessThanOrEqual(20_000);
  });

  test('the first leads no more as soon as it sees that the second does', async () => {
    const server = new LeaseServer();
    const first = join(server, 'a');
    await pass(0);
    server.put({ holderIdentity: 'b', leaseDurationSeconds: 15, leaseTransitions: 2 });
    await pass(5_000);
    expect([first.election.term(), first.changes]).toEqual([null, [1, null]]);
    expect(server.lease?.spec.holderIdentity).toBe('b');
  });
});

describe('another’s lease', () => {
  const held = (renewTime: string, more: Spec = {}): Spec => ({
    holderIdentity: 'b',
    leaseDurationSeconds: 15,
    leaseTransitions: 7,
    renewTime,
    ...more,
  });

  test.for(['2000-01-01T00:00:00.000000Z', '2100-01-01T00:00:00.000000Z'])(
    'is judged by our own clock: renewed at %s it is kept for fifteen seconds since we saw it, and no longer',
    async (renewTime) => {
      const server = new LeaseServer();
      server.put(held(renewTime));
      const { election } = join(server, 'a');
      await pass(15_000);
      expect(election.term()).toBeNull();
      await pass(2_500);
      expect(election.term()).toBe(8);
    },
  );

  test('is kept for as long as it says itself', async () => {
    const server = new LeaseServer();
    server.put(held('x', { leaseDurationSeconds: 40 }));
    const { election } = join(server, 'a');
    await pass(40_000);
    expect(election.term()).toBeNull();
    await pass(2_500);
    expect(election.term()).toBe(8);
  });

  test('that is renewed is kept anew, whatever the time it names', async () => {
    const server = new LeaseServer();
    server.put(held('1'));
    const { election } = join(server, 'a');
    for (let turn = 2; turn < 8; turn++) {
      await pass(10_000);
      server.put(held(String(turn)));
    }
    expect(election.term()).toBeNull();
  });

  test('that nobody holds is taken at once, in the next term', async () => {
    for (const holderIdentity of [{ holderIdentity: '' }, {}]) {
      const server = new LeaseServer();
      server.put({ leaseTransitions: 7, acquireTime: 'x', ...holderIdentity });
      const { election } = join(server, 'a');
      await pass(0);
      expect(election.term()).toBe(8);
      expect(server.lease?.spec.acquireTime).not.toBe('x');
    }
  });

  test('that was let go of behind our back is taken in the next term, not renewed', async () => {
    const server = new LeaseServer();
    const { election, changes } = join(server, 'a');
    await pass(0);
    server.put({ holderIdentity: '', leaseTransitions: 5, acquireTime: 'x' });
    await pass(5_000);
    expect([election.term(), changes]).toEqual([6, [1, 6]]);
    expect(server.lease?.spec.acquireTime).not.toBe('x');
  });

  test('of our own name is taken at once, but in the next term: who wrote it may not have been us', async () => {
    const server = new LeaseServer();
    server.put({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 7 });
    const { election } = join(server, 'a');
    await pass(0);
    expect(election.term()).toBe(8);
  });

  test('of a process that ran in this pod before is taken at once, in the next term', async () => {
    const server = new LeaseServer();
    server.put({ holderIdentity: 'relay-0_before', leaseDurationSeconds: 15, leaseTransitions: 3 });
    const { election } = join(server, 'relay-0_now');
    await pass(0);
    expect([election.term(), server.lease?.spec.holderIdentity]).toEqual([4, 'relay-0_now']);
  });

  test.each(['GET', 'PUT'])(
    'of a process that ran here before is taken by the next look where a %s fails',
    async (method) => {
      const server = new LeaseServer();
      server.put({ holderIdentity: 'relay-0_before', leaseDurationSeconds: 15, leaseTransitions: 3 });
      const candidate = join(server, 'relay-0_now', (asked) => (asked === method ? away() : null));
      await pass(0);
      expect(candidate.election.term()).toBeNull();
      candidate.interfere = () => null;
      await pass(2_400);
      expect(candidate.election.term()).toBe(4);
    },
  );

  test.each([
    ['of a pod whose name only begins like ours', 'relay-01_before', 'relay-0_now'],
    ['of our pod, where that is not known,', 'relay-0_before', 'relay'],
  ])('%s is kept for as long as it says', async (_, holderIdentity, identity) => {
    const server = new LeaseServer();
    server.put({ holderIdentity, leaseDurationSeconds: 15, leaseTransitions: 3 });
    const { election } = join(server, identity);
    await pass(14_000);
    expect(election.term()).toBeNull();
  });

  test('of a process that is called like ours and starts later is not taken back from it', async () => {
    const server = new LeaseServer();
    const first = join(server, 'relay-0_first');
    await pass(0);
    const second = join(server, 'relay-0_second');
    await pass(12_000);
    expect([first.election.term(), second.election.term()]).toEqual([null, 2]);
  });

  test('that says nothing of itself is taken once it has been seen twice', async () => {
    const server = new LeaseServer();
    server.put({ holderIdentity: 'b' });
    const { election } = join(server, 'a');
    await pass(0);
    expect(election.term()).toBeNull();
    await pass(2_400);
    expect(election.term()).toBe(1);
  });
});

describe('a leader that finds a later term published', () => {
  test('moves past it, and tells that its term has changed', async () => {
    const server = new LeaseServer();
    const { election, changes } = join(server, 'a');
    await pass(0);
    await election.raiseAbove(9);
    expect([election.term(), changes]).toEqual([10, [1, 10]]);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 10 });
    await pass(30_000);
    expect(election.term()).toBe(10);
  });

  test('stays where it is when it is past it already', async () => {
    const server = new LeaseServer();
    const { election, changes } = join(server, 'a');
    await pass(0);
    await election.raiseAbove(0);
    expect([election.term(), changes, server.lease?.spec.leaseTransitions]).toEqual([1, [1], 1]);
    await election.raiseAbove(1);
    expect(election.term()).toBe(2);
  });

  test('never moves back', async () => {
    const server = new LeaseServer();
    const { election } = join(server, 'a');
    await pass(0);
    await election.raiseAbove(9);
    await election.raiseAbove(3);
    expect([election.term(), server.lease?.spec.leaseTransitions]).toEqual([10, 10]);
  });

  test('does nothing when it has not renewed for too long, though the lease still has its name', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = away;
    await pass(12_500);
    leader.interfere = () => null;
    await leader.election.raiseAbove(9);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 1 });
  });

  test('does nothing when the lease is gone', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    server.lease = null;
    await leader.election.raiseAbove(9);
    expect([leader.election.term(), server.lease]).toEqual([1, null]);
  });

  test('does nothing when it leads no more, or the lease is another’s', async () => {
    const server = new LeaseServer();
    const [leader, other] = [join(server, 'a'), join(server, 'b')];
    await pass(0);
    await other.election.raiseAbove(9);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'a', leaseTransitions: 1 });
    server.put({ holderIdentity: 'c', leaseDurationSeconds: 15, leaseTransitions: 2 });
    await leader.election.raiseAbove(9);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'c', leaseTransitions: 2 });
  });

  test('stays in its term when another writes the lease meanwhile', async () => {
    const server = new LeaseServer();
    const leader = join(server, 'a');
    await pass(0);
    leader.interfere = (method) => (method === 'PUT' ? { status: 409, body: {} } : null);
    await leader.election.raiseAbove(9);
    expect(leader.election.term()).toBe(1);
  });
});
