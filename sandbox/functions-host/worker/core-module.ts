import { createRequire } from 'node:module';
import type { LogLevel } from '../log.ts';
import type { RpcFunctionMetadata, RpcInvocationRequest, RpcInvocationResponse } from './rpc.ts';

/** The function an app registered: the library calls it with the inputs and the context. */
export type FunctionCallback = (...args: ReadonlyArray<unknown>) => unknown;

/** A hook of an app: gets one mutable context object. */
export type HookCallback = (context: object) => unknown;

/** The moments a hook may be registered for. */
export const hookNames = ['appStart', 'appTerminate', 'preInvocation', 'postInvocation', 'log'] as const;

/** One of the moments of a hook. */
export type HookName = (typeof hookNames)[number];

/** What the library asks of the host while one function runs. */
export interface CoreInvocationContext {
  readonly invocationId: string;
  readonly request: RpcInvocationRequest;
  readonly metadata: RpcFunctionMetadata;
  state: 'preInvocationHooks' | 'invocation' | 'postInvocationHooks' | undefined;
  log(level: LogLevel, category: 'user' | 'system', message: string): void;
}

/** The library's side of one invocation. */
export interface InvocationModel {
  getArguments(): Promise<{ readonly context: object; readonly inputs: Array<unknown> }>;
  invokeFunction(context: object, inputs: ReadonlyArray<unknown>, callback: FunctionCallback): Promise<unknown>;
  getResponse(context: object, result: unknown): Promise<RpcInvocationResponse>;
}

/** What the library hands over with its first call. */
export interface ProgrammingModel {
  readonly name: string;
  readonly version: string;
  getInvocationModel(context: CoreInvocationContext): InvocationModel | Promise<InvocationModel>;
  getCapabilities?(defaults: Record<string, string>): Promise<Record<string, string>>;
}

/**
 * Who receives what an app registers while it is being loaded. Its methods may throw: the app's own call throws then.
 */
export interface Registrar {
  registerFunction(metadata: RpcFunctionMetadata, callback: FunctionCallback): void;
  registerHook(name: HookName, callback: HookCallback): () => void;
  setProgrammingModel(model: ProgrammingModel): void;
  log(level: LogLevel, message: string): void;
}

/** The version the module claims: a worker that knows log hooks and streaming. */
const WORKER_VERSION = '3.12.0';

/** The host version the module claims; log hooks ask for 4.34 or later. */
const HOST_VERSION = '4.1042.100';

/** The member of Node's module loader that every `require` and every CommonJS import goes through. */
const LOAD = '_load';

const CORE_MODULE = '@azure/functions-core';

/**
 * Whose registrations are being taken now. The library keeps the module it got first, so this must be one per process.
 */
let current: Registrar | null = null;

let isInstalled = false;

/**
 * Makes `require('@azure/functions-core')` answer in this process, and sends what is registered through it to
 * `registrar`, until the next call. Idempotent but for the registrar; null refuses registrations, as a real worker does
 * once its functions are indexed.
 */
export function directRegistrations(registrar: Registrar | null): void {
  current = registrar;
  if (isInstalled) return;
  isInstalled = true;
  const loader = nodeModuleLoader();
  const load = loader[LOAD];
  loader[LOAD] = function loadOrStandIn(request, ...rest) {
    return request === CORE_MODULE ? coreModule : load.call(this, request, ...rest);
  };
}

/** What Node's CommonJS loader is at run time, and its types do not tell. */
interface ModuleLoader {
  [LOAD]: (this: unknown, request: string, ...rest: ReadonlyArray<unknown>) => unknown;
}

function nodeModuleLoader(): ModuleLoader {
  const loader: unknown = createRequire(import.meta.url)('node:module');
  if (!isModuleLoader(loader)) throw new Error('This Node has no Module._load to stand in for @azure/functions-core.');
  return loader;
}

function isModuleLoader(value: unknown): value is ModuleLoader {
  return typeof value === 'function' && typeof Reflect.get(value, LOAD) === 'function';
}

function registrarNow(call: string): Registrar {
  if (current === null) {
    throw new Error(`${call} was called after the app had started. Register functions and hooks while a module loads.`);
  }
  return current;
}

/** Undoes a registration; the library's `Disposable` has the same face. */
class Disposable {
  #dispose: (() => void) | null;

  static from(...many: ReadonlyArray<{ readonly dispose: () => void }>): Disposable {
    return new Disposable(() => {
      for (const one of many) one.dispose();
    });
  }

  constructor(dispose: () => void) {
    this.#dispose = dispose;
  }

  dispose(): void {
    this.#dispose?.();
    this.#dispose = null;
  }
}

let latestModel: ProgrammingModel | null = null;

/** The stand-in for the module a real worker provides. */
const coreModule = {
  version: WORKER_VERSION,
  hostVersion: HOST_VERSION,
  Disposable,
  registerFunction(metadata: RpcFunctionMetadata, callback: FunctionCallback): Disposable {
    registrarNow(`Registering function "${metadata.name}"`).registerFunction(metadata, callback);
    return new Disposable(() => {
      throw new Error('A registered function cannot be taken back.');
    });
  },
  registerHook(name: string, callback: HookCallback): Disposable {
    const known = hookNames.find((hook) => hook === name);
    if (known === undefined) {
      throw Object.assign(new RangeError(`Unrecognized hook "${name}"`), { isAzureFunctionsSystemError: true });
    }
    return new Disposable(registrarNow(`Registering the hook "${name}"`).registerHook(known, callback));
  },
  setProgrammingModel(model: ProgrammingModel): void {
    latestModel = model;
    registrarNow('Setting the programming model').setProgrammingModel(model);
  },
  getProgrammingModel: (): ProgrammingModel | null => latestModel,
  log(level: LogLevel, _category: string, message: string): void {
    current?.log(level, message);
  },
};
