import { parseTimestamp } from '../shared/core/quantity/utc-time.ts';
import type { CapacityType } from '../shared/core/model/catalog.ts';
import { wordMeant } from '../shared/kubernetes/text/word-meant.ts';
import { DEFAULT_REGION } from './catalog/shipped-sizes.ts';
import { type DeployOptions, deployUsageOf, isDeployCommand, parseDeploy } from './deploy/deploy-options.ts';
import { wrongArgument as wrong } from './wrong-input.ts';

/** What `nodewright plan` was asked for. */
export interface PlanOptions {
  readonly kind: 'plan';
  /** Files, folders and `-`; at least one. */
  readonly paths: ReadonlyArray<string>;
  readonly catalog: string | null;
  /** Null: the catalog's, or the default. */
  readonly region: string | null;
  /** Null: plan once, as production does. */
  readonly budgetMs: number | null;
  /** True: a field that nobody knows is an error, and no note. */
  readonly strict: boolean;
  readonly output: Output;
}

/** What `nodewright disrupt` was asked for. */
export interface DisruptOptions {
  readonly kind: 'disrupt';
  readonly paths: ReadonlyArray<string>;
  readonly catalog: string | null;
  readonly region: string | null;
  /** The moment to plan for, in milliseconds since the epoch; null: now. */
  readonly nowMs: number | null;
  /** True: a field that nobody knows is an error, and no note. */
  readonly strict: boolean;
  readonly output: Output;
}

/** What `nodewright launch` was asked for. */
export interface LaunchOptions {
  readonly kind: 'launch';
  readonly paths: ReadonlyArray<string>;
  readonly settings: string;
  /** Without a leading `v`. */
  readonly kubernetesVersion: string;
  readonly size: string;
  /** Null: the size's first. */
  readonly zone: string | null;
  /** Null: on-demand, unless the pool admits spot only. */
  readonly capacityType: CapacityType | null;
  /** Null: the sizes that come along. */
  readonly skus: string | null;
  readonly output: 'json' | 'yaml';
}

/** What `nodewright convert` was asked for. */
export interface ConvertOptions {
  readonly kind: 'convert';
  readonly paths: ReadonlyArray<string>;
  /** Names the zones of AKS node pools; null: they are left out. */
  readonly region: string | null;
  readonly output: 'json' | 'yaml';
}

const outputs = ['table', 'json', 'yaml'] as const;
type Output = (typeof outputs)[number];

export type Command =
  | PlanOptions
  | DisruptOptions
  | LaunchOptions
  | ConvertOptions
  | DeployOptions
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version' };

export const usage = `nodewright: node provisioning for AKS

Usage:
  nodewright deploy --cluster ID     Deploy it for a cluster
  nodewright upgrade --cluster ID    Bring this version to where it is deployed
  nodewright status --cluster ID     Show whether it works
  nodewright uninstall --cluster ID  Remove it
  nodewright plan -f FILE            Plan nodes for the pods in manifests
  nodewright disrupt -f FILE         Plan which nodes of a cluster can be removed
  nodewright convert -f FILE         Write NodePools from old manifests or AKS node pools
  nodewright launch -f FILE          Show the VM and bootstrap configuration of one node
  nodewright version                 Print the version
  nodewright --help                  Print this; nodewright plan --help says more about plan, and so on
`;

export const planUsage = `Plan the nodes that pods need, from files, without a cluster and without Azure.

Usage:
  nodewright plan -f FILE|DIR|- [-f ...] [options]

  -f, --filename FILE   Manifests: a YAML or JSON file, a folder of them, or - for standard input.
                        Any number of times. Lists that kubectl get -o json prints are read too.
      --catalog FILE    Sizes and prices of your own (docs/schema/catalog.schema.json)
      --region REGION   Bundled sizes and prices of this region. Default: ${DEFAULT_REGION}
      --budget-ms N     Look for better plans for N milliseconds. Default: plan once, as the service does
      --strict          Fail where a manifest has a field that its kind does not have. Default: a note
  -o, --output FORMAT   table, json or yaml. Default: table. json and yaml follow docs/schema/plan.schema.json
  -h, --help            Print this

Pods with spec.nodeName run on their node; all others wait for one. Pods that a Deployment, ReplicaSet,
StatefulSet, Job or CronJob would have, and that are not given, are implied and named WORKLOAD-ORDINAL.
DaemonSets take their share of every node. NodePools count as ready.

Exit codes:
  0   every pod has a place
  1   pods are left without a place
  2   the input or the command is wrong: nothing was planned
  3   an internal error: the plan broke a rule of its own audit. Please report it

Examples:
  nodewright plan -f pool.yaml -f app.yaml
  kubectl get nodepools,aksnodeclasses,nodeclaims,nodes,pods,daemonsets -A -o json | nodewright plan -f -
`;

export const disruptUsage = `Plan which nodes of a cluster can be removed, what replaces them and where their pods move, from files,
without touching the cluster.

Usage:
  nodewright disrupt -f FILE|DIR|- [-f ...] [options]

  -f, --filename FILE   The cluster: what kubectl get -o json prints, YAML or JSON, a folder, or - for
                        standard input. Any number of times.
      --catalog FILE    Sizes and prices of your own (docs/schema/catalog.schema.json)
      --region REGION   Bundled sizes and prices of this region. Default: ${DEFAULT_REGION}
      --now TIME        The moment to plan for, as 2026-11-22T09:30:00Z: schedules of budgets, ages. Default: now
      --strict          Fail where a manifest has a field that its kind does not have. Default: a note
  -o, --output FORMAT   table, json or yaml. Default: table. json and yaml follow docs/schema/disruption.schema.json
  -h, --help            Print this

Nodes are removed for the reasons and under the rules of their NodePool's spec.disruption, as in Karpenter: its policy,
consolidateAfter, budgets, PodDisruptionBudgets, karpenter.sh/do-not-disrupt. A NodeClaim is consolidated when
its condition Consolidatable says so, and replaced when Drifted does.

Exit codes:
  0   there is a plan, perhaps to do nothing
  2   the input or the command is wrong: nothing was planned
  3   an internal error: the plan broke a rule of its own audit. Please report it

Examples:
  nodewright disrupt -f cluster.json
  kubectl get nodepools,aksnodeclasses,nodeclaims,nodes,pods,daemonsets,pdb,ns -A -o json | nodewright disrupt -f -
`;

export const launchUsage = `Show the VM, network interface and bootstrap configuration that one node would get, without calling Azure.

Usage:
  nodewright launch -f CLASS -f POOL --settings FILE --kubernetes VERSION --size SIZE [options]

  -f, --filename FILE       The NodePool and its AKSNodeClass: files, folders, or - for standard input
      --settings FILE       App settings, as local.settings.json has them
      --kubernetes VERSION  The cluster's Kubernetes version, as 1.33.7
      --size SIZE           The VM size, as Standard_D4s_v5
      --zone ZONE           As westeurope-1 or 1; 0 for none. Default: the size's first
      --capacity-type TYPE  on-demand or spot. Default: on-demand, unless the pool admits spot only
      --skus FILE           Sizes as ARM lists them (az vm list-skus -o json). Default: the bundled sizes
  -o, --output FORMAT       json or yaml. Default: yaml
  -h, --help                Print this

It prints vm, nic and extension (the bodies of the PUT requests, without the custom data), nodeConfig (what AKS's node
controller reads at boot), kubeletFlags, nodeLabels and customData (base64). A bootstrap token is created at launch:
a placeholder is shown instead. What is read from Azure at launch is shown as AKS names it: load balancer, security group,
the version of the image.

Exit codes:
  0   shown
  2   the input or the command is wrong
  3   an internal error. Please report it

Example:
  nodewright launch -f class.yaml -f pool.yaml --settings local.settings.json --kubernetes 1.34.2 --size Standard_D4s_v5
`;

export const convertUsage = `Write NodePools and AKSNodeClasses of today from older manifests, or from the node pools of AKS.

Usage:
  nodewright convert -f FILE|DIR|- [-f ...] [options]

  -f, --filename FILE   Provisioners, NodePools and AKSNodeClasses, or what az aks nodepool list -o json prints.
                        Files, folders, or - for standard input. Any number of times
      --region REGION   Names the zones of AKS node pools, as westeurope. Default: zones are left out
  -o, --output FORMAT   yaml or json. Default: yaml
  -h, --help            Print this

Notes on standard error say what was left out and what to check. Nothing is applied.

Exit codes:
  0   converted
  1   nothing could be converted: the notes say why
  2   the input or the command is wrong
  3   an internal error. Please report it

Examples:
  nodewright convert -f provisioners.yaml > pools.yaml
  az aks nodepool list --resource-group GROUP --cluster-name CLUSTER -o json | nodewright convert -f - --region westeurope
`;

const COMMANDS = [
  'deploy',
  'upgrade',
  'status',
  'uninstall',
  'plan',
  'disrupt',
  'convert',
  'launch',
  'version',
] as const;

/** Reads a command line. Throws WrongInputError that names the argument and the fix. */
export function parseCommand(args: ReadonlyArray<string>): Command {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h') return { kind: 'help', text: usage };
  if (name === 'help') return { kind: 'help', text: usageOf(rest[0]) };
  if (name === 'version' || name === '--version') return { kind: 'version' };
  if (name === 'plan' || name === 'disrupt' || name === 'launch' || name === 'convert') return parseOptions(name, rest);
  if (isDeployCommand(name)) {
    return parseDeploy(name, rest) ?? { kind: 'help', text: usageOf(name) };
  }
  return refuse(name);
}

function refuse(name: string): never {
  const meant = wordMeant(name, COMMANDS);
  const hint = meant === null ? '' : `did you mean ${meant}? `;
  throw wrong(name, 'is not a command', `${hint}use ${COMMANDS.join(', ')} or --help`);
}

function usageOf(command: string | undefined): string {
  const ofDeploy = deployUsageOf(command);
  if (ofDeploy !== undefined) return ofDeploy;
  if (command === 'disrupt') return disruptUsage;
  if (command === 'launch') return launchUsage;
  if (command === 'convert') return convertUsage;
  return command === 'plan' ? planUsage : usage;
}

/** Every option that takes a value, by all its names; some are of one command. */
const sharedOptions: Readonly<Record<string, string>> = {
  '-f': '--filename',
  '--filename': '--filename',
  '-o': '--output',
  '--output': '--output',
};

const planningOptions = { ...sharedOptions, '--catalog': '--catalog', '--region': '--region' };

const launchOptions = ['--settings', '--kubernetes', '--size', '--zone', '--capacity-type', '--skus'];

/** Options without a value, of those that plan. */
const FLAGS: ReadonlySet<string> = new Set(['--strict']);

type OnFiles = 'plan' | 'disrupt' | 'launch' | 'convert';

const optionNames: Readonly<Record<OnFiles, Readonly<Record<string, string>>>> = {
  plan: { ...planningOptions, '--budget-ms': '--budget-ms' },
  disrupt: { ...planningOptions, '--now': '--now' },
  convert: { ...sharedOptions, '--region': '--region' },
  launch: { ...sharedOptions, ...Object.fromEntries(launchOptions.map((name) => [name, name])) },
};

function parseOptions(command: OnFiles, args: ReadonlyArray<string>): Command {
  const flags = command === 'launch' || command === 'convert' ? [] : args.filter((argument) => FLAGS.has(argument));
  const given = valuesIn(
    command,
    args.filter((argument) => !flags.includes(argument)),
  );
  if (given === null) return { kind: 'help', text: usageOf(command) };
  const paths = given.get('--filename') ?? [];
  if (paths.length === 0) throw wrong('-f', 'is missing', 'name a file, a folder, or - for standard input');
  if (command === 'launch') return launchOf(paths, given);
  if (command === 'convert') {
    return { kind: 'convert', paths, region: onlyOf(given, '--region'), output: writtenOf(given) };
  }
  const shared = {
    paths,
    catalog: onlyOf(given, '--catalog'),
    region: onlyOf(given, '--region'),
    strict: flags.includes('--strict'),
    output: outputOf(onlyOf(given, '--output') ?? 'table'),
  };
  if (command === 'disrupt') return { kind: 'disrupt', ...shared, nowMs: momentOf(onlyOf(given, '--now')) };
  return { kind: 'plan', ...shared, budgetMs: budgetOf(onlyOf(given, '--budget-ms')) };
}

/** What each option was given; null where help is asked for. */
function valuesIn(command: OnFiles, words: ReadonlyArray<string>): ReadonlyMap<string, ReadonlyArray<string>> | null {
  const given = new Map<string, Array<string>>();
  for (let index = 0; index < words.length; index++) {
    const argument = words[index] ?? '';
    if (argument === '--help' || argument === '-h') return null;
    const { option, inline } = splitArgument(command, argument);
    const value = inline ?? words[++index];
    if (value === undefined || value === '') throw wrong(argument, 'has no value', `write a value after it`);
    given.set(option, [...(given.get(option) ?? []), value]);
  }
  return given;
}

function launchOf(paths: ReadonlyArray<string>, given: ReadonlyMap<string, ReadonlyArray<string>>): LaunchOptions {
  const needed = (option: string, what: string): string => {
    const value = onlyOf(given, option);
    if (value === null) throw wrong(option, 'is missing', `add ${option} ${what}`);
    return value;
  };
  return {
    kind: 'launch',
    paths,
    settings: needed('--settings', 'FILE, app settings as local.settings.json has them'),
    kubernetesVersion: versionOf(needed('--kubernetes', 'VERSION, as 1.33.7')),
    size: needed('--size', 'SIZE, as Standard_D4s_v5'),
    zone: onlyOf(given, '--zone'),
    capacityType: capacityTypeOf(onlyOf(given, '--capacity-type')),
    skus: onlyOf(given, '--skus'),
    output: writtenOf(given),
  };
}

/** The format of what is no table. */
function writtenOf(given: ReadonlyMap<string, ReadonlyArray<string>>): 'json' | 'yaml' {
  const output = onlyOf(given, '--output') ?? 'yaml';
  if (output === 'json' || output === 'yaml') return output;
  throw wrong('-o', `${JSON.stringify(output)} is not a format`, 'use json or yaml');
}

function versionOf(text: string): string {
  const [, version] = /^v?(\d+\.\d+\.\d+)$/.exec(text) ?? [];
  if (version === undefined) throw wrong('--kubernetes', `${JSON.stringify(text)} is no version`, 'write it as 1.33.7');
  return version;
}

function capacityTypeOf(text: string | null): CapacityType | null {
  if (text === null || text === 'spot' || text === 'on-demand') return text;
  throw wrong('--capacity-type', `${JSON.stringify(text)} is not one`, 'use on-demand or spot');
}

function momentOf(text: string | null): number | null {
  if (text === null) return null;
  const ms = parseTimestamp(text);
  if (ms !== null && ms >= 0) return ms;
  throw wrong('--now', `${JSON.stringify(text)} is not a time`, 'write it as 2026-11-22T09:30:00Z');
}

/** `--output json`, `--output=json`, `-o json` and `-ojson` say the same. */
function splitArgument(
  command: OnFiles,
  argument: string,
): { readonly option: string; readonly inline: string | null } {
  const equals = argument.startsWith('--') ? argument.indexOf('=') : -1;
  const isGlued = /^-[fo]./.test(argument);
  const name = isGlued ? argument.slice(0, 2) : equals < 0 ? argument : argument.slice(0, equals);
  const option = optionNames[command][name];
  if (option === undefined) {
    const fix = argument.startsWith('-') ? `see nodewright ${command} --help` : `write -f ${argument} if it is a file`;
    throw wrong(argument, 'is not an option', fix);
  }
  if (isGlued) return { option, inline: argument.slice(argument[2] === '=' ? 3 : 2) };
  return { option, inline: equals < 0 ? null : argument.slice(equals + 1) };
}

function onlyOf(given: ReadonlyMap<string, ReadonlyArray<string>>, option: string): string | null {
  const values = given.get(option) ?? [];
  if (values.length > 1) throw wrong(option, 'is given more than once', 'keep one');
  return values[0] ?? null;
}

/** An hour: a plan that is looked for any longer is not waited for. */
const LONGEST_BUDGET_MS = 3_600_000;

function budgetOf(text: string | null): number | null {
  if (text === null) return null;
  const value = Number(text);
  if (/^\d+$/.test(text) && value > 0 && value <= LONGEST_BUDGET_MS) return value;
  throw wrong('--budget-ms', `${JSON.stringify(text)} is no such time`, `use 1 to ${LONGEST_BUDGET_MS} milliseconds`);
}

function outputOf(text: string): Output {
  const output = outputs.find((one) => one === text);
  if (output === undefined) throw wrong('-o', `${JSON.stringify(text)} is not a format`, `use ${outputs.join(', ')}`);
  return output;
}
