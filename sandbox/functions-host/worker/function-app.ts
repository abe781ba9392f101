import type { FunctionCallback, HookCallback, HookName, ProgrammingModel } from './core-module.ts';
import type { RpcBindingInfo, RpcFunctionMetadata, RpcRetryOptions } from './rpc.ts';

/** What the host knows of one function; its code is the worker's. */
export interface RegisteredFunction {
  readonly name: string;
  readonly functionId: string;
  /** The name of the trigger's binding, which its input carries. */
  readonly triggerName: string;
  readonly trigger: RpcBindingInfo;
  readonly metadata: RpcFunctionMetadata;
  readonly retry: RpcRetryOptions | null;
}

/** What the host knows of an app whose modules have run in a worker. */
export interface FunctionApp {
  readonly folder: string;
  readonly functions: ReadonlyArray<RegisteredFunction>;
  /** What the app asks of its host through `app.setup`, by name. */
  readonly capabilities: Readonly<Record<string, string>>;
  /** What could not be registered, and why: one function's mistake does not stop the others. */
  readonly mistakes: ReadonlyArray<string>;
}

/** A function as its worker has it. */
export interface LoadedFunction extends RegisteredFunction {
  readonly callback: FunctionCallback;
}

/** An app as its worker has it: what it registered. */
export interface LoadedApp extends FunctionApp {
  readonly functions: ReadonlyArray<LoadedFunction>;
  /** In order of registration; a hook may take itself back while the app runs. */
  readonly hooks: ReadonlyMap<HookName, ReadonlyArray<HookCallback>>;
  readonly model: ProgrammingModel | null;
  /** Shared by every hook of the app. */
  readonly appHookData: Record<string, unknown>;
  /** Shared by the hooks of the app's start and end only. */
  readonly startHookData: Record<string, unknown>;
}
