/**
 * The shapes that cross from the host to the Node worker, as the library's side of `@azure/functions-core` reads them
 * (worker 3.x, library 4.16): only the members this host fills or reads.
 */

/** One value on the wire: exactly one member is there. */
export interface RpcTypedData {
  readonly string?: string;
  readonly json?: string;
  readonly bytes?: Uint8Array;
  readonly int?: number;
  readonly double?: number;
  /** A request on the way in, an answer on the way out. */
  readonly http?: RpcHttpRequest | RpcHttpResponse;
  readonly collectionString?: { readonly string: ReadonlyArray<string> };
  readonly collectionBytes?: { readonly bytes: ReadonlyArray<Uint8Array> };
}

/** An HTTP request for the library. Header names are in lower case. */
export interface RpcHttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  readonly body: RpcTypedData | null;
}

/** An HTTP answer as the library gives it. */
export interface RpcHttpResponse {
  readonly statusCode?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookies?: ReadonlyArray<RpcHttpCookie>;
  readonly body?: RpcTypedData | null;
}

/** One cookie of an HTTP answer; optional members are wrapped, so that absent and empty differ. */
export interface RpcHttpCookie {
  readonly name: string;
  readonly value: string;
  readonly domain?: { readonly value: string };
  readonly path?: { readonly value: string };
  readonly expires?: { readonly value: { readonly seconds: number } };
  readonly secure?: { readonly value: boolean };
  readonly httpOnly?: { readonly value: boolean };
  readonly sameSite?: 'none' | 'lax' | 'strict' | 'explicitNone';
  readonly maxAge?: { readonly value: number };
}

/** How often this invocation was tried before, and why it failed. */
export interface RpcRetryContext {
  readonly retryCount: number;
  readonly maxRetryCount: number;
  readonly exception: { readonly message: string; readonly stackTrace: string } | null;
}

/** One invocation's data. */
export interface RpcInvocationRequest {
  readonly invocationId: string;
  readonly functionId: string;
  readonly inputData: ReadonlyArray<{ readonly name: string; readonly data: RpcTypedData }>;
  readonly triggerMetadata: Readonly<Record<string, RpcTypedData>>;
  readonly traceContext: {
    readonly traceParent: string;
    readonly traceState: string;
    readonly attributes: Readonly<Record<string, string>>;
  };
  readonly retryContext: RpcRetryContext | null;
}

/** What comes back of one invocation. */
export interface RpcInvocationResponse {
  readonly invocationId: string;
  readonly returnValue?: RpcTypedData | null;
  readonly outputData?: ReadonlyArray<{ readonly name: string; readonly data: RpcTypedData }>;
}

/** One binding as the app declared it: `type` and whatever else the trigger has. */
export interface RpcBindingInfo extends Readonly<Record<string, unknown>> {
  readonly type: string;
  readonly direction: string;
}

/** Retry policy as the library writes it; intervals in whole seconds. */
export interface RpcRetryOptions {
  readonly retryStrategy?: string;
  readonly maxRetryCount?: number;
  readonly delayInterval?: { readonly seconds: number };
  readonly minimumInterval?: { readonly seconds: number };
  readonly maximumInterval?: { readonly seconds: number };
}

/** What an app registers for one function. */
export interface RpcFunctionMetadata {
  readonly name: string;
  readonly functionId?: string;
  readonly bindings: Readonly<Record<string, RpcBindingInfo>>;
  readonly retryOptions?: RpcRetryOptions;
}
