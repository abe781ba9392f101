import { harmlessJson, harmlessLines } from '../../shared/contract/harmless.ts';

/** The levels of the Functions worker's wire, least important first. */
export const logLevels = ['trace', 'debug', 'information', 'warning', 'error', 'critical'] as const;

/** One of the levels a function or the host may log at. */
export type LogLevel = (typeof logLevels)[number];

/** One thing the host or a function said. */
export interface LogEntry {
  /** Milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly level: LogLevel;
  /**
   * `host`, or `Function.<name>` for the life of an invocation, or `Function.<name>.User` for what the app itself
   * logged.
   */
  readonly category: string;
  readonly message: string;
  readonly functionName: string | null;
  readonly invocationId: string | null;
}

/** Receives every entry, of every level; never throws into the host. */
export type LogSink = (entry: LogEntry) => void;

/** What the host's parts log through. */
export interface Log {
  /** Says something of the host itself. */
  host(level: LogLevel, message: string): void;
  /** Says something of one function, and of one of its invocations where `invocationId` is not null. */
  ofFunction(level: LogLevel, functionName: string, invocationId: string | null, message: string): void;
  /** What the app logged itself, after its own log hooks had their say. */
  ofApp(level: LogLevel, functionName: string, invocationId: string, message: string): void;
}

/**
 * A log that stamps entries with `now` and gives them to `sink`. A sink that throws loses the entry and nothing else.
 */
export function createLog(sink: LogSink, now: () => number): Log {
  const write = (entry: Omit<LogEntry, 'timeMs'>): void => {
    try {
      sink({ timeMs: now(), ...entry });
    } catch {
      // A log that cannot be written must not fail the invocation it speaks of.
    }
  };
  return {
    host: (level, message) => write({ level, category: 'host', message, functionName: null, invocationId: null }),
    ofFunction: (level, functionName, invocationId, message) =>
      write({ level, category: `Function.${functionName}`, message, functionName, invocationId }),
    ofApp: (level, functionName, invocationId, message) =>
      write({ level, category: `Function.${functionName}.User`, message, functionName, invocationId }),
  };
}

/** True when `level` is at least as important as `least`. */
export function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}

/**
 * One entry as `func start` prints it: the time in brackets, then the message. The list of functions carries no time,
 * as there.
 */
export function renderTextLine(entry: LogEntry): string {
  return `[${new Date(entry.timeMs).toISOString()}] ${harmlessLines(entry.message)}`;
}

/** One entry as one line of JSON, for tools. */
export function renderJsonLine(entry: LogEntry): string {
  const { timeMs, ...rest } = entry;
  return harmlessJson(JSON.stringify({ time: new Date(timeMs).toISOString(), ...rest }));
}
