import { spawn } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** What the bundles are made from. */
const SOURCES = ['functions', 'relay', 'shared', 'scripts/build.ts', 'package-lock.json'] as const;
/** What the build makes last. */
const PRODUCTS = ['dist/functions/main.js', 'dist/relay/relay.js'] as const;

/** Another start may be building; a build takes seconds, and a minute on a machine that has much else to do. */
const LOCK_LOOKS_MAX = 600;
const LOCK_LOOK_MS = 100;

/** What runs: the bundles, and the files that the Functions host reads beside them. */
const APP = ['dist', 'host.json', 'package.json'] as const;

/**
 * Copies the app to `folder`, so that a build in the repository does not take it from under a sandbox that runs. Builds
 * it first when it is missing or older than its sources; of several that start at once, one builds. Answers whether
 * this one did. Throws with the builder's words.
 */
export async function prepareApp(root: string, folder: string): Promise<boolean> {
  const unlock = await lock(join(root, 'node_modules/.nodewright-build'));
  try {
    const stale = isStale(root);
    if (stale) await build(root);
    for (const path of APP) cpSync(join(root, path), join(folder, path), { recursive: true });
    return stale;
  } finally {
    unlock();
  }
}

function isStale(root: string): boolean {
  const built = Math.min(...PRODUCTS.map((file) => modifiedAt(join(root, file)) ?? 0));
  return built <= Math.max(...SOURCES.map((path) => newestUnder(join(root, path))));
}

/** Waits until nobody else holds the lock; one whose holder has ended is taken over. */
async function lock(path: string): Promise<() => void> {
  for (let look = 0; ; look++) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (look === LOCK_LOOKS_MAX || !isHeld(path)) rmSync(path, { force: true });
    else await sleep(LOCK_LOOK_MS);
  }
}

function isHeld(path: string): boolean {
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
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
