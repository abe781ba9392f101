import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Compiles and lints every Bicep file where a `bicep` command is on the PATH, and says so where there is none. A warning
 * counts as an error. What can be said without the compiler, the tests in test/unit/infra say.
 */
const version = spawnSync('bicep', ['--version'], { encoding: 'utf8' });
if (version.error !== undefined) {
  console.log('no bicep command here: its files are checked by the tests alone');
  process.exit(0);
}
console.log(version.stdout.trim());

const files = readdirSync('infra', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.bicep') || name.endsWith('.bicepparam'))
  .toSorted()
  .map((name) => join('infra', name));
const out = mkdtempSync(join(tmpdir(), 'nodewright-bicep-'));
const faulty = files.filter((file) => !compiles(file));
rmSync(out, { recursive: true, force: true });
console.log(`${files.length} files, ${faulty.length} with errors or warnings`);
process.exit(faulty.length === 0 ? 0 : 1);

/** A module that is compiled by itself is linted too; errors and warnings go to stderr. */
function compiles(file: string): boolean {
  const command = file.endsWith('.bicepparam') ? 'build-params' : 'build';
  const built = spawnSync('bicep', [command, file, '--outfile', join(out, 'out.json')], { encoding: 'utf8' });
  const said = `${built.stdout}${built.stderr}`.trim();
  const isClean = built.status === 0 && !/\b(Warning|Error)\b/.test(said);
  console.log(`${isClean ? '✓' : '✗'} ${file}${isClean ? '' : `\n${said}`}`);
  return isClean;
}
