import { describe, expect, test } from 'vitest';
import type { Clients } from '../../../../../shared/adapters/azure/calls/clients.ts';
import {
  evictionsPerHour,
  readEvictionRates,
  type RatesReading,
} from '../../../../../shared/adapters/azure/catalog/eviction-rates.ts';
import { sku } from '../../../../kit/azure/sku.ts';

/** Azure's client, answering with these rows. */
function graphOf(data: ReadonlyArray<object>, totalRecords = data.length): Pick<Clients, 'graph'> {
  const resources = (): Promise<object> => Promise.resolve({ data, count: data.length, totalRecords });
  return { graph: () => Promise.resolve({ resources } as never) };
}

const scope = { subscription: 's', location: 'westeurope' };

async function read(row: object): Promise<RatesReading> {
  return readEvictionRates(graphOf([{ id: null, skuName: '', sizeName: '', rate: '0-5', ...row }]), scope);
}

test.for([
  ['0-5', 0.025],
  ['5-10', 0.075],
  ['10-15', 0.125],
  ['15-20', 0.175],
  ['20+', 0.25],
  ['0%-5%', 0.025],
  ['20+%', 0.25],
  ['15 - 20', 0.175],
  ['20-100', 0.25],
] as const)('of %s percent the chance is %s', async ([rate, chance]) => {
  const reading = await read({ skuName: 'Standard_D4s_v5', rate });
  const rates = reading.kind === 'read' ? reading.rates : new Map();
  expect(evictionsPerHour(rates, sku('Standard_D4s_v5'))).toBe(chance);
});

test.for([
  { skuName: 'standard_d4s_v5' },
  { skuName: 'STANDARD_D4s_v5', sizeName: 'Standard_Other' },
  { sizeName: 'Standard_D4s_v5' },
  { id: '/providers/Microsoft.Compute/skuSpotEvictionRate/Standard_D4s_v5/location/westeurope' },
])('a size is known by whatever names it: %o', async (row) => {
  const reading = await read(row);
  expect(reading).toEqual({ kind: 'read', rates: new Map([['standard_d4s_v5', 0.025]]), unreadable: [] });
});

test('a row that names no size is left out', async () => {
  expect(await read({})).toEqual({ kind: 'read', rates: new Map(), unreadable: [] });
});

test('a part of the rates is none: sizes without a rate would look safe', async () => {
  const row = { id: null, skuName: 'Standard_D4s_v5', sizeName: '', rate: '0-5' };
  const reading = await readEvictionRates(graphOf([row], 2), scope);
  expect(reading).toMatchObject({ kind: 'unknown', why: expect.stringContaining('1 of 2 rows') });
});

describe('who is asked for the rates', () => {
  interface Request {
    readonly query: string;
    readonly subscriptions?: ReadonlyArray<string>;
    readonly options: { readonly skipToken?: string; readonly resultFormat: string };
  }
  type Answer = { readonly data: ReadonlyArray<object>; readonly totalRecords: number; readonly skipToken?: string };
  const row = { id: null, skuName: 'Standard_D4s_v5', sizeName: '', rate: '0-5' };
  const rows = (...data: ReadonlyArray<object>): Answer => ({ data, totalRecords: data.length });
  const refused = (status: number, message = 'no'): Error =>
    Object.assign(new Error(message), { statusCode: status, code: 'AuthorizationFailed' });

  /** What comes of answers in this order; the last is given for ever. */
  async function asking(...answers: ReadonlyArray<Answer | Error>) {
    const asked: Array<Request> = [];
    const resources = (request: Request): Promise<Answer> => {
      const answer = answers[Math.min(asked.length, answers.length - 1)];
      asked.push(request);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? rows());
    };
    const reading = await readEvictionRates({ graph: () => Promise.resolve({ resources } as never) }, scope);
    return { asked, reading, subscriptions: asked.map((one) => one.subscriptions) };
  }

  test('is Azure for the whole tenant, and for one subscription only where that gives nothing', async () => {
    expect((await asking(rows(row))).subscriptions).toEqual([undefined]);
    const { subscriptions, reading } = await asking(rows(), rows(row));
    expect(subscriptions).toEqual([undefined, ['s']]);
    expect(reading.kind).toBe('read');
  });

  test('is asked about spot sizes of the region, in an order that pages keep', async () => {
    const [request] = (await asking(rows(row))).asked;
    expect(request?.query).toMatch(
      /^SpotResources \| where type =~ .* \| where location =~ 'westeurope' \| project id, /,
    );
    expect(request?.query).toMatch(/ \| order by id asc$/);
    expect(request?.options).toEqual({ resultFormat: 'objectArray' });
  });

  test('is asked page by page', async () => {
    const other = { ...row, skuName: 'Standard_D8s_v5' };
    const { asked, reading } = await asking(
      { data: [row], totalRecords: 2, skipToken: 'next' },
      { data: [other], totalRecords: 2 },
    );
    expect(asked.map(({ options }) => options.skipToken)).toEqual([undefined, 'next']);
    expect(reading.kind === 'read' && [...reading.rates.keys()]).toEqual(['standard_d4s_v5', 'standard_d8s_v5']);
  });

  test('is asked for twenty pages at most', async () => {
    const { asked, reading } = await asking({ data: [row], totalRecords: 99, skipToken: 'again' });
    expect(asked).toHaveLength(40);
    expect(reading).toMatchObject({ kind: 'unknown', why: expect.stringContaining('more than 20 pages') as string });
  });

  test('may not know, and then each of them says why', async () => {
    const { reading } = await asking(rows());
    expect(reading).toEqual({
      kind: 'unknown',
      why: 'for the tenant: no rates of westeurope; for the subscription: no rates of westeurope',
      fix: null,
    });
  });

  test.each([
    [401, true],
    [403, true],
    [404, false],
    [0, false],
  ])('may refuse with %d, and a missing role is then the mend: %s', async (status, isRole) => {
    const { reading } = await asking(refused(status), rows());
    expect(reading.kind === 'unknown' && reading.fix !== null).toBe(isRole);
    const said = status === 0 ? 'AuthorizationFailed no' : `${status} AuthorizationFailed no`;
    expect(reading.kind === 'unknown' && reading.why).toBe(
      `for the tenant: ${said}; for the subscription: no rates of westeurope`,
    );
  });

  test('says no more than fits a line', async () => {
    const { reading } = await asking(refused(400, 'x'.repeat(1_000)));
    expect(reading.kind === 'unknown' && reading.why.length).toBe(2 * 300 + 2);
  });

  test('may use words that nobody knows: their sizes are left out, and the words are told in order', async () => {
    const odd = (word: string | null) => ({ ...row, skuName: `Standard_${word}`, rate: word });
    const { reading } = await asking(rows(odd('often'), row, odd('daily'), odd('often'), odd(null)));
    expect(reading).toEqual({
      kind: 'read',
      rates: new Map([['standard_d4s_v5', 0.025]]),
      unreadable: ['', 'daily', 'often'],
    });
  });
});
