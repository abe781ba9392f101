import { expect, test } from 'vitest';
import { placeOf, sizesOf } from '../../../../shared/core/audit/seen/audited-sizes.ts';
import { offering, pool, size, zones } from '../build.ts';

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
  const { labels } = sizes.nodeOf(pool('general'), { ...place, zone: 'elsewhere' });
  expect(labels.get('topology.kubernetes.io/zone')).toEqual(['elsewhere']);
});
