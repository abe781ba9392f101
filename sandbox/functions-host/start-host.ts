import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import type { Clock } from '../world/clock.ts';
import { renderErrorMessage } from './error-message.ts';
import { createExecutor, type ExecutionCounts, type Executor } from './executor.ts';
import { readHostJson, type HostJson } from './host-json.ts';
import { serveAdmin, type AdminHost } from './http/admin.ts';
import { EVENT_GRID_PATH, serveEventGrid } from './http/event-grid.ts';
import { emptyResponse, readRequest, writeResponse, type HostRequest, type HostResponse } from './http/exchange.ts';
import { serveFunction, toHttpRoute, type HttpRoute } from './http/http-functions.ts';
import type { Listener } from './listener.ts';
import { createLog, type Log, type LogSink } from './log.ts';
import { machineClock } from './machine-clock.ts';
import { createServiceBusListener } from './servicebus/service-bus-listener.ts';
import { readSettings, type Settings } from './settings.ts';
import { createTimerListener } from './timers/timer-listener.ts';
import { openTimerState } from './timers/timer-state.ts';
import type { FunctionApp, RegisteredFunction } from './worker/function-app.ts';
import { loadApp } from './worker/load-app.ts';
import { runHooks, withHookData } from './worker/run-hooks.ts';

/** How to start a host; null takes what the comment names. */
export interface HostOptions {
  /** The app's folder, with host.json and package.json. */
  readonly appFolder: string;
  /** 0: any free port. The host listens on 127.0.0.1 only. */
  readonly port: number;
  /** App settings over local.settings.json. Null: the process's environment. */
  readonly environment: Readonly<Record<string, string | undefined>> | null;
  /** Where log entries go. Null: nowhere. */
  readonly sink: LogSink | null;
  /** The time of timers, timeouts and the log. Null: the machine's. Service Bus runs in real time in any case. */
  readonly clock: Clock | null;
  /** A file that remembers timers over a restart. Null: they are forgotten. */
  readonly timerStateFile: string | null;
  /** Exercises idempotence: a Service Bus batch that succeeded is invoked once more before its messages are completed. */
  readonly deliverTwice: boolean;
}

/** A running host. */
export interface Host {
  readonly port: number;
  readonly functions: ReadonlyArray<string>;
  /** What stopped a function from being registered or from listening; empty when all is well. */
  readonly mistakes: ReadonlyArray<string>;
  executions(): Readonly<Record<string, ExecutionCounts>>;
  /** Takes nothing new, waits for what runs (30 s at most), runs the app's appTerminate hooks, lets go. Idempotent. */
  close(): Promise<void>;
}

/** How long a stop waits for running functions: below the minute that the platform grants a worker that is scaled in. */
const DRAIN_BOUND_MS = 30_000;

/** What an app's appTerminate hooks may take together; the real worker gets about as much. */
const TERMINATE_HOOKS_BOUND_MS = 10_000;

/**
 * Starts an Azure Functions host for one built, unmodified Node app (programming model 4).
 *
 * Imitated: loading by package.json#main, `@azure/functions-core`, the order of hooks, log hooks; HTTP, timer, Event Grid
 * and Service Bus queue triggers with their host.json settings, log lines, admin routes, function timeouts, graceful stop.
 * Not imitated: keys (every authLevel is served without one), other triggers and all extra bindings (such a function is a
 * mistake, logged and left out), HTTP streaming, SDK bindings and settlement from code, scaling and placeholder mode, the
 * restart of a worker whose function timed out, the singleton lock of timers, Application Insights.
 * One process loads one app folder once, as Node caches modules: a second host for it shares the first's registrations.
 *
 * Kept honest by test/contract/functions-host, which drives it with apps built on the real library, over HTTP and over the
 * real Service Bus client. Throws when the app cannot be loaded; a mistake in one function stops that function only.
 */
export async function startHost(options: HostOptions): Promise<Host> {
  const clock = options.clock ?? machineClock;
  const startedMs = clock.now();
  const log = createLog(options.sink ?? (() => {}), () => clock.now());
  const appFolder = resolve(options.appFolder);
  const hostJson = await readHostJson(appFolder);
  const settings = await readSettings(appFolder, options.environment ?? process.env);
  exportSettings(settings, options.environment);
  const app = await loadApp(appFolder, log);
  const executor = createExecutor({ app, log, clock, functionTimeoutMs: hostJson.functionTimeoutMs });
  await runHooks(app, 'appStart', withHookData(app, app.startHookData, { functionAppDirectory: appFolder }));

  const parts = await createParts({ options, clock, log, hostJson, settings, app, executor });
  const server = await listen(options.port);
  const port = (server.address() as AddressInfo).port;
  const admin: AdminHost = {
    ...{ functions: app.functions, executor, clock, startedMs, mistakes: parts.mistakes },
    urlOf: (fn) => renderUrl(parts.routes, fn, port),
  };
  serve(server, port, log, (request) => route(parts, admin, app, request, log));
  for (const mistake of parts.mistakes) log.host('error', mistake);
  log.host('information', renderFunctions(app, parts.routes, port));
  await startListeners(parts, log);
  log.host('information', `Host started (${Math.round(clock.now() - startedMs)}ms)`);

  let closing: Promise<void> | null = null;
  return {
    port,
    functions: app.functions.map(({ name }) => name),
    mistakes: parts.mistakes,
    executions: () => executor.counts(),
    close: () => (closing ??= closeHost({ app, executor, server, log, listeners: parts.listeners })),
  };
}

interface Making {
  readonly options: HostOptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly hostJson: HostJson;
  readonly settings: Settings;
  readonly app: FunctionApp;
  readonly executor: Executor;
}

interface Parts {
  readonly routes: ReadonlyArray<HttpRoute>;
  readonly eventGrid: ReadonlyArray<RegisteredFunction>;
  readonly listeners: ReadonlyArray<readonly [RegisteredFunction, Listener]>;
  /** Grows while listeners start. */
  readonly mistakes: Array<string>;
}

/** The worker of the real host gets its settings as environment variables before the app's modules run. */
function exportSettings(settings: Settings, environment: HostOptions['environment']): void {
  for (const [name, value] of settings.fromFile) process.env[name] ??= value;
  for (const [name, value] of Object.entries(environment ?? {})) {
    if (value !== undefined) process.env[name] = value;
  }
}

async function createParts(making: Making): Promise<Parts> {
  const { app, clock, executor, hostJson, log, options, settings } = making;
  const state = await openTimerState(options.timerStateFile);
  const routes: Array<HttpRoute> = [];
  const eventGrid: Array<RegisteredFunction> = [];
  const listeners: Array<readonly [RegisteredFunction, Listener]> = [];
  const mistakes = [...app.mistakes];
  for (const fn of app.functions) {
    try {
      switch (fn.trigger.type.toLowerCase()) {
        case 'httptrigger':
          routes.push(toHttpRoute(fn, hostJson.routePrefix));
          break;
        case 'eventgridtrigger':
          eventGrid.push(fn);
          break;
        case 'timertrigger':
          listeners.push([fn, createTimerListener(fn, { executor, settings, clock, log, state })]);
          break;
        case 'servicebustrigger': {
          const { deliverTwice } = options;
          const bus = { executor, settings, log, options: hostJson.serviceBus, deliverTwice };
          listeners.push([fn, createServiceBusListener(fn, bus)]);
          break;
        }
        default:
          mistakes.push(`Function '${fn.name}': this host has no trigger of the type '${fn.trigger.type}'.`);
      }
    } catch (error) {
      mistakes.push(renderErrorMessage(error));
    }
  }
  return { routes, eventGrid, listeners, mistakes };
}

async function startListeners(parts: Parts, log: Log): Promise<void> {
  await Promise.all(
    parts.listeners.map(async ([fn, listener]) => {
      try {
        await listener.start();
      } catch (error) {
        const mistake = `The listener for function 'Functions.${fn.name}' was unable to start. ${renderErrorMessage(error)}`;
        parts.mistakes.push(mistake);
        log.host('error', mistake);
      }
    }),
  );
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolvePromise, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolvePromise);
  });
  return server;
}

function serve(server: Server, port: number, log: Log, answer: (request: HostRequest) => Promise<HostResponse>): void {
  server.on('request', (incoming, outgoing) => {
    void (async () => {
      try {
        const request = await readRequest(incoming, port);
        writeResponse(outgoing, request === null ? emptyResponse(413) : await answer(request));
      } catch (error) {
        log.host('error', `A request could not be answered: ${renderErrorMessage(error)}`);
        writeResponse(outgoing, emptyResponse(500));
      }
    })();
  });
}

async function route(
  parts: Parts,
  admin: AdminHost,
  app: FunctionApp,
  request: HostRequest,
  log: Log,
): Promise<HostResponse> {
  const path = request.url.pathname.toLowerCase();
  if (path === EVENT_GRID_PATH) return serveEventGrid(parts.eventGrid, request, admin.executor);
  if (path.startsWith('/admin/')) return serveAdmin(admin, request);
  return serveFunction(parts.routes, request, admin.executor, log);
}

function renderUrl(routes: ReadonlyArray<HttpRoute>, fn: RegisteredFunction, port: number): string | null {
  const own = routes.find((candidate) => candidate.fn === fn);
  return own === undefined ? null : `http://localhost:${port}/${own.template.text}`;
}

/** The list `func start` prints: HTTP functions with methods and URL first, then the others with their trigger. */
function renderFunctions(app: FunctionApp, routes: ReadonlyArray<HttpRoute>, port: number): string {
  const http = routes.map(
    ({ fn, methods, template }) => `\t${fn.name}: [${methods.join(',')}] http://localhost:${port}/${template.text}`,
  );
  const others = app.functions
    .filter((fn) => fn.trigger.type.toLowerCase() !== 'httptrigger')
    .map((fn) => `\t${fn.name}: ${fn.trigger.type}`);
  return ['Functions:', ...http.toSorted(), ...others.toSorted()].join('\n\n');
}

interface Closing {
  readonly app: FunctionApp;
  readonly executor: Executor;
  readonly server: Server;
  readonly log: Log;
  readonly listeners: Parts['listeners'];
}

async function closeHost({ app, executor, server, log, listeners }: Closing): Promise<void> {
  log.host('information', 'Stopping the host: no new work is taken.');
  const closed = new Promise<void>((resolvePromise) => {
    server.close(() => resolvePromise());
  });
  await Promise.all(listeners.map(([, listener]) => listener.stopTaking()));
  const left = await executor.drain(DRAIN_BOUND_MS);
  if (left > 0) log.host('warning', `${left} invocations still ran after ${DRAIN_BOUND_MS} ms and are left behind.`);
  await Promise.allSettled(listeners.map(([, listener]) => listener.close()));
  await runTerminateHooks(app, log);
  server.closeAllConnections();
  await closed;
  log.host('information', 'Host stopped');
}

async function runTerminateHooks(app: FunctionApp, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`not done after ${TERMINATE_HOOKS_BOUND_MS} ms`)),
      TERMINATE_HOOKS_BOUND_MS,
    );
  });
  try {
    await Promise.race([runHooks(app, 'appTerminate', withHookData(app, app.startHookData, {})), bound]);
  } catch (error) {
    log.host('error', `The app's appTerminate hooks failed: ${renderErrorMessage(error)}`);
  } finally {
    clearTimeout(timer);
  }
}
