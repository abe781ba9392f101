import { describe, expect, test } from 'vitest';
import { markForRemoval, tellFailed, unmark } from '../../../../shared/app/execute/mark.ts';
import type { Candidate } from '../../../../shared/core/disruption/second-look/begun.ts';
import { RefusedError, RetryableError } from '../../../../shared/ports/errors.ts';
import type { Decision } from '../../../../shared/ports/store.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { candidateOf, emptied } from '../../../kit/app/consolidated.ts';
import { decisionOf, denying, POLICY } from '../../../kit/app/small-cluster.ts';

const REPLACED_BY = 'nodewright.dev/replaced-by';
const UNMARKED = { tainted: false, decision: false, reason: undefined };

/** Nodes of these names, and a decision that removes them all. */
function deciding(...names: ReadonlyArray<string>) {
  const cluster = emptied();
  const { server, ports } = cluster;
  for (const name of names) cluster.addReady(name);
  const claims = names.map((name) => {
    return { name, uid: server.get('nodeclaims', name)?.metadata.uid ?? '', node: `aks-${name}` };
  });
  const decision = (...replacements: ReadonlyArray<string>): Decision => {
    return { ...decisionOf([]), claimNames: replacements, removal: { reason: 'Empty', claims } };
  };
  const candidate = (name: string): Promise<Candidate> => candidateOf(ports, name);
  /** Of which objects the event tells. */
  const toldOn = (reason: string): ReadonlyArray<string> =>
    server.list('events').flatMap((event) => {
      const { involvedObject, reason: said } = event as Fields;
      return said === reason ? [`${involvedObject.kind} ${involvedObject.name}`] : [];
    });
  return { ...cluster, decision, candidate, toldOn };
}

describe('what a decision removes', () => {
  test('is marked by its name and reason, and by what replaces it', async () => {
    const { ports, decision, marks, server, addClaim, toldOn } = deciding('a', 'b');
    addClaim('r');
    expect(await markForRemoval(ports, decision('r', 'gone'))).toMatchObject({ kept: null, failed: null });
    expect([marks('a'), marks('b')]).toEqual([1, 2].map(() => ({ tainted: true, decision: true, reason: 'Empty' })));
    expect(server.get('nodeclaims', 'a')?.metadata.annotations?.[REPLACED_BY]).toBe('r,gone');
    expect(toldOn('DisruptionLaunching')).toEqual(['NodeClaim r']);
  });

  test('names nothing that replaces it where nothing does, whatever stood there', async () => {
    const { ports, decision, server } = deciding('a');
    server.patch('nodeclaims', 'a', { metadata: { annotations: { [REPLACED_BY]: 'before' } } }, 'object');
    await markForRemoval(ports, decision());
    expect(server.get('nodeclaims', 'a')?.metadata.annotations ?? {}).not.toHaveProperty([REPLACED_BY]);
  });

  test('is nothing where the decision removes nothing', async () => {
    const { ports, trace } = deciding('a');
    trace.length = 0;
    expect(await markForRemoval(ports, decisionOf([]))).toEqual({ versions: [], kept: null, failed: null });
    expect(trace).toEqual([]);
  });

  test('goes but for the node that may not be closed, which says so and stays open', async () => {
    const { ports, decision, marks, outside, toldOn } = deciding('a', 'b');
    outside.deny = denying('PATCH', '/nodes/aks-a');
    expect(await markForRemoval(ports, decision())).toMatchObject({ kept: null, failed: null });
    expect([marks('a'), marks('b').tainted]).toEqual([UNMARKED, true]);
    expect(toldOn('WriteDenied').toSorted()).toEqual(['Node aks-a', 'NodeClaim a']);
    expect(toldOn('DisruptionBlocked').toSorted()).toEqual(['Node aks-a', 'NodeClaim a']);
  });

  test('stays as a whole where one of it may not be closed and something was to come in place of all', async () => {
    const { ports, decision, marks, outside, toldOn } = deciding('a', 'b');
    outside.deny = denying('PATCH', '/nodes/aks-b');
    const { kept } = await markForRemoval(ports, decision('r'));
    expect(kept).toMatch(new RegExp(`^aks-b cannot be tainted: .*${POLICY}`));
    expect([marks('a'), marks('b')]).toEqual([UNMARKED, UNMARKED]);
    expect(toldOn('WriteDenied').toSorted()).toEqual(['Node aks-b', 'NodeClaim b']);
  });

  test('stays where no node of it may be closed', async () => {
    const { ports, decision, outside } = deciding('a');
    outside.deny = denying('PATCH', '/nodes/aks-a');
    expect((await markForRemoval(ports, decision())).kept).toMatch(/^aks-a cannot be tainted: /);
  });

  test('is marked by the next execution where something fails for now, whatever is denied beside it', async () => {
    const { ports, decision, outside, marks, toldOn } = deciding('a', 'b', 'c');
    outside.deny = denying('PATCH', '/nodes/aks-b');
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodes/aks-c')) throw new RetryableError('busy');
    };
    const { kept, failed } = await markForRemoval(ports, decision());
    expect([kept, failed?.message, marks('a').tainted]).toEqual([null, 'busy', true]);
    expect(toldOn('WriteDenied')).toEqual([]);
  });

  test('is marked though others write to it at the same moment, and what never rests fails for now', async () => {
    for (const [times, isMarked] of [
      [4, true],
      [5, false],
    ] as const) {
      const { ports, decision, outside, marks, server } = deciding('a');
      let writes = 0;
      outside.onRequest = ({ method, path }) => {
        if (method !== 'PATCH' || !path.endsWith('/nodeclaims/a/status') || writes++ >= times) return;
        server.patch('nodeclaims', 'a', { metadata: { annotations: { write: String(writes) } } }, 'object');
      };
      const { failed } = await markForRemoval(ports, decision());
      expect([failed === null, marks('a').tainted]).toEqual([isMarked, isMarked]);
    }
  });

  test('says nothing of a mark that came off where none had come on', async () => {
    const { ports, decision, outside, marks, toldOn } = deciding('a', 'b');
    outside.deny = denying('PATCH', '/nodeclaims/a');
    await markForRemoval(ports, decision('r'));
    expect([marks('b'), toldOn('DisruptionBlocked').toSorted()]).toEqual([UNMARKED, ['Node aks-b', 'NodeClaim b']]);
  });

  test('may have gone when the marks are to come off again', async () => {
    for (const [resource, name] of [
      ['nodeclaims', 'b'],
      ['nodes', 'aks-b'],
    ] as const) {
      const { ports, decision, outside, server, marks } = deciding('a', 'b');
      outside.deny = denying('PATCH', '/nodes/aks-a');
      outside.onRequest = ({ method, path }) => {
        if (method === 'GET' && path.endsWith(`/${name}`) && marks('b').tainted) server.remove(resource, name);
      };
      expect((await markForRemoval(ports, decision('r'))).kept).toMatch(/^aks-a cannot be tainted: /);
    }
  });
});

describe('a mark that comes off', () => {
  async function marked() {
    const cluster = deciding('a');
    await markForRemoval(cluster.ports, cluster.decision());
    const one = await cluster.candidate('a');
    cluster.trace.length = 0;
    const writes = (): number => cluster.trace.filter((step) => !step.startsWith('GET')).length;
    return { ...cluster, one, writes };
  }

  test('is told of on node and claim, and twice is as once', async () => {
    const { ports, one, marks, toldOn, writes } = await marked();
    expect(await unmark(ports, one, 'why')).toBe(true);
    expect([marks('a'), toldOn('DisruptionBlocked')]).toEqual([UNMARKED, ['NodeClaim a', 'Node aks-a']]);
    const before = writes();
    // By a look that still sees it.
    expect(await unmark(ports, one, 'another why')).toBe(false);
    expect([marks('a'), writes()]).toEqual([UNMARKED, before]);
  });

  test('stays on what is being removed meanwhile, and nothing is written where the claim has gone', async () => {
    const leaving = await marked();
    leaving.server.delete('nodeclaims', 'a');
    await unmark(leaving.ports, leaving.one, 'why');
    expect([leaving.marks('a').tainted, leaving.writes()]).toEqual([true, 0]);
    const gone = await marked();
    gone.server.remove('nodeclaims', 'a');
    await unmark(gone.ports, gone.one, 'why');
    expect(gone.writes()).toBe(0);
  });

  test('is no matter any more where the claim goes at the last moment', async () => {
    const { ports, one, outside, server, toldOn } = await marked();
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodeclaims/a')) server.remove('nodeclaims', 'a');
    };
    await unmark(ports, one, 'why');
    expect(toldOn('DisruptionBlocked')).toEqual([]);
  });

  test('comes off though others write at the same moment', async () => {
    const { ports, one, outside, server, marks, toldOn } = await marked();
    let isFirst = true;
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodeclaims/a') || !isFirst) return;
      isFirst = false;
      server.patch('nodeclaims', 'a', { metadata: { annotations: { write: 'meanwhile' } } }, 'object');
    };
    await unmark(ports, one, 'why');
    expect([marks('a'), toldOn('DisruptionBlocked')]).toEqual([UNMARKED, ['NodeClaim a', 'Node aks-a']]);
  });

  test('comes off the claim where the node has gone', async () => {
    const { ports, one, server, marks, toldOn } = await marked();
    server.remove('nodes', 'aks-a');
    await unmark(ports, one, 'why');
    expect([marks('a').decision, toldOn('DisruptionBlocked')]).toEqual([false, ['NodeClaim a']]);
  });
});

test.each([
  ['remove', '2026-12-01T00:20:00Z'],
  ['unmark', '2026-12-01T00:02:00Z'],
] as const)('a step that is denied says when it is tried again: %s', async (step, at) => {
  const { ports, candidate, conditionOf, trace } = deciding('a', 'b');
  const candidates = [await candidate('a'), await candidate('b')];
  const key = { name: 'a', namespace: null };
  const error = new RefusedError({ act: 'delete', kind: 'NodeClaim', key, policy: 'keep', reason: 'kept' });
  trace.length = 0;
  await tellFailed(
    ports,
    candidates,
    [
      { kind: 'failed', error },
      { kind: 'done', answer: null },
    ],
    step,
  );
  expect(conditionOf('a', 'WriteDenied')?.['message']).toMatch(new RegExp(`^Tried again from ${at}`));
  expect(trace.filter((one) => one.includes('/b'))).toEqual([]);
});
