import { harmlessJson } from '../shared/contract/harmless.ts';

/** Structured logs: one JSON object per line, as AKS's log collection reads them. */
export interface Log {
  readonly info: (message: string, fields?: LogFields) => void;
  readonly warn: (message: string, fields?: LogFields) => void;
  readonly error: (message: string, fields?: LogFields) => void;
}

type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** Makes a log that gives each line to `write`. */
export function createLog(write: (line: string) => void, now: () => number = Date.now): Log {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void =>
      write(harmlessJson(JSON.stringify({ time: new Date(now()).toISOString(), level, message, ...fields })));
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

/** A log that keeps silent. */
export const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** What an error says, in one line; never its stack, which may carry what was sent. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0]?.slice(0, 500) ?? '';
}
