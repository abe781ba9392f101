import { mkdirSync, readdirSync, rmdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** How another terminal finds a sandbox that runs. */
export interface Session {
  readonly pid: number;
  /** `http://127.0.0.1:PORT` of its control server. */
  readonly url: string;
  /** Every request carries it, so that a page in a browser cannot steer the sandbox. */
  readonly token: string;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

/** The folder of the session files of this user. */
function sessionFolder(): string {
  return join(tmpdir(), `nodewright-sessions-${userInfo().username.replaceAll(/\W/g, '_')}`);
}

/** Makes the session known; the answer withdraws it. */
export function publishSession(session: Session): () => void {
  const folder = sessionFolder();
  const file = join(folder, `${session.pid}.json`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify(session), { mode: 0o600 });
  return () => {
    rmSync(file, { force: true });
    try {
      rmdirSync(folder);
    } catch {
      // Another sandbox runs, or has just ended and taken it.
    }
  };
}

/**
 * The session that was started last and still runs; null when there is none. Files that others left behind are removed.
 */
export function findSession(): Session | null {
  const folder = sessionFolder();
  const sessions = list(folder).flatMap((name) => {
    const file = join(folder, name);
    const session = readSession(file);
    if (session !== null && isAlive(session.pid)) return [session];
    rmSync(file, { force: true });
    return [];
  });
  return sessions.toSorted((a, b) => b.startedAt - a.startedAt)[0] ?? null;
}

function list(folder: string): ReadonlyArray<string> {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}

function readSession(file: string): Session | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Session;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
