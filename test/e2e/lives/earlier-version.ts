import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

/**
 * The version that users upgrade from: what EARLIER names (a tag or a commit), else the latest tag before this commit,
 * else the commit before. Null in a checkout without history.
 */
export function earlierVersion(): string | null {
  const given = process.env['EARLIER'] ?? '';
  if (given !== '') return given;
  for (const find of [
    () => git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD~1'),
    () => git('rev-parse', '--verify', '--quiet', 'HEAD~1'),
  ]) {
    try {
      return find();
    } catch {
      // No tag, or no commit before.
    }
  }
  return null;
}

/**
 * Builds a version into `folder`, with the packages of this one: `dist`, `host.json` and `package.json` are there then.
 */
export function buildVersion(version: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', '--format=tar', version], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['--extract', '--directory', folder], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  execFileSync(process.execPath, ['scripts/build.ts'], { cwd: folder, stdio: 'ignore' });
}
