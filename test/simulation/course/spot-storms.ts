import { rememberEviction } from '../../../shared/adapters/azure/catalog/kept-spot-storms.ts';
import {
  NO_EVICTIONS,
  stormsAt,
  stormsOver,
  type SpotMemory,
  type SpotStorm,
} from '../../../shared/core/offerings/spot-storms.ts';
import type { PlannedOffering } from '../../../shared/core/model/plan.ts';
import type { EvictedMachine } from '../../../shared/ports/cloud.ts';
import { familyOf } from '../world/catalog.ts';

/**
 * A plan may have read the catalog so long before it was committed: calls stall for half a minute, several in a row.
 */
const READ_BEFORE_MS = 2 * 60_000;

/** What all instances remember of evictions, by the real rules, and since when each storm was known. */
export class SpotStorms {
  memory: SpotMemory = NO_EVICTIONS;
  #endedMs = Number.POSITIVE_INFINITY;
  #began: ReadonlyArray<SpotStorm & { readonly sinceMs: number }> = [];

  /** As the port: the storms that the machine is part of. */
  evicted(machine: EvictedMachine, nowMs: number): ReadonlyArray<SpotStorm> {
    const before = stormsAt(this.memory, nowMs);
    this.memory = rememberEviction(this.memory, machine, familyOf, nowMs);
    const now = stormsAt(this.memory, nowMs);
    const begun = now.filter((one) => !before.includes(one)).map((one) => ({ ...one, sinceMs: nowMs }));
    this.#began = [...this.#began, ...begun];
    return stormsOver(now, familyOf(machine.instanceType), machine.zone);
  }

  /** Whether a decision of that time has known of a storm that is over such an offering. */
  isKnownAt({ instanceType, zone, capacityType }: PlannedOffering, atMs: number): boolean {
    if (atMs >= this.#endedMs) return false;
    const known = this.#began.filter(({ sinceMs, untilMs }) => sinceMs <= atMs - READ_BEFORE_MS && atMs < untilMs);
    return capacityType === 'spot' && stormsOver(known, familyOf(instanceType), zone).length > 0;
  }

  /** What is remembered of evictions is lost: nobody knows of a storm any more. */
  forget(nowMs: number): void {
    this.memory = NO_EVICTIONS;
    this.#began = this.#began.map((one) => ({ ...one, untilMs: Math.min(one.untilMs, nowMs) }));
  }

  /** How many there were, for who counts. */
  get count(): number {
    return new Set(this.#began.map(({ zone, family, times }) => `${zone}/${family ?? ''}/${times}`)).size;
  }

  /** Ends all of them now: hours in which nothing happens take long to play. */
  end(nowMs: number): void {
    this.#endedMs = nowMs;
    this.memory = { ...this.memory, storms: this.memory.storms.map((one) => ({ ...one, untilMs: nowMs })) };
  }
}
