import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { container } from '../../../../shared/contract/names.ts';
import { priceCurrencies } from '../../../../shared/contract/settings/price-currency.ts';
import { type QueueSettings, poisonQueue, queues } from '../../../../shared/contract/messages/queues.ts';
import { settingNames } from '../../../../shared/contract/settings/settings.ts';
import { type BicepFiles, allBelow, declared, propertiesOf, root, textOf } from './parse.ts';
import { evaluate, literalsOf, namedValue, plain } from './value.ts';

/** Settings that no deployment has, each with the reason. */
const OF_SANDBOXES: Readonly<Record<string, string>> = {
  KUBECONFIG: 'the API server is called with the managed identity',
  AZURE_STATIC_TOKEN: 'a sandbox’s',
  RETAIL_PRICES_ENDPOINT: 'a sandbox’s; the price feed is the same for all clouds',
  KUBELET_BOOTSTRAP_TOKEN: 'a secret; each node gets a token of its own',
  ServiceBus: 'a connection string; ServiceBus__… stand in its place',
  SnapshotStorage: 'a connection string; SnapshotStorage__… stand in its place',
};

/** What the Functions host itself reads. */
const OF_THE_HOST = [
  'AzureWebJobsStorage__blobServiceUri',
  'AzureWebJobsStorage__credential',
  'AzureWebJobsStorage__clientId',
  'APPLICATIONINSIGHTS_CONNECTION_STRING',
  'APPLICATIONINSIGHTS_AUTHENTICATION_STRING',
];

/** App settings that the code or the host reads and nobody sets, and the other way round. */
export function settingFaults(files: BicepFiles): ReadonlyArray<string> {
  const file = files.get('modules/function-app.bicep');
  const properties = propertiesOf(declared(file, 'appSettings').body).get('properties');
  const set = properties === undefined ? [] : [...propertiesOf(properties).keys()];
  const read = [
    ...settingNames.filter((name) => OF_SANDBOXES[name] === undefined),
    ...OF_THE_HOST,
    ...triggers().flatMap(({ settings }) => settings),
  ];
  return differences(set, read, 'app setting');
}

/** Queues that are not as the code has them. */
export function queueFaults(files: BicepFiles): ReadonlyArray<string> {
  const file = files.get('modules/service-bus.bicep');
  const variable = file?.variables.get('queues');
  if (file === undefined || variable === undefined) return ['modules/service-bus.bicep has no queues'];
  const made = plain(evaluate(files, file, variable)) as ReadonlyArray<Readonly<Record<string, unknown>>>;
  const names = differences(
    made.map(({ name }) => String(name)),
    queues.map(({ name }) => name),
    'queue',
  );
  const wrong = queues.flatMap((queue) => {
    const one = made.find(({ name }) => name === queue.name) ?? {};
    return Object.entries(settingsOf(queue))
      .filter(([name, value]) => one[name] !== value)
      .map(
        ([name, value]) => `queue ${queue.name}: ${name} is ${String(one[name])}, and the code says ${String(value)}`,
      );
  });
  return [...names, ...wrong, ...passedOn(files)];
}

/** The queue's properties have to be the variable's, not words beside them. */
function passedOn(files: BicepFiles): ReadonlyArray<string> {
  const body = propertiesOf(declared(files.get('modules/service-bus.bicep'), 'queue').body);
  const properties = body.get('properties');
  const given = properties === undefined ? new Map() : propertiesOf(properties);
  return Object.entries(PASSED_ON)
    .filter(([name, from]) => given.get(name)?.text !== `settings.${from}`)
    .map(([name]) => `the resource of a queue does not take its ${name} from the list`);
}

const PASSED_ON: Readonly<Record<string, string>> = {
  requiresSession: 'requiresSession',
  lockDuration: 'lockDuration',
  maxDeliveryCount: 'maxDeliveryCount',
  requiresDuplicateDetection: 'requiresDuplicateDetection',
  duplicateDetectionHistoryTimeWindow: 'duplicateDetectionWindow',
};

function settingsOf(queue: QueueSettings): Readonly<Record<string, unknown>> {
  const { requiresSession, lockDurationMs, maxDeliveryCount, duplicateDetectionWindowMs: window } = queue;
  return {
    requiresSession,
    lockDuration: minutes(lockDurationMs),
    maxDeliveryCount,
    requiresDuplicateDetection: window !== null,
    ...(window === null ? {} : { duplicateDetectionWindow: minutes(window) }),
  };
}

function minutes(ms: number): string {
  return `PT${ms / 60_000}M`;
}

/** Lists of queues, containers, functions and currencies that are not those of the code. */
export function listFaults(files: BicepFiles): ReadonlyArray<string> {
  const main = files.get('main.bicep');
  const names = queues.map(({ name }) => name);
  const functions = triggers();
  const read = functions.flatMap(({ queue }) => queue ?? []);
  const list = (variable: string, file = main): ReadonlyArray<string> => {
    const node = file?.variables.get(variable) ?? file?.parameters.get(variable)?.defaultValue;
    return file === undefined || node === null || node === undefined
      ? []
      : (plain(evaluate(files, file, node)) as ReadonlyArray<string>);
  };
  const overHttp = functions.filter(({ isHttp }) => isHttp).map(({ name }) => name);
  return [
    ...differences(list('triggerQueues'), read, 'queue that is read'),
    ...differences(
      list('unreadQueues'),
      names.filter((name) => !read.includes(name)),
      'queue that is not read',
    ),
    ...differences(list('dataContainers'), Object.values(container), 'container'),
    ...list('alwaysReadyFunctions')
      .filter((name) => name !== 'http' && !functions.some((one) => one.name === name))
      .map((name) => `alwaysReadyFunctions: there is no function ${name}`),
    ...differences(
      list('httpFunctions', files.get('modules/function-app.bicep')),
      ['http', ...overHttp],
      'name of the group http',
    ),
    ...differences(currencies(files), priceCurrencies, 'currency'),
    ...differences(relayQueues(files), queuesOfRelay(), 'queue of the relay'),
    ...(names.includes(poisonQueue.name) ? [] : ['the queue of poison is not among the queues']),
  ];
}

function currencies(files: BicepFiles): ReadonlyArray<string> {
  const main = files.get('main.bicep');
  return main === undefined ? [] : literalsOf(namedValue(files, main, 'currency')).map(String);
}

function relayQueues(files: BicepFiles): ReadonlyArray<string> {
  const main = files.get('main.bicep');
  const params = propertiesOf(declared(main, 'relaySend').body).get('params');
  const node = params === undefined ? undefined : propertiesOf(params).get('queueNames');
  return main === undefined || node === undefined ? [] : (plain(evaluate(files, main, node)) as ReadonlyArray<string>);
}

/** The queues that the relay's source names as those it sends to. */
function queuesOfRelay(): ReadonlyArray<string> {
  const source = readFileSync(join(root, 'relay/publish/outbox.ts'), 'utf8');
  const named = new Set([...source.matchAll(/\b(\w+)Queue\.name/g)].map(([, name = '']) => name));
  return queues.map(({ name }) => name).filter((name) => named.has(name));
}

/** Event types and annotations that are subscribed to. */
export function subscribedEvents(files: BicepFiles): {
  readonly types: ReadonlyArray<string>;
  readonly annotations: ReadonlyArray<string>;
} {
  const file = files.get('modules/signals/signals.bicep');
  const strings = file === undefined ? [] : allBelow(file.tree).flatMap((node) => textOf(node) ?? []);
  return {
    types: strings.filter((text) =>
      /^Microsoft\.(ResourceNotifications\.\w+|Resources)\.(Resource|Scheduled|Availability)\w*(Annotated|Emitted|Success|Changed)$/.test(
        text,
      ),
    ),
    annotations: strings.filter((text) => /^(VirtualMachine|PossiblyDegraded)\w+$/.test(text)),
  };
}

interface Trigger {
  readonly name: string;
  /** Null for what is no trigger of a queue. */
  readonly queue: string | null;
  /** One of the group `http`: Event Grid's triggers are webhooks. */
  readonly isHttp: boolean;
  /** App settings that the trigger names. */
  readonly settings: ReadonlyArray<string>;
}

/** The functions that the source registers. */
export function triggers(): ReadonlyArray<Trigger> {
  const folder = join(root, 'functions');
  return globSync('*.ts', { cwd: folder }).flatMap((file) => {
    const source = readFileSync(join(folder, file), 'utf8');
    const [, kind = '', name] = /\bapp\.(\w+)\('(\w+)'/.exec(source) ?? [];
    if (name === undefined) return [];
    const isHttp = kind === 'http' || kind === 'eventGrid';
    const [, queue = null] = /queueName: '(\w+)'/.exec(source) ?? [];
    const [, connection] = /connection: '(\w+)'/.exec(source) ?? [];
    const identity = ['fullyQualifiedNamespace', 'credential', 'clientId'].map((part) => `${connection}__${part}`);
    const schedules = [...source.matchAll(/%(\w+)%/g)].map(([, setting = '']) => setting);
    return [{ name, queue, isHttp, settings: [...(connection === undefined ? [] : identity), ...schedules] }];
  });
}

function differences(is: ReadonlyArray<string>, wanted: ReadonlyArray<string>, what: string): ReadonlyArray<string> {
  return [
    ...[...new Set(wanted)].filter((one) => !is.includes(one)).map((one) => `${what} ${one} is missing`),
    ...is.filter((one) => !wanted.includes(one)).map((one) => `${what} ${one} is known to nobody`),
  ];
}
