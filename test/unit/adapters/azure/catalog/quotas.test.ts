import { describe, expect, test } from 'vitest';
import type { Clients } from '../../../../../shared/adapters/azure/calls/clients.ts';
import {
  isBeyondQuota,
  NO_QUOTAS,
  quotaUse,
  readQuotas,
  type Quotas,
} from '../../../../../shared/adapters/azure/catalog/quotas.ts';
import { sku } from '../../../../kit/azure/sku.ts';

const FAMILY = 'standarddsv5family';
const d4 = sku('Standard_D4s_v5');
const quotas = (rows: Readonly<Record<string, readonly [limit: number, used: number]>>): Quotas =>
  new Map(Object.entries(rows).map(([name, [limit, used]]) => [name, { limit, used }]));

test('quotas are read to the end of the region’s list, by their names in lower case', async () => {
  const asked: Array<string> = [];
  async function* list(location: string): AsyncIterable<object> {
    asked.push(location);
    yield { name: { value: 'standardDSv5Family' }, currentValue: 8, limit: 20 };
    yield { name: { value: 'cores' }, currentValue: 9, limit: 0 };
    yield { name: { value: 'unlimited' }, currentValue: 1, limit: -1 };
    yield { name: {}, currentValue: 1, limit: 5 };
    yield { currentValue: 1, limit: 5 };
    for (let index = 0; index < 600; index++) yield { name: { value: `Q${index}` }, currentValue: 0, limit: 1 };
  }
  const clients = { compute: () => Promise.resolve({ usage: { list } }) } as unknown as Clients;
  const read = await readQuotas(clients, 'westeurope');
  expect(asked).toEqual(['westeurope']);
  expect(read.size).toBe(602);
  expect(read.get(FAMILY)).toEqual({ limit: 20, used: 8 });
  expect(read.get('cores')).toEqual({ limit: 0, used: 9 });
  expect(read.has('q599')).toBe(true);
});

describe('a VM', () => {
  const rows = quotas({ [FAMILY]: [20, 8], cores: [100, 99], lowprioritycores: [40, 41] });

  test('on demand counts against its family and all cores', () => {
    expect(quotaUse(rows, d4, 'on-demand')).toEqual({
      cores: 4,
      of: [
        { name: FAMILY, left: 12 },
        { name: 'cores', left: 1 },
      ],
    });
  });

  test('on spot counts against all spot cores alone', () => {
    expect(quotaUse(rows, d4, 'spot')).toEqual({ cores: 4, of: [{ name: 'lowprioritycores', left: -1 }] });
  });

  test('counts against what is known', () => {
    expect(quotaUse(quotas({ cores: [10, 0] }), d4, 'on-demand')?.of).toEqual([{ name: 'cores', left: 10 }]);
    expect(quotaUse(quotas({ cores: [10, 0] }), d4, 'spot')).toBeNull();
    expect(quotaUse(NO_QUOTAS, d4, 'on-demand')).toBeNull();
  });
});

describe('a size is beyond quota', () => {
  test.for([
    [3, true],
    [4, false],
  ] as const)('of 4 cores and a limit of %s: %s, however much is used', ([limit, beyond]) => {
    expect(isBeyondQuota(quotas({ [FAMILY]: [limit, limit], cores: [100, 0] }), d4, 'on-demand')).toBe(beyond);
    expect(isBeyondQuota(quotas({ [FAMILY]: [100, 0], cores: [limit, limit] }), d4, 'on-demand')).toBe(beyond);
    expect(isBeyondQuota(quotas({ lowprioritycores: [limit, limit] }), d4, 'spot')).toBe(beyond);
  });

  test('of the capacity type that the quota is for, and never where nothing is known', () => {
    expect(isBeyondQuota(quotas({ lowprioritycores: [0, 0] }), d4, 'on-demand')).toBe(false);
    expect(isBeyondQuota(quotas({ [FAMILY]: [0, 0], cores: [0, 0] }), d4, 'spot')).toBe(false);
    expect(isBeyondQuota(NO_QUOTAS, d4, 'on-demand')).toBe(false);
  });
});
