import type { Clock } from '../../base/clock.ts';
import { toRetryException, type Executor, type InvocationOrder } from '../executor.ts';
import type { Listener } from '../listener.ts';
import type { Log } from '../log.ts';
import { resolveSettings, type Settings } from '../settings/settings.ts';
import type { RegisteredFunction } from '../worker/function-app.ts';
import type { RpcRetryContext } from '../worker/rpc.ts';
import { nextOccurrence, parseNcrontab, type Ncrontab } from './ncrontab.ts';
import { toRetryPolicy, type RetryPolicy } from './retry-policy.ts';
import type { TimerState } from './timer-state.ts';

/** What a timer needs of its host. */
export interface TimerHost {
  readonly executor: Executor;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly state: TimerState;
}

/** Node's timers hold 2^31−1 ms at most; a longer wait is cut in pieces. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/** A status is kept only for schedules of a minute or longer, as the host does. */
const LEAST_MONITORED_MS = 60_000;

/** What .NET writes for "never yet". */
const NEVER = '0001-01-01T00:00:00+00:00';

/**
 * A listener for one timer. Runs never overlap: the next occurrence is reckoned from when a run began, so where several
 * fell due while it ran, it runs again at once, and once, as in the real host. Throws, naming the function, on a
 * schedule that is not valid.
 */
export function createTimerListener(fn: RegisteredFunction, host: TimerHost): Listener {
  const schedule = readSchedule(fn, host.settings);
  const timer = new TimerListener(fn, host, schedule);
  return {
    start: async () => timer.start(),
    stopTaking: async () => timer.stop(),
    close: () => timer.close(),
  };
}

/**
 * The schedule of a timer function, its settings resolved. Throws, naming the function, when it is not valid or never
 * occurs.
 */
export function readSchedule(fn: RegisteredFunction, settings: Settings): Ncrontab {
  const { schedule } = fn.trigger;
  if (typeof schedule !== 'string') throw new Error(`Function '${fn.name}': schedule must be a string.`);
  const text = resolveSettings(schedule, settings, { functionName: fn.name, property: 'schedule' });
  try {
    const parsed = parseNcrontab(text);
    if (nextOccurrence(parsed, 0) === null) throw new Error(`"${text}" names no instant.`);
    return parsed;
  } catch (error) {
    throw new Error(`Function '${fn.name}': schedule: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** The timer object as the host writes it; the library turns the names to camel case. */
export function renderTimerInput(isPastDue: boolean, status: Status | null): string {
  return JSON.stringify({
    Schedule: { AdjustForDST: true },
    ScheduleStatus: status === null ? null : { Last: status.last, Next: status.next, LastUpdated: status.lastUpdated },
    IsPastDue: isPastDue,
  });
}

interface Status {
  readonly last: string;
  readonly next: string;
  readonly lastUpdated: string;
}

class TimerListener {
  readonly #fn: RegisteredFunction;
  readonly #host: TimerHost;
  readonly #schedule: Ncrontab;
  readonly #policy: RetryPolicy | null;
  readonly #isMonitored: boolean;
  #stopped = false;
  #cancel: () => void = () => {};
  #endWait: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(fn: RegisteredFunction, host: TimerHost, schedule: Ncrontab) {
    this.#fn = fn;
    this.#host = host;
    this.#schedule = schedule;
    this.#policy = toRetryPolicy(fn.retry);
    const first = nextOccurrence(schedule, host.clock.now()) ?? 0;
    const second = nextOccurrence(schedule, first) ?? Infinity;
    this.#isMonitored = fn.trigger['useMonitor'] !== false && second - first >= LEAST_MONITORED_MS;
  }

  start(): void {
    this.#logNextOccurrences();
    this.#running = this.#run();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    this.#endWait();
  }

  /** Waits for the run that is on, and for its status to be written. */
  async close(): Promise<void> {
    this.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    const missed = this.#missedOccurrence();
    if (missed !== null) await this.#fire(`UnscheduledInvocationReason: IsPastDue, OriginalSchedule: ${missed}`, true);
    else if (this.#fn.trigger['runOnStartup'] === true) {
      await this.#fire('UnscheduledInvocationReason: RunOnStartup', false);
    }
    // Ends with the host: #waitUntil comes back at once when it stops.
    for (let sinceMs = this.#host.clock.now(); !this.#stopped;) {
      const next = nextOccurrence(this.#schedule, sinceMs);
      if (next === null) return;
      await this.#waitUntil(next);
      sinceMs = this.#host.clock.now();
      if (!this.#stopped) await this.#fire(null, false, next);
    }
  }

  #missedOccurrence(): string | null {
    if (!this.#isMonitored) return null;
    const status = this.#host.state.get(this.#fn.name);
    return status !== null && Date.parse(status.next) < this.#host.clock.now() ? status.next : null;
  }

  async #waitUntil(instantMs: number): Promise<void> {
    const { clock } = this.#host;
    // Each round waits the longest a timer can, so rounds are bounded by the schedule's reach.
    while (!this.#stopped && clock.now() < instantMs) {
      await this.#wait(Math.min(LONGEST_WAIT_MS, instantMs - clock.now()));
    }
  }

  async #wait(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#endWait = resolve;
      this.#cancel = this.#host.clock.after(delayMs, resolve);
    });
  }

  /**
   * Runs the function, with its retries, and remembers when. `dueMs`: the instant of the schedule; null off schedule.
   */
  async #fire(details: string | null, isPastDue: boolean, dueMs: number | null = null): Promise<void> {
    const firedMs = this.#host.clock.now();
    const input = { json: renderTimerInput(isPastDue, this.#isMonitored ? this.#statusBefore() : null) };
    await this.#executeWithRetries({
      fn: this.#fn,
      reason: `Timer fired at ${toDotNetInstant(firedMs)}`,
      details,
      input,
      triggerMetadata: {},
    });
    if (this.#isMonitored) await this.#remember(dueMs ?? firedMs);
  }

  async #executeWithRetries(order: Omit<InvocationOrder, 'retry'>): Promise<void> {
    const policy = this.#policy;
    const maxRetryCount = policy?.maxRetryCount ?? 0;
    let exception: RpcRetryContext['exception'] = null;
    for (let retryCount = 0; retryCount <= maxRetryCount && !this.#stopped; retryCount += 1) {
      const retry = policy === null ? null : { retryCount, maxRetryCount, exception };
      const outcome = await this.#host.executor.execute({ ...order, retry });
      if (outcome.succeeded || policy === null) return;
      exception = toRetryException(outcome.error);
      if (retryCount < maxRetryCount) await this.#wait(policy.delayMs(retryCount + 1));
    }
  }

  async #remember(lastMs: number): Promise<void> {
    const next = nextOccurrence(this.#schedule, Math.max(this.#host.clock.now(), lastMs)) ?? 0;
    const last = toDotNetInstant(lastMs);
    await this.#host.state.set(this.#fn.name, { last, next: toDotNetInstant(next), lastUpdated: last });
  }

  #statusBefore(): Status {
    const next = nextOccurrence(this.#schedule, this.#host.clock.now()) ?? 0;
    const known = this.#host.state.get(this.#fn.name);
    return known ?? { last: NEVER, next: toDotNetInstant(next), lastUpdated: NEVER };
  }

  #logNextOccurrences(): void {
    const occurrences: Array<string> = [];
    let at = this.#host.clock.now();
    // Five, as the host prints.
    for (let count = 0; count < 5; count += 1) {
      const next = nextOccurrence(this.#schedule, at);
      if (next === null) break;
      occurrences.push(new Date(next).toISOString());
      at = next;
    }
    const name = this.#fn.name;
    const head = `The next ${occurrences.length} occurrences of the '${name}' schedule (Cron: '${this.#schedule.text}') will be:`;
    this.#host.log.ofFunction('debug', name, null, [head, ...occurrences].join('\n'));
  }
}

/** An instant as .NET renders it in JSON and in the log, with the offset of UTC. */
export function toDotNetInstant(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('Z', '0000+00:00');
}
