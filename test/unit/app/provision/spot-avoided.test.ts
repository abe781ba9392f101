import { expect, test } from 'vitest';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { InstanceType } from '../../../../shared/core/model/catalog.ts';
import { smallCluster } from '../../../kit/app/small-cluster.ts';
import { size } from '../../../kit/core/build.ts';

const until = '2026-11-26T12:00:00.000Z';

interface Trouble {
  readonly evicted: number;
  readonly refusedSizes: number;
}

/** A size of which spot costs a quarter; `trouble`: what makes it count as more than on demand. */
function sizeWith(trouble: Trouble | null): InstanceType {
  const found = size('Standard_D2_v5', 2, 8, 100_000);
  if (trouble === null) return found;
  const storm = { ...trouble, of: trouble.evicted, evictionsPerHour: 20, until };
  return {
    ...found,
    offerings: found.offerings.map((one) => (one.capacityType === 'spot' ? { ...one, storm } : one)),
  };
}

test.each<readonly [string, Trouble | null, ReadonlyArray<object>]>([
  ['no spot of many sizes', { evicted: 0, refusedSizes: 5 }, [{ refusedSizes: 5, until }]],
  // Of these the NodePool has an event.
  ['many spot VMs back', { evicted: 5, refusedSizes: 0 }, []],
  ['spot', null, []],
])('a decision for on-demand VMs says why, where Azure had %s', async (_, trouble, expected) => {
  const { ports: plain, outside, server, clock, addClass, addPool, addPod } = smallCluster();
  const lines: Array<object> = [];
  const log = (event: string, facts: object): void => {
    if (event === 'spot-avoided') lines.push(facts);
  };
  const ports = { ...plain, log };
  outside.types = [sizeWith(trouble)];
  addClass('True');
  addPool();
  const requirements = [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] }];
  server.patch('nodepools', 'general', { spec: { template: { spec: { requirements } } } }, 'object');
  addPod('a');
  clock.advance(20_000);
  expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
  expect(lines).toEqual(expected.map((one) => expect.objectContaining(one) as unknown));
});
