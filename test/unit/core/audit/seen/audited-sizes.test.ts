import { expect, test } from 'vitest';
import { isPlace, placeOf, sizesOf } from '../../../../../shared/core/audit/seen/audited-sizes.ts';
import { offering, pool, size, zones } from '../../../../kit/core/build.ts';

const [z1, z2] = zones;
const place = { instanceType: 'Standard_D2s_v5', zone: z1, capacityType: 'on-demand' } as const;
const types = [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_D4s_v5', 4, 16, 200_000)];

test('a size that two pools share is labelled for each pool by itself, in whatever order they are asked', () => {
  const [red, blue] = [pool('red', { labels: { team: 'red' } }), pool('blue', { labels: { team: 'blue' } })];
  const sizes = sizesOf(new Map([red, blue].map(({ metadata }) => [metadata.name, types])));
  const teams = [red, blue, red].map((one) => sizes.nodeOf(one, place).labels.get('team'));
  expect(teams).toEqual([['red'], ['blue'], ['red']]);
});

test('two sizes that share their offerings are told apart', () => {
  const shared = [offering(z1, 'on-demand', 100_000)];
  const twins = types.map((type) => ({ ...type, offerings: shared }));
  const general = pool('general');
  const sizes = sizesOf(new Map([['general', twins]]));
  const names = twins.flatMap((type) => shared.map((one) => sizes.nodeOf(general, placeOf(type.name, one)).labels));
  expect(names.map((labels) => labels.get('node.kubernetes.io/instance-type'))).toEqual([
    ['Standard_D2s_v5'],
    ['Standard_D4s_v5'],
  ]);
});

test('of sizes with one name the first counts, and no pool has those of another', () => {
  const second = size('Standard_D2s_v5', 64, 8, 1);
  const sizes = sizesOf(
    new Map([
      ['general', [...types, second]],
      ['other', [second]],
    ]),
  );
  expect(sizes.typeOf('general', 'Standard_D2s_v5')?.capacity['cpu']).toBe(2);
  expect(sizes.typeOf('other', 'Standard_D2s_v5')?.capacity['cpu']).toBe(64);
  expect(sizes.typeOf('other', 'Standard_D4s_v5')).toBeUndefined();
  expect(sizes.typeOf('none', 'Standard_D4s_v5')).toBeUndefined();
});

test('a label of the template that an offering contradicts is told of that offering alone', () => {
  const general = pool('general', { labels: { 'topology.kubernetes.io/zone': z2 } });
  const sizes = sizesOf(new Map([['general', types]]));
  const contradicts = [z1, z2, z1].map((zone) => sizes.nodeOf(general, { ...place, zone }).contradictsTemplate);
  expect(contradicts).toEqual([true, false, true]);
});

test('an offering that is nowhere in the catalog is labelled as the plan states it', () => {
  const sizes = sizesOf(new Map([['general', types]]));
  const general = pool('general');
  for (const zone of ['elsewhere', 'nowhere']) {
    const { labels } = sizes.nodeOf(general, { ...place, zone });
    expect(labels.get('topology.kubernetes.io/zone')).toEqual([zone]);
  }
  for (const instanceType of ['Standard_X1', 'Standard_X2']) {
    const { labels } = sizes.nodeOf(general, { ...place, instanceType });
    expect(labels.get('node.kubernetes.io/instance-type')).toEqual([instanceType]);
  }
});

test('an offering is told by its zone, its capacity type and its reservation', () => {
  const reserved = { ...offering(z1, 'reserved', 1), reservation: { id: 'r', remaining: 1 } };
  const its = placeOf('Standard_D2s_v5', reserved);
  expect(its).toEqual({ instanceType: 'Standard_D2s_v5', zone: z1, capacityType: 'reserved', reservationId: 'r' });
  expect(placeOf('Standard_D2s_v5', offering(z1, 'spot', 1))).not.toHaveProperty('reservationId');
  expect(isPlace(reserved, its)).toBe(true);
  expect(isPlace(reserved, { ...its, zone: z2 })).toBe(false);
  expect(isPlace(reserved, { ...its, capacityType: 'spot' })).toBe(false);
  expect(isPlace(reserved, { ...its, reservationId: 's' })).toBe(false);
});

test('a node has the labels of its size, its offering, its pool and its class, by their present names', () => {
  const own = { ...offering(z1, 'on-demand', 1), labels: { rack: 'a' } };
  const labels = { 'beta.kubernetes.io/arch': ['arm64'], 'example.com/cores': ['2'] };
  const sizes = sizesOf(new Map([['general', [{ ...size('Standard_D2s_v5', 2, 8, 1), labels, offerings: [own] }]]]));
  const found = Object.fromEntries(sizes.nodeOf(pool('general', { labels: { team: 'red' } }), place).labels);
  expect(found).toEqual({
    'kubernetes.io/arch': ['arm64'],
    'example.com/cores': ['2'],
    rack: ['a'],
    team: ['red'],
    'node.kubernetes.io/instance-type': ['Standard_D2s_v5'],
    'topology.kubernetes.io/zone': [z1],
    'karpenter.sh/capacity-type': ['on-demand'],
    'karpenter.sh/nodepool': ['general'],
    'karpenter.sh/registered': ['true'],
    'karpenter.sh/initialized': ['true'],
    'karpenter.azure.com/aksnodeclass': ['default'],
  });
});

test('a template says of its nodes nothing that their size, their offering or the plan says otherwise', () => {
  const own = { ...offering(z1, 'on-demand', 1), labels: { rack: 'a' } };
  const sizes = sizesOf(new Map([['general', [{ ...size('Standard_D2s_v5', 2, 8, 1), offerings: [own] }]]]));
  const contradicts = (labels: Readonly<Record<string, string>>) =>
    sizes.nodeOf(pool('general', { labels }), place).contradictsTemplate;
  for (const labels of [{ rack: 'b' }, { 'kubernetes.io/arch': 'arm64' }, { 'beta.kubernetes.io/arch': 'arm64' }]) {
    expect(contradicts(labels)).toBe(true);
  }
  expect(contradicts({ 'node.kubernetes.io/instance-type': 'other' })).toBe(true);
  expect(contradicts({ 'karpenter.sh/capacity-type': 'spot' })).toBe(true);
  const agreed = {
    rack: 'a',
    'karpenter.sh/capacity-type': 'on-demand',
    'node.kubernetes.io/instance-type': place.instanceType,
  };
  expect(contradicts({ ...agreed, 'kubernetes.io/arch': 'amd64', team: 'red' })).toBe(false);
  const { metadata, spec } = pool('general');
  const bare = { metadata, spec: { ...spec, template: { spec: spec.template.spec } } };
  expect(sizes.nodeOf(bare, place).contradictsTemplate).toBe(false);
});
