import { glob, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { isAbsolute, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { renderErrorMessage } from '../error-message.ts';
import { isObject, parseJsonObject } from '../settings/json.ts';
import type { Log } from '../log.ts';
import {
  directRegistrations,
  type HookCallback,
  type HookName,
  type ProgrammingModel,
  type Registrar,
} from './core-module.ts';
import type { LoadedApp, LoadedFunction } from './function-app.ts';
import type { RpcBindingInfo, RpcFunctionMetadata } from './rpc.ts';

/**
 * Runs the entry points of the app in `folder` (absolute), as the `main` of its package.json names them: a path or a
 * glob relative to the folder, ESM or CommonJS. Once per worker: Node runs a module once. Throws, naming the entry
 * point, when there is none or one throws.
 */
export async function loadApp(folder: string, log: Log): Promise<LoadedApp> {
  const packageJson = await readPackageJson(folder);
  const files = await findEntryPoints(folder, packageJson.main);
  const registrations = new Registrations(log);
  directRegistrations(registrations);
  try {
    for (const file of files) await runEntryPoint(folder, file, packageJson, log);
  } finally {
    directRegistrations(null);
  }
  const { model } = registrations;
  const capabilities = await readCapabilities(model, folder);
  return {
    folder,
    functions: [...registrations.functions.values()],
    hooks: registrations.hooks,
    model,
    capabilities,
    appHookData: {},
    startHookData: {},
    mistakes: registrations.mistakes,
  };
}

interface PackageJson {
  readonly main: string;
  readonly isModule: boolean;
}

async function readPackageJson(folder: string): Promise<PackageJson> {
  const path = join(folder, 'package.json');
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) throw new Error(`${path} is missing. Its "main" names the files that register functions.`);
  const { main, type } = parseJsonObject(text, path);
  if (typeof main !== 'string' || main === '') {
    throw new Error(`${path}: "main" is missing. Set it to the built file or glob that registers functions.`);
  }
  return { main, isModule: type === 'module' };
}

async function findEntryPoints(folder: string, pattern: string): Promise<ReadonlyArray<string>> {
  const files: Array<string> = [];
  for await (const file of glob(toGlob(pattern), { cwd: folder })) files.push(file);
  if (files.length === 0) {
    throw new Error(
      `Worker was unable to load entry point "${pattern}": no file in ${folder} matches. Is the app built?`,
    );
  }
  return files.map((file) => (isAbsolute(file) ? relative(folder, file) : file)).toSorted();
}

/** `./dist/main.js` and `dist\main.js` name the same file as `dist/main.js`; a glob takes the last. */
function toGlob(pattern: string): string {
  return pattern.replaceAll('\\', '/').replace(/^\.\//, '');
}

async function runEntryPoint(folder: string, file: string, packageJson: PackageJson, log: Log): Promise<void> {
  const path = join(folder, file);
  log.host('debug', `Loading entry point file "${file}"`);
  try {
    const isModule = file.endsWith('.mjs') || (packageJson.isModule && !file.endsWith('.cjs'));
    if (isModule) await import(pathToFileURL(path).href);
    else createRequire(path)(path);
  } catch (error) {
    throw new Error(`Worker was unable to load entry point "${file}": ${renderErrorMessage(error)}`, { cause: error });
  }
  log.host('debug', `Loaded entry point file "${file}"`);
}

/**
 * Reads what the app asked for in `app.setup`, which ends its set-up as in a real worker. Throws when it asks for
 * streaming.
 */
async function readCapabilities(
  model: ProgrammingModel | null,
  folder: string,
): Promise<Readonly<Record<string, string>>> {
  const capabilities = (await model?.getCapabilities?.({})) ?? {};
  // With HTTP streaming the library expects requests on a socket of its own, which this host does not feed.
  if (capabilities['HttpUri'] !== undefined) {
    throw new Error(`${folder}: app.setup({ enableHttpStream: true }) is not supported by the sandbox's host.`);
  }
  return capabilities;
}

/** Collects what one app registers while its modules run. */
class Registrations implements Registrar {
  readonly functions = new Map<string, LoadedFunction>();
  readonly hooks = new Map<HookName, Array<HookCallback>>();
  readonly mistakes: Array<string> = [];
  model: ProgrammingModel | null = null;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  registerFunction(metadata: RpcFunctionMetadata, callback: LoadedFunction['callback']): void {
    const mistake = findMistake(metadata, callback, this.functions);
    if (mistake !== null) {
      this.mistakes.push(mistake);
      return;
    }
    const [triggerName, trigger] = findTrigger(metadata) ?? ['', { type: '', direction: 'in' }];
    this.functions.set(metadata.name.toLowerCase(), {
      name: metadata.name,
      functionId: metadata.functionId ?? metadata.name,
      triggerName,
      trigger,
      metadata,
      retry: metadata.retryOptions ?? null,
      callback,
    });
  }

  registerHook(name: HookName, callback: HookCallback): () => void {
    const hooks = this.hooks.get(name) ?? [];
    this.hooks.set(name, hooks);
    hooks.push(callback);
    return () => {
      const index = hooks.indexOf(callback);
      if (index >= 0) hooks.splice(index, 1);
    };
  }

  setProgrammingModel(model: ProgrammingModel): void {
    this.model = model;
  }

  log(level: Parameters<Registrar['log']>[0], message: string): void {
    this.#log.host(level, message);
  }
}

function findMistake(
  metadata: RpcFunctionMetadata,
  callback: unknown,
  others: ReadonlyMap<string, LoadedFunction>,
): string | null {
  const name: unknown = metadata.name;
  // The host's own rule for names, since they become part of URLs.
  if (typeof name !== 'string' || !/^[A-Za-z][A-Za-z0-9_-]{0,127}$/.test(name)) {
    return `The function name ${JSON.stringify(name)} is not valid: start with a letter, then letters, digits, _ and -.`;
  }
  if (others.has(name.toLowerCase())) return `A function named '${name}' is registered twice; the second is ignored.`;
  if (typeof callback !== 'function') return `Function '${name}': the handler is no function.`;
  if (findTrigger(metadata) === null) return `Function '${name}': it has no trigger.`;
  return null;
}

function findTrigger(metadata: RpcFunctionMetadata): readonly [string, RpcBindingInfo] | null {
  if (!isObject(metadata.bindings)) return null;
  return Object.entries(metadata.bindings).find(([, binding]) => /trigger$/i.test(binding.type)) ?? null;
}
