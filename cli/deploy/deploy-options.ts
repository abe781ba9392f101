import { CLUSTER_ID } from '../../infra/hooks/answers.ts';
import { wrongArgument } from '../wrong-input.ts';

/** What `nodewright deploy`, `upgrade`, `status` or `uninstall` was asked for. */
export interface DeployOptions {
  readonly kind: 'deploy' | 'upgrade' | 'status' | 'uninstall';
  /** Resource id of the AKS cluster. */
  readonly cluster: string;
  /** The deployment's; it is part of the names of what is made. */
  readonly name: string;
  /** Null: where it is already, or where the cluster is. */
  readonly location: string | null;
  /** The app's code, packed already; null: it is packed here. */
  readonly appZip: string | null;
  /** A file of further parameters of the template, as az takes it; null: none. */
  readonly parameters: string | null;
  readonly isDry: boolean;
  /** Nothing is asked. */
  readonly isYes: boolean;
}

/** `nodewright-NAME` names the deployment in Azure, which takes 64 characters. */
const NAME_LENGTH_MAX = 53;

const shared = `      --cluster ID     The AKS cluster: az aks show --resource-group GROUP --name CLUSTER --query id --output tsv
      --name NAME      Of the deployment. Default: the cluster's name`;

export const deployUsage = `Deploy Nodewright for an AKS cluster, with the Azure CLI's login as it is. Type it again to go on where it
stopped, to upgrade it, or to change a setting: what is the same stays.

Usage:
  nodewright deploy --cluster ID [options]

${shared}
      --location NAME  Region of what is made. Default: the cluster's. It cannot be changed later
      --app-zip FILE   The app's code, packed already. Default: it is packed here
      --parameters FILE
                       Further parameters of the template, in JSON, as az takes them: docs/deploy.md
      --dry-run        Print each step and what it would change, and change nothing
      --yes            Ask nothing, and fix what can be fixed
  -h, --help           Print this

Steps: what it takes (with the offer to fix what is not so), the app's code is packed, infrastructure, the relay and
rights in the cluster, the app's code is sent, a first look. Variables such as NODEWRIGHT_CURRENCY say the rest:
docs/deploy.md has them all. What was said in an earlier deployment holds until it is said otherwise.

Exit codes:
  0   deployed, and it works; with --dry-run: nothing stands in the way
  1   something has to be fixed, or a step failed: it says which, and how to go on
  2   the command, az or its login is wrong: nothing was changed
  3   an internal error. Please report it

Example:
  nodewright deploy --cluster "$(az aks show --resource-group GROUP --name CLUSTER --query id --output tsv)"
`;

export const upgradeUsage = `Bring this version to where Nodewright is deployed for an AKS cluster: the steps of nodewright deploy, with the
choices of the last deployment, each printed in a line: a variable that is set makes another, an empty one takes the
default. An older version brings itself back the same way. It refuses where nothing is deployed.

Usage:
  nodewright upgrade --cluster ID [options]

${shared}
      --app-zip FILE   The app's code, packed already. Default: it is packed here
      --parameters FILE
                       Further parameters of the template, in JSON, as az takes them: docs/deploy.md
      --dry-run        Print each step and what it would change, and change nothing
      --yes            Ask nothing, and fix what can be fixed
  -h, --help           Print this

Exit codes:
  0   upgraded, and it works; with --dry-run: nothing stands in the way
  1   nothing is deployed, something has to be fixed, or a step failed: it says which, and how to go on
  2   the command, az or its login is wrong: nothing was changed
  3   an internal error. Please report it
`;

export const statusUsage = `Show whether Nodewright works for an AKS cluster: the app's health, the relay, what is decided.

Usage:
  nodewright status --cluster ID [--name NAME]

${shared}
  -h, --help           Print this

Exit codes:
  0   it works
  1   it does not, or is not deployed: it says what is wrong
  2   the command, az or its login is wrong
  3   an internal error. Please report it
`;

export const uninstallUsage = `Remove Nodewright and the nodes that it made: NodePools and node classes first, then the chart, rights, and the
resource group. Type it again to go on where it stopped.

Usage:
  nodewright uninstall --cluster ID [options]

${shared}
      --dry-run        Print what would be removed, as commands
      --yes            Ask nothing
  -h, --help           Print this

Exit codes:
  0   removed; with --dry-run: printed
  1   something does not go, or nothing is deployed: it says what
  2   the command, az or its login is wrong: nothing was changed
  3   an internal error. Please report it
`;

const usages: Readonly<Record<DeployOptions['kind'], string>> = {
  deploy: deployUsage,
  upgrade: upgradeUsage,
  status: statusUsage,
  uninstall: uninstallUsage,
};

/** Is it one of these commands? */
export function isDeployCommand(name: string): name is DeployOptions['kind'] {
  return Object.hasOwn(usages, name);
}

/** Help of one of the commands; undefined for any other. */
export function deployUsageOf(command: string | undefined): string | undefined {
  return Object.entries(usages).find(([name]) => name === command)?.[1];
}

const values: Readonly<Record<DeployOptions['kind'], ReadonlyArray<string>>> = {
  deploy: ['--cluster', '--name', '--location', '--app-zip', '--parameters'],
  upgrade: ['--cluster', '--name', '--app-zip', '--parameters'],
  status: ['--cluster', '--name'],
  uninstall: ['--cluster', '--name'],
};

const flags: Readonly<Record<DeployOptions['kind'], ReadonlyArray<string>>> = {
  deploy: ['--dry-run', '--yes'],
  upgrade: ['--dry-run', '--yes'],
  status: [],
  uninstall: ['--dry-run', '--yes'],
};

/** Null: help is wanted. Throws WrongInputError that names the argument and the fix. */
export function parseDeploy(kind: DeployOptions['kind'], args: ReadonlyArray<string>): DeployOptions | null {
  const given = readGiven(kind, args);
  if (given === null) return null;
  const cluster = clusterOf(given.get('--cluster'));
  return {
    kind,
    cluster,
    name: nameOf(given.get('--name') ?? nameIn(cluster)),
    location: locationOf(given.get('--location')),
    appZip: given.get('--app-zip') ?? null,
    parameters: given.get('--parameters') ?? null,
    isDry: given.has('--dry-run'),
    isYes: given.has('--yes'),
  };
}

/** The deployment's where none is given. */
function nameIn(cluster: string): string {
  return (cluster.split('/').at(-1) ?? '').slice(0, NAME_LENGTH_MAX);
}

function readGiven(kind: DeployOptions['kind'], args: ReadonlyArray<string>): ReadonlyMap<string, string> | null {
  const given = new Map<string, string>();
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? '';
    if (argument === '--help' || argument === '-h') return null;
    const equals = argument.startsWith('--') ? argument.indexOf('=') : -1;
    const option = equals < 0 ? argument : argument.slice(0, equals);
    if (given.has(option)) throw wrongArgument(option, 'is given more than once', 'keep one');
    if (flags[kind].includes(argument)) given.set(option, '');
    else if (values[kind].includes(option)) {
      const value = equals < 0 ? args[++index] : argument.slice(equals + 1);
      if (value === undefined || value === '' || value.startsWith('--')) {
        throw wrongArgument(option, 'has no value', 'write a value after it');
      }
      given.set(option, value);
    } else throw wrongArgument(argument, 'is not an option', `see nodewright ${kind} --help`);
  }
  return given;
}

const SHOW_ID = 'az aks show --resource-group GROUP --name CLUSTER --query id --output tsv prints it';

function clusterOf(text: string | undefined): string {
  if (text === undefined) throw wrongArgument('--cluster', 'is missing', `add --cluster ID: ${SHOW_ID}`);
  const id = text.trim().replace(/\/$/, '');
  if (CLUSTER_ID.test(id)) return id;
  throw wrongArgument('--cluster', `${JSON.stringify(text)} ${faultOf(id)}`, fixOf(id));
}

function faultOf(id: string): string {
  if (/^https?:/i.test(id)) return 'is an address, and not an id';
  if (/\/managedClusters\/[^/]+\//i.test(id)) return 'is the id of something inside a cluster';
  if (!id.includes('/')) return 'is a name, and not an id';
  return /\/managedClusters\//i.test(id) ? 'is not a whole id' : 'is not the id of an AKS cluster';
}

function fixOf(id: string): string {
  const [, inside] =
    /(\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.ContainerService\/managedClusters\/[^/?]+)/i.exec(
      id,
    ) ?? [];
  if (inside !== undefined) return `write ${inside}`;
  if (/^[\w-]+$/.test(id)) return `az aks list --query "[?name=='${id}'].id" --output tsv prints it`;
  const [, group, name] = /^([\w.()-]+)\/([\w-]+)$/.exec(id) ?? [];
  if (name !== undefined)
    return `az aks show --resource-group ${group} --name ${name} --query id --output tsv prints it`;
  return SHOW_ID;
}

function nameOf(text: string): string {
  if (text.length <= NAME_LENGTH_MAX && /^[a-z0-9]([\w-]*[a-z0-9])?$/i.test(text)) return text;
  throw wrongArgument(
    '--name',
    `${JSON.stringify(text)} cannot be part of names in Azure`,
    `use letters, digits and dashes, ${NAME_LENGTH_MAX} at most`,
  );
}

function locationOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  // `West Europe` is how Azure shows it.
  const name = text.toLowerCase().replaceAll(' ', '');
  if (/^[a-z]+\d*$/.test(name)) return name;
  throw wrongArgument(
    '--location',
    `${JSON.stringify(text)} is no region`,
    'write it as westeurope: az account list-locations',
  );
}

/** What to type to do the same again. */
export function renderDeploy({ kind, cluster, name, location, appZip, parameters, isYes }: DeployOptions): string {
  return [
    `nodewright ${kind} --cluster ${cluster}`,
    ...(name === nameIn(cluster) ? [] : [`--name ${name}`]),
    ...(location === null ? [] : [`--location ${location}`]),
    ...(appZip === null ? [] : [`--app-zip ${appZip}`]),
    ...(parameters === null ? [] : [`--parameters ${parameters}`]),
    ...(isYes ? ['--yes'] : []),
  ].join(' ');
}

/** Another command for the same deployment. */
export function renderOther(kind: DeployOptions['kind'], options: DeployOptions): string {
  return renderDeploy({ ...options, kind, location: null, appZip: null, parameters: null, isYes: false });
}
