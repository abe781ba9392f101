import type { Clock } from '../../base/clock.ts';
import type { AzureEvent } from '../arm/resources.ts';

/** Enough for hours of a busy sandbox; a reader that is further behind has to read the VMs instead. */
const KEPT = 10_000;

/** An event with its place in the order. */
export type LoggedEvent = AzureEvent & { readonly sequence: number; readonly at: number };

/** The last events, for readers in other processes. */
export class EventLog {
  readonly #clock: Clock;
  #events: ReadonlyArray<LoggedEvent> = [];
  #sequence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  append(event: AzureEvent): void {
    this.#sequence += 1;
    this.#events = [...this.#events.slice(-(KEPT - 1)), { ...event, sequence: this.#sequence, at: this.#clock.now() }];
  }

  /** Events after a sequence number, oldest first. */
  after(sequence: number): ReadonlyArray<LoggedEvent> {
    return this.#events.filter((event) => event.sequence > sequence);
  }
}
