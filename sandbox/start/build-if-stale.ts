import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What the bundles are made from. */
const SOURCES = ['functions', 'relay', 'shared', 'scripts/build.ts', 'package-lock.json'] as const;
/** What the build makes last. */
const PRODUCTS = ['dist/functions/main.js', 'dist/relay/main.js'] as const;

/** Builds `dist` when it is missing or older than its sources. Answers whether it did. Throws with the builder's words. */
export async function buildIfStale(root: string): Promise<boolean> {
  const built = Math.min(...PRODUCTS.map((file) => modifiedAt(join(root, file)) ?? 0));
  const newest = Math.max(...SOURCES.map((path) => newestUnder(join(root, path))));
  if (built > newest) return false;
  await build(root);
  return true;
}

function newestUnder(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestUnder(join(path, name))));
}

function modifiedAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

function build(root: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, 'scripts/build.ts')], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString('utf8');
      });
    }
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`The build failed:\n${said.trimEnd()}`));
    });
  });
}
