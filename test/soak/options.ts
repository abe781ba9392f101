import { resolve } from 'node:path';
import type { Hosting } from '../../sandbox/world/processes/functions-hosts.ts';
import { leavable, PAUSE_S } from './draw-actions.ts';

/** How to run a soak. */
export interface SoakOptions {
  /** Of the whole run: seven tenths of it are churn, the rest is rest. */
  readonly minutes: number;
  /** Fixes what happens and when; what the system makes of it stays its own. */
  readonly seed: string;
  readonly controlPlane: 'embedded' | 'real';
  /** One process for all functions, or several, as Azure has it: then a long search holds up nobody else's. */
  readonly hosts: Hosting;
  /** Between two actions in the mean, seconds. */
  readonly pauseS: number;
  /** Kinds and sorts of actions that do not happen. */
  readonly without: ReadonlySet<string>;
  /** The folder of the control plane's binaries; null for the embedded one. */
  readonly assets: string | null;
  /** Where the report is written as JSON. */
  readonly report: string;
}

/** The command line is wrong; the message names the option and says how to put it right. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** Under this nothing has settled at the end: a machine boots for 8 s, and consolidation waits for 15 s. */
const MINUTES_MIN = 2;
const MINUTES_MAX = 24 * 60;
/** More often than that nothing comes to rest between two actions; an hour is longer than any churn needs. */
const PAUSE_MIN_S = 3;
const PAUSE_MAX_S = 3_600;
const OPTIONS = ['--minutes', '--seed', '--control-plane', '--hosts', '--pause', '--without', '--report', '--help'];

function namesIn(names: ReadonlyArray<string>): string {
  const half = Math.ceil(names.length / 2);
  return [names.slice(0, half), names.slice(half)].map((some) => `${' '.repeat(27)}${some.join(', ')}`).join(',\n');
}

/** What `--help` prints. */
export const usage = `Usage: node test/soak/run.ts [OPTIONS]        (npm run build first; npm test -- --soak does)

  --minutes N              how long, from ${MINUTES_MIN} to ${MINUTES_MAX} (default: 10): seven tenths churn, three tenths rest
  --seed TEXT              fixes what happens and when (default: drawn, and printed)
  --control-plane NAME     embedded, or real, for which KUBEBUILDER_ASSETS names the folder of binaries (default: embedded)
  --hosts NAME             one, or as-on-azure: a process for each function, some of them twice (default: one)
  --pause N                seconds between two actions in the mean, from ${PAUSE_MIN_S} to ${PAUSE_MAX_S} (default: ${PAUSE_S})
  --without NAMES          actions that do not happen, with commas between: ${leavable.slice(0, 5).join(', ')},
${namesIn(leavable.slice(5))}
  --report FILE            where the figures go as JSON (default: .soak/SEED-NAME.json)
  --help                   this text

Exit codes: 0 every law held, 1 one was broken, 2 the command line is wrong.`;

/** Reads the arguments; null asks for help. `draw` names a seed where none is given. Throws UsageError. */
export function parseSoakOptions(
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string | undefined>>,
  draw: () => string,
): SoakOptions | null {
  if (args.includes('--help')) return null;
  const given = readPairs(args);
  const seed = given.get('--seed') ?? draw();
  const controlPlane = oneOf('--control-plane', given.get('--control-plane') ?? 'embedded', ['embedded', 'real']);
  const assets = environment['KUBEBUILDER_ASSETS'] ?? '';
  if (controlPlane === 'real' && assets === '') {
    throw new UsageError(
      '--control-plane real needs KUBEBUILDER_ASSETS: the folder that holds etcd and kube-apiserver',
    );
  }
  return {
    minutes: numberOf('--minutes', given.get('--minutes') ?? '10', MINUTES_MIN, MINUTES_MAX),
    seed,
    controlPlane,
    hosts: oneOf<Hosting>('--hosts', given.get('--hosts') ?? 'one', ['one', 'as-on-azure']),
    pauseS: numberOf('--pause', given.get('--pause') ?? String(PAUSE_S), PAUSE_MIN_S, PAUSE_MAX_S),
    without: withoutOf(given.get('--without') ?? ''),
    assets: controlPlane === 'real' ? assets : null,
    report: given.get('--report') ?? `.soak/${seed.replaceAll(/[^\w.-]/g, '_')}-${controlPlane}.json`,
  };
}

function withoutOf(text: string): ReadonlySet<string> {
  const names = text.split(',').filter((name) => name !== '');
  const wrong = names.find((name) => !leavable.includes(name));
  if (wrong === undefined) return new Set(names);
  throw new UsageError(`--without knows no ${wrong}: there are ${leavable.join(', ')}`);
}

function readPairs(args: ReadonlyArray<string>): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  const parts = args.flatMap((one) => (one.startsWith('--') ? splitAt(one) : [one]));
  for (let index = 0; index < parts.length; index += 2) {
    const [name = '', value] = parts.slice(index, index + 2);
    if (!OPTIONS.includes(name)) throw new UsageError(`There is no option ${name}: there are ${OPTIONS.join(', ')}`);
    if (value === undefined || value === '' || value.startsWith('--')) throw new UsageError(`${name} needs a value`);
    if (pairs.has(name)) throw new UsageError(`${name} is given more than once: keep one`);
    pairs.set(name, value);
  }
  return pairs;
}

/** `--seed=x` as `--seed x`. */
function splitAt(argument: string): ReadonlyArray<string> {
  const at = argument.indexOf('=');
  return at < 0 ? [argument] : [argument.slice(0, at), argument.slice(at + 1)];
}

function numberOf(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  throw new UsageError(`${option} must be a number from ${least} to ${most}, not ${text}`);
}

function oneOf<Name extends string>(option: string, text: string, names: readonly [Name, Name]): Name {
  const found = names.find((name) => name === text);
  if (found === undefined) throw new UsageError(`${option} is ${names.join(' or ')}, not ${text}`);
  return found;
}

/** Where what belongs to the report goes, beside it: `log`, `lives.json` or `cluster.json` in place of its `json`. */
export function fileBeside(options: Pick<SoakOptions, 'report'>, ending: string): string {
  return resolve(options.report).replace(/(\.json)?$/, `.${ending}`);
}
