import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import type { LogEntry } from '../../../sandbox/functions-host/log.ts';
import { startHost, type Host, type HostOptions } from '../../../sandbox/functions-host/start-host.ts';

const fixtures = resolve(import.meta.dirname, 'fixtures');
const nodeModules = resolve(import.meta.dirname, '../../../node_modules');

/** A generous bound for anything that must happen soon: a slow machine may need most of it. */
const SOON_MS = 60_000;

/** Copies a fixture app to a folder of its own, where the real library resolves; `files` are added or replaced. */
export async function copyApp(fixture: string, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `functions-host-${fixture}-`));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(fixtures, fixture), folder, { recursive: true });
  await symlink(nodeModules, join(folder, 'node_modules'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

/** One line of JSON that a fixture logged; which members it has depends on the fixture. */
export type Said = Readonly<Record<string, unknown>>;

/** A host under test, with everything it said. */
export interface HostUnderTest {
  readonly host: Host;
  readonly entries: ReadonlyArray<LogEntry>;
  readonly url: string;
  /** What the app itself logged as JSON, in order. */
  readonly said: () => ReadonlyArray<Said>;
}

/** Starts a host for an app folder on any free port; it is closed when the test has finished. */
export async function startTestHost(appFolder: string, options: Partial<HostOptions> = {}): Promise<HostUnderTest> {
  const entries: Array<LogEntry> = [];
  const host = await startHost({
    appFolder,
    port: 0,
    environment: {},
    sink: (entry) => entries.push(entry),
    clock: null,
    timerStateFile: null,
    deliverTwice: false,
    group: null,
    ...options,
  });
  onTestFinished(() => host.close());
  const said = (): ReadonlyArray<Said> =>
    entries
      .filter(({ category, message }) => category.endsWith('.User') && message.startsWith('{'))
      .map(({ message }): Said => JSON.parse(message));
  return { host, entries, url: `http://127.0.0.1:${host.port}`, said };
}

/** Waits until `condition` holds, looking again every few milliseconds; throws with `what` when it never does. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + SOON_MS;
  for (let pauseMs = 0; Date.now() < deadline; pauseMs = Math.min(10, pauseMs + 1)) {
    if (await condition()) return;
    await new Promise((resolvePause) => setTimeout(resolvePause, pauseMs));
  }
  throw new Error(`It never came about that ${what}.`);
}
