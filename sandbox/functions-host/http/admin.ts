import type { Clock } from '../../base/clock.ts';
import type { Executor, InvocationOrder } from '../executor.ts';
import { isObject } from '../settings/json.ts';
import { renderTimerInput, toDotNetInstant } from '../timers/timer-listener.ts';
import { toObjects } from '../servicebus/message-input.ts';
import type { RegisteredFunction } from '../worker/function-app.ts';
import type { RpcTypedData } from '../worker/rpc.ts';
import { toEventInput, toTriggerMetadata } from './event-grid.ts';
import { emptyResponse, jsonResponse, type HostRequest, type HostResponse } from './exchange.ts';

/** What the admin routes tell and do. */
export interface AdminHost {
  readonly functions: ReadonlyArray<RegisteredFunction>;
  readonly executor: Executor;
  readonly clock: Clock;
  readonly startedMs: number;
  /** What stopped a function from being registered or from listening. */
  readonly mistakes: ReadonlyArray<string>;
  /** The URL of an HTTP function, or null. */
  readonly urlOf: (fn: RegisteredFunction) => string | null;
}

/**
 * Answers `/admin/…`: the functions, one function, a run by hand (POST, 202 at once), the host's status, a ping, and
 * the counts of executions, which the real host does not have. No key is asked for.
 */
export async function serveAdmin(host: AdminHost, request: HostRequest): Promise<HostResponse> {
  const [, area, name, ...rest] = request.url.pathname.split('/').filter((part) => part !== '');
  if (rest.length > 0) return emptyResponse(404);
  switch (area?.toLowerCase()) {
    case 'host':
      return serveHost(host, request, name?.toLowerCase() ?? '');
    case 'functions':
      return name === undefined ? listFunctions(host, request) : serveFunctionByName(host, request, name);
    case undefined:
    default:
      return emptyResponse(404);
  }
}

function listFunctions(host: AdminHost, request: HostRequest): HostResponse {
  if (request.method !== 'GET') return emptyResponse(405, [['allow', 'GET']]);
  return jsonResponse(
    200,
    host.functions.map((fn) => describe(host, fn)),
  );
}

function serveFunctionByName(host: AdminHost, request: HostRequest, name: string): HostResponse {
  const fn = host.functions.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase());
  if (fn === undefined) return emptyResponse(404);
  switch (request.method) {
    case 'GET':
      return jsonResponse(200, describe(host, fn));
    case 'POST':
      return runByHand(host, fn, request);
    default:
      return emptyResponse(405, [['allow', 'GET, POST']]);
  }
}

function serveHost(host: AdminHost, request: HostRequest, name: string): HostResponse {
  if (name === 'ping' && ['GET', 'POST'].includes(request.method)) return emptyResponse(200);
  if (name !== 'status' && name !== 'executions') return emptyResponse(404);
  if (request.method !== 'GET') return emptyResponse(405, [['allow', 'GET']]);
  if (name === 'executions') return jsonResponse(200, host.executor.counts());
  return jsonResponse(200, {
    id: 'nodewright-sandbox',
    state: 'Running',
    version: '4.0.0-sandbox',
    processUptime: host.clock.now() - host.startedMs,
    functionAppContentEditingState: 'NotAllowed',
    errors: host.mistakes,
  });
}

function describe(host: AdminHost, fn: RegisteredFunction): object {
  return {
    name: fn.name,
    language: 'node',
    isDisabled: false,
    isDirect: false,
    invokeUrlTemplate: host.urlOf(fn),
    config: {
      name: fn.name,
      language: 'node',
      bindings: Object.entries(fn.metadata.bindings).map(([name, binding]) => ({ ...binding, name })),
    },
  };
}

/** Starts a run with the text of `input`; its outcome shows in the log and in the counts. */
function runByHand(host: AdminHost, fn: RegisteredFunction, request: HostRequest): HostResponse {
  const input = readInput(request.body.toString('utf8'));
  if (input === null) return jsonResponse(400, { error: 'The body must be JSON as in {"input": "text"}.' });
  const data = toInput(fn, input, request, host.clock.now());
  if (data === null) return jsonResponse(400, { error: 'The input of this function must be JSON.' });
  const order: InvocationOrder = {
    fn,
    reason: 'This function was programmatically called via the host APIs.',
    details: null,
    ...data,
    retry: null,
  };
  void host.executor.execute(order);
  return emptyResponse(202);
}

function readInput(text: string): string | null {
  if (text.trim() === '') return '';
  try {
    const body: unknown = JSON.parse(text);
    if (!isObject(body)) return null;
    const input = body['input'] ?? '';
    return typeof input === 'string' ? input : JSON.stringify(input);
  } catch {
    return null;
  }
}

type Input = Pick<InvocationOrder, 'input' | 'triggerMetadata'>;

function toInput(fn: RegisteredFunction, text: string, request: HostRequest, nowMs: number): Input | null {
  switch (fn.trigger.type.toLowerCase()) {
    case 'timertrigger': {
      const now = toDotNetInstant(nowMs);
      return {
        input: { json: renderTimerInput(false, { last: now, next: now, lastUpdated: now }) },
        triggerMetadata: {},
      };
    }
    case 'httptrigger':
      return { input: { http: toHttpInput(text, request) }, triggerMetadata: {} };
    case 'eventgridtrigger': {
      const event = readJson(text);
      return isObject(event) ? { input: toEventInput(event), triggerMetadata: toTriggerMetadata(event) } : null;
    }
    default:
      return { input: toMessageInput(fn, text), triggerMetadata: {} };
  }
}

function toMessageInput(fn: RegisteredFunction, text: string): RpcTypedData | Error {
  if (fn.trigger['cardinality'] !== 'many') return { string: text };
  if (fn.trigger['dataType'] === 'string') return { collectionString: { string: [text] } };
  try {
    return toObjects([text]);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function toHttpInput(text: string, request: HostRequest): NonNullable<RpcTypedData['http']> {
  const body = text === '' ? null : { bytes: Buffer.from(text) };
  return { method: 'POST', url: request.url.href, headers: {}, query: {}, params: {}, body };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
