import { describe, expect, test } from 'vitest';
import { createLedger } from '../../../../shared/adapters/kubernetes/ledger.ts';
import { resume, resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import { execute } from '../../../../shared/app/execute/execute.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { toQueueMessages } from '../../../../shared/contract/messages/queue-messages.ts';
import { emptied } from '../../../kit/app/consolidated.ts';
import { START, type Sent, decisionOf, denying, namesIn, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const names = Array.from({ length: 600 }, (_, index) => `general-${String(index).padStart(3, '0')}`);
const SILENCE_MS = 8_000;

/** A cluster whose latest decision is committed, and that is all that has happened to it. */
async function committed(claimNames: ReadonlyArray<string>, poolOf?: (claim: string) => string) {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.addPool();
  const decision = decisionOf(claimNames, [], poolOf);
  await cluster.ports.decisions.put(decision);
  await cluster.ports.ledger.commit(await cluster.ports.ledger.read(), decision.name);
  cluster.trace.length = 0;
  return { ...cluster, claims: () => cluster.server.list('nodeclaims').map(({ metadata }) => metadata.name) };
}

const isCreation = (step: string): boolean => step.startsWith('POST') && step.endsWith('/nodeclaims');
const idsOf = (sent: ReadonlyArray<Sent>): ReadonlyArray<string> =>
  sent.flatMap(({ hint, key }) => toQueueMessages(hint, key).map(({ id }) => id));

describe('a decision that is committed and not executed', () => {
  test('is left to its executor for 8 s after that was last heard of, and executed then', async () => {
    const { ports, clock, claims } = await committed(['general-1']);
    clock.advance(SILENCE_MS - 1);
    expect(await resume(ports)).toEqual({ kind: 'executing', untilMs: START + SILENCE_MS });
    expect(claims()).toEqual([]);
    clock.advance(1);
    expect(await resume(ports)).toMatchObject({ kind: 'ready', ledger: { executed: true, generation: 1 } });
    expect(claims()).toEqual(['general-1']);
  });

  test('is left to it longer when it has been heard of since', async () => {
    const { ports, clock, claims } = await committed(['general-1']);
    clock.advance(14_000);
    await ports.ledger.goOn(await ports.ledger.read());
    clock.advance(SILENCE_MS - 1);
    expect(await resume(ports)).toEqual({ kind: 'executing', untilMs: START + 14_000 + SILENCE_MS });
    expect(claims()).toEqual([]);
  });

  test('is left to nobody whose clock is ahead by more than that: they may have died an hour ago', async () => {
    for (const [aheadMs, kind] of [
      [SILENCE_MS, 'executing'],
      [SILENCE_MS + 1, 'ready'],
    ] as const) {
      const { ports, clock } = await committed(['general-1']);
      const ahead = createLedger(ports.kubernetes, 'nodewright-system', () => clock.now() + aheadMs);
      await ahead.goOn(await ports.ledger.read());
      expect(await resume(ports)).toMatchObject({ kind });
    }
  });

  test('is executed at once for who cannot wait', async () => {
    const { ports, claims } = await committed(['general-1']);
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    expect(claims()).toEqual(['general-1']);
  });

  test('keeps others from planning until its executor has had its time, when they look again', async () => {
    const { ports, clock, sent, claims, addPod } = await committed(['general-1']);
    addPod('a', '2');
    addPod('b', '2');
    clock.advance(SILENCE_MS - 3_000);
    expect(await provision(ports)).toEqual({ kind: 'executing', untilMs: START + SILENCE_MS });
    expect(sent).toMatchObject([{ hint: { kind: 'pods', reason: 'executing' }, atMs: START + SILENCE_MS }]);
    expect([claims(), (await ports.ledger.read()).generation]).toEqual([[], 1]);
    clock.advance(3_000);
    // One pod fits the claim that the decision left, the other needs one more.
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
    expect(claims()).toHaveLength(2);
  });
});

describe('an executor that is held up while others finish its decision', () => {
  /** The same ports, but with the first reading of pools others finish the decision, and `heldMs` pass. */
  function heldUp(
    { ports, clock, trace }: ReturnType<typeof smallCluster>,
    heldMs: number,
    meanwhile: () => void,
  ): Ports {
    let held = false;
    const list = (async (kind: 'NodePool') => {
      if (kind === 'NodePool' && !held) {
        held = true;
        await resumeNow(ports);
        meanwhile();
        clock.advance(heldMs);
        trace.length = 0;
      }
      return ports.kubernetes.list(kind);
    }) as Ports['kubernetes']['list'];
    return { ...ports, kubernetes: { ...ports.kubernetes, list } };
  }

  test.each([
    [
      3_999,
      ['general-1'],
      'makes a claim that failed again where it was quick: nobody takes a decision for left so soon',
    ],
    [4_000, [], 'makes none again that failed: by now another may have been decided on for its pods'],
  ])('after %i ms', async (heldMs, there) => {
    const cluster = await committed(['general-1']);
    await resumeNow(heldUp(cluster, heldMs, () => cluster.server.remove('nodeclaims', 'general-1')));
    expect(cluster.claims()).toEqual(there);
  });

  test('makes nothing of it once another has followed, executed or not', async () => {
    const cluster = await committed(['general-1']);
    const state = await cluster.ports.ledger.read();
    let isFollowed = false;
    const ports = heldUp(cluster, 4_000, () => {
      cluster.server.remove('nodeclaims', 'general-1');
      isFollowed = true;
    });
    const next = { generation: 2, executed: false };
    const read = async () => ({ ...(await ports.ledger.read()), ...(isFollowed ? next : {}) });
    await execute({ ...ports, ledger: { ...ports.ledger, read } }, state, decisionOf(['general-1']));
    expect(cluster.claims()).toEqual([]);
  });

  test('marks nothing again of what was to go', async () => {
    const cluster = emptied();
    cluster.addReady('a');
    const { ports, trace } = cluster;
    const uid = cluster.server.get('nodeclaims', 'a')?.metadata.uid ?? '';
    const removal = { reason: 'Empty', claims: [{ name: 'a', uid, node: 'aks-a' }] } as const;
    const decision = { ...decisionOf([]), removal };
    await ports.decisions.put(decision);
    await ports.ledger.commit(await ports.ledger.read(), decision.name);
    await resumeNow(heldUp(cluster, 4_000, () => undefined));
    expect(trace.filter((step) => step.startsWith('PATCH') && !step.includes('/leases/'))).toEqual([]);
  });

  test('goes no further than the group of 250 during which it was', async () => {
    const { ports, clock, trace } = await committed(names);
    let held = false;
    const create = (async (...given: Parameters<Ports['kubernetes']['create']>) => {
      if (!held) {
        held = true;
        await resumeNow(ports);
        clock.advance(4_000);
      }
      return ports.kubernetes.create(...given);
    }) as Ports['kubernetes']['create'];
    await resumeNow({ ...ports, kubernetes: { ...ports.kubernetes, create } });
    // The others' requests and its own.
    expect(trace.filter(isCreation)).toHaveLength(names.length + 250);
  });

  test('makes all where it cannot be asked once whether they have, and asks once a second', async () => {
    const { ports, clock, trace, outside, claims } = await committed(names.slice(0, 100));
    clock.advance(SILENCE_MS);
    let reads = 0;
    outside.onRequest = ({ method, path }) => {
      if (method !== 'GET' || !path.includes('/leases/')) return;
      reads += 1;
      if (reads === 3) throw new RetryableError('429');
    };
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    expect([claims().length, trace.filter(isCreation).length]).toEqual([100, 100]);
    expect(reads).toBeLessThan(8);
  });

  test('makes none of those whose turn in the group comes later', async () => {
    const { ports, clock, trace } = await committed(names.slice(0, 100));
    let held: Promise<void> | null = null;
    const others = async (): Promise<void> => {
      await resumeNow(ports);
      clock.advance(4_000);
    };
    const create = (async (...given: Parameters<Ports['kubernetes']['create']>) => {
      await (held ??= others());
      return ports.kubernetes.create(...given);
    }) as Ports['kubernetes']['create'];
    await resumeNow({ ...ports, kubernetes: { ...ports.kubernetes, create } });
    // The others' requests, and the 16 that it had begun.
    expect(trace.filter(isCreation)).toHaveLength(100 + 16);
  });
});

describe('the claims of a decision', () => {
  async function said(podNames: ReadonlyArray<string>): Promise<ReadonlyArray<unknown>> {
    const cluster = smallCluster();
    cluster.addClass('True');
    cluster.addPool();
    const decision = decisionOf(
      ['general-1'],
      podNames.map((name) => ({ uid: name, name })),
    );
    await cluster.ports.decisions.put(decision);
    await cluster.ports.ledger.commit(await cluster.ports.ledger.read(), decision.name);
    const lines: Array<unknown> = [];
    const log = (event: string, facts: object): void => void lines.push({ event, ...facts });
    await resumeNow({ ...cluster.ports, log });
    await resumeNow({ ...cluster.ports, log });
    return lines.filter((line) => (line as { readonly event: string }).event === 'nodeclaim-created');
  }

  test('are logged once each, with the pods that they are for, so that one leads to its machine', async () => {
    const { name } = decisionOf(['general-1']);
    expect(await said(['default/a', 'team/b'])).toEqual([
      { event: 'nodeclaim-created', claim: 'general-1', nodePool: 'general', decision: name, pods: 'default/a,team/b' },
    ]);
  });

  test('are logged with as many whole names as a line holds', async () => {
    const pods = Array.from(
      { length: 250 },
      (_, index) => `default/${String(index).padStart(3, '0')}-${'x'.repeat(150)}`,
    );
    const [line] = (await said(pods)) as ReadonlyArray<{ readonly pods: string }>;
    const told = line?.pods.split(',') ?? [];
    expect(told).toEqual(pods.slice(0, 184));
    expect(line?.pods.length).toBeLessThanOrEqual(30_000);
  });
});

describe('the execution of a decision of 600 claims', () => {
  test('asks for machines in groups of 250, each when all of its claims are there', async () => {
    const { outside, ports, sent, claims } = await committed(names);
    const missing: Array<string> = [];
    outside.onSend = ({ hint }) => {
      const there = new Set(claims());
      missing.push(...namesIn(hint).filter((name) => !there.has(name)));
    };
    await resumeNow(ports);
    expect(sent.map(({ hint }) => namesIn(hint))).toEqual([
      names.slice(0, 250),
      names.slice(250, 500),
      names.slice(500),
    ]);
    expect(sent.map(({ hint, atMs }) => [hint.kind, atMs])).toEqual(
      Array.from({ length: 3 }, () => ['launches', null]),
    );
    expect(missing).toEqual([]);
    expect(claims()).toHaveLength(600);
  });

  test('asks for the first machines before the last claims are there', async () => {
    const { ports, trace } = await committed(names);
    await resumeNow(ports);
    const first = trace.findIndex((step) => step.startsWith('send launches'));
    expect(first).toBeGreaterThan(0);
    expect(trace.slice(first).filter(isCreation).length).toBeGreaterThan(300);
  });

  test('tells between the groups that its executor is at work, and at the end when that was', async () => {
    const { outside, ports, clock, server } = await committed(names);
    const heard = new Set<unknown>();
    server.watch(({ resource, after }) => {
      if (resource === 'leases') heard.add(after?.spec?.['renewTime']);
    });
    outside.onRequest = ({ method, path }) => {
      if (isCreation(`${method} ${path}`)) clock.advance(100);
    };
    await resumeNow(ports);
    const told = [...heard].map((time) => (Date.parse(String(time)) - START) / 100);
    expect(told).toEqual([250, 500, 600]);
  });

  test('is noted with the newest version of any of its claims', async () => {
    const { ports, server } = await committed(names);
    // Versions are numbers: 1000 is newer than 999.
    for (let at = 0; at < 700; at++) server.create('pods', { metadata: { name: `p-${at}`, namespace: 'default' } });
    await resumeNow(ports);
    const versions = server.list('nodeclaims').map(({ metadata }) => Number(metadata.resourceVersion));
    expect(Math.min(...versions)).toBeLessThan(1_000);
    expect(await ports.ledger.read()).toMatchObject({
      executed: true,
      claimsResourceVersion: String(Math.max(...versions)),
    });
  });

  test('makes each claim once and sends the same messages, when it is done again by who comes after a crash', async () => {
    const { outside, ports, sent, claims, server } = await committed(names);
    outside.onRequest = ({ body }) => {
      if (JSON.stringify(body ?? {}).includes('executed-generation')) throw new Error('the worker has died');
    };
    await expect(resumeNow(ports)).rejects.toThrow('died');
    const first = sent.splice(0);
    const uids = server.list('nodeclaims').map(({ metadata }) => metadata.uid);
    expect(claims()).toHaveLength(600);

    outside.onRequest = () => undefined;
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    expect(server.list('nodeclaims').map(({ metadata }) => metadata.uid)).toEqual(uids);
    expect(idsOf(sent)).toEqual(idsOf(first));
    expect(new Set(idsOf(sent)).size).toBe(13 + 13 + 5);
  });
});

test('no machine is asked for in the name of a claim that could not be made', async () => {
  const { ports, sent, claims } = await committed(['general-1', 'removed-1', 'general-2'], (name) =>
    name.startsWith('removed') ? 'removed' : 'general',
  );
  await resumeNow(ports);
  expect(claims()).toEqual(['general-1', 'general-2']);
  expect(sent.map(({ hint }) => namesIn(hint))).toEqual([['general-1', 'general-2']]);
});

describe('where not all comes that is to come in the place of nodes', () => {
  /** `general-1` and `general-2` are to come in the place of `a`, and nobody has executed that yet. */
  async function replacing() {
    const cluster = emptied();
    cluster.addReady('a');
    const { ports } = cluster;
    const uid = cluster.server.get('nodeclaims', 'a')?.metadata.uid ?? '';
    const removal = { reason: 'Expired', claims: [{ name: 'a', uid, node: 'aks-a' }] } as const;
    const decision = { ...decisionOf(['general-1', 'general-2']), removal };
    await ports.decisions.put(decision);
    await ports.ledger.commit(await ports.ledger.read(), decision.name);
    return cluster;
  }

  test('as one could not be made, no machine is asked for', async () => {
    const { ports, sent, outside, stateOf } = await replacing();
    outside.deny = denying('POST', '/nodeclaims/general-2');
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    expect([stateOf('a'), stateOf('general-1'), stateOf('general-2')]).toEqual(['there', 'leaving', 'gone']);
    expect(sent.flatMap(({ hint }) => namesIn(hint))).toEqual([]);
  });

  test('what has come has a node by then, and stays', async () => {
    const { ports, outside, stateOf, addClaim } = await replacing();
    addClaim('general-1', { status: { conditions: [since(START, 'Registered')] } });
    outside.deny = denying('POST', '/nodeclaims/general-2');
    expect(await resumeNow(ports)).toMatchObject({ executed: true });
    expect([stateOf('a'), stateOf('general-1')]).toEqual(['there', 'there']);
  });

  test('as one was made before and has been given up, no node is marked', async () => {
    const { ports, stateOf, addClaim, server, marks } = await replacing();
    addClaim('general-2');
    server.delete('nodeclaims', 'general-2');
    const told: Array<unknown> = [];
    const log: Ports['log'] = (event, facts) => void (event === 'nodeclaim-not-made' && told.push(facts));
    expect(await resumeNow({ ...ports, log })).toMatchObject({ executed: true });
    expect(told).toEqual([{ claim: 'general-2', decision: '000000001-d', why: 'it is being deleted' }]);
    expect([stateOf('general-1'), stateOf('general-2'), marks('a').tainted]).toEqual(['leaving', 'leaving', false]);
  });
});
