import type { Clock } from '../../base/clock.ts';
import type { JsonObject } from '../arm/json.ts';

/** What Resource Graph knows: every resource as it was `lagMs` ago. */
export class GraphReplica {
  readonly #clock: Clock;
  readonly #lagMs: number;
  readonly #rows = new Map<string, JsonObject>();

  constructor(clock: Clock, lagMs: number) {
    this.#clock = clock;
    this.#lagMs = lagMs;
  }

  /** Records a resource's new form, or with null that it is gone. It shows after the lag. */
  record(id: string, row: JsonObject | null): void {
    const apply = (): void => {
      if (row === null) this.#rows.delete(id.toLowerCase());
      else this.#rows.set(id.toLowerCase(), row);
    };
    if (this.#lagMs === 0) apply();
    else this.#clock.after(this.#lagMs, apply);
  }

  rows(): ReadonlyArray<JsonObject> {
    return [...this.#rows.values()];
  }
}
