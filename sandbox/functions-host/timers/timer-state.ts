import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isObject } from '../settings/json.ts';

/** What is remembered of one timer over a restart; ISO 8601 instants. */
export interface TimerStatus {
  readonly last: string;
  readonly next: string;
  readonly lastUpdated: string;
}

/** Where the timers' status lives: the real host keeps a blob per timer. */
export interface TimerState {
  get(functionName: string): TimerStatus | null;
  /** Remembers; a status that cannot be written is lost, as it is when the real host's storage is away. */
  set(functionName: string, status: TimerStatus): Promise<void>;
}

/** Opens the status file at `path`, or keeps status in memory for null. A file that cannot be read counts as empty. */
export async function openTimerState(path: string | null): Promise<TimerState> {
  const statuses = path === null ? new Map<string, TimerStatus>() : await readStatuses(path);
  let writing: Promise<void> = Promise.resolve();
  return {
    get: (functionName) => statuses.get(functionName) ?? null,
    set: (functionName, status) => {
      statuses.set(functionName, status);
      if (path === null) return Promise.resolve();
      const text = JSON.stringify(Object.fromEntries(statuses), null, 2);
      writing = writing.then(() => writeWhole(path, text)).catch(() => undefined);
      return writing;
    },
  };
}

async function readStatuses(path: string): Promise<Map<string, TimerStatus>> {
  const text = await readFile(path, 'utf8').catch(() => '{}');
  const statuses = new Map<string, TimerStatus>();
  for (const [name, status] of Object.entries(parseOrEmpty(text))) {
    if (!isObject(status)) continue;
    const { last, next, lastUpdated } = status;
    if (isInstant(last) && isInstant(next) && isInstant(lastUpdated)) statuses.set(name, { last, next, lastUpdated });
  }
  return statuses;
}

function parseOrEmpty(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isInstant(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

/** A reader sees the old text or the new one, never a part. */
async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
