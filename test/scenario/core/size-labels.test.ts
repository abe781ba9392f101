import { describe, expect, test } from 'vitest';
import { knownRegions, readShippedSizes } from '../../../cli/catalog/shipped-sizes.ts';
import { toInstanceTypes } from '../../../shared/adapters/azure/catalog/instance-types.ts';
import { isTypeLevelKey } from '../../../shared/kubernetes/labels.ts';
import { restrictedLabels, wellKnownLabels, wellKnownValues } from '../../../shared/kubernetes/pool-labels.ts';

/**
 * A label of VM sizes stands in three lists: what sizes have, what a NodePool may name, and what the size alone
 * decides. One that is missing in one of them shows in no plan of a size that has it.
 */
const settings = {
  nodeResourceGroup: 'MC_group_cluster_westeurope',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  memoryOverhead: 0.075,
};

/** Classes that among them take every size. */
const classes = [{}, { gpu: { mode: 'None' } }, { imageFamily: 'AzureLinux', fipsMode: 'FIPS' }];
const types = knownRegions().flatMap((location) =>
  classes.flatMap((spec) =>
    toInstanceTypes(
      readShippedSizes(location).skus,
      { metadata: { name: 'default' }, spec },
      { ...settings, location },
      () => false,
    ),
  ),
);
const pairs = types.flatMap(({ labels }) =>
  Object.entries(labels).flatMap(([key, values]) => values.map((value) => [key, value] as const)),
);
/** Each key with all its values. */
const given = new Map(
  [...Map.groupBy(pairs, ([key]) => key)].map(([key, own]) => [key, new Set(own.map(([, value]) => value))] as const),
);

const ofSizes = (key: string): boolean => key.startsWith('karpenter.azure.com/sku-');

describe('labels of the sizes that the command ships with', () => {
  test('may all be named by a NodePool', () => {
    expect([...given.keys()].filter((key) => !wellKnownLabels.has(key))).toEqual([]);
  });

  test('are decided by the size alone, so that a size without one does not have it', () => {
    const wanted = [...wellKnownLabels].filter(ofSizes);
    expect(wanted.length).toBeGreaterThan(12);
    expect(wanted.filter((key) => !isTypeLevelKey(key))).toEqual([]);
    expect([...given.keys()].filter((key) => isTypeLevelKey(key) && restrictedLabels.has(key))).toEqual([]);
  });

  test('that a NodePool may name are on some size, but for one that Karpenter gives to none either', () => {
    const onNone = [...wellKnownLabels].filter((key) => ofSizes(key) && !given.has(key));
    expect(onNone).toEqual(['karpenter.azure.com/sku-storage-ultra-ssd']);
  });

  test('have only values that a NodePool may ask for, and say so where they are true or false', () => {
    for (const [key, values] of given) {
      const named = wellKnownValues.get(key);
      if (named !== undefined) expect([...values].filter((value) => !named.includes(value))).toEqual([]);
      if (values.has('false')) expect([key, named]).toEqual([key, ['true', 'false']]);
    }
  });
});
