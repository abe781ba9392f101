import type { LogLevel } from '../log.ts';
import type { FunctionApp } from './function-app.ts';
import type { RpcInvocationRequest, RpcInvocationResponse } from './rpc.ts';

/** What a worker is started with. */
export interface WorkerStart {
  /** Absolute. */
  readonly appFolder: string;
}

/** What the host tells its worker. */
export type ToWorker =
  | { readonly kind: 'invoke'; readonly functionName: string; readonly request: RpcInvocationRequest }
  /** Runs the app's appTerminate hooks. */
  | { readonly kind: 'terminate' };

/** What a function or a hook threw, as text. */
export interface Thrown {
  readonly message: string;
  readonly stack: string;
}

/** What a worker tells its host. */
export type FromWorker =
  | { readonly kind: 'loaded'; readonly app: FunctionApp }
  | { readonly kind: 'answer'; readonly invocationId: string; readonly response: RpcInvocationResponse }
  | { readonly kind: 'failure'; readonly invocationId: string; readonly error: Thrown }
  | { readonly kind: 'terminated'; readonly error: Thrown | null }
  | { readonly kind: 'host-log'; readonly level: LogLevel; readonly message: string }
  | {
      readonly kind: 'function-log' | 'app-log';
      readonly level: LogLevel;
      readonly functionName: string;
      readonly invocationId: string | null;
      readonly message: string;
    };
