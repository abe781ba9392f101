import { describe, expect, it } from 'vitest';
import {
  type Registration,
  judgeHealth,
  noteRegistration,
  resetHealth,
} from '../../../../../shared/app/follow/definitions/registration-health.ts';
import type { NodePool } from '../../../../../shared/kubernetes/manifest.ts';
import { claim, nodePool } from '../../../../kit/app/build-claim.ts';
import { smallCluster } from '../../../../kit/app/small-cluster.ts';

const TYPE = 'NodeRegistrationHealthy';
const fresh: NodePool = { ...nodePool(), metadata: { name: 'general', generation: 3 } };

function shown(
  condition: { readonly status: string; readonly reason: string; readonly message: string },
  at = 3,
): NodePool {
  return { ...fresh, status: { conditions: [{ type: TYPE, ...condition, observedGeneration: at }] } };
}

/** The condition after a row of results: `s` registered, `f` failed. */
function after(row: string): ReturnType<typeof judgeHealth> {
  let pool = fresh;
  for (const letter of row) {
    const result: Registration =
      letter === 's' ? { kind: 'registered' } : { kind: 'failed', reason: 'RegistrationTimeout' };
    pool = shown(judgeHealth(pool, result));
  }
  const [condition] = pool.status?.conditions ?? [];
  return { type: TYPE, status: 'Unknown', reason: '', message: '', ...condition } as ReturnType<typeof judgeHealth>;
}

describe('whether nodes of a pool register [J02] [J05]', () => {
  it.each([
    ['s', 'True'],
    ['f', 'True'],
    ['ff', 'False'],
    ['sfsf', 'False'],
    ['ffs', 'False'],
    ['ffss', 'False'],
    ['ffsss', 'True'],
    ['ssssf', 'True'],
    ['fsssf', 'True'],
    ['fssf', 'False'],
  ])('after %s of the last four it is %s', (row, status) => {
    expect(after(row).status).toBe(status);
  });

  it('while all register nothing changes that would have to be written', () => {
    expect(after('ssss')).toMatchObject({ ...after('s') });
  });

  it('the reason is that of the last failure, and the message tells what is remembered', () => {
    expect(after('sff')).toMatchObject({ reason: 'RegistrationTimeout', message: 'last nodes: failed, failed' });
    expect(after('ffs').reason).toBe('RegistrationTimeout');
  });

  it('results of an older spec count no more', () => {
    const old = shown({ status: 'False', reason: 'LaunchTimeout', message: 'last nodes: failed, failed' }, 2);
    expect(judgeHealth(old, { kind: 'registered' })).toMatchObject({ status: 'True', message: '' });
    const failed = judgeHealth(old, { kind: 'failed', reason: 'RegistrationTimeout' });
    expect(failed).toMatchObject({ status: 'True', message: 'last nodes: failed' });
  });

  it('results count no more once it was made unknown', () => {
    const unknown = shown({ status: 'Unknown', reason: 'LaunchTimeout', message: 'last nodes: failed, failed' });
    expect(judgeHealth(unknown, { kind: 'registered' })).toMatchObject({ status: 'True', message: '' });
  });

  it('what somebody else wrote there counts as nothing', () => {
    const foreign = shown({ status: 'False', reason: 'Other', message: 'failed, failed' });
    expect(judgeHealth(foreign, { kind: 'registered' })).toMatchObject({ status: 'True', message: '' });
  });

  it('a new spec or a new class makes it unknown, and nothing else does [J12]', () => {
    const healthy = shown({ status: 'True', reason: TYPE, message: '' });
    const seen = { ...healthy, status: { ...healthy.status, nodeClassObservedGeneration: 5 } };
    expect(resetHealth(fresh, 5)?.status).toBe('Unknown');
    expect(resetHealth(seen, 5)).toBeNull();
    expect(resetHealth(seen, 6)?.status).toBe('Unknown');
    expect(resetHealth(shown({ status: 'True', reason: TYPE, message: '' }, 2), 5)?.status).toBe('Unknown');
  });
});

describe('what becomes of a node is written on its pool', () => {
  function pooled() {
    const cluster = smallCluster();
    const { server, trace } = cluster;
    cluster.addClass('True');
    cluster.addPool();
    trace.length = 0;
    const writes = (): number => trace.filter((step) => step.startsWith('PATCH')).length;
    const health = () => cluster.conditionOf('general', TYPE, 'nodepools');
    return { ...cluster, server, writes, health };
  }
  const failed: Registration = { kind: 'failed', reason: 'RegistrationTimeout' };

  it('as it is at that moment, and only where it says something else', async () => {
    const { ports, writes, health, clock, server, trace, conditionOf } = pooled();
    server.patch('nodepools', 'general', { spec: { weight: 2 } }, 'object');
    trace.length = 0;
    clock.advance(5_000);
    await noteRegistration(ports, claim(), { kind: 'registered' });
    expect(health()).toMatchObject({
      status: 'True',
      lastTransitionTime: '2026-12-01T00:00:05Z',
      observedGeneration: 2,
    });
    expect(conditionOf('general', 'ValidationSucceeded', 'nodepools')?.['lastTransitionTime']).toBe(
      '2026-12-01T00:00:00Z',
    );
    expect(writes()).toBe(1);
    // Definitions are read again after a second.
    clock.advance(2_000);
    await noteRegistration(ports, claim(), { kind: 'registered' });
    expect(writes()).toBe(1);
  });

  it('and nowhere where it is of no pool, or its pool has gone', async () => {
    const { ports, writes, server } = pooled();
    const { labels: _, ...metadata } = claim().metadata;
    await noteRegistration(ports, { ...claim(), metadata }, failed);
    server.remove('nodepools', 'general');
    await noteRegistration(ports, claim(), failed);
    expect(writes()).toBe(0);
  });

  it('but not over what somebody else wrote meanwhile: the next result tells', async () => {
    const { ports, server, outside, health } = pooled();
    outside.onRequest = ({ method }) => {
      if (method === 'PATCH')
        server.patch('nodepools', 'general', { metadata: { annotations: { written: 'meanwhile' } } }, 'object');
    };
    await noteRegistration(ports, claim(), failed);
    expect(health()).toBeUndefined();
  });
});
