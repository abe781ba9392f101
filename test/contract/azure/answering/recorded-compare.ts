import { isObject, textAt } from '../../../../sandbox/azure/arm/json.ts';
import type { Recorded } from './recorded-exchanges.ts';
import type { Answered } from './recorded-stage.ts';

/**
 * Everything in which an answer of the double is not the answer of Azure that was recorded, a line each, by the place
 * where it is: what only Azure has, what only the double has, and what both say otherwise. What cannot be the same is
 * not compared: times, ids that are given out, addresses, numbers of requests that are left.
 */
export function differencesOf(recorded: Recorded, answered: Answered): ReadonlyArray<string> {
  return [
    ...compare('status', recorded.status, answered.status),
    ...compare('headers', headersOf(recorded), answeredHeaders(answered, recorded.repository)),
    ...compare('body', recorded.body, answered.body),
  ];
}

/** Headers that say something of ARM's; all others are of HTTP, or of one request. */
const HEADERS =
  /^(?:azure-async.*|location|etag|retry-after|x-ms-failure-cause|x-ms-ratelimit-.*|x-ms-user-quota-.*|x-ms-operation-identifier|x-ms-resource-graph-.*|x-ms-arm-service-request-id)$/;

function headersOf({ headers }: Recorded): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, headerValue(name, String(value))]));
}

/** These recorders leave out when to come back. */
const WITHOUT_RETRY_AFTER: ReadonlySet<string> = new Set(['kubernetes-sigs/cloud-provider-azure', 'Azure/azure-cli']);

function answeredHeaders({ headers }: Answered, repository: string): Readonly<Record<string, unknown>> {
  const known = [...headers].filter(([name]) => HEADERS.test(name));
  const kept = known.filter(([name]) => name !== 'retry-after' || !WITHOUT_RETRY_AFTER.has(repository));
  return Object.fromEntries(kept.map(([name, value]) => [name, headerValue(name, value)]));
}

function headerValue(name: string, value: string): string {
  if (name.startsWith('x-ms-ratelimit-remaining-resource')) return value.replaceAll(/;\d+/g, '');
  if (name.startsWith('x-ms-ratelimit-') || name === 'x-ms-user-quota-remaining') return '(some)';
  // Compute draws the wait of a poll anew.
  if (name === 'retry-after' && Number(value) >= 30 && Number(value) <= 61) return '30..61';
  return alike(name, value);
}

/** Members whose values are each answer's own. */
const OWN: ReadonlySet<string> = new Set([
  'exactVersion',
  'internalDomainNameSuffix',
  'keyData',
  'location',
  'osName',
  'osVersion',
  'privateIPAddress',
  'macAddress',
  'vmAgentVersion',
  'limit',
  'currentValue',
  'time',
  'timeCreated',
  'startTime',
  'endTime',
]);

/** A value without what cannot be the same in both. */
function alike(key: string, value: string): string {
  if (OWN.has(key) && !value.startsWith('http')) return `(${key})`;
  return value
    .replace(/^https?:\/\/[^/]+/, 'https://arm')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '(guid)')
    .replaceAll(/_(?:OsDisk_1|disk1)_[0-9a-f]{32}/g, '_OsDisk_1_(hex)')
    .replaceAll(/\/locations\/[^/]+/g, '/locations/(region)')
    .replaceAll(/\/virtualNetworks\/(?:aks-)?[^/ ]+\/subnets\/(?!testResourcenotfound)[^/ ]+/g, '/(subnet)')
    .replaceAll(/\/virtualNetworks\/[^/ ]+/g, '/virtualNetworks/(vnet)')
    .replaceAll(/\/networkSecurityGroups\/[^/ ]+/g, '/networkSecurityGroups/(group)')
    .replace(/\?.*$/, (query) => `?${queryOf(query)}`)
    .replaceAll(/\/home\/[^/]+/g, '/home/(admin)');
}

/** Of a query what the double has as well: not the version, and nothing that is signed. */
function queryOf(query: string): string {
  return query.includes('monitor=true') ? 'monitor' : '';
}

function compare(path: string, azure: unknown, double: unknown): ReadonlyArray<string> {
  if (azure === undefined || azure === null)
    return double === undefined || double === null ? [] : [`${path}: only the double has it`];
  if (double === undefined || double === null) return [`${path}: only Azure has it`];
  if (Array.isArray(azure) && Array.isArray(double)) return compareLists(path, azure, double);
  if (isObject(azure) && isObject(double)) {
    const names = [...new Set([...Object.keys(azure), ...Object.keys(double)])];
    return names.flatMap((name) => compare(`${path}.${name}`, azure[name], double[name]));
  }
  const key = path.split('.').at(-1) ?? '';
  const [said, says] = [shown(key, azure), shown(key, double)];
  return said === says ? [] : [`${path}: ${said}, the double ${says}`];
}

function shown(key: string, value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(alike(key, value));
  return OWN.has(key) ? `(${key})` : (JSON.stringify(value) ?? '');
}

/**
 * Elements with a name are compared with those of that name; of the others and of those that one side has not, how
 * many.
 */
function compareLists(
  path: string,
  azure: ReadonlyArray<unknown>,
  double: ReadonlyArray<unknown>,
): ReadonlyArray<string> {
  const names = azure.map(nameOf);
  if (names.length === 0 || names.includes(null) || azure.length === double.length)
    return [
      ...(azure.length === double.length ? [] : [`${path}: ${azure.length} of Azure, ${double.length} of the double`]),
      ...azure.flatMap((one, index) => (index < double.length ? compare(`${path}[${index}]`, one, double[index]) : [])),
    ];
  const pairs = azure.map((one) => [one, double.find((other) => nameOf(other) === nameOf(one))] as const);
  const lone = pairs.filter(([, other]) => other === undefined).length;
  const shared = pairs.flatMap(([one, other]) => (other === undefined ? [] : compare(`${path}[]`, one, other)));
  return [
    ...(lone > 0 ? [`${path}: some are only in Azure`] : []),
    ...(double.length > azure.length - lone ? [`${path}: some are only in the double`] : []),
    ...new Set(shared),
  ];
}

function nameOf(one: unknown): string | null {
  return textAt(one, 'name') ?? textAt(one, 'name.value');
}
