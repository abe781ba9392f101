import { resolve } from 'node:path';
import { systemClock, type Clock } from '../base/clock.ts';
import { stopHost } from './stop-host.ts';
import { type AppWorker, startAppWorker } from './app-worker.ts';
import { createExecutor, type ExecutionCounts, type Executor } from './executor.ts';
import { refuseUnknownGroup } from './function-group.ts';
import { readHostJson } from './settings/host-json.ts';
import { serveAdmin, type AdminHost } from './http/admin.ts';
import { EVENT_GRID_PATH, serveEventGrid } from './http/event-grid.ts';
import { openHttpFront, type Answer } from './http/http-front.ts';
import { serveFunction, type HttpRoute } from './http/http-functions.ts';
import { createLog, type Log, type LogSink } from './log.ts';
import { readSettings, type Settings } from './settings/settings.ts';
import { openTimerState } from './timers/timer-state.ts';
import { createTriggers, startListeners, type Triggers } from './triggers.ts';
import type { FunctionApp, RegisteredFunction } from './worker/function-app.ts';

/** How to start a host; null takes what the comment names. */
export interface HostOptions {
  /** The app's folder, with host.json and package.json. */
  readonly appFolder: string;
  /** 0: any free port. The host listens on 127.0.0.1 only. */
  readonly port: number;
  /**
   * App settings over local.settings.json, and over this process's environment, which the app has as well. Null: that
   * alone.
   */
  readonly environment: Readonly<Record<string, string | undefined>> | null;
  /** Where log entries go. Null: nowhere. */
  readonly sink: LogSink | null;
  /** The time of timers, timeouts and the log. Null: the machine's. Service Bus runs in real time in any case. */
  readonly clock: Clock | null;
  /** A file that remembers timers over a restart. Null: they are forgotten. */
  readonly timerStateFile: string | null;
  /**
   * Exercises idempotence: a Service Bus delivery that succeeded is invoked once more before its messages are
   * completed.
   */
  readonly deliverTwice: boolean;
  /**
   * The one group whose functions listen here, `http` or `function:NAME`, as in an instance of Flex Consumption; HTTP
   * and runs by hand are served in any case. Null: all listen.
   */
  readonly group: string | null;
}

/** A running host. */
export interface Host {
  readonly port: number;
  /** The names of the functions, in order of registration. */
  readonly functions: ReadonlyArray<string>;
  /** What stopped a function from being registered or from listening; empty when all is well. */
  readonly mistakes: ReadonlyArray<string>;
  /** How often each function ran, as /admin/host/executions tells. */
  executions(): Readonly<Record<string, ExecutionCounts>>;
  /** Takes nothing new, waits for what runs (30 s at most), runs the app's appTerminate hooks, lets go. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts an Azure Functions host for one built, unmodified Node app (programming model 4).
 *
 * Imitated: loading by package.json#main, `@azure/functions-core`, the order of hooks, log hooks; HTTP, timer, Event
 * Grid and Service Bus queue triggers with their host.json settings, log lines, admin routes, function timeouts,
 * graceful stop. The app runs in a worker of its own, a thread, which is replaced when a function outlives its timeout
 * and when it crashes. Not imitated: keys (every authLevel is served without one), other triggers and all extra
 * bindings (such a function is a mistake, logged and left out), HTTP streaming, SDK bindings and settlement from code,
 * scaling and placeholder mode, the singleton lock of timers, Application Insights. docs/sandbox.md has the list, with
 * reasons.
 *
 * Kept honest by test/contract/functions-host, which drives it with apps built on the real library, over HTTP and over
 * the real Service Bus client. Throws when the app cannot be loaded; a mistake in one function stops that function
 * only.
 */
export async function startHost(options: HostOptions): Promise<Host> {
  const clock = options.clock ?? systemClock;
  const startedMs = clock.now();
  const log = createLog(options.sink ?? (() => {}), () => clock.now());
  const appFolder = resolve(options.appFolder);
  const hostJson = await readHostJson(appFolder);
  const settings = await readSettings(appFolder, options.environment ?? process.env);
  const timerState = await openTimerState(options.timerStateFile);
  const front = await openHttpFront(options.port, log);
  let worker: AppWorker | null = null;
  try {
    const environment = environmentOf(settings, options.environment);
    const running = await startAppWorker({ appFolder, environment, log });
    worker = running;
    const { app } = running;
    refuseUnknownGroup(app, options.group);
    const executor = createExecutor({ worker: running, log, clock, functionTimeoutMs: hostJson.functionTimeoutMs });

    const { deliverTwice, group } = options;
    const triggers = createTriggers({ app, executor, hostJson, settings, clock, log, timerState, deliverTwice, group });
    for (const mistake of triggers.mistakes) log.host('error', mistake);
    const urlOf = (fn: RegisteredFunction): string | null => renderUrl(triggers.routes, fn, front.port);
    const admin = { functions: app.functions, executor, clock, startedMs, mistakes: triggers.mistakes, urlOf };
    front.serve(chooseAnswer(triggers, admin, executor, log));
    log.host('information', renderFunctions(app, triggers.routes, front.port));
    await startListeners(triggers, log);
    log.host('information', `Host started (${Math.round(clock.now() - startedMs)}ms)`);

    let stopping: Promise<void> | null = null;
    return {
      port: front.port,
      functions: app.functions.map(({ name }) => name),
      mistakes: triggers.mistakes,
      executions: () => executor.counts(),
      close: () => (stopping ??= stopHost({ worker: running, executor, front, log, triggers })),
    };
  } catch (error) {
    await worker?.end();
    front.closeConnections();
    await front.stopTaking();
    throw error;
  }
}

/** The settings as the worker's environment variables, over those of this process. */
function environmentOf(settings: Settings, environment: HostOptions['environment']): Readonly<Record<string, string>> {
  const given = { ...process.env, ...Object.fromEntries(settings.fromFile), ...environment };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function chooseAnswer(triggers: Triggers, admin: AdminHost, executor: Executor, log: Log): Answer {
  return async (request) => {
    const path = request.url.pathname.toLowerCase();
    if (path === EVENT_GRID_PATH) return serveEventGrid(triggers.eventGrid, request, executor);
    if (path.startsWith('/admin/')) return serveAdmin(admin, request);
    return serveFunction(triggers.routes, request, executor, log);
  };
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
