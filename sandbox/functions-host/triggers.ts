import type { Clock } from '../base/clock.ts';
import { renderErrorMessage } from './error-message.ts';
import type { Executor } from './executor.ts';
import { groupOf } from './function-group.ts';
import type { HostJson } from './settings/host-json.ts';
import { toHttpRoute, type HttpRoute } from './http/http-functions.ts';
import type { Listener } from './listener.ts';
import type { Log } from './log.ts';
import { createServiceBusListener } from './servicebus/service-bus-listener.ts';
import type { Settings } from './settings/settings.ts';
import { createTimerListener } from './timers/timer-listener.ts';
import type { TimerState } from './timers/timer-state.ts';
import type { FunctionApp, RegisteredFunction } from './worker/function-app.ts';

/** What is served over HTTP, what listens by itself, and what could not be set up. */
export interface Triggers {
  readonly routes: ReadonlyArray<HttpRoute>;
  readonly eventGrid: ReadonlyArray<RegisteredFunction>;
  readonly listeners: ReadonlyArray<readonly [RegisteredFunction, Listener]>;
  /** Grows while listeners start. */
  readonly mistakes: Array<string>;
}

/** What the triggers are made of. */
export interface TriggerParts {
  readonly app: FunctionApp;
  readonly executor: Executor;
  readonly hostJson: HostJson;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly timerState: TimerState;
  readonly deliverTwice: boolean;
  /** The group whose functions listen; null: all. */
  readonly group: string | null;
}

/**
 * Sets up the trigger of every function; one that cannot be becomes a mistake, and the others go on. Nothing listens
 * yet.
 */
export function createTriggers(parts: TriggerParts): Triggers {
  const routes: Array<HttpRoute> = [];
  const eventGrid: Array<RegisteredFunction> = [];
  const listeners: Array<readonly [RegisteredFunction, Listener]> = [];
  const mistakes = [...parts.app.mistakes];
  for (const fn of parts.app.functions) {
    try {
      refuseExtraBindings(fn);
      switch (fn.trigger.type.toLowerCase()) {
        case 'httptrigger':
          routes.push(toHttpRoute(fn, parts.hostJson.routePrefix));
          break;
        case 'eventgridtrigger':
          eventGrid.push(fn);
          break;
        default:
          listeners.push(...listenersOf(fn, parts));
      }
    } catch (error) {
      mistakes.push(renderErrorMessage(error));
    }
  }
  return { routes, eventGrid, listeners, mistakes };
}

/** Starts every listener; one that cannot start becomes a mistake, and the others go on. */
export async function startListeners(triggers: Triggers, log: Log): Promise<void> {
  await Promise.all(
    triggers.listeners.map(async ([fn, listener]) => {
      try {
        await listener.start();
      } catch (error) {
        const mistake = `The listener for function 'Functions.${fn.name}' was unable to start. ${renderErrorMessage(error)}`;
        triggers.mistakes.push(mistake);
        log.host('error', mistake);
      }
    }),
  );
}

/**
 * Made for every function, so that a mistake shows in each instance, as in the real host; kept for those of the group.
 */
function listenersOf(fn: RegisteredFunction, parts: TriggerParts): Triggers['listeners'] {
  const listener = createListener(fn, parts);
  return parts.group === null || parts.group === groupOf(fn) ? [[fn, listener]] : [];
}

function createListener(fn: RegisteredFunction, parts: TriggerParts): Listener {
  switch (fn.trigger.type.toLowerCase()) {
    case 'timertrigger':
      return createTimerListener(fn, { ...parts, state: parts.timerState });
    case 'servicebustrigger':
      return createServiceBusListener(fn, {
        ...parts,
        options: parts.hostJson.serviceBus,
        // What app.setup({ capabilities }) asks for arrives as text.
        keepsEmptyEntries: parts.app.capabilities['IncludeEmptyEntriesInMessagePayload'] === 'true',
      });
    default:
      throw new Error(`Function '${fn.name}': this host has no trigger of the type '${fn.trigger.type}'.`);
  }
}

/** An input that is not filled or an output that goes nowhere would be a silent lie. */
function refuseExtraBindings(fn: RegisteredFunction): void {
  for (const [name, binding] of Object.entries(fn.metadata.bindings)) {
    if (name === fn.triggerName || binding.type.toLowerCase() === 'http') continue;
    throw new Error(`Function '${fn.name}': this host has no binding of the type '${binding.type}' (${name}).`);
  }
}
