import { type Assignment, parseAssignment } from '../orders/assignment.ts';
import { behaviourHelp } from '../orders/azure-behaviour.ts';
import { givableSettings } from '../orders/app-settings.ts';
import { wordMeant } from '../../shared/kubernetes/text/word-meant.ts';
import type { GivenOrders } from '../orders/read-orders.ts';

/** What was asked for on the command line. */
export type Command =
  | { readonly kind: 'help' }
  | ({ readonly kind: 'run' } & RunOptions)
  | { readonly kind: 'scale'; readonly replicas: number; readonly deployment: string | null }
  | { readonly kind: 'evict'; readonly node: string | null }
  | { readonly kind: 'freeze' | 'thaw'; readonly node: string };

/** How to run the sandbox. */
export interface RunOptions {
  /** Null: the examples that come with it. Empty: none at all. */
  readonly files: ReadonlyArray<string> | null;
  readonly once: boolean;
  /** Where to write a kubeconfig besides; null: nowhere. */
  readonly kubeconfig: string | null;
  readonly seed: string;
  readonly bootSeconds: number;
  /** Null: 7071 when it is free, else another. */
  readonly functionsPort: number | null;
  readonly log: 'text' | 'json';
  readonly orders: GivenOrders;
}

/** The command line is wrong; the message says which part and how to put it right. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** From VM running to node joined. Azure takes about a minute; this is long enough to watch and not to wait. */
const BOOT_SECONDS = 8;
const BOOT_SECONDS_MAX = 600;
/** The sandbox is one machine; the API server's own limit is far beyond what it can hold. */
const REPLICAS_MAX = 100_000;
const PORT_MAX = 65_535;
const HELP_COLUMNS = 100;
/** The dashes and a letter or two begin too many options. */
const LETTERS_MIN = 4;
/** Long names, for those that are mistyped. */
const OPTIONS =
  '--file --empty --once --kubeconfig --seed --boot-seconds --functions-port --log --help --setting --quota --azure --config'.split(
    ' ',
  );

/** What `--help` prints. */
export const usage = `Usage: npm start [-- OPTIONS]               a cluster, Azure and Nodewright on this machine, until Ctrl-C
       npm start -- scale N [DEPLOYMENT]    in another terminal: change the number of replicas
       npm start -- evict [NODE]            in another terminal: evict a node, as Azure does
       npm start -- freeze NODE             in another terminal: freeze the kubelet of a node
       npm start -- thaw NODE               in another terminal: let it run again

  -f, --file FILE…      apply these manifests (files or folders) in place of the examples; an AKSNodeClass
                        named default is added when they have none, as on AKS
  --empty               apply nothing
  --once                end once all pods run: exit code 0 and a summary; 1 and the reasons when some cannot
  --kubeconfig PATH     write a kubeconfig there as well, for as long as the sandbox runs
  --seed TEXT           fix every draw of latency and chance (default: nodewright)
  --boot-seconds N      from a VM that runs to a node that joins, about (default: ${BOOT_SECONDS})
  --functions-port N    the port of the Functions host (default: 7071, or another when that is in use)
  --log json            one JSON object per event, for programs
  -h, --help            this text

What follows can be given any number of times, each name once:
  --setting NAME=VALUE  a setting of the Functions app and the relay, as FEATURE_GATES=StaticCapacity=true
  --quota NAME=N        a limit of Azure: cores (of all on-demand VMs, 2000), lowPriorityCores (of all spot
                        VMs, 1000), virtualMachines (25000), a family such as standardDSv5Family, in cores,
                        or familyCores for every family that is not named (500)
  --azure NAME=VALUE    how Azure behaves, see below
  --config FILE         all of these from a YAML or JSON file: settings, azure and quota, each a map of names
                        and values; what is given on the command line wins

Settings: ${wrapNames(givableSettings)}

Azure (in parentheses what holds unless given; MS milliseconds, S seconds, MIN minutes):
${behaviourHelp.join('\n')}

With KUBEBUILDER_ASSETS set to a folder with etcd, kube-apiserver, kube-controller-manager and kube-scheduler,
these run in place of the embedded control plane. NO_COLOR=1 turns colours off.`;

/** Names in lines as wide as the rest of the help. */
function wrapNames(names: ReadonlyArray<string>): string {
  const lines: Array<string> = [''];
  for (const name of names) {
    const line = lines.at(-1) ?? '';
    if (line.length + name.length > HELP_COLUMNS) lines.push(name);
    else lines[lines.length - 1] = line === '' ? name : `${line}, ${name}`;
  }
  return lines.join(',\n  ');
}

/** Options without a value, which npm takes for its own when the two dashes are left out. */
const FLAGS = ['once', 'empty'] as const;
/** Options with one, of which npm swallows `--setting=X` whole. */
const VALUED = ['setting', 'quota', 'azure', 'config'] as const;

/** Throws UsageError when npm has kept an option to itself, which its environment variables show. */
export function refuseSwallowedOptions(environment: Readonly<Record<string, string | undefined>>): void {
  const flag = FLAGS.find((name) => environment[`npm_config_${name}`] === 'true');
  if (flag !== undefined) {
    throw new UsageError(`npm has kept --${flag} to itself: put two dashes before it, npm start -- --${flag}`);
  }
  const valued = VALUED.find((name) => (environment[`npm_config_${name}`] ?? '') !== '');
  if (valued !== undefined) {
    throw new UsageError(`npm has kept --${valued} to itself: put two dashes before it, npm start -- --${valued} …`);
  }
}

/** Reads the arguments after `npm start --`. Throws UsageError. */
export function parseCommand(args: ReadonlyArray<string>): Command {
  if (args.includes('--help') || args.includes('-h') || args[0] === 'help') return { kind: 'help' };
  const [first, ...rest] = args;
  if (first === 'scale') return parseScale(rest);
  if (first === 'evict') return parseEvict(rest);
  if (first === 'freeze' || first === 'thaw') return parseKubelet(first, rest);
  return parseRun(args);
}

function parseScale(args: ReadonlyArray<string>): Command {
  const [count, deployment = null, ...more] = args;
  if (count === undefined) throw new UsageError('scale needs the number of replicas: npm start -- scale 20');
  refuseMore('scale', more);
  return { kind: 'scale', replicas: wholeNumber('scale', count, { min: 0, max: REPLICAS_MAX }), deployment };
}

function parseEvict(args: ReadonlyArray<string>): Command {
  const [node = null, ...more] = args;
  refuseMore('evict', more);
  if (node?.startsWith('-') === true) throw new UsageError(`evict takes the name of a node, not ${node}`);
  return { kind: 'evict', node };
}

function parseKubelet(kind: 'freeze' | 'thaw', args: ReadonlyArray<string>): Command {
  const [node, ...more] = args;
  if (node === undefined || node.startsWith('-')) throw new UsageError(`${kind} needs the name of a node, or its end`);
  refuseMore(kind, more);
  return { kind, node };
}

function refuseMore(name: string, more: ReadonlyArray<string>): void {
  if (more[0] !== undefined) throw new UsageError(`${name}: ${more[0]} is one argument too many`);
}

interface Draft {
  files: ReadonlyArray<string>;
  empty: boolean;
  once: boolean;
  kubeconfig: string | null;
  seed: string;
  bootSeconds: number;
  functionsPort: number | null;
  log: 'text' | 'json';
  settings: ReadonlyArray<Assignment>;
  quota: ReadonlyArray<Assignment>;
  azure: ReadonlyArray<Assignment>;
  config: string | null;
}

function parseRun(args: ReadonlyArray<string>): Command {
  const draft: Draft = {
    files: [],
    empty: false,
    once: false,
    kubeconfig: null,
    seed: 'nodewright',
    bootSeconds: BOOT_SECONDS,
    functionsPort: null,
    log: 'text',
    settings: [],
    quota: [],
    azure: [],
    config: null,
  };
  let left: ReadonlyArray<string> = args.flatMap(splitEquals);
  while (left.length > 0) left = takeOption(draft, left);
  const { empty, files, settings, quota, azure, config, ...options } = draft;
  if (empty && files.length > 0) throw new UsageError('--empty and -f exclude each other');
  if (empty && options.once) throw new UsageError('--once waits for pods, and --empty applies none: leave one out');
  const orders = { settings, quota, azure, config };
  return { kind: 'run', ...options, files: empty ? [] : files.length > 0 ? files : null, orders };
}

/** `--seed=x` as `--seed x`. */
function splitEquals(argument: string): ReadonlyArray<string> {
  const at = argument.startsWith('--') ? argument.indexOf('=') : -1;
  return at < 0 ? [argument] : [argument.slice(0, at), argument.slice(at + 1)];
}

function takeOption(draft: Draft, args: ReadonlyArray<string>): ReadonlyArray<string> {
  const [name = '', value, ...rest] = args;
  switch (name) {
    case '-f':
    case '--file':
    case '--filename': {
      const values = untilOption(args.slice(1));
      if (values.length === 0) throw new UsageError(`${name} needs at least one file`);
      draft.files = [...draft.files, ...values];
      return args.slice(1 + values.length);
    }
    case '--empty':
      draft.empty = true;
      return args.slice(1);
    case '--once':
      draft.once = true;
      return args.slice(1);
    case '--kubeconfig':
      draft.kubeconfig = valueOf(name, value, 'a path');
      return rest;
    case '--seed':
      draft.seed = valueOf(name, value, 'a text');
      return rest;
    case '--boot-seconds':
      draft.bootSeconds = seconds(name, valueOf(name, value, 'seconds'));
      return rest;
    case '--functions-port':
      draft.functionsPort = wholeNumber(name, valueOf(name, value, 'a port'), { min: 1, max: PORT_MAX });
      return rest;
    case '--log':
      draft.log = logFormat(valueOf(name, value, 'text or json'));
      return rest;
    case '--config':
      if (draft.config !== null) throw new UsageError('--config is given more than once: keep one');
      draft.config = valueOf(name, value, 'a file');
      return rest;
    default:
      return takeOrder(draft, args);
  }
}

/** The options that can be given any number of times. */
function takeOrder(draft: Draft, [name = '', value, ...rest]: ReadonlyArray<string>): ReadonlyArray<string> {
  const assignment = (example: string): Assignment => {
    try {
      return parseAssignment(name, valueOf(name, value, `NAME=VALUE, as in ${name} ${example}`), example);
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  };
  switch (name) {
    case '--setting':
      draft.settings = [...draft.settings, assignment('FEATURE_GATES=StaticCapacity=true')];
      return rest;
    case '--quota':
      draft.quota = [...draft.quota, assignment('cores=100000')];
      return rest;
    case '--azure':
      draft.azure = [...draft.azure, assignment('requestMs=60..250')];
      return rest;
    default:
      throw new UsageError(unknownOption(name));
  }
}

function unknownOption(name: string): string {
  if (!name.startsWith('-')) return `${name} is not understood: files are given with -f`;
  const near =
    wordMeant(name, OPTIONS) ?? OPTIONS.find((option) => name.length > LETTERS_MIN && option.startsWith(name));
  return `There is no option ${name}${near === undefined ? '' : `; did you mean ${near}?`}`;
}

function untilOption(args: ReadonlyArray<string>): ReadonlyArray<string> {
  const end = args.findIndex((argument) => argument.startsWith('-'));
  return end < 0 ? args : args.slice(0, end);
}

function valueOf(name: string, value: string | undefined, what: string): string {
  if (value === undefined || value === '' || value.startsWith('--')) throw new UsageError(`${name} needs ${what}`);
  return value;
}

function logFormat(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text;
  throw new UsageError(`--log is text or json, not ${text}`);
}

function seconds(name: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0 && value <= BOOT_SECONDS_MAX) return value;
  throw new UsageError(`${name} must be a number from 0 to ${BOOT_SECONDS_MAX}, not ${text}`);
}

function wholeNumber(name: string, text: string, range: { readonly min: number; readonly max: number }): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= range.min && value <= range.max) return value;
  throw new UsageError(`${name} must be a whole number from ${range.min} to ${range.max}, not ${text}`);
}
