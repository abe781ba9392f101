import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { changedFiles, type ChangedFile } from './changed-files.ts';
import { readReport, renderScores, renderSurvivor, scoreOf, type Mutant } from './mutation-report.ts';

/** What is mutated: the parts that refuse, decide over money or speak to the outside. */
const AREAS = ['shared/core/audit', 'shared/app', 'shared/adapters', 'relay', 'functions'];

/**
 * What only puts parts together, or hands over to an SDK. Suites with real connections and processes hold it, and every
 * mutant would pay for these. Named by itself, such a file is mutated all the same.
 */
const COMPOSED: ReadonlySet<string> = new Set([
  'functions/catalog.ts',
  'functions/follow.ts',
  'functions/interrupt-event-grid.ts',
  'functions/interrupt.ts',
  'functions/launch.ts',
  'functions/main.ts',
  'functions/provision.ts',
  'functions/sweep.ts',
  'relay/main.ts',
  'relay/azure/queue-sender.ts',
  'relay/relay.ts',
  'shared/adapters/azure/azure.ts',
  'shared/adapters/azure/calls/clients.ts',
  'shared/adapters/servicebus/client.ts',
]);

/** Of what can be told from the original, tests have to tell so many in a hundred. */
const LEAST_SCORE = 85;

const usage = `npm run mutate -- [FILE|FOLDER]...          mutates these, or all that is covered
npm run mutate -- --changed [BASE]          only lines that changed since BASE
  --minutes N   stops after so long, and says what it left out
  --fresh       takes no result from an earlier run`;

/** Files that Stryker gets in one run, and how the run is called. */
interface Part {
  readonly name: string;
  readonly files: ReadonlyArray<ChangedFile>;
}

interface Wanted {
  readonly files: ReadonlyArray<ChangedFile>;
  readonly minutes: number;
  readonly fresh: boolean;
}

function parse(given: ReadonlyArray<string>): Wanted {
  const { changed = false, fresh = false, minutes: limit = 'Infinity', paths } = readArguments(given);
  const minutes = Number(limit);
  if (!(minutes > 0)) refuse('--minutes takes a number above 0');
  if (changed && paths.length > 1) refuse('--changed takes one BASE');
  return { files: changed ? changedFiles(paths[0]).filter(isCovered) : named(paths), minutes, fresh };
}

const options = { changed: { type: 'boolean' }, fresh: { type: 'boolean' }, minutes: { type: 'string' } } as const;

function readArguments(given: ReadonlyArray<string>) {
  try {
    const { values, positionals } = parseArgs({ args: [...given], options, allowPositionals: true });
    return { ...values, paths: positionals };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(why: string): never {
  console.error(`${why}\n${usage}`);
  process.exit(2);
}

function isCovered({ path }: ChangedFile): boolean {
  return path.endsWith('.ts') && areaOf(path) !== undefined && !COMPOSED.has(path);
}

function areaOf(path: string): string | undefined {
  return AREAS.find((area) => path.startsWith(`${area}/`));
}

function named(paths: ReadonlyArray<string>): ReadonlyArray<ChangedFile> {
  const missing = paths.find((path) => !existsSync(path));
  if (missing !== undefined) {
    console.error(`there is no ${missing}`);
    process.exit(2);
  }
  const all = (paths.length === 0 ? AREAS : paths).flatMap((path) =>
    statSync(path).isDirectory() ? globSync(join(path, '**/*.ts')).filter((one) => !COMPOSED.has(one)) : [join(path)],
  );
  return all.toSorted().map((path) => ({ path, lines: null }));
}

/** File by file where time is short, so that what is done by then counts; else an area at once. */
function partsOf({ files, minutes }: Wanted): ReadonlyArray<Part> {
  const groups = Map.groupBy(files, ({ path }) => (minutes < Infinity ? path : (areaOf(path) ?? 'others')));
  return [...groups].map(([name, own]) => ({ name: name.replace(/\.ts$/, '').replaceAll('/', '-'), files: own }));
}

/** The mutants of the part and what became of each; null when the time was over before. */
function mutate({ name, files }: Part, fresh: boolean, timeoutMs: number): ReadonlyArray<Mutant> | null {
  const patterns = files.flatMap(({ path, lines }) =>
    lines === null ? [path] : lines.map(([from, to]) => `${path}:${from}-${to}`),
  );
  const report = `.mutation/${name}.json`;
  rmSync(report, { force: true });
  const args = ['run', 'stryker.config.mjs', '--mutate', patterns.join(','), ...(fresh ? ['--force'] : [])];
  const { status, signal, error } = spawnSync('stryker', args, {
    stdio: 'inherit',
    env: { ...process.env, MUTATION_REPORT: name },
    ...(timeoutMs < Infinity ? { timeout: timeoutMs } : {}),
  });
  if (signal !== null || (error !== undefined && 'code' in error && error.code === 'ETIMEDOUT')) return null;
  if (status !== 0) {
    console.error(`✗ Stryker failed on ${name}${error === undefined ? '' : `: ${error.message}`}`);
    process.exit(status ?? 1);
  }
  // What Stryker knows of other lines from before stands in its report too.
  return readReport(readFileSync(report, 'utf8')).filter((mutant) => files.some((file) => isMeant(file, mutant)));
}

function isMeant({ path, lines }: ChangedFile, mutant: Mutant): boolean {
  return (
    path === mutant.path && (lines === null || lines.some(([from, to]) => from <= mutant.line && mutant.line <= to))
  );
}

const wanted = parse(process.argv.slice(2));
const endMs = Date.now() + wanted.minutes * 60_000;
const mutants: Array<Mutant> = [];
const leftOut: Array<string> = [];
for (const part of partsOf(wanted)) {
  const leftMs = endMs - Date.now();
  const found = leftMs > 0 ? mutate(part, wanted.fresh, leftMs) : null;
  if (found === null) leftOut.push(...part.files.map(({ path }) => path));
  else mutants.push(...found);
  for (const text of (found ?? []).map(renderSurvivor)) if (text !== null) console.log(text);
}

console.log(`\n${renderScores(mutants, areaOf)}`);
for (const path of leftOut) console.log(`left out, the time was over: ${path}`);
const score = scoreOf(mutants);
if (score < LEAST_SCORE) {
  console.error(`✗ ${score.toFixed(1)} % of the mutants were found; ${LEAST_SCORE} % must be`);
  process.exit(1);
}
