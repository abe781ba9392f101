import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What only Bicep's own command can say of the files under `infra`: they compile, its linter finds nothing, they have
 * its form, and each variant of the parameters in `infra/variants` can be worked out, to what its committed snapshot
 * says where there is one. A warning counts as an error.
 *
 *     node scripts/bicep.ts [--write] [--required]
 *
 * `--write` gives files their form and writes the snapshots anew. Without a `bicep` on the PATH nothing is looked at,
 * and it says so; with `--required` that is a failure. What can be said without the command, the tests in
 * test/unit/infra say.
 */
const [writes, isRequired] = ['--write', '--required'].map((word) => process.argv.includes(word));

/** Snapshots are of this place, so that they are the same wherever they are taken. */
const PLACE = {
  '--subscription-id': '00000000-0000-0000-0000-000000000000',
  '--tenant-id': '00000000-0000-0000-0000-000000000000',
  '--location': 'westeurope',
};

const version = spawnSync('bicep', ['--version'], { encoding: 'utf8' });
if (version.error !== undefined) {
  console.log(
    'NOT CHECKED: there is no bicep command on the PATH, so no Bicep file was compiled, linted or worked out',
  );
  process.exit(isRequired === true ? 1 : 0);
}
console.log(version.stdout.trim());

const out = mkdtempSync(join(tmpdir(), 'nodewright-bicep-'));
const files = readdirSync('infra', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.bicep') || name.endsWith('.bicepparam'))
  .toSorted()
  .map((name) => join('infra', name));
const variants = files.filter((file) => file.startsWith(join('infra', 'variants')));
const withoutSnapshot = variants.filter((file) => !existsSync(snapshotOf(file)));
const faulty = [
  ...files.filter((file) => !tells(file, [compiled(file), formatted(file)])),
  ...variants.filter((file) => !tells(snapshotOf(file), [workedOut(file)])),
];
rmSync(out, { recursive: true, force: true });
console.log(`${files.length} files and ${variants.length} variants, ${faulty.length} with errors or warnings`);
if (writes !== true && withoutSnapshot.length > 0) {
  console.log(
    `${withoutSnapshot.length} variants have no committed snapshot: each was worked out, and compared with nothing. node scripts/bicep.ts --write makes them`,
  );
}
process.exit(faulty.length === 0 ? 0 : 1);

/** Shows what was said against a file; null is nothing. */
function tells(file: string, faults: ReadonlyArray<string | null>): boolean {
  const said = faults.filter((one) => one !== null);
  console.log(`${said.length === 0 ? '✓' : '✗'} ${[file, ...said].join('\n')}`);
  return said.length === 0;
}

/** A module that is compiled by itself is linted too; errors and warnings go to stderr. */
function compiled(file: string): string | null {
  return run([file.endsWith('.bicepparam') ? 'build-params' : 'build', file, '--outfile', join(out, 'out.json')]);
}

function formatted(file: string): string | null {
  const target = join(out, 'formatted');
  const failed = run(['format', file, '--outfile', target]);
  if (failed !== null) return failed;
  const text = readFileSync(target, 'utf8');
  if (text === readFileSync(file, 'utf8')) return null;
  if (writes !== true) return 'has not the form that bicep format gives it: node scripts/bicep.ts --write';
  writeFileSync(file, text);
  return null;
}

/** The command writes beside the file: what is only tried is taken away again. */
function workedOut(file: string): string | null {
  const place = Object.entries(PLACE).flat();
  const isCompared = writes !== true && existsSync(snapshotOf(file));
  const failed = run(['snapshot', file, '--mode', isCompared ? 'validate' : 'overwrite', ...place]);
  if (writes !== true && !isCompared) rmSync(snapshotOf(file), { force: true });
  return failed;
}

/** Where the command keeps the snapshot of a file of parameters. */
function snapshotOf(file: string): string {
  return file.replace(/\.bicepparam$/, '.snapshot.json');
}

/** What the command says against it; null: nothing. */
function run(args: ReadonlyArray<string>): string | null {
  const { status, stdout, stderr } = spawnSync('bicep', [...args], { encoding: 'utf8' });
  const said = `${stdout}${stderr}`.trim();
  if (status === 0 && !/\b(Warning|Error)\b/.test(said)) return null;
  return said === '' ? `bicep ${args[0]} ended with ${status}` : said;
}
