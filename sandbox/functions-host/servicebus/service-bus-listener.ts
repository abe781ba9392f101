import type { Executor } from '../executor.ts';
import type { ServiceBusOptions } from '../host-json.ts';
import type { Listener } from '../listener.ts';
import type { Log } from '../log.ts';
import type { Settings } from '../settings.ts';
import type { RegisteredFunction } from '../worker/function-app.ts';

/** What a Service Bus trigger needs of its host. */
export interface ServiceBusHost {
  readonly executor: Executor;
  readonly settings: Settings;
  readonly log: Log;
  readonly options: ServiceBusOptions;
  readonly deliverTwice: boolean;
}

/** A listener for one Service Bus function. */
export function createServiceBusListener(fn: RegisteredFunction, _host: ServiceBusHost): Listener {
  throw new Error(`Function '${fn.name}': Service Bus triggers are not there yet.`);
}
