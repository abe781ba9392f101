import { readDisruption } from '../../shared/contract/settings/disruption-settings.ts';
import { ignoresDevices, readPolicy, dedicatesNodes } from '../../shared/contract/settings/scheduling-settings.ts';
import type { Settings } from '../../shared/contract/settings/settings.ts';
import { nextOccurrence, parseNcrontab } from '../functions-host/timers/ncrontab.ts';
import { type Assignment, repeatedNames, unknownName } from './assignment.ts';

type Name = keyof Settings | 'SWEEP_SCHEDULE' | 'DISRUPT_SCHEDULE';

type Rule =
  /** The sandbox sets it: why, and what to do instead where there is something. */
  | { readonly kind: 'owned'; readonly why: string }
  /** Throws what is wrong with a value, as the product would. */
  | { readonly kind: 'free'; readonly check: (value: string) => unknown };

const free: Rule = { kind: 'free', check: () => undefined };

function checkedBy(check: (value: string) => unknown): Rule {
  return { kind: 'free', check };
}

function owned(why: string): Rule {
  return { kind: 'owned', why };
}

const ONE_CLUSTER = owned('the sandbox makes the cluster and names it');
const ITS_AZURE = owned('it is that of the Azure that the sandbox plays');
const ITS_SERVERS = owned('the sandbox starts what it leads to, at a port that is free');
const ITS_IDENTITY = owned('no login exists here: the sandbox gives the app its token');

/** Every app setting; a new one of the contract must be put here before this compiles. */
const rules: Readonly<Record<Name, Rule>> = {
  CLUSTER_NAME: ONE_CLUSTER,
  NODEWRIGHT_NAMESPACE: owned('the sandbox makes the one namespace nodewright-system'),
  CLUSTER_ENDPOINT: ITS_SERVERS,
  CLUSTER_CA_DATA: ITS_SERVERS,
  KUBECONFIG: owned('the app calls the sandbox’s own API server; --kubeconfig PATH writes a kubeconfig for you'),
  ServiceBus: ITS_SERVERS,
  ServiceBus__fullyQualifiedNamespace: ITS_SERVERS,
  SnapshotStorage: ITS_SERVERS,
  SnapshotStorage__blobServiceUri: ITS_SERVERS,
  AZURE_RESOURCE_MANAGER_ENDPOINT: ITS_SERVERS,
  RETAIL_PRICES_ENDPOINT: ITS_SERVERS,
  PRICE_CURRENCY: owned('the sandbox tells all amounts in US dollars'),
  AZURE_SUBSCRIPTION_ID: ITS_AZURE,
  AZURE_NODE_RESOURCE_GROUP: ITS_AZURE,
  VNET_SUBNET_ID: ITS_AZURE,
  MAINTENANCE_CONFIGURATION_ID: ITS_AZURE,
  LOCATION: owned('it follows the Azure that the sandbox plays; choose another region with --azure region=NAME'),
  AZURE_CLIENT_ID: ITS_IDENTITY,
  AZURE_STATIC_TOKEN: ITS_IDENTITY,
  SSH_PUBLIC_KEY: free,
  LINUX_ADMIN_USERNAME: free,
  NETWORK_PLUGIN: free,
  NETWORK_PLUGIN_MODE: free,
  NETWORK_POLICY: free,
  NETWORK_DATAPLANE: free,
  NODE_IDENTITIES: free,
  KUBELET_IDENTITY_CLIENT_ID: free,
  KUBELET_BOOTSTRAP_TOKEN: free,
  AZURE_TENANT_ID: free,
  VNET_GUID: free,
  NODE_OSDISK_DISKENCRYPTIONSET_ID: free,
  SCHEDULED_EVENTS: free,
  DNS_SERVICE_IP: free,
  VM_MEMORY_OVERHEAD_PERCENT: checkedBy(checkShare),
  ADDITIONAL_TAGS: free,
  PREFERENCE_POLICY: checkedBy((PREFERENCE_POLICY) => readPolicy({ PREFERENCE_POLICY })),
  MIN_VALUES_POLICY: checkedBy((MIN_VALUES_POLICY) => readPolicy({ MIN_VALUES_POLICY })),
  FEATURE_GATES: checkedBy((FEATURE_GATES) => readPolicy({ FEATURE_GATES })),
  SCHEDULER_CONFIG: checkedBy((SCHEDULER_CONFIG) => readPolicy({ SCHEDULER_CONFIG })),
  IGNORE_DRA_REQUESTS: checkedBy((IGNORE_DRA_REQUESTS) => ignoresDevices({ IGNORE_DRA_REQUESTS })),
  RESERVE_NODES: checkedBy((RESERVE_NODES) => dedicatesNodes({ RESERVE_NODES })),
  DISRUPTION: checkedBy((DISRUPTION) => readDisruption({ DISRUPTION })),
  DISRUPT_SCHEDULE: checkedBy(checkSchedule),
  SWEEP_SCHEDULE: checkedBy(checkSchedule),
};

/** Names of the settings that can be given, in order, for messages and help. */
export const givableSettings: ReadonlyArray<string> = Object.entries(rules)
  .flatMap(([name, { kind }]) => (kind === 'free' ? [name] : []))
  .toSorted();

/** App settings that may go to the app, and what is wrong with the others. An empty value stands for the default. */
export interface ReadSettings {
  readonly settings: Readonly<Record<string, string>>;
  readonly problems: ReadonlyArray<string>;
}

/** Judges app settings by the product's own rules. Never throws. */
export function readAppSettings(given: ReadonlyArray<Assignment>): ReadSettings {
  const problems = [...repeatedNames(given, { ignoresCase: false }), ...given.flatMap((one) => problemOf(one) ?? [])];
  const settings = given.filter(({ value }) => value !== '').map(({ name, value }) => [name, value] as const);
  return { settings: Object.fromEntries(settings), problems };
}

function problemOf(given: Assignment): string | null {
  const { field, name, value } = given;
  const rule = isName(name) ? rules[name] : undefined;
  if (rule === undefined) return unknownName(given, 'app setting', givableSettings);
  if (rule.kind === 'owned') return `${field} cannot be given: ${rule.why}`;
  if (value === '') return null;
  try {
    rule.check(value);
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const told = `app setting ${name}`;
    return message.startsWith(told) ? `${field}${message.slice(told.length)}` : `${field}: ${message}`;
  }
}

function isName(name: string): name is Name {
  return Object.hasOwn(rules, name);
}

/** The product takes what `Number` makes of it; anything but a share makes every size useless. */
function checkShare(text: string): void {
  const share = Number(text);
  if (text.trim() === '' || !(share >= 0 && share < 1))
    throw new Error(`write a share of 0 to 1, as 0.075, not ${text}`);
}

function checkSchedule(text: string): void {
  if (nextOccurrence(parseNcrontab(text), 0) === null) throw new Error(`"${text}" names no instant`);
}
