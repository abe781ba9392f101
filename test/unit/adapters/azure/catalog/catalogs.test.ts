import { gunzipSync, gzipSync } from 'node:zlib';
import type { ResourceSku } from '@azure/arm-compute';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MemoryBlobs } from '../../../../simulation/world/memory-blobs.ts';
import { createCatalogs, type AzureCatalogs } from '../../../../../shared/adapters/azure/catalog/catalogs.ts';
import type { Clients } from '../../../../../shared/adapters/azure/calls/clients.ts';
import { microUsdPerHour } from '../../../../../shared/core/quantity/units.ts';
import type { RefusedOffering } from '../../../../../shared/ports/cloud.ts';
import type { Blobs } from '../../../../../shared/ports/blobs.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { armError } from '../../../../kit/azure/fake-azure.ts';

const HOUR = 3_600_000;
const START = 1_000_000_000;
const nodeClass = { metadata: { name: 'd' }, spec: {} };

function size(name: string, vCPUs = '4'): ResourceSku {
  const capabilities = Object.entries({
    vCPUs,
    MemoryGB: '16',
    HyperVGenerations: 'V2',
    LowPriorityCapable: 'True',
    CpuArchitectureType: 'x64',
  }).map(([key, value]) => ({ name: key, value }));
  return {
    resourceType: 'virtualMachines',
    name,
    family: 'standardDSv5Family',
    locationInfo: [{ location: 'westeurope', zones: ['1', '2'] }],
    capabilities,
  };
}

const d4 = 'Standard_D4s_v5';
const d8 = 'Standard_D8s_v5';

/** Azure as the instances of one deployment see it: what it lists, and how often it was asked. */
function openRegion() {
  const blobs = new MemoryBlobs();
  const state = {
    nowMs: START,
    sizes: [size(d4), size(d8, '8')] as ReadonlyArray<ResourceSku> | Error,
    quotas: [] as ReadonlyArray<object> | Error,
    asked: [] as Array<string>,
  };
  async function* rows<T>(all: ReadonlyArray<T> | Error): AsyncIterable<T> {
    if (all instanceof Error) throw all;
    yield* all;
  }
  const compute = {
    resourceSkus: {
      list: ({ filter }: { readonly filter: string }) => rows((state.asked.push(filter), state.sizes)),
    },
    usage: { list: (location: string) => rows((state.asked.push(`usage ${location}`), state.quotas)) },
  };
  const clients = { compute: () => Promise.resolve(compute) } as unknown as Clients;
  const instance = (shared: Blobs = blobs, currency = 'USD'): AzureCatalogs =>
    createCatalogs({
      cluster: 'c',
      subscription: 's',
      clients,
      blobs: shared,
      pricesEndpoint: 'http://prices',
      currency,
      now: () => state.nowMs,
      settings: {
        location: 'westeurope',
        nodeResourceGroup: 'MC_g_c_we',
        networkPlugin: 'azure',
        networkPluginMode: 'overlay',
        memoryOverhead: 0.075,
      },
    });
  return { blobs, state, instance };
}

beforeEach(() => {
  const price = (skuName: string, retailPrice: number, currencyCode: string): object => ({
    armSkuName: d4,
    skuName,
    meterName: skuName,
    productName: 'Virtual Machines Dsv5 Series',
    unitOfMeasure: '1 Hour',
    type: 'Consumption',
    retailPrice,
    currencyCode,
  });
  vi.spyOn(globalThis, 'fetch').mockImplementation((url) => {
    // Half as many of any other currency.
    const currency = /currencyCode=%27(\w+)%27/.exec(String(url))?.[1] ?? 'none';
    const [onDemand, spot] = currency === 'USD' ? [0.2, 0.04] : [0.1, 0.02];
    const items = [price('D4s v5', onDemand, currency), price('D4s v5 Spot', spot, currency)];
    return Promise.resolve({ ok: true, json: () => Promise.resolve({ Items: items }) } as Response);
  });
});
afterEach(() => void vi.restoreAllMocks());

const refused = (parts: Partial<RefusedOffering> = {}, instanceType = d4, zone = 'westeurope-1'): RefusedOffering => ({
  scope: 'offering',
  offering: { instanceType, zone, capacityType: 'on-demand', price: microUsdPerHour(1) },
  untilMs: START + HOUR,
  reason: 'X',
  ...parts,
});

/** The zones in which a size can be had on demand. */
async function available(catalogs: AzureCatalogs, name = d4): Promise<ReadonlyArray<string>> {
  const found = (await catalogs.instanceTypes(nodeClass)).find((one) => one.name === name)?.offerings ?? [];
  const open = found.filter((one) => one.available && one.capacityType === 'on-demand' && one.zone !== '0');
  return open.map(({ zone }) => zone.slice(zone.lastIndexOf('-') + 1));
}

test('spot of a zone where Azure had none of three sizes counts as in a storm for ten minutes, on all instances', async () => {
  const { state, instance } = openRegion();
  const family = (name: string): ResourceSku => ({ ...size(name), family: `standard${name.charAt(9)}Family` });
  const names = [d4, 'Standard_E4s_v5', 'Standard_F4s_v2'];
  state.sizes = names.map(family);
  const [first, second] = [instance(), instance()];
  const stormIn = async (zone: string): Promise<unknown> => {
    const found = (await second.instanceTypes(nodeClass)).find(({ name }) => name === d4)?.offerings ?? [];
    return found.find((one) => one.capacityType === 'spot' && one.zone === `westeurope-${zone}`)?.storm?.refusedSizes;
  };
  const spotOf = (name: string): RefusedOffering => {
    const one = refused({ scope: 'zone', reason: 'ZonalAllocationFailed' }, name);
    return { ...one, offering: { ...one.offering, capacityType: 'spot' } };
  };
  await first.refuse(names.slice(0, 2).map(spotOf));
  expect(await stormIn('1')).toBeUndefined();
  await first.refuse(names.slice(2).map(spotOf));
  state.nowMs += 60_000;
  expect([await stormIn('1'), await stormIn('2')]).toEqual([3, undefined]);
  state.nowMs += 9 * 60_000;
  expect(await stormIn('1')).toBeUndefined();
});

describe('the sizes of a region', () => {
  test('are listed and priced once, and kept for all instances and restarts', async () => {
    const { state, instance, blobs } = openRegion();
    const first = instance();
    expect(await first.sku(d4)).toMatchObject({ vCpus: 4, onDemandMicroUsd: 200_000, spotMicroUsd: 40_000 });
    expect(await first.sku(d8)).toMatchObject({ onDemandMicroUsd: null, spotMicroUsd: null });
    expect(await first.sku('Standard_X')).toBeNull();
    expect(await instance().sku(d4)).toEqual(await first.sku(d4));
    expect(state.asked).toEqual(["location eq 'westeurope'"]);
    expect(blobs.readNow('westeurope.USD.json.gz')).not.toBeNull();
  });

  test('have the prices of the currency that is set, and another’s are kept apart', async () => {
    const { instance, blobs } = openRegion();
    const [dollars, euros] = [instance(), instance(blobs, 'EUR')];
    expect([dollars.currency, euros.currency]).toEqual(['USD', 'EUR']);
    expect(await dollars.sku(d4)).toMatchObject({ onDemandMicroUsd: 200_000 });
    // What is kept in dollars is young, and of no use.
    expect(await euros.sku(d4)).toMatchObject({ onDemandMicroUsd: 100_000 });
    expect(await instance().sku(d4)).toMatchObject({ onDemandMicroUsd: 200_000 });
  });

  test('are what a class can have of them, by name alone, too', async () => {
    const { instance } = openRegion();
    expect([...(await instance().instanceTypeNames(nodeClass))]).toContain(d4);
  });

  test('are listed anew after a day, by whichever instance first needs them', async () => {
    const { state, instance } = openRegion();
    const [first, second] = [instance(), instance()];
    await first.sku(d4);
    await second.sku(d4);
    state.nowMs += 24 * HOUR - 1;
    await first.sku(d4);
    await instance().sku(d4);
    expect(state.asked).toHaveLength(1);
    state.nowMs += 1;
    await first.sku(d4);
    await second.sku(d4);
    await instance().sku(d4);
    expect(state.asked).toHaveLength(2);
  });

  test('are listed anew once for all who ask at the same time, and after a failure by the next who asks', async () => {
    const { state, instance } = openRegion();
    const { sizes } = state;
    const catalogs = instance();
    await catalogs.sku(d4);
    state.nowMs += 24 * HOUR;
    state.sizes = armError(503, 'Busy');
    await expect(catalogs.sku(d4)).rejects.toBeInstanceOf(RetryableError);
    state.sizes = sizes;
    state.asked.length = 0;
    expect(await Promise.all([catalogs.sku(d4), catalogs.sku(d4), catalogs.sku(d8)])).not.toContain(null);
    expect(state.asked).toHaveLength(1);
    state.nowMs += 24 * HOUR;
    await Promise.all([catalogs.sku(d4), catalogs.sku(d4), catalogs.sku(d8)]);
    expect(state.asked).toHaveLength(2);
  });

  test('are listed anew when they are refreshed, and count at once', async () => {
    const { state, instance } = openRegion();
    const catalogs = instance();
    expect(await catalogs.sku('Standard_D16s_v5')).toBeNull();
    await available(catalogs);
    state.sizes = [size(d4), size('Standard_D16s_v5', '16')];
    await catalogs.refresh();
    expect(await catalogs.sku('Standard_D16s_v5')).toMatchObject({ vCpus: 16 });
    expect((await catalogs.instanceTypes(nodeClass)).map(({ name }) => name)).toContain('Standard_D16s_v5');
  });

  test('are never written over by a list of nothing', async () => {
    const { state, instance, blobs } = openRegion();
    const catalogs = instance();
    await catalogs.sku(d4);
    const before = blobs.readNow('westeurope.USD.json.gz');
    state.sizes = [{ resourceType: 'disks', name: 'P10' }];
    const failure = await catalogs.refresh().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: 'Azure lists no VM sizes for westeurope' });
    expect(blobs.readNow('westeurope.USD.json.gz')).toBe(before);
    expect(await catalogs.sku(d4)).not.toBeNull();
  });

  test('that cannot be listed are listed by the next who asks', async () => {
    const { state, instance } = openRegion();
    const { sizes } = state;
    state.sizes = armError(429, 'TooManyRequests', 'slow down', { 'retry-after': '7' });
    const catalogs = instance();
    const failure = await catalogs.sku(d4).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'RetryableError', retryAfterMs: 7_000 });
    expect((failure as Error).message).toBe('listing VM sizes of westeurope: 429 TooManyRequests slow down');
    state.sizes = sizes;
    expect(await catalogs.sku(d4)).not.toBeNull();
  });

  test.for([
    ['is of another version', gzipSync(JSON.stringify({ version: 1, builtAtMs: START, skus: [] }))],
    ['has no sizes', gzipSync(JSON.stringify({ version: 2, builtAtMs: START }))],
    ['is not packed', new TextEncoder().encode('{}')],
  ] as const)('are listed anew where the record %s', async ([, bytes]) => {
    const { blobs, instance } = openRegion();
    blobs.writeNow('westeurope.USD.json.gz', bytes, 'any');
    expect(await instance().sku(d4)).not.toBeNull();
    const stored = JSON.parse(gunzipSync(blobs.readNow('westeurope.USD.json.gz')?.bytes ?? '').toString()) as object;
    expect(stored).toMatchObject({ version: 2, builtAtMs: START });
  });
});

describe('what Azure refused', () => {
  const all = ['1', '2'];

  test('is not available until its time, to the instance that was refused at once and to others a second later', async () => {
    const { state, instance } = openRegion();
    const [first, second] = [instance(), instance()];
    expect([await available(first), await available(second)]).toEqual([all, all]);
    await first.refuse([refused()]);
    expect([await available(first), await available(second)]).toEqual([['2'], all]);
    state.nowMs += 999;
    expect(await available(second)).toEqual(all);
    state.nowMs += 1;
    expect(await available(second)).toEqual(['2']);
    state.nowMs = START + HOUR;
    expect([await available(first), await available(second)]).toEqual([all, all]);
  });

  test('adds to what others were refused, the longer time over the shorter', async () => {
    const { instance, state } = openRegion();
    await instance().refuse([refused()]);
    await instance().refuse([refused({ untilMs: START + 5 }), refused({}, d4, 'westeurope-2')]);
    state.nowMs += 10;
    expect(await available(instance())).toEqual([]);
  });

  test('covers a family by the sizes of the catalog', async () => {
    const { instance } = openRegion();
    const catalogs = instance();
    await catalogs.refuse([refused({ scope: 'family' }, d8)]);
    expect([await available(catalogs), await available(catalogs, d8)]).toEqual([all, []]);
  });

  test('is looked at again when the first of it ends', async () => {
    const { instance, state } = openRegion();
    const catalogs = instance();
    expect(await catalogs.nextRetryMs()).toBeNull();
    await catalogs.refuse([refused({ untilMs: START + 50_000 }), refused({ untilMs: START + 20_000 }, d8)]);
    expect(await catalogs.nextRetryMs()).toBe(START + 20_000);
    state.nowMs += 20_000;
    expect(await catalogs.nextRetryMs()).toBe(START + 50_000);
    state.nowMs += 30_000;
    expect(await catalogs.nextRetryMs()).toBeNull();
  });

  test('is not lost to another who writes at the same time', async () => {
    const { blobs, instance, state } = openRegion();
    let others = 7;
    const crowded: Blobs = {
      read: (name) => blobs.read(name),
      write: async (name, bytes, condition) => {
        if (name === 'c/refused.json' && others > 0) {
          others -= 1;
          await instance().refuse([refused({}, d4, `westeurope-${others + 2}`)]);
        }
        return blobs.write(name, bytes, condition);
      },
    };
    await instance(crowded).refuse([refused()]);
    state.nowMs += 1_000;
    expect(await available(instance())).toEqual([]);
    others = 8;
    const failure = await instance(crowded)
      .refuse([refused({ scope: 'size' }, d8)])
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: 'c/refused.json: lost 8 races to other writers' });
  });

  test.for(['{', '{}', 'null'])('is learned again where the record says %s', async (text) => {
    const { blobs, instance } = openRegion();
    blobs.writeNow('c/refused.json', new TextEncoder().encode(text), 'any');
    const catalogs = instance();
    expect(await available(catalogs)).toEqual(all);
    await catalogs.refuse([refused()]);
    expect(await available(catalogs)).toEqual(['2']);
  });
});

describe('spot machines that were taken back', () => {
  const spotInZone = new Map([
    [d4, 3],
    [d8, 2],
  ]);
  const evicted = (claim: string, instanceType = d4, zone = 'westeurope-1') => ({
    claim,
    instanceType,
    zone,
    spotInZone,
  });

  /** The storms of spot, by zone. */
  async function storms(catalogs: AzureCatalogs, name = d4): Promise<ReadonlyArray<string>> {
    const found = (await catalogs.instanceTypes(nodeClass)).find((one) => one.name === name)?.offerings ?? [];
    return found.flatMap(({ zone, storm }) => (storm === undefined ? [] : [`${zone} ${storm.evicted}/${storm.of}`]));
  }

  test('are a storm for their family and zone, which all instances and restarts know a second later', async () => {
    const { state, instance, blobs } = openRegion();
    const [first, second] = [instance(), instance()];
    expect(await storms(second)).toEqual([]);
    expect(await first.evicted([evicted('a')])).toEqual([]);
    expect(await second.evicted([evicted('b')])).toEqual([]);
    expect(await first.evicted([evicted('c', d8)])).toMatchObject([{ evicted: 3, of: 5, times: 1 }]);
    expect(await storms(first)).toEqual(['westeurope-1 3/5']);
    state.nowMs += 1_000;
    expect([await storms(second), await storms(instance(), d4)]).toEqual([['westeurope-1 3/5'], ['westeurope-1 3/5']]);
    state.nowMs = START + HOUR / 2 - 1;
    expect(await storms(instance())).toHaveLength(1);
    state.nowMs += 1;
    expect(await storms(first)).toEqual([]);
    expect(blobs.readNow('c/evictions.json')).not.toBeNull();
  });

  test('at once are one write, and a storm is told of once', async () => {
    const { instance, blobs } = openRegion();
    let writes = 0;
    const counted: Blobs = {
      read: (name) => blobs.read(name),
      write: (name, bytes, condition) => {
        if (name === 'c/evictions.json') writes++;
        return blobs.write(name, bytes, condition);
      },
    };
    expect(await instance(counted).evicted(['a', 'b', 'c'].map((claim) => evicted(claim)))).toMatchObject([
      { evicted: 3, times: 1 },
    ]);
    expect(writes).toBe(1);
  });

  test('count with sizes that nobody knows as with a family of their own', async () => {
    const { instance } = openRegion();
    const catalogs = instance();
    for (const claim of ['a', 'b', 'c']) {
      // One after the other, as their notices come.
      await catalogs.evicted([{ ...evicted(claim, 'Standard_New'), spotInZone: new Map([['Standard_New', 3]]) }]);
    }
    expect(await storms(catalogs)).toEqual([]);
  });

  test('are not lost to another who writes at the same time', async () => {
    const { blobs, instance } = openRegion();
    let others = 2;
    const crowded: Blobs = {
      read: (name) => blobs.read(name),
      write: async (name, bytes, condition) => {
        if (name === 'c/evictions.json' && others-- > 0) await instance().evicted([evicted(`other-${others}`)]);
        return blobs.write(name, bytes, condition);
      },
    };
    expect(await instance(crowded).evicted([evicted('own')])).toMatchObject([{ evicted: 3 }]);
  });

  test.for(['{', '{}', 'null', '{"version":2,"evictions":[],"storms":[]}'])(
    'are counted again where the record says %s',
    async (text) => {
      const { blobs, instance } = openRegion();
      blobs.writeNow('c/evictions.json', new TextEncoder().encode(text), 'any');
      expect(await storms(instance())).toEqual([]);
      expect(await instance().evicted([evicted('a')])).toEqual([]);
    },
  );
});

describe('quotas', () => {
  const none = [{ name: { value: 'cores' }, currentValue: 0, limit: 0 }];

  test('that allow no machine are seen by all instances, until they were not read for 100 seconds', async () => {
    const { state, instance } = openRegion();
    const catalogs = instance();
    state.quotas = none;
    expect(await catalogs.refreshQuotas()).toMatchObject({ kind: 'read' });
    expect(await available(instance())).toEqual([]);
    state.nowMs += 100_000 - 1;
    expect(await available(instance())).toEqual([]);
    state.nowMs += 1;
    expect(await available(instance())).toHaveLength(2);
  });

  test('that have room again count at once where they were read', async () => {
    const { state, instance } = openRegion();
    const catalogs = instance();
    state.quotas = none;
    await catalogs.refreshQuotas();
    expect(await available(catalogs)).toEqual([]);
    state.quotas = [];
    await catalogs.refreshQuotas();
    expect(await available(catalogs)).toHaveLength(2);
  });

  test('that have room again end what they refused, once they are read half a minute later', async () => {
    const { state, instance } = openRegion();
    const quota = (name: string, used: number) => ({ name: { value: name }, currentValue: used, limit: 100 });
    const refusal = refused({ scope: 'family', reason: 'SubscriptionQuotaReached' });
    const after = async (waitMs: number, used: number, other = 0, reason = refusal.reason): Promise<number> => {
      await instance().refuse([{ ...refusal, reason, untilMs: state.nowMs + HOUR }]);
      state.nowMs += waitMs;
      state.quotas = [quota('standardDSv5Family', used), quota('cores', other)];
      await instance().refreshQuotas();
      const found = (await available(instance())).length;
      state.nowMs += HOUR;
      return found;
    };
    expect(await after(30_000, 96)).toBe(2);
    expect(await after(29_999, 96)).toBe(0);
    expect(await after(30_000, 97)).toBe(0);
    expect(await after(30_000, 0, 97)).toBe(0);
    expect(await after(30_000, 0, 0, 'SKUNotAvailable')).toBe(0);
  });

  describe('of which one has refused a size', () => {
    const quota = (name: string, used: number) => ({ name: { value: name }, currentValue: used, limit: 100 });
    const readings = ({ asked }: { readonly asked: ReadonlyArray<string> }): number =>
      asked.filter((one) => one.startsWith('usage')).length;

    async function full() {
      const { state, instance } = openRegion();
      const catalogs = instance();
      state.quotas = [quota('standardDSv5Family', 100), quota('cores', 50)];
      await catalogs.refreshQuotas();
      const refusal = refused({ scope: 'family', reason: 'SubscriptionQuotaReached' });
      await catalogs.refuse([{ ...refusal, untilMs: state.nowMs + HOUR }]);
      state.asked.length = 0;
      state.quotas = [quota('standardDSv5Family', 0), quota('cores', 0)];
      return { state, catalogs, instance };
    }

    test('are read again by a plan half a minute later, and their room counts at once', async () => {
      const { state, catalogs } = await full();
      state.nowMs += 29_999;
      expect([(await available(catalogs)).length, readings(state)]).toEqual([0, 0]);
      state.nowMs += 1;
      expect([(await available(catalogs)).length, readings(state)]).toEqual([2, 1]);
    });

    test('are read again by an instance, too, that has read them from others only', async () => {
      const { state, instance } = await full();
      state.nowMs += 30_000;
      expect([(await available(instance())).length, readings(state)]).toEqual([2, 1]);
    });

    test.each([
      ['lowprioritycores', 16, 0, 1],
      ['cores', 100, 100, 1],
      ['cores', 99, 100, 0],
      ['cores', 0, 0, 0],
      ['standardDSv5Family', 100, 100, 0],
    ])('are read again where %s has %d in use of %d: %d time', async (name, currentValue, limit, times) => {
      const { state, instance } = openRegion();
      const catalogs = instance();
      state.quotas = [{ name: { value: name }, currentValue, limit }];
      await catalogs.refreshQuotas();
      state.asked.length = 0;
      state.nowMs += 15_000;
      await available(catalogs);
      expect(readings(state)).toBe(times);
    });

    test('are read every fifteen seconds at most, whether they can be read or not', async () => {
      const { state, catalogs } = await full();
      state.quotas = armError(429, 'TooManyRequests', 'later');
      state.nowMs += 30_000;
      for (const afterMs of [0, 14_999, 1]) {
        state.nowMs += afterMs;
        expect(await available(catalogs)).toEqual([]);
      }
      expect(readings(state)).toBe(2);
    });

    test('keep no plan waiting for longer than a second', async () => {
      const { state, catalogs } = await full();
      state.quotas = {
        [Symbol.iterator]: () => {
          throw new Error('not like this');
        },
        [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
      } as unknown as typeof state.quotas;
      state.nowMs += 30_000;
      expect(await available(catalogs)).toEqual([]);
    });

    test('are not read for what Azure has refused otherwise', async () => {
      const { state, instance } = openRegion();
      const catalogs = instance();
      await catalogs.refuse([{ ...refused(), untilMs: state.nowMs + HOUR }]);
      state.nowMs += 60_000;
      await available(catalogs);
      expect(readings(state)).toBe(0);
    });
  });

  test('that cannot be read are told, and what was known stays', async () => {
    const { state, instance } = openRegion();
    state.quotas = none;
    await instance().refreshQuotas();
    state.quotas = armError(403, 'AuthorizationFailed', 'you may not');
    expect(await instance().refreshQuotas()).toEqual({ kind: 'unknown', why: 'you may not' });
    expect(await available(instance())).toEqual([]);
  });

  test.for(['{', '{"version":2,"atMs":1000000000,"rows":[["cores",{"limit":0,"used":0}]]}'])(
    'are not known where the record says %s',
    async (text) => {
      const { blobs, instance } = openRegion();
      blobs.writeNow('c/quotas.json', new TextEncoder().encode(text), 'any');
      expect(await available(instance())).toHaveLength(2);
    },
  );
});

test('instance types are built once for each class and state of what is refused', async () => {
  const { instance, state } = openRegion();
  const catalogs = instance();
  const first = await catalogs.instanceTypes(nodeClass);
  expect(await catalogs.instanceTypes(nodeClass)).toBe(first);
  expect(await catalogs.instanceTypes({ ...nodeClass, spec: { maxPods: 30 } })).not.toBe(first);
  expect(await catalogs.instanceTypes(nodeClass)).toBe(first);
  await catalogs.refuse([refused()]);
  expect(await catalogs.instanceTypes(nodeClass)).not.toBe(first);
  state.nowMs += HOUR;
  expect(await catalogs.instanceTypes(nodeClass)).toBe(first);
});
