import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/**
 * Plans the clusters of a folder, each checked by the folder's `check.py`, and prints ends, pods moved and time beside
 * Karpenter's.
 * `node test/bench/nodes/consolidation.ts FOLDER [CLUSTER...]`: files as `c0100-s07.json.gz`, `catalog.json.gz`,
 * `results-public.csv`.
 */
const [folder = '../shared/consolidation', ...wanted] = process.argv.slice(2);
if (!existsSync(join(folder, 'check.py')))
  throw new Error(`${folder} has no check.py: name the folder of the clusters`);

const scratch = mkdtempSync(join(tmpdir(), 'consolidation-'));
const catalog = unpacked('catalog');
const clusters = readdirSync(folder).flatMap((name) => /^(c\d+-s\d+)\.json\.gz$/.exec(name)?.[1] ?? []);
const results = readResults();
const columns = [
  'cluster',
  'end $/h',
  'Karpenter',
  'bound',
  'moved',
  'Karpenter',
  'pods/$',
  'Karpenter',
  'ms',
  'violations',
];
print(columns);
for (const cluster of clusters.toSorted()) if (wanted.length === 0 || wanted.includes(cluster)) measure(cluster);

function measure(cluster: string): void {
  const plan = join(scratch, `${cluster}.plan.json`);
  const command = ['cli/bin.js', 'disrupt', '-f', unpacked(cluster), '--catalog', catalog, '-o', 'json'];
  const { stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', maxBuffer: 2 ** 30 });
  if (stdout === '') throw new Error(`${cluster}: ${stderr}`);
  writeFileSync(plan, stdout);
  const { before, after, summary } = JSON.parse(stdout) as {
    readonly before: { readonly costPerHour: string };
    readonly after: { readonly costPerHour: string; readonly lowerBoundPerHour: string };
    readonly summary: { readonly podsMoved: number; readonly solveMs: number };
  };
  const theirs = results.get(cluster) ?? {};
  const [start, end] = [Number(before.costPerHour), Number(after.costPerHour)];
  const perDollar = (moved: number, saved: number): string => (saved > 0 ? (moved / saved).toFixed(2) : '-');
  const checked = spawnSync('python3', [join(folder, 'check.py'), join(folder, `${cluster}.json.gz`), plan], {
    encoding: 'utf8',
  });
  print([
    cluster,
    end.toFixed(4),
    Number(theirs['endPerHour']).toFixed(4),
    Number(after.lowerBoundPerHour).toFixed(4),
    String(summary.podsMoved),
    theirs['podsMoved'] ?? '',
    perDollar(summary.podsMoved, start - end),
    perDollar(Number(theirs['podsMoved']), Number(theirs['startPerHour']) - Number(theirs['endPerHour'])),
    summary.solveMs.toFixed(0),
    checked.status === 0 ? 'none' : checked.stdout.trim(),
  ]);
}

function print(cells: ReadonlyArray<string>): void {
  process.stdout.write(`${cells.map((cell) => cell.padStart(11)).join(' ')}\n`);
}

function unpacked(name: string): string {
  const path = join(scratch, `${name}.json`);
  if (!existsSync(path)) writeFileSync(path, gunzipSync(readFileSync(join(folder, `${name}.json.gz`))));
  return path;
}

function readResults(): ReadonlyMap<string, Readonly<Record<string, string>>> {
  const [head = '', ...rows] = readFileSync(join(folder, 'results-public.csv'), 'utf8').trim().split('\n');
  const names = head.trim().split(',');
  return new Map(
    rows.map((row) => {
      const cells = row.trim().split(',');
      return [cells[0] ?? '', Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']))];
    }),
  );
}
