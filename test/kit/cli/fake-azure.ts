import { join, resolve } from 'node:path';
import type { AzAnswer } from '../../../infra/hooks/az.ts';
import { removalOutputs } from '../../../infra/hooks/outside.ts';
import type { DeployOptions } from '../../../cli/deploy/deploy-options.ts';
import { type Machine, type Page } from '../../../cli/deploy/machine.ts';
import { runDeploy } from '../../../cli/deploy/run-deploy.ts';
import { existsSync, readFileSync } from 'node:fs';
import {
  CLUSTER_ID,
  NODE_GROUP,
  SUBNET,
  SUBSCRIPTION,
  goodCluster,
  owner,
  VNET,
  VNET_GUID,
} from '../infra/azure-answers.ts';

export const root = resolve(import.meta.dirname, '../../..');

export const optionsOf = (parts: Partial<DeployOptions> = {}): DeployOptions => ({
  kind: 'deploy',
  cluster: CLUSTER_ID,
  name: 'my-cluster',
  location: null,
  appZip: null,
  parameters: null,
  isDry: false,
  isYes: false,
  ...parts,
});

type Parameters = Record<string, { value: unknown }>;

/** What Azure, the cluster and the app are like. A command changes it as the real ones would be changed. */
export interface World {
  azVersion: string;
  /** Of az's login. */
  subscription: string;
  hasEntra: boolean;
  hasIssuer: boolean;
  hasWorkloadIdentity: boolean;
  isAdmin: boolean;
  /** Looks until a role that was given holds. */
  roleHoldsAfterLooks: number;
  cluster: object;
  record: {
    state: string;
    at: string;
    location: string;
    parameters: Parameters;
    error?: object;
  } | null;
  /** What the template has for parameters that nobody says. */
  defaults: Readonly<Record<string, unknown>>;
  /** Names of custom roles on the node resource group. */
  roles: Array<string>;
  group: boolean;
  image: boolean;
  chart: boolean;
  /** Of the chart that is installed, as Helm tells them. */
  values: Readonly<Record<string, unknown>> | null;
  code: boolean;
  pools: boolean;
  /** Answers that the app gives before it works. */
  healthAfter: number;
  decisions: ReadonlyArray<string>;
  files: ReadonlyArray<string>;
}

/** A cluster as `az aks create` makes it today, in a subscription where nothing was deployed. */
export const newcomer = (parts: Partial<World> = {}): World => ({
  azVersion: '2.91.0',
  subscription: SUBSCRIPTION,
  hasEntra: false,
  hasIssuer: false,
  hasWorkloadIdentity: false,
  isAdmin: false,
  roleHoldsAfterLooks: 2,
  cluster: {},
  record: null,
  defaults: {},
  roles: [],
  group: false,
  image: false,
  chart: false,
  values: null,
  code: false,
  pools: false,
  healthAfter: 2,
  decisions: ['', 'No resources found\n', 'No resources found\n', 'No resources found\n'],
  files: [`${root}/scripts/pack.ts`],
  ...parts,
});

/** One where all is as it should be. */
export const ready = (parts: Partial<World> = {}): World =>
  newcomer({
    hasEntra: true,
    hasIssuer: true,
    hasWorkloadIdentity: true,
    isAdmin: true,
    roleHoldsAfterLooks: 0,
    ...parts,
  });

/** How one request goes wrong. `lost`: it is done, and nobody hears of it. `failed`: begun, and ended badly. */
export type Mishap = 'refused' | 'lost' | 'failed' | 'loggedOut' | 'missing' | 'exists';

export interface Typed {
  readonly code: number;
  readonly said: string;
  /** Every request, in order: words of az, of another program, or an address. */
  readonly requests: ReadonlyArray<string>;
  readonly questions: ReadonlyArray<string>;
}

/** Types a command before a world. `mishap` decides about each request. */
export async function type(
  world: World,
  options: DeployOptions,
  {
    mishap = () => null,
    answers = () => true,
    environment = {},
    home = root,
  }: {
    readonly mishap?: (request: string, index: number) => Mishap | null;
    /** Null: nobody is there. */
    readonly answers?: ((question: string) => boolean) | null;
    readonly environment?: Readonly<Record<string, string>>;
    /** The folder of Nodewright. */
    readonly home?: string;
  } = {},
): Promise<Typed> {
  const lines: Array<string> = [];
  const requests: Array<string> = [];
  const questions: Array<string> = [];
  let nowMs = Date.parse('2026-11-26T01:00:00Z');
  /** Counts a request, and says what happens to it. */
  const meet = (request: string): Mishap | null => mishap(request, requests.push(request) - 1);
  const machine: Machine = {
    environment,
    root: home,
    folder: root,
    azIn: (folder) => (args) => {
      const words = args.join(' ');
      nowMs += 1_000;
      return happen(world, { words, args, folder }, meet(words));
    },
    run: (program, args) => {
      const words = [program, ...args].join(' ');
      const met = meet(words);
      if (met !== 'refused' && met !== 'failed' && words.startsWith('az acr build')) world.image = true;
      if (met !== null) throw new Error(`${program} ${args.slice(0, 2).join(' ')} ended with 1: its words are above`);
    },
    read: () => '',
    say: (line) => lines.push(line),
    isFile: (path) => world.files.includes(path),
    makeKey: () => `ssh-rsa ${'A'.repeat(300)}`,
    confirm:
      answers === null
        ? null
        : (question) => {
            questions.push(question);
            return Promise.resolve(answers(question));
          },
    get: (url) => {
      if (meet(url) !== null) return Promise.reject(new Error('connect ECONNREFUSED'));
      return Promise.resolve(healthOf(world));
    },
    now: () => nowMs,
    sleep: (ms) => {
      nowMs += ms;
      return Promise.resolve();
    },
    hold: (ms) => {
      nowMs += ms;
    },
  };
  const code = await runDeploy(options, (line) => lines.push(line), machine);
  return { code, said: lines.join('\n'), requests, questions };
}

function healthOf(world: World): Page {
  if (!world.code || !world.chart) return { status: 404, body: null };
  if (world.healthAfter > 0) {
    world.healthAfter -= 1;
    const problems = ['the relay has published nothing yet: see its log in the cluster'];
    return { status: 503, body: { isReady: false, problems, snapshotAgeMs: null } };
  }
  return { status: 200, body: { isReady: true, problems: [], snapshotAgeMs: 3_200 } };
}

const answer = (value: unknown): AzAnswer => ({ kind: 'answer', value });
const refuse = (message: string): AzAnswer => ({ kind: 'refused', message: `ERROR: ${message}` });

/** One call of az. */
interface Call {
  readonly words: string;
  readonly args: ReadonlyArray<string>;
  /** Where it was typed. */
  readonly folder: string;
}

function happen(world: World, call: Call, met: Mishap | null): AzAnswer {
  const { words, args } = call;
  if (met === 'missing') return { kind: 'missing' };
  if (met === 'exists') {
    // Somebody else was quicker.
    ask(world, call);
    return refuse('(RoleAssignmentExists) The role assignment already exists.');
  }
  if (met === 'loggedOut') return refuse("Please run 'az login' to setup account.");
  if (met === 'refused') return refuse('(ServiceUnavailable) The service is busy.');
  if (words.startsWith('deployment sub create') && met !== null) return interrupt(world, args, met);
  if (met === 'failed') {
    return words.startsWith('aks command invoke')
      ? answer({ exitCode: 1, logs: 'Error: context deadline exceeded' })
      : refuse('(OperationFailed) The operation has failed.');
  }
  const said = ask(world, call);
  return met === 'lost' ? refuse(`az ${args.slice(0, 3).join(' ')} did not end in time, and was ended`) : said;
}

function interrupt(world: World, args: ReadonlyArray<string>, met: Mishap): AzAnswer {
  deploy(world, args);
  if (world.record === null) throw new Error('a deployment leaves its record');
  world.record.state = met === 'lost' ? 'Running' : 'Failed';
  if (met === 'lost') return refuse('az deployment sub create did not end in time, and was ended');
  const fault = { code: 'QuotaExceeded', message: 'no room for Flex Consumption' };
  world.record.error = { code: 'DeploymentFailed', message: 'see details', details: [{ code: 'X', details: [fault] }] };
  return refuse('{"code": "DeploymentFailed", "message": "At least one resource deployment operation failed."}');
}

function deploy(world: World, args: ReadonlyArray<string>): void {
  const of = (option: string): string => args[args.indexOf(option) + 1] ?? '';
  const files = args.flatMap((word, index) => (args[index - 1] === '--parameters' ? [word.slice(1)] : []));
  const sent = files.map((file) => (JSON.parse(readFileSync(file, 'utf8')) as { parameters: Parameters }).parameters);
  const defaults = Object.entries(world.defaults).map(([name, value]) => [name, { value }] as const);
  const parameters = Object.assign({}, Object.fromEntries(defaults), ...sent) as Parameters;
  world.record = { state: 'Succeeded', at: '2026-11-26T01:05:00Z', location: of('--location'), parameters };
  world.group = true;
}

/** As Resource Manager answers: letters of outputs' names are not kept. */
function shown({ record }: World): unknown {
  if (record === null) return null;
  const { state, at, location, parameters, error } = record;
  const known: Record<string, string> = {
    ...Object.fromEntries(removalOutputs.map((name) => [name, ''])),
    AZURE_RESOURCE_GROUP: 'rg-nodewright-my-cluster',
    AZURE_SUBSCRIPTION_ID: SUBSCRIPTION,
    FUNCTION_APP_NAME: 'func-nodewright-abc',
    FUNCTIONS_PRINCIPAL_ID: 'f',
    RELAY_CLIENT_ID: 'r',
    CLUSTER_NAME: 'my-cluster',
    CLUSTER_RESOURCE_GROUP: 'my-group',
    NODE_RESOURCE_GROUP: NODE_GROUP,
    NODE_SUBNET_ID: SUBNET,
    SERVICE_BUS_NAMESPACE: 'bus.servicebus.windows.net',
    BLOB_SERVICE_URI: 'https://data.blob.core.windows.net/',
    RELAY_NAMESPACE: 'nodewright-system',
    REGISTRY_NAME: 'registry',
    ROLE_SUFFIX: 'my-cluster-abcdefghijklm',
  };
  const outputs = Object.fromEntries(
    Object.entries(known).map(([name, value]) => [`${name[0]?.toLowerCase()}${name.slice(1)}`, { value }]),
  );
  return {
    location,
    properties: {
      provisioningState: state,
      timestamp: at,
      parameters,
      error,
      outputs: state === 'Succeeded' ? outputs : null,
    },
  };
}

function ask(world: World, { words, args, folder }: Call): AzAnswer {
  const found = HANDLERS.find(([pattern]) => pattern.test(words));
  return found === undefined ? refuse(`(ResourceNotFound) nobody answers ${words}`) : found[1](world, args, folder);
}

const adminPermission = { actions: [], notActions: [], dataActions: ['Microsoft.ContainerService/managedClusters/*'] };

function permissionsOf(world: World, path: string): unknown {
  const isOfCluster = path.includes('/managedClusters/');
  if (isOfCluster && world.isAdmin && world.roleHoldsAfterLooks > 0) world.roleHoldsAfterLooks -= 1;
  const holds = isOfCluster && world.hasEntra && world.isAdmin && world.roleHoldsAfterLooks === 0;
  return { value: [...owner, ...(holds ? [adminPermission] : [])] };
}

function clusterOf(world: World): unknown {
  return {
    ...goodCluster,
    properties: {
      ...goodCluster.properties,
      aadProfile: world.hasEntra ? { managed: true, enableAzureRBAC: true } : null,
      oidcIssuerProfile: { enabled: world.hasIssuer },
      securityProfile: world.hasWorkloadIdentity ? { workloadIdentity: { enabled: true } } : null,
      linuxProfile: null,
      ...world.cluster,
    },
  };
}

/** As Helm lays one file of values over another, as deep as ours lie. */
function merge(under: object, over: object): Record<string, unknown> {
  const was = under as Record<string, object>;
  return {
    ...under,
    ...Object.fromEntries(Object.entries(over).map(([name, value]) => [name, { ...was[name], ...(value as object) }])),
  };
}

/** The folder of the command has its files, and is gone after it. */
function install(world: World, folder: string): void {
  const read = (name: string): object =>
    existsSync(join(folder, name)) ? (JSON.parse(readFileSync(join(folder, name), 'utf8')) as object) : {};
  world.chart = true;
  world.values = merge(read('own-values.yaml'), read('deployed-values.json'));
}

function invoked(world: World, command: string, folder: string): AzAnswer {
  const logs = (text: string): AzAnswer => answer({ exitCode: 0, logs: text });
  if (command.includes('auth can-i'))
    return logs((world.isAdmin && world.roleHoldsAfterLooks === 0 ? 'yes\n' : 'no\n').repeat(6));
  if (command.startsWith('kubectl get customresourcedefinitions')) return logs('---\n---\n');
  if (command.startsWith('helm get values'))
    return logs(
      `${world.values === null ? 'Error: release: not found' : JSON.stringify(world.values)}\n---\n---\n---\n`,
    );
  if (command.startsWith('helm upgrade')) install(world, folder);
  if (command.startsWith('helm uninstall')) world.chart = false;
  if (command.startsWith('kubectl delete nodepools')) world.pools = false;
  if (command.startsWith('kubectl get nodepools --output name; echo')) return logs(world.decisions.join('---\n'));
  return logs(command.startsWith('helm') ? 'Release "nodewright" has been upgraded.' : '');
}

type Handler = (world: World, args: ReadonlyArray<string>, folder: string) => AzAnswer;

const HANDLERS: ReadonlyArray<readonly [RegExp, Handler]> = [
  [/^version$/, (world) => answer({ 'azure-cli': world.azVersion })],
  [/^account show$/, (world) => answer({ id: world.subscription, user: { name: 'you@example.com' } })],
  [/^rest .*\/permissions\?/, (world, args) => answer(permissionsOf(world, args.at(-1) ?? ''))],
  [/^rest .*\/usages\?/, () => answer({ value: [{ name: { value: 'cores' }, currentValue: 0, limit: 100 }] })],
  [
    /^rest .*\/virtualNetworks\?/,
    () =>
      answer({
        value: [
          {
            id: VNET,
            location: 'westeurope',
            properties: {
              resourceGuid: VNET_GUID,
              subnets: [{ id: SUBNET, properties: { addressPrefix: '10.0.0.0/16' } }],
            },
          },
        ],
      }),
  ],
  [/^rest .*\/systemTopics\?/, () => answer({ value: [] })],
  [/^rest .*\/Microsoft\.App\?/, () => answer({ registrationState: 'Registered' })],
  [/^rest .*\/managedClusters\/my-cluster\?/, (world) => answer(clusterOf(world))],
  [/^rest .*\/subscriptions\/[0-9a-f-]+\?/, () => answer({ subscriptionPolicies: { quotaId: 'PayAsYouGo' } })],
  [/^functionapp list-flexconsumption-locations/, () => answer([{ name: 'West Europe' }])],
  [/^role definition list/, (world) => answer(world.roles.map((roleName) => ({ roleName })))],
  [
    /^aks update/,
    (world, args) => {
      if (args.includes('--enable-aad')) world.hasEntra = true;
      if (args.includes('--enable-oidc-issuer')) world.hasIssuer = true;
      if (args.includes('--enable-workload-identity')) world.hasWorkloadIdentity = true;
      return answer({});
    },
  ],
  [
    /^role assignment create/,
    (world) => {
      world.isAdmin = true;
      return answer({});
    },
  ],
  [
    /^deployment sub show/,
    (world, args) =>
      world.record === null
        ? refuse(`(DeploymentNotFound) Deployment '${args.at(-1)}' could not be found.`)
        : answer(shown(world)),
  ],
  [
    /^deployment sub export/,
    ({ defaults }) => {
      const all = Object.entries(defaults).map(([name, defaultValue]) => [name, { defaultValue }]);
      return answer({ parameters: Object.fromEntries(all) });
    },
  ],
  [
    /^deployment sub create/,
    (world, args) => {
      if (world.record?.state === 'Running') return refuse('(DeploymentActive) is active');
      deploy(world, args);
      return answer(shown(world));
    },
  ],
  [
    /^deployment sub what-if/,
    () =>
      answer({
        changes: [
          {
            changeType: 'Create',
            resourceId: `/subscriptions/${SUBSCRIPTION}/resourceGroups/rg-nodewright-my-cluster`,
          },
          { changeType: 'Create', resourceId: '/subscriptions/s/resourceGroups/g/providers/Microsoft.Web/sites/a' },
        ],
      }),
  ],
  [
    /^deployment sub delete/,
    (world) => {
      world.record = null;
      return answer(null);
    },
  ],
  [/^acr show/, () => answer({ loginServer: 'registry.azurecr.io' })],
  [
    /^acr repository show/,
    (world) => (world.image ? answer({ digest: `sha256:${'5'.repeat(64)}` }) : refuse('(ManifestUnknown) no image')),
  ],
  [/^aks command invoke/, (world, args, folder) => invoked(world, args[args.indexOf('--command') + 1] ?? '', folder)],
  [
    /^functionapp deployment source config-zip/,
    (world) => {
      world.code = true;
      return answer(null);
    },
  ],
  [
    /^rest --method get .*\/Microsoft\.Web\/sites\/func-nodewright-abc\?/,
    () => answer({ properties: { state: 'Running', defaultHostName: 'func.example.net' } }),
  ],
  [
    /^rest --method post .*\/host\/default\/listkeys\?/,
    () => answer({ functionKeys: { default: 'key-of-the-app' }, masterKey: 'm' }),
  ],
  [
    /^identity list/,
    (world) =>
      world.group
        ? answer([{ name: 'id-nodewright-functions-abcdefghijklm', principalId: 'f' }])
        : refuse('(ResourceGroupNotFound) no group'),
  ],
  [
    /^group delete/,
    (world) => {
      if (!world.group) return refuse('(ResourceGroupNotFound) could not be found');
      Object.assign(world, { group: false, code: false, image: false });
      return answer(null);
    },
  ],
  [/^(role (assignment|definition)|eventgrid|consumption) /, () => answer(null)],
];
