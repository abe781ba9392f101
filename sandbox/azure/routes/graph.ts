import { ArmError } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import { clusterRow } from './cluster.ts';
import { listAt, textAt, valueAt, type JsonObject } from '../arm/json.ts';
import { parseCondition, parsePath } from '../arm/query-expression.ts';
import { ok, type Route } from '../arm/router.ts';
import type { Size } from '../catalog/sizes.ts';

/** Resource Graph answers with at most this many rows at once. */
const TOP_LIMIT = 1_000;

/**
 * Resource Graph, as far as lists of VMs and network interfaces and the spot tables need it: `where`, `project`,
 * `order by`, `take`. It shows resources as they were a while ago, when the option says so.
 */
export function graphRoutes(cloud: Cloud): ReadonlyArray<Route> {
  const quota = countQueries(cloud);
  return [
    {
      method: 'POST',
      pattern: '/providers/Microsoft.ResourceGraph/resources',
      answer: (request) => {
        const query = textAt(request.body, 'query') ?? '';
        const rows = runQuery(cloud, query, listAt(request.body, 'subscriptions').map(String));
        const top = Math.min(TOP_LIMIT, numberAt(request.body, 'options.$top') ?? TOP_LIMIT);
        const start = Number(textAt(request.body, 'options.$skipToken') ?? '0');
        if (!Number.isInteger(start) || start < 0) throw badQuery('the skip token is not one that a query gave');
        const data = rows.slice(start, start + top);
        const isMore = start + top < rows.length;
        const goesOn = isMore && hasPages(query, rows);
        const answer = ok({
          totalRecords: rows.length,
          count: data.length,
          data,
          facets: [],
          resultTruncated: String(isMore && !goesOn),
          ...(goesOn ? { $skipToken: String(start + top) } : {}),
        });
        return { ...answer, headers: quota() };
      },
    },
  ];
}

/** What a principal may ask in five seconds; the header is as recorded. Nobody is refused for it. */
const QUERIES = { at: 5_000, most: 15 } as const;

/** Counts a query. The answer is the headers that tell how many more there may be. */
function countQueries(cloud: Cloud): () => { readonly [name: string]: string } {
  let window = { number: -1, asked: 0 };
  return () => {
    const number = Math.floor(cloud.clock.now() / QUERIES.at);
    window = { number, asked: number === window.number ? window.asked + 1 : 1 };
    const left = String(Math.max(0, QUERIES.most - window.asked));
    return {
      'x-ms-ratelimit-remaining-tenant-resource-requests': left,
      'x-ms-user-quota-remaining': left,
      'x-ms-user-quota-resets-after': '00:00:05',
    };
  };
}

/** Azure gives no way to the rest of an answer that was limited, or whose columns all are objects (learn, 2026-02). */
function hasPages(query: string, rows: ReadonlyArray<JsonObject>): boolean {
  if (splitStages(query).some((stage) => /^(take|limit|sample)\b/i.test(stage))) return false;
  return rows.some((row) => Object.values(row).some((value) => value !== null && typeof value !== 'object'));
}

function runQuery(cloud: Cloud, query: string, subscriptions: ReadonlyArray<string>): ReadonlyArray<JsonObject> {
  const [table, ...stages] = splitStages(query);
  const own = cloud.options.subscriptionId.toLowerCase();
  if (subscriptions.length > 0 && !subscriptions.some((one) => one.toLowerCase() === own)) throw denied();
  return stages.reduce(runStage, tableOf(cloud, table?.toLowerCase() ?? '', subscriptions.length === 0));
}

function tableOf(cloud: Cloud, table: string, isTenant: boolean): ReadonlyArray<JsonObject> {
  if (table === 'resources') return [...cloud.graph.rows(), clusterRow(cloud)];
  if (table === 'spotresources') {
    if (!isTenant && cloud.options.spotTables === 'tenant') return [];
    return [...cloud.sizes.values()].flatMap((size) => spotRows(cloud, size));
  }
  if (table === 'healthresources' || table === 'maintenanceresources') return [];
  throw badQuery(`the table '${table}' is not one that the double has`);
}

function runStage(rows: ReadonlyArray<JsonObject>, stage: string): ReadonlyArray<JsonObject> {
  const [, verb = '', rest = ''] = /^(\w+)\s*([\s\S]*)$/.exec(stage) ?? [];
  switch (verb.toLowerCase()) {
    case 'where':
      return rows.filter(parseCondition(rest));
    case 'project':
      return rows.map(projection(rest));
    case 'take':
    case 'limit':
      return rows.slice(0, Number(rest));
    case 'order':
    case 'sort':
      return ordered(rows, rest.replace(/^by\s+/i, ''));
    default:
      throw badQuery(`the double does not know '${stage}'`);
  }
}

function projection(text: string): (row: JsonObject) => JsonObject {
  const columns = text.split(',').map((part) => {
    const [left = '', right] = part.split('=').map((side) => side.trim());
    const read = parsePath(right ?? left);
    if (read === null) throw badQuery(`the double cannot project '${part.trim()}'`);
    return { name: right === undefined ? left.replaceAll(/[.[\]']/g, '_') : left, read };
  });
  return (row) => Object.fromEntries(columns.map(({ name, read }) => [name, read(row) ?? null]));
}

function ordered(rows: ReadonlyArray<JsonObject>, text: string): ReadonlyArray<JsonObject> {
  const [column = '', direction = 'desc'] = text.trim().split(/\s+/);
  const read = parsePath(column);
  if (read === null) throw badQuery(`the double cannot order by '${column}'`);
  const sign = direction.toLowerCase() === 'asc' ? 1 : -1;
  return rows.toSorted((a, b) => sign * String(read(a)).localeCompare(String(read(b)), 'en'));
}

/** Sizes of the region, as no subscription's. Nothing in the double is evicted by its rate. */
function spotRows(cloud: Cloud, size: Size): ReadonlyArray<JsonObject> {
  if (!size.lowPriorityCapable) return [];
  const { region } = cloud.options;
  const common = { location: region, sku: { name: size.name.toLowerCase() } };
  const rate = {
    ...common,
    id: `/providers/Microsoft.Compute/skuSpotEvictionRate/${size.name}/location/${region}`,
    type: 'microsoft.compute/skuspotevictionrate/location',
    properties: { skuName: size.name, evictionRate: cloud.evictionRates.of(size) },
  };
  if (size.spotMicroUsd === null) return [rate];
  const effectiveDate = new Date(cloud.clock.now() - 86_400_000).toISOString();
  return [
    rate,
    {
      ...common,
      id: `/providers/Microsoft.Compute/skuSpotPriceHistory/${size.name}/osType/linux/location/${region}`,
      type: 'microsoft.compute/skuspotpricehistory/ostype/location',
      kind: 'linux',
      properties: { osType: 'linux', spotPrices: [{ effectiveDate, priceUSD: size.spotMicroUsd / 1e6 }] },
    },
  ];
}

/** Splits at the bars that are not inside a text. */
function splitStages(query: string): ReadonlyArray<string> {
  const parts = query.match(/(?:'[^']*'|"[^"]*"|[^|'"])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function numberAt(value: unknown, path: string): number | null {
  const [section = '', key = ''] = path.split('.');
  const found = valueAt(valueAt(value, section), key);
  return typeof found === 'number' ? found : null;
}

function denied(): ArmError {
  return new ArmError(403, {
    code: 'AccessDenied',
    message: 'Access is denied to the requested resource. The user might not have enough permission.',
  });
}

function badQuery(reason: string): ArmError {
  return new ArmError(
    400,
    { code: 'BadRequest', message: `The query could not be run: ${reason}.` },
    {
      details: [
        {
          code: 'InvalidQuery',
          message:
            'Query is invalid. Please refer to the documentation for the Azure Resource Graph service and fix the error ' +
            'before retrying.',
        },
        { code: 'ParserFailure', message: 'ParserFailure' },
      ],
    },
  );
}
