import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';

/**
 * Runs every benchmark on an input that is over in a second or two, so that none is dead on the day somebody needs its
 * figure: `node test/bench/smallest.ts`. CI does so; the figures themselves mean nothing here.
 */
const SMALLEST: Readonly<Record<string, ReadonlyArray<string>>> = {
  'nodes/churn': ['1', '1', '0.2'],
  'nodes/existing-nodes': ['10', 'web-100-s1', 'D+nap'],
  'nodes/large-disruption': ['10'],
  'planning/decision': ['20'],
  'planning/diverse': ['trace-no-gpus,zones', '10', '1', '100000'],
  'planning/explain-cheaper': ['5'],
  'planning/first-plan': ['web-100-s1', 'D+nap', '1'],
  'planning/five-way': ['20'],
  'planning/from-snapshot': ['10', '10', '10', '4'],
  'planning/irregular': ['5', '2', '1', 'D+nap'],
  'planning/karpenter-yardstick': ['web-100-s1', 'D+nap'],
  'planning/large-cluster': ['10', '10', '4'],
  'planning/limits': ['30'],
  'planning/packing': ['web-100-s1', 'D+nap'],
  'planning/plans': ['web-100-s1', 'D+nap'],
  strangers: ['examples'],
  'waiting-figures': ['10', '10', '4'],
};

/**
 * Those that need what a checkout has not, and those that start the whole product, which the tests end to end do as
 * well.
 */
const BY_HAND: ReadonlyArray<string> = [
  'burst',
  'cold-start',
  'first-pod',
  'nodes/consolidation',
  'nodes/holds',
  'nodes/storm',
  'relay-memory',
];

/** What hangs is dead too. */
const LONGEST_MS = 60_000;

/** So many at once: most of them begin with a process that reads the same sizes. */
const AT_ONCE = 2;

async function run(name: string, args: ReadonlyArray<string>): Promise<string | null> {
  const path = `test/bench/${name}.ts`;
  const child = spawn(process.execPath, [path, ...args], { timeout: LONGEST_MS });
  const said: Array<Buffer> = [];
  child.stdout.on('data', (bytes: Buffer) => said.push(bytes));
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes));
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...end) => resolve(end));
  });
  const text = Buffer.concat(said).toString('utf8').trimEnd();
  if (code === 0 && text !== '') return null;
  return `${path} ${args.join(' ')}: ${text === '' ? 'nothing was printed' : text} (${signal ?? `exit code ${code}`})`;
}

const known = [...Object.keys(SMALLEST), ...BY_HAND, 'smallest'];
const there = globSync('test/bench/{,nodes/,planning/}*.ts').map((path) => path.slice('test/bench/'.length, -3));
const unknown = there.filter((name) => !known.includes(name));
const missing = known.filter((name) => !there.includes(name));
const wrong = [
  ...unknown.map((name) => `test/bench/${name}.ts has no smallest input in test/bench/smallest.ts`),
  ...missing.map((name) => `test/bench/smallest.ts names ${name}, which is not there`),
];

const left = Object.entries(SMALLEST).filter(([name]) => there.includes(name));
async function work(): Promise<void> {
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const failed = await run(...next);
    if (failed !== null) wrong.push(failed);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, work));

for (const one of wrong) console.error(one);
console.log(`${Object.keys(SMALLEST).length} benchmarks on their smallest input, ${wrong.length} failed`);
if (wrong.length > 0) process.exitCode = 1;
