import type { FunctionCallback, HookCallback, HookName, ProgrammingModel } from './core-module.ts';
import type { RpcBindingInfo, RpcFunctionMetadata, RpcRetryOptions } from './rpc.ts';

/** One function of a loaded app. */
export interface RegisteredFunction {
  readonly name: string;
  readonly functionId: string;
  /** The name of the trigger's binding, which its input carries. */
  readonly triggerName: string;
  readonly trigger: RpcBindingInfo;
  readonly metadata: RpcFunctionMetadata;
  readonly retry: RpcRetryOptions | null;
  readonly callback: FunctionCallback;
}

/** An app whose modules have run: what it registered. */
export interface FunctionApp {
  readonly folder: string;
  readonly functions: ReadonlyArray<RegisteredFunction>;
  /** In order of registration; a hook may take itself back while the app runs. */
  readonly hooks: ReadonlyMap<HookName, ReadonlyArray<HookCallback>>;
  readonly model: ProgrammingModel | null;
  /** What the app asks of its host through `app.setup`, by name. */
  readonly capabilities: Readonly<Record<string, string>>;
  /** Shared by every hook of the app. */
  readonly appHookData: Record<string, unknown>;
  /** Shared by the hooks of the app's start and end only. */
  readonly startHookData: Record<string, unknown>;
  /** What could not be registered, and why: one function's mistake does not stop the others. */
  readonly mistakes: ReadonlyArray<string>;
}
