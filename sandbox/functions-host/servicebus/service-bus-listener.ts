import { setMaxListeners } from 'node:events';
import type { Executor } from '../executor.ts';
import type { ServiceBusOptions } from '../settings/host-json.ts';
import type { Listener } from '../listener.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings/settings.ts';
import type { RegisteredFunction } from '../worker/function-app.ts';
import { pumpBatches, pumpSessionBatches } from './batch-pump.ts';
import { type ClientSource, openClientSource } from './client-source.ts';
import { toQueueAddress } from './connection.ts';
import type { MessageShape } from './message-input.ts';
import type { Pump, PumpContext } from './message-pump.ts';
import { pumpMessages, pumpSessions } from './single-pump.ts';

/** What a Service Bus trigger needs of its host. */
export interface ServiceBusHost {
  readonly executor: Executor;
  readonly settings: Settings;
  readonly log: Log;
  readonly options: ServiceBusOptions;
  readonly keepsEmptyEntries: boolean;
  readonly deliverTwice: boolean;
}

/**
 * A listener for one Service Bus queue function, through the real client. By cardinality and sessions it receives in
 * one of four ways, as the extension does. Not imitated: prefetch (the client has none), SDK bindings and settlement
 * from code, dynamic concurrency. Throws, naming the function and the setting, when its connection cannot be made out.
 */
export function createServiceBusListener(fn: RegisteredFunction, host: ServiceBusHost): Listener {
  const address = toQueueAddress(fn, host.settings);
  const stop = new AbortController();
  // As many receives listen for the stop as there are sessions at once.
  setMaxListeners(0, stop.signal);
  const context = toPumpContext(fn, host, stop.signal);
  if (fn.trigger['sdkBinding'] === true) {
    throw new Error(
      `Function '${fn.name}': sdkBinding is not supported here; it needs the real host's settlement service.`,
    );
  }
  let clients: ClientSource | null = null;
  let pump: Pump | null = null;
  return {
    start: async () => {
      warnOfDifferences(context);
      clients = openClientSource(address.connectionString);
      pump = choosePump(context, fn.trigger['isSessionsEnabled'] === true)(context, clients, address.queueName);
    },
    stopTaking: async () => stop.abort(),
    close: async () => {
      stop.abort();
      await pump?.done;
      await clients?.close();
    },
  };
}

function toPumpContext(fn: RegisteredFunction, host: ServiceBusHost, stopping: AbortSignal): PumpContext {
  const own = fn.trigger['autoCompleteMessages'];
  return {
    fn,
    stopping,
    executor: host.executor,
    log: host.log,
    options: host.options,
    isBatch: fn.trigger['cardinality'] === 'many',
    autoComplete: typeof own === 'boolean' ? own : host.options.autoCompleteMessages,
    deliverTwice: host.deliverTwice,
    shape: { dataType: readDataType(fn.trigger['dataType']), keepsEmptyEntries: host.keepsEmptyEntries },
  };
}

/** The host reads the names without case, and `stream` as bytes. */
function readDataType(given: unknown): MessageShape['dataType'] {
  const name = typeof given === 'string' ? given.toLowerCase() : '';
  if (name === 'binary' || name === 'stream') return 'binary';
  return name === 'string' ? 'string' : null;
}

function choosePump(
  context: PumpContext,
  hasSessions: boolean,
): (context: PumpContext, clients: ClientSource, queueName: string) => Pump {
  if (context.isBatch) return hasSessions ? pumpSessionBatches : pumpBatches;
  return hasSessions ? pumpSessions : pumpMessages;
}

function warnOfDifferences({ fn, log, options, autoComplete }: PumpContext): void {
  if (!autoComplete) {
    const what =
      'autoCompleteMessages is false and nothing here settles from code: messages come back when their locks end.';
    log.ofFunction('warning', fn.name, null, what);
  }
  if (options.prefetchCount > 0) {
    log.ofFunction('warning', fn.name, null, 'prefetchCount is passed over: the JavaScript client does not prefetch.');
  }
}
