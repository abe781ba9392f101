import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { consolidated } from '../../../kit/app/consolidated.ts';
import { machine } from '../../../kit/app/small-cluster.ts';
import { offering, size, zones } from '../../../kit/core/build.ts';

/** What a replacement may be launched as when Azure refuses what was planned: nothing that takes the saving away. */

const ANY: Fields = { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] };
const TYPE = 'node.kubernetes.io/instance-type';
const cpu = (amount: string): Fields => ({ spec: { containers: [{ resources: { requests: { cpu: amount } } }] } });

/** One node of `cores` with a small pod, in a pool with `requirements`, looked at once. */
async function begun(cores: number, requirements: ReadonlyArray<Fields>, types = consolidatedTypes) {
  const cluster = consolidated();
  const { server, outside, ports } = cluster;
  for (const name of ['spare', 'used']) {
    server.remove('nodes', `aks-${name}`);
    server.remove('nodeclaims', name);
  }
  server.remove('pods', 'default/web');
  outside.types = types;
  server.patch('nodepools', 'general', { spec: { template: { spec: { requirements } } } }, 'object');
  cluster.addReady('old', cores);
  cluster.addRunning('web', 'old', cpu('500m'));
  const outcome = await disrupt(ports);
  const claim = server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'old');
  const listed = (key: string): ReadonlyArray<string> | undefined =>
    (claim?.spec?.['requirements'] as ReadonlyArray<Fields> | undefined)?.find((one) => one['key'] === key)?.[
      'values'
    ] as ReadonlyArray<string> | undefined;
  return { ...cluster, outcome, claim: claim?.metadata.name ?? '', listed };
}

const consolidatedTypes = [
  size('Standard_D2_v5', 2, 8, 100_000),
  size('Standard_D4_v5', 4, 16, 200_000),
  size('Standard_D8_v5', 8, 32, 400_000),
];

describe('a replacement of spot', () => {
  test('is of spot or none: where Azure has none, the node stays and nothing on demand is bought [L04]', async () => {
    const { ports, outside, claim, listed, azure, clock, stateOf, outcome } = await begun(2, [ANY]);
    expect([outcome.kind, listed('karpenter.sh/capacity-type')]).toEqual(['begun', ['spot']]);
    outside.launch = ({ claim: name, offering: { capacityType } }) =>
      capacityType === 'spot'
        ? { kind: 'unavailable', scope: 'offering', reason: 'SkuNotAvailable', message: 'none', retryAfterMs: 60_000 }
        : { kind: 'accepted', machine: machine(name) };
    await follow(ports, { kind: 'NodeClaim', name: claim });
    expect(new Set(azure.orders.map((order) => order.offering.capacityType))).toEqual(new Set(['spot']));
    expect(azure.machines.size).toBe(0);
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(stateOf('old')).toBe('there');
  });
});

describe('a replacement on demand', () => {
  const onDemand: Fields = { ...ANY, values: ['on-demand'] };

  test('is of sizes that cost less than the node: larger ones are not among what it may be [L04]', async () => {
    const { listed, outcome } = await begun(8, [onDemand]);
    expect([outcome.kind, listed(TYPE)]).toEqual(['begun', ['Standard_D2_v5', 'Standard_D4_v5']]);
  });

  test('is of sizes that do so in every zone where they may come from [L04]', async () => {
    const uneven = size('Standard_D4_v5', 4, 16, 200_000, {
      offerings: zones.map((zone, index) => offering(zone, 'on-demand', index === 0 ? 200_000 : 400_000)),
    });
    const [small, , large] = consolidatedTypes;
    const types = [small, uneven, large].flatMap((one) => one ?? []);
    expect((await begun(8, [onDemand], types)).listed(TYPE)).toEqual(['Standard_D2_v5']);
  });

  test.each([
    [2, 'begun'],
    [3, 'idle'],
  ])('is made where minValues asks for %i sizes and two are cheaper: %s [L04]', async (minValues, kind) => {
    const sizes: Fields = { key: TYPE, operator: 'Exists', minValues };
    const { outcome, listed } = await begun(8, [onDemand, sizes]);
    expect([outcome.kind, listed(TYPE)?.length]).toEqual([kind, kind === 'begun' ? 2 : undefined]);
  });

  test('is not made where minValues asks for more capacity types than the one that is bought [L04]', async () => {
    const { outcome } = await begun(8, [{ ...ANY, minValues: 2 }]);
    expect(outcome).toEqual({
      kind: 'refused',
      why: 'minValues requires more instance types than there are cheaper ones',
    });
  });

  test('of a node that has drifted may be anything: that is not about its price [L03]', async () => {
    const cluster = await begun(2, [onDemand], consolidatedTypes.slice(0, 1));
    const conditions = cluster.server.get('nodeclaims', 'old')?.status?.['conditions'] as ReadonlyArray<Fields>;
    const drifted = {
      type: 'Drifted',
      status: 'True',
      lastTransitionTime: new Date(cluster.clock.now()).toISOString(),
    };
    cluster.server.patch('nodeclaims', 'old', { status: { conditions: [...conditions, drifted] } }, 'status');
    cluster.outside.types = consolidatedTypes;
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'begun', replacements: 1 });
    const made = cluster.server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'old');
    const requirements = made?.spec?.['requirements'] as ReadonlyArray<Fields>;
    expect(requirements.find((one) => one['key'] === TYPE)?.['values']).toHaveLength(3);
  });
});
