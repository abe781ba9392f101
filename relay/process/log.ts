import { harmlessJson } from '../../shared/contract/harmless.ts';

/** Structured logs: one JSON object per line, as AKS's log collection reads them. */
export interface Log {
  readonly info: (message: string, fields?: LogFields) => void;
  readonly warn: (message: string, fields?: LogFields) => void;
  readonly error: (message: string, fields?: LogFields) => void;
}

/** The least level that is written. */
export const logLevels = ['info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** How a log is made. */
export interface LogOptions {
  /** `info` unless told. */
  readonly least?: LogLevel;
  readonly now?: () => number;
}

/** Makes a log that gives each line of the least level or above to `write`. */
export function createLog(write: (line: string) => void, { least = 'info', now = Date.now }: LogOptions = {}): Log {
  const at = (level: LogLevel) =>
    logLevels.indexOf(level) < logLevels.indexOf(least)
      ? (): void => {}
      : (message: string, fields: LogFields = {}): void =>
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
