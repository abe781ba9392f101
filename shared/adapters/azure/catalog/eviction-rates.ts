import type { ResourceGraphClient } from '@azure/arm-resourcegraph';
import { readAzureError } from '../calls/azure-error.ts';
import type { Clients } from '../calls/clients.ts';
import type { Sku } from './sku.ts';

/** The chance that Azure evicts a spot VM within an hour, 0 to 1, by the size's name in lower case. */
export type EvictionRates = ReadonlyMap<string, number>;

/** What a reading of the region's rates came to. */
export type RatesReading =
  /** `unreadable`: words of Azure's that are none of its bands. Their sizes are left out. */
  | { readonly kind: 'read'; readonly rates: EvictionRates; readonly unreadable: ReadonlyArray<string> }
  | { readonly kind: 'unknown'; readonly why: string; readonly fix: string | null };

/**
 * Azure's bands, in percent per hour, as the middle of each; learn, "Use Azure Spot Virtual Machines". The last has no
 * end. It is taken a band and a half above the one before: further from it than any two others are, and no claim of how
 * far.
 */
const BANDS: ReadonlyMap<string, number> = new Map([
  ['0-5', 0.025],
  ['5-10', 0.075],
  ['10-15', 0.125],
  ['15-20', 0.175],
  ['20+', 0.25],
  ['20-100', 0.25],
]);

/** A row of the table, reduced to what names a size. Which of these Azure fills, public reports do not agree on. */
interface RateRow {
  readonly id: string | null;
  readonly skuName: string | null;
  readonly sizeName: string | null;
  readonly rate: string | null;
}

/** A region has about 1,300 sizes, a page 1,000 rows; ten times that is a table that does not end. */
const PAGES_MAX = 20;

/** Which role is missing where Azure says that reading is denied. */
const RIGHT_MISSING =
  'give the identity of the app a role on the subscription that has Microsoft.ResourceGraph/resources/read, such as Reader';

/**
 * Reads how often Azure evicted spot VMs of each size of the region in the last 28 days. The table belongs to no
 * subscription: it answers where none is named, and is reported to be empty where one is. Who may ask about one
 * subscription only gets what that gives.
 */
export async function readEvictionRates(
  clients: Pick<Clients, 'graph'>,
  { subscription, location }: { readonly subscription: string; readonly location: string },
): Promise<RatesReading> {
  const graph = await clients.graph();
  const failures: Array<string> = [];
  let denied = false;
  for (const subscriptions of [[], [subscription]]) {
    const scope = subscriptions.length === 0 ? 'for the tenant' : 'for the subscription';
    try {
      // The second scope is asked where the first gave nothing.
      const rows = await readRows(graph, location, subscriptions);
      if (rows.length > 0) return toRates(rows);
      failures.push(`${scope}: no rates of ${location}`);
    } catch (error) {
      const { status, code, message } = readAzureError(error);
      denied ||= status === 401 || status === 403;
      failures.push(`${scope}: ${[status > 0 ? status : '', code, message].filter(Boolean).join(' ')}`.slice(0, 300));
    }
  }
  return { kind: 'unknown', why: failures.join('; '), fix: denied ? RIGHT_MISSING : null };
}

/** How likely a spot VM of the size is evicted within an hour; null where that is not known. */
export function evictionsPerHour(rates: EvictionRates, { name }: Pick<Sku, 'name'>): number | null {
  return rates.get(name.toLowerCase()) ?? null;
}

/** Throws what the client throws. */
async function readRows(
  graph: ResourceGraphClient,
  location: string,
  subscriptions: ReadonlyArray<string>,
): Promise<ReadonlyArray<RateRow>> {
  const request = {
    query: queryOf(location),
    ...(subscriptions.length === 0 ? {} : { subscriptions: [...subscriptions] }),
  };
  const rows: Array<RateRow> = [];
  let skipToken: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const options = { resultFormat: 'objectArray' as const, ...(skipToken === undefined ? {} : { skipToken }) };
    // Each page names the next.
    const answer = await graph.resources({ ...request, options });
    rows.push(...(answer.data as ReadonlyArray<RateRow>));
    skipToken = answer.skipToken;
    // Half the rates would make the other half look safe: rather none.
    if (skipToken === undefined && rows.length < answer.totalRecords)
      throw new Error(`Azure sent ${rows.length} of ${answer.totalRecords} rows and no way to the rest`);
    if (skipToken === undefined) return rows;
  }
  throw new Error(`more than ${PAGES_MAX} pages`);
}

/** Pages are sure only in the order of a unique text column, and come only where `id` is one of the columns. */
function queryOf(location: string): string {
  return [
    'SpotResources',
    "where type =~ 'microsoft.compute/skuspotevictionrate/location'",
    `where location =~ '${location.replaceAll("'", '')}'`,
    'project id, skuName = tostring(sku.name), sizeName = tostring(properties.skuName), rate = tostring(properties.evictionRate)',
    'order by id asc',
  ].join(' | ');
}

function toRates(rows: ReadonlyArray<RateRow>): RatesReading {
  const named = rows.map((row) => ({ size: sizeOf(row), word: row.rate ?? '' }));
  const bands = named.map(({ size, word }) => ({ size, word, perHour: toPerHour(word) }));
  const rates = bands.flatMap(({ size, perHour }) =>
    size === null || perHour === null ? [] : [[size, perHour] as const],
  );
  const unreadable = new Set(bands.flatMap(({ word, perHour }) => (perHour === null ? [word] : [])));
  return { kind: 'read', rates: new Map(rates), unreadable: [...unreadable].toSorted() };
}

function sizeOf({ id, skuName, sizeName }: RateRow): string | null {
  const [, fromId = ''] = /\/skuspotevictionrate\/([^/]+)/i.exec(id ?? '') ?? [];
  const name = [skuName, sizeName, fromId].find((one) => one !== null && one !== '') ?? null;
  return name?.toLowerCase() ?? null;
}

/** Percent signs and blanks are in some reports of the bands and not in others. */
function toPerHour(word: string): number | null {
  return BANDS.get(word.replaceAll(/[%\s]/g, '')) ?? null;
}
