import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJsonObject } from './json.ts';
import { parseTimeSpan } from './time-span.ts';

/** `extensions.serviceBus` of host.json, with the defaults of extension bundle 4 (Service Bus extension 5.17, 2026). */
export interface ServiceBusOptions {
  readonly maxMessageBatchSize: number;
  /** Above 1 a batch waits for this many messages, for `maxBatchWaitMs` at most. */
  readonly minMessageBatchSize: number;
  readonly maxBatchWaitMs: number;
  readonly maxConcurrentCalls: number;
  readonly maxConcurrentSessions: number;
  /** How long a session may be empty before the next is taken. Null in the file means the client's try timeout. */
  readonly sessionIdleMs: number;
  readonly prefetchCount: number;
  readonly autoCompleteMessages: boolean;
  /** For single messages and their sessions. A batch is never renewed. */
  readonly maxAutoLockRenewalMs: number;
}

/** What this host reads of host.json. */
export interface HostJson {
  /** The first part of every HTTP route, without slashes; empty when the file says so. */
  readonly routePrefix: string;
  /** How long one invocation may run. Null: no limit. */
  readonly functionTimeoutMs: number | null;
  readonly serviceBus: ServiceBusOptions;
}

/** The Flex Consumption plan's default (2026); the file's `-1` means no limit. */
const DEFAULT_FUNCTION_TIMEOUT_MS = 30 * 60_000;

/** The Service Bus client's default try timeout, which stands in for a session idle timeout that is not given. */
const DEFAULT_TRY_TIMEOUT_MS = 60_000;

/**
 * Reads host.json of the app folder. Throws when there is none, as `func start` does, or when a value makes no sense.
 */
export async function readHostJson(appFolder: string): Promise<HostJson> {
  const path = join(appFolder, 'host.json');
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) {
    throw new Error(`${path} is missing. The folder of a Functions app has a host.json; is --app right?`);
  }
  return parseHostJson(text, path);
}

/** Reads the text of a host.json. `source` names it in errors. Settings this host does not imitate are passed over. */
export function parseHostJson(text: string, source: string): HostJson {
  const root = new Section(parseJsonObject(text, source), source);
  const extensions = root.section('extensions');
  const bus = extensions.section('serviceBus');
  return {
    routePrefix: extensions
      .section('http')
      .text('routePrefix', 'api')
      .replaceAll(/^\/+|\/+$/g, ''),
    functionTimeoutMs: root.span('functionTimeout', DEFAULT_FUNCTION_TIMEOUT_MS),
    serviceBus: {
      maxMessageBatchSize: bus.count('maxMessageBatchSize', 1000, 1),
      minMessageBatchSize: bus.count('minMessageBatchSize', 1, 1),
      maxBatchWaitMs: bus.span('maxBatchWaitTime', 30_000) ?? 30_000,
      maxConcurrentCalls: bus.count('maxConcurrentCalls', 16, 1),
      maxConcurrentSessions: bus.count('maxConcurrentSessions', 8, 1),
      sessionIdleMs: bus.span('sessionIdleTimeout', DEFAULT_TRY_TIMEOUT_MS) ?? DEFAULT_TRY_TIMEOUT_MS,
      prefetchCount: bus.count('prefetchCount', 0, 0),
      autoCompleteMessages: bus.flag('autoCompleteMessages', true),
      maxAutoLockRenewalMs: bus.span('maxAutoLockRenewalDuration', 5 * 60_000) ?? 0,
    },
  };
}

/** One object of the file, whose values are read by type and named in errors by their whole path. */
class Section {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(values: Readonly<Record<string, unknown>>, path: string) {
    this.#values = values;
    this.#path = path;
  }

  section(name: string): Section {
    const value = this.#values[name] ?? {};
    if (!isObject(value)) throw this.#error(name, 'an object is expected');
    return new Section(value, `${this.#path}: ${name}`);
  }

  text(name: string, fallback: string): string {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== 'string') throw this.#error(name, 'a string is expected');
    return value;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== 'boolean') throw this.#error(name, 'true or false is expected');
    return value;
  }

  count(name: string, fallback: number, least: number): number {
    const value = this.#values[name] ?? fallback;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least) {
      throw this.#error(name, `a whole number of at least ${least} is expected`);
    }
    return value;
  }

  span(name: string, fallbackMs: number): number | null {
    const value = this.#values[name];
    if (value === undefined || value === null) return fallbackMs;
    if (typeof value !== 'string') throw this.#error(name, 'a time span such as "00:05:00" is expected');
    return parseTimeSpan(value, `${this.#path}: ${name}`);
  }

  #error(name: string, expected: string): Error {
    return new Error(`${this.#path}: ${name}: ${expected}, found ${JSON.stringify(this.#values[name])}.`);
  }
}
