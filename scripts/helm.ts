import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The Helm that the chart is rendered and tested with. */
const HELM_VERSION = '4.3.1';

/** A build takes two minutes on two idle cores; ten times that means that it never ends. */
const BUILD_WITHIN_MS = 20 * 60_000;
const LOOK_PAUSE_MS = 500;

/** Where a Helm is, or why there is none. */
export type FoundHelm =
  { readonly kind: 'found'; readonly path: string } | { readonly kind: 'absent'; readonly reason: string };

/**
 * The `helm` that the variable HELM names, or the pinned version from the cache. Where it is not there yet, it is built
 * from its Go module, once for all who ask at the same time. Answers why not where there is no Go. Throws when a build
 * fails.
 */
export async function ensureHelm(): Promise<FoundHelm> {
  const given = process.env['HELM'] ?? '';
  if (given !== '') return { kind: 'found', path: given };
  const folder = join(cacheFolder(), `helm-v${HELM_VERSION}`);
  const path = join(folder, 'helm');
  if (existsSync(path)) return { kind: 'found', path };
  if (spawnSync('go', ['version']).status !== 0) {
    return { kind: 'absent', reason: `no helm: HELM names none, ${folder} has none, and there is no Go to build one` };
  }
  mkdirSync(folder, { recursive: true });
  await underLock(join(folder, 'lock'), async () => {
    if (!existsSync(path)) await build(folder, path);
  });
  return { kind: 'found', path };
}

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'nodewright');
}

/** Builds aside and moves into place, so that nobody finds half a program. */
async function build(folder: string, path: string): Promise<void> {
  const aside = mkdtempSync(join(folder, 'build-'));
  const module = 'helm.sh/helm/v4';
  const stamp = `-s -w -X ${module}/internal/version.version=v${HELM_VERSION}`;
  try {
    const words = ['install', '-trimpath', '-ldflags', stamp, `${module}/cmd/helm@v${HELM_VERSION}`];
    const environment = { ...process.env, CGO_ENABLED: '0', GOBIN: aside, GOFLAGS: '' };
    // What Go says of its work is no part of what we answer.
    const go = spawn('go', words, { env: environment, stdio: ['ignore', 2, 2], timeout: BUILD_WITHIN_MS });
    const [code]: ReadonlyArray<unknown> = await once(go, 'exit');
    if (code !== 0) throw new Error(`helm ${HELM_VERSION} could not be built: go install ended with ${String(code)}`);
    renameSync(join(aside, 'helm'), path);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/**
 * Does it while nobody else does. A lock whose holder has died is taken over; by two at once at worst, and then both do
 * it.
 */
async function underLock(lock: string, work: () => Promise<void>): Promise<void> {
  const endMs = Date.now() + BUILD_WITHIN_MS;
  while (!take(lock)) {
    if (Date.now() > endMs) throw new Error(`${lock} is held for too long; delete it when nobody builds`);
    await sleep(LOOK_PAUSE_MS);
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function take(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    if (!isHeld(lock)) rmSync(lock, { force: true });
    return false;
  }
}

/** A file without a number has just been made. */
function isHeld(lock: string): boolean {
  try {
    const holder = Number(readFileSync(lock, 'utf8'));
    return holder === 0 || process.kill(holder, 0);
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const helm = await ensureHelm();
  if (helm.kind === 'found') console.log(helm.path);
  else console.error(helm.reason);
  process.exitCode = helm.kind === 'found' ? 0 : 1;
}
