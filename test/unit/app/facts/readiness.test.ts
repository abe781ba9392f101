import { describe, expect, test } from 'vitest';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { unjudgedPools } from '../../../../shared/app/facts/readiness.ts';
import type { Snapshot } from '../../../../shared/contract/snapshot/parse.ts';
import { START, smallCluster } from '../../../kit/app/small-cluster.ts';

const NO_CLASS = 'there is no class';

/** A claim that wants a machine, looked at once so long after it was made. `ready`: what its class's Ready says. */
async function looked(ready: string | null, afterMs: number) {
  const cluster = smallCluster();
  if (ready !== NO_CLASS) cluster.addClass(ready);
  cluster.addClaim('c');
  cluster.clock.advance(afterMs);
  const step = await follow(cluster.ports, { kind: 'NodeClaim', name: 'c' });
  return { ...cluster, step };
}

const waiting = { status: 'Unknown', reason: 'NodeClassReadinessUnknown' };

describe('a claim that wants a machine', () => {
  test.each([
    ['has no condition Ready yet', null],
    ['has a Ready that is Unknown', 'Unknown'],
  ])('is kept while its class %s, says so, and is looked at again', async (_, ready) => {
    const { step, stateOf, conditionOf, azure, clock } = await looked(ready, 30_000);
    expect(step).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 5_000 });
    expect([stateOf('c'), azure.orders]).toEqual(['there', []]);
    expect(conditionOf('c', 'Launched')).toMatchObject(waiting);
  });

  test('gets it once its class has been judged ready', async () => {
    const { ports, server, clock, azure } = await looked(null, 1_000);
    server.patch(
      'aksnodeclasses',
      'default',
      { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      'status',
    );
    clock.advance(5_000);
    await follow(ports, { kind: 'NodeClaim', name: 'c' });
    expect(azure.orders.map(({ claim }) => claim)).toEqual(['c']);
  });

  test('is deleted when its class has been judged not to be ready [J01]', async () => {
    const { stateOf, azure, server } = await looked('False', 0);
    expect([stateOf('c'), azure.orders]).toEqual(['leaving', []]);
    expect(server.list('events')).toMatchObject([{ reason: 'NodeClassNotReady' }]);
  });

  test('waits for a class that may come with it, until it is 5 s old', async () => {
    const { step, stateOf, conditionOf, clock } = await looked(NO_CLASS, 4_999);
    expect(step).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 5_000 });
    expect(stateOf('c')).toBe('there');
    expect(conditionOf('c', 'Launched')).toMatchObject(waiting);
  });

  test('is deleted when there is no such class and it is 5 s old', async () => {
    const { stateOf, server } = await looked(NO_CLASS, 5_000);
    expect(stateOf('c')).toBe('leaving');
    expect(server.list('events')).toMatchObject([{ reason: 'NodeClassNotReady' }]);
  });
});

describe('the pools that have not been judged', () => {
  const judged = (ready: string | null) => ({
    status: { conditions: ready === null ? [] : [{ type: 'Ready', status: ready }] },
  });
  const named = (name: string) => ({ name, creationTimestamp: new Date(START).toISOString() });
  const at = (ms: number, pool: string | null, nodeClass: string | null): ReadonlyArray<string> => {
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
    const spec = { template: { spec: { nodeClassRef } } };
    const snapshot = {
      nodePools: [{ metadata: named('general'), spec, ...judged(pool) }],
      nodeClasses: [{ metadata: named('default'), spec: {}, ...judged(nodeClass) }],
    } as unknown as Snapshot;
    return [...unjudgedPools(snapshot, START + ms).keys()];
  };

  test.each([null, 'Unknown'])(
    'are those whose Ready, or their class’s, is %s, for a minute and no longer',
    (unjudged) => {
      for (const [pool, nodeClass] of [
        [unjudged, 'True'],
        ['True', unjudged],
        ['False', unjudged],
      ] as const) {
        expect(at(59_999, pool, nodeClass)).toEqual(['general']);
        expect(at(60_000, pool, nodeClass)).toEqual([]);
      }
    },
  );

  /** A pool whose class was made so long after it, or not at all, in a snapshot of so long after the pool. */
  const withClassAt = (ms: number, classMs: number | null, reason: string): ReadonlyMap<string, number> => {
    const metadata = { name: 'default', creationTimestamp: new Date(START + (classMs ?? 0)).toISOString() };
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
    const conditions = [
      { type: 'NodeClassReady', status: 'False', reason },
      { type: 'Ready', status: 'False' },
    ];
    const pool = { metadata: named('general'), spec: { template: { spec: { nodeClassRef } } }, status: { conditions } };
    const nodeClasses = classMs === null ? [] : [{ metadata, spec: {}, ...judged('True') }];
    return unjudgedPools({ nodePools: [pool], nodeClasses } as unknown as Snapshot, START + ms);
  };

  test('are those whose class is not there, for five seconds, as it may have been made together with them', () => {
    expect([...withClassAt(4_999, null, 'NodeClassNotFound')]).toEqual([['general', START + 5_000]]);
    expect([...withClassAt(5_000, null, 'NodeClassNotFound')]).toEqual([]);
  });

  test('are those that were judged when their class, which is there now, was not, until a minute after it came', () => {
    expect([...withClassAt(80_000, 30_000, 'NodeClassNotFound')]).toEqual([['general', START + 90_000]]);
    expect([...withClassAt(90_000, 30_000, 'NodeClassNotFound')]).toEqual([]);
    expect([...withClassAt(31_000, 30_000, 'SubnetNotFound')]).toEqual([]);
  });

  test('are none whose Ready and whose class’s Ready are True or False', () => {
    for (const pool of ['True', 'False']) {
      for (const nodeClass of ['True', 'False']) expect(at(0, pool, nodeClass)).toEqual([]);
    }
  });
});

describe('that a pod cannot be placed', () => {
  /** A pod too large for the pool that is ready, and another pool whose class is so; the events after a look. */
  async function told(ready: string | null, afterMs: number): Promise<ReadonlyArray<unknown>> {
    const { ports, server, clock, addClass, addPool, addPod } = smallCluster();
    addClass('True');
    addPool();
    addClass(ready, 'new');
    addPool('new', 'new');
    addPod('large', '64');
    clock.advance(afterMs);
    expect(await provision(ports)).toEqual({ kind: 'nothing-to-launch', left: 1 });
    return server.list('events').map((event) => (event as unknown as { readonly reason: string }).reason);
  }

  test('is not told while one of the pools that refused it may turn out to take it', async () => {
    expect(await told(null, 30_000)).toEqual([]);
    expect(await told('Unknown', 30_000)).toEqual([]);
  });

  test('is not told while the only pool there is may turn out to take it', async () => {
    const { ports, server, clock, addClass, addPool, addPod } = smallCluster();
    addClass(null);
    addPool();
    addPod('a');
    clock.advance(20_000);
    expect(await provision(ports)).toEqual({ kind: 'nothing-to-launch', left: 1 });
    expect(server.list('events')).toEqual([]);
  });

  test('is looked at again when the pools that may still take the first of them should have been judged', async () => {
    const { ports, clock, sent, addClass, addPool, addPod } = smallCluster();
    addClass('True');
    addPool();
    addPod('large', '64');
    clock.advance(30_000);
    expect(await provision(ports)).toEqual({ kind: 'nothing-to-launch', left: 1 });
    const woken = () => sent.flatMap(({ hint, atMs }) => ('reason' in hint ? [[hint.reason, atMs]] : []));
    expect(woken()).toEqual([]);
    addClass(null, 'new');
    addPool('new', 'new');
    addPool('early', 'nowhere');
    await provision(ports);
    expect(woken()).toEqual([['pools-not-judged', clock.now() + 60_250]]);
  });

  test('is told when all of them have been judged, or should have been', async () => {
    expect(await told('False', 30_000)).toEqual(['FailedScheduling']);
    expect(await told(null, 60_000)).toEqual(['FailedScheduling']);
  });
});
