import { describe, expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { START, smallCluster } from '../../../../kit/app/small-cluster.ts';
import { offering, size } from '../../../../kit/core/build.ts';

/** A claim `c` of a class whose condition Ready says that, and what one look makes of it. */
async function launched(ready: string | null, change: (cluster: ReturnType<typeof smallCluster>) => void = () => {}) {
  const cluster = smallCluster();
  cluster.addClass(ready);
  cluster.addClaim('c');
  change(cluster);
  const outcome = await follow(cluster.ports, { kind: 'NodeClaim', name: 'c' });
  return { ...cluster, outcome, orders: cluster.azure.orders };
}

describe('a claim whose class', () => {
  test('is in order is launched', async () => {
    expect((await launched('True')).orders).toHaveLength(1);
  });

  test('nobody has judged yet waits for that, and says so', async () => {
    const { orders, outcome, conditionOf, stateOf } = await launched(null);
    const message = 'AKSNodeClass default has not been checked yet';
    expect(outcome).toEqual({ kind: 'wait', for: message, lookAgainMs: START + 5_000 });
    const condition = { status: 'Unknown', reason: 'NodeClassReadinessUnknown', message };
    expect(conditionOf('c', 'Launched')).toMatchObject(condition);
    expect([orders, stateOf('c')]).toEqual([[], 'there']);
  });

  test.each<readonly [string, string | null, (cluster: ReturnType<typeof smallCluster>) => void, string]>([
    ['is not in order', 'False', () => {}, 'default is not ready: as the test says'],
    [
      'has been gone for as long as one may come late',
      'True',
      ({ server, clock }) => {
        server.remove('aksnodeclasses', 'default');
        clock.advance(5_000);
      },
      'default does not exist: create it, or correct nodeClassRef.name',
    ],
    [
      'is being deleted',
      'True',
      ({ server }) => {
        server.patch('aksnodeclasses', 'default', { metadata: { finalizers: ['held'] } }, 'object');
        server.delete('aksnodeclasses', 'default');
      },
      'default is being deleted',
    ],
  ])('%s is given up, and its event says why', async (_, ready, change, message) => {
    const { orders, server, stateOf } = await launched(ready, change);
    expect([orders, stateOf('c')]).toEqual([[], 'leaving']);
    const events = server.list('events') as ReadonlyArray<Fields>;
    const told = events.map(({ reason, message: text }) => [reason, text]);
    expect(told).toContainEqual(['NodeClassNotReady', `AKSNodeClass ${message}`]);
  });
});

test('what an eviction costs in its pool decides whether a claim is launched as spot', async () => {
  const capacityOf = async (annotations: Readonly<Record<string, string>>): Promise<unknown> => {
    const { orders } = await launched('True', ({ outside, server }) => {
      const spot = { ...offering('westeurope-1', 'spot', 90_000), evictionsPerHour: 0.1 };
      const offerings = [spot, offering('westeurope-1', 'on-demand', 100_000)];
      outside.types = [size('Standard_D2_v5', 2, 8, 100_000, { offerings })];
      server.patch('nodeclaims', 'c', { metadata: { annotations } }, 'object');
    });
    return orders.map((order) => order.offering.capacityType);
  };
  const said = [{}, { 'nodewright.dev/eviction-cost': '2h' }];
  expect(await Promise.all(said.map(capacityOf))).toEqual([['spot'], ['on-demand']]);
});
