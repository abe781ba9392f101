import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Cloud } from '../../../../sandbox/azure/state/cloud.ts';
import { type AzureOptions, azureDefaults } from '../../../../sandbox/azure/state/options.ts';
import { listSkus, usagesOf } from '../../../../sandbox/azure/routes/catalog.ts';
import { readSizes } from '../../../../sandbox/azure/catalog/sizes.ts';
import type { LoggedRefusal } from '../../../../sandbox/quota/quota-refusals.ts';
import { type QuotaWatch, watchQuota } from '../../../../sandbox/quota/watch-quota.ts';
import { systemClock } from '../../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../../sandbox/base/rng.ts';
import type { NodePool, PodSpec } from '../../../../shared/kubernetes/manifest.ts';

const sizes = readSizes(join(import.meta.dirname, '../../../../sandbox/azure/data'), 'westeurope');
const NOW = 1_000_000;

/** On-demand machines of the one size, unless told otherwise. */
function pool(change: Partial<NodePool['spec']['template']['spec']> = {}, labels = {}): NodePool {
  const requirements = [
    { key: 'karpenter.sh/capacity-type', operator: 'In' as const, values: ['on-demand'] },
    { key: 'node.kubernetes.io/instance-type', operator: 'In' as const, values: ['Standard_D4s_v5'] },
  ];
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
  return {
    metadata: { name: 'pool' },
    spec: { template: { metadata: { labels }, spec: { nodeClassRef, requirements, ...change } } },
  };
}

function watch(quota: Partial<AzureOptions['quota']>, own: NodePool, change: Partial<AzureOptions> = {}): QuotaWatch {
  const options = { ...azureDefaults, ...change, quota: { ...azureDefaults.quota, ...quota } };
  const cloud = new Cloud({ ...options, port: 0, clock: systemClock, rng: rngFrom('test') }, sizes);
  return watchQuota({
    azure: {
      usages: () => usagesOf(cloud),
      skus: () => listSkus(cloud),
      isFull: (placement) => cloud.capacity.isFull(placement),
    },
    sizes,
    settings: {
      location: 'westeurope',
      nodeResourceGroup: 'group',
      networkPlugin: 'azure',
      networkPluginMode: 'overlay',
      memoryOverhead: 0.075,
    },
    pools: () => [own],
    classes: () => new Map([['default', { metadata: { name: 'default' }, spec: {} }]]),
  });
}

function pods(count: number, cpu: string, more: Partial<PodSpec> = {}): ReadonlyArray<PodSpec> {
  const spec = { containers: [{ name: 'c', resources: { requests: { cpu } } }], ...more };
  return Array.from({ length: count }, () => spec);
}

function names(given: QuotaWatch, specs: ReadonlyArray<PodSpec>, at = NOW): ReadonlyArray<string> {
  return given.shortages(specs, at).map(({ name }) => name);
}

describe('the watch over quota', () => {
  test('counts pods, and suggests a limit by how many of them a machine of the NodePool holds', () => {
    expect(watch({ totalRegionalCores: 3 }, pool()).shortages(pods(7, '1'), NOW)).toEqual([
      { name: 'cores', used: 0, limit: 3, pods: 7, suggested: 12, others: 0 },
    ]);
  });

  test('names the family of the sizes that the NodePool allows', () => {
    const short = watch({ families: { standardDSv5Family: 2 } }, pool());
    expect(names(short, pods(1, '1'))).toEqual(['standardDSv5Family']);
    expect(names(watch({ families: { standardDDSv5Family: 2 } }, pool()), pods(1, '1'))).toEqual([]);
  });

  test.each<[string, NodePool, ReadonlyArray<PodSpec>]>([
    ['asks for more than any size has', pool(), pods(1, '64')],
    ['does not tolerate the NodePool', pool({ taints: [{ key: 'a', effect: 'NoSchedule' }] }), pods(1, '1')],
    ['asks for a label that no node has', pool(), pods(1, '1', { nodeSelector: { team: 'a' } })],
    [
      'asks for another capacity type',
      pool(),
      pods(1, '1', { nodeSelector: { 'karpenter.sh/capacity-type': 'spot' } }),
    ],
  ])('says nothing of a pod that %s: more quota would not help it', (_, own, specs) => {
    expect(names(watch({ totalRegionalCores: 0 }, own), specs)).toEqual([]);
  });

  test.each<[string, Partial<NodePool>]>([
    ['has a fixed number of nodes', { spec: { ...pool().spec, replicas: 1 } }],
    ['is not ready', { status: { conditions: [{ type: 'Ready', status: 'False' }] } }],
    ['is being deleted', { metadata: { name: 'pool', deletionTimestamp: '2026-11-21T12:00:00Z' } }],
  ])('counts on no NodePool that %s', (_, change) => {
    expect(names(watch({ totalRegionalCores: 0 }, { ...pool(), ...change }), pods(1, '1'))).toEqual([]);
  });

  test('knows the labels that a NodePool gives its nodes', () => {
    const own = pool({}, { team: 'a' });
    expect(names(watch({ totalRegionalCores: 0 }, own), pods(1, '1', { nodeSelector: { team: 'a' } }))).toEqual([
      'cores',
    ]);
  });

  test('says nothing where Azure has sold out or withholds what quota stands before as well', () => {
    const exhaustion = {
      size: 'Standard_D4s_v5',
      zone: null,
      capacityType: null,
      code: 'AllocationFailed',
      remaining: 0,
    };
    const soldOut = watch({ totalRegionalCores: 0 }, pool(), { exhaustions: [exhaustion as never] });
    expect(names(soldOut, pods(1, '1'))).toEqual([]);
    const restrictions = [{ size: 'Standard_D4s_v5', zones: [] }];
    expect(names(watch({ totalRegionalCores: 0 }, pool(), { restrictions }), pods(1, '1'))).toEqual([]);
  });

  test('remembers a refusal for quota as long as the product does, and no other refusal', () => {
    const given = watch({}, pool());
    const refusal: LoggedRefusal = {
      instanceType: 'Standard_D4s_v5',
      zone: 'westeurope-1',
      capacityType: 'on-demand',
      reason: 'RegionalQuotaReached',
      message: 'exceeding approved Total Regional Cores quota. Location: westeurope, Current Limit: 8',
    };
    given.tell({ ...refusal, reason: 'SKUNotAvailable' }, NOW);
    expect(names(given, pods(1, '1'))).toEqual([]);
    given.tell(refusal, NOW);
    expect(names(given, pods(1, '1'), NOW + 3 * 60_000 - 1)).toEqual(['cores']);
    expect(names(given, pods(1, '1'), NOW + 3 * 60_000)).toEqual([]);
  });
});
