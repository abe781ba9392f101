import { isObject, listAt, valueAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';
import { findMisfits, findMisfitsOfShape, type Misfit } from '../../../../sandbox/azure/types/find-misfits.ts';
import { typeTrees } from '../../../../sandbox/azure/types/type-trees.ts';

/** One answer of the double, as it came. */
export interface Answer {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

/**
 * What an answer is of: the type of its resource, a part of it, an operation or an error; null for what no tree
 * describes.
 */
export type Kind =
  | 'vm'
  | 'instanceView'
  | 'extension'
  | 'nic'
  | 'subnet'
  | 'securityGroup'
  | 'loadBalancer'
  | 'virtualNetwork'
  | 'cluster'
  | 'resourceGroup'
  | 'operation'
  | 'error';

type Check = (body: JsonObject) => ReadonlyArray<Misfit>;

/** Trees are of one resource; of load balancers and virtual networks the source has only the parts. */
const checks: Readonly<Record<Kind, Check>> = {
  vm: (body) => findMisfits(typeTrees().vm, body, 'answer'),
  instanceView: (body) =>
    findMisfits(typeTrees().vm, { name: 'x', location: 'x', properties: { instanceView: body } }, 'answer'),
  extension: (body) => findMisfits(typeTrees().extension, body, 'answer'),
  nic: (body) => butForRecorded(findMisfits(typeTrees().nic, body, 'answer')),
  subnet: (body) => findMisfitsOfShape(typeTrees().nic, 'Subnet', body),
  securityGroup: (body) => findMisfitsOfShape(typeTrees().nic, 'NetworkSecurityGroup', body),
  loadBalancer: (body) =>
    listAt(body, 'properties.backendAddressPools').flatMap((pool) =>
      findMisfitsOfShape(typeTrees().nic, 'BackendAddressPool', pool),
    ),
  virtualNetwork: (body) =>
    listAt(body, 'properties.subnets').flatMap((subnet) => findMisfitsOfShape(typeTrees().nic, 'Subnet', subnet)),
  cluster: (body) => findMisfits(typeTrees().cluster, body, 'answer'),
  resourceGroup: (body) => findMisfits(typeTrees().resourceGroup, body, 'answer'),
  operation: (body) => [
    ...others(body, ['id', 'resourceId', 'name', 'status', 'percentComplete', 'startTime', 'endTime', 'error']),
    ...(body['error'] === undefined ? [] : errorMisfits(body['error'])),
  ],
  error: (body) => [...others(body, ['error']), ...errorMisfits(body['error'])],
};

/**
 * What Azure answers beyond what it documents: recorded of every network interface (test/fixtures/azure-recordings).
 */
const RECORDED = new Set(['kind', 'properties.allowPort25Out']);

function butForRecorded(misfits: ReadonlyArray<Misfit>): ReadonlyArray<Misfit> {
  return misfits.filter(({ kind, path }) => kind !== 'unknown' || !RECORDED.has(path));
}

/** In this order, against the path. A list of what matches has it in `value`. */
const paths: ReadonlyArray<readonly [RegExp, Kind]> = [
  [/\/operations\/[^/]+$/i, 'operation'],
  [/\/virtualMachines\/[^/]+\/instanceView$/i, 'instanceView'],
  [/\/virtualMachines\/[^/]+\/extensions(?:\/[^/]+)?$/i, 'extension'],
  [/\/virtualMachines(?:\/[^/]+)?$/i, 'vm'],
  [/\/networkInterfaces(?:\/[^/]+)?$/i, 'nic'],
  [/\/subnets(?:\/[^/]+)?$/i, 'subnet'],
  [/\/virtualNetworks(?:\/[^/]+)?$/i, 'virtualNetwork'],
  [/\/networkSecurityGroups(?:\/[^/]+)?$/i, 'securityGroup'],
  [/\/loadBalancers(?:\/[^/]+)?$/i, 'loadBalancer'],
  [/\/managedClusters\/[^/]+$/i, 'cluster'],
  [/^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+$/i, 'resourceGroup'],
];

/** What kind an answer is of; null for what has no body, and for what the trees do not know. */
export function kindOf({ url, status, text }: Answer): Kind | null {
  const { pathname, searchParams } = new URL(url);
  if (text === '' || !isObject(read(text))) return null;
  if (status >= 400) return 'error';
  // The Location of an operation answers with an empty object at its end.
  if (searchParams.get('monitor') === 'true') return null;
  return paths.find(([pattern]) => pattern.test(pathname))?.[1] ?? null;
}

/** What an answer has that its type has not, or has otherwise: a line each. */
export function misfitsOf(answer: Answer): ReadonlyArray<string> {
  const kind = kindOf(answer);
  const body = read(answer.text);
  if (kind === null || !isObject(body)) return [];
  const isList = Array.isArray(valueAt(body, 'value')) && kind !== 'error';
  const found = isList
    ? [...others(body, ['value', 'nextLink']), ...listAt(body, 'value').flatMap((one) => checkOne(kind, one))]
    : checks[kind](body);
  return found.map(({ path, words }) => `${answer.method} ${new URL(answer.url).pathname}: ${path} ${words}`);
}

/** A list of VMs has of each extension the id alone. */
function checkOne(kind: Kind, one: unknown): ReadonlyArray<Misfit> {
  if (!isObject(one)) return [{ kind: 'type', path: 'value', words: 'holds what is no object' }];
  const misfits = checks[kind](one);
  return misfits.filter((misfit) => misfit.kind !== 'missing' || !misfit.path.startsWith('resources['));
}

/** ARM's form of an error, common-types v3: nothing else may stand in it. */
function errorMisfits(error: unknown): ReadonlyArray<Misfit> {
  if (!isObject(error)) return [{ kind: 'type', path: 'error', words: 'is no object' }];
  const texts = ['code', 'message'].filter((name) => typeof error[name] !== 'string' || error[name] === '');
  return [
    ...others(error, ['code', 'message', 'target', 'details', 'innererror', 'additionalInfo']),
    ...texts.map((path): Misfit => ({ kind: 'missing', path, words: 'is missing' })),
    ...listAt(error, 'details').flatMap(errorMisfits),
  ];
}

function others(body: JsonObject, known: ReadonlyArray<string>): ReadonlyArray<Misfit> {
  const unknown = Object.keys(body).filter((name) => !known.includes(name));
  return unknown.map((path) => ({ kind: 'unknown', path, words: 'is unknown' }));
}

/** Null for what is no JSON: a fault that was ordered. */
function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
