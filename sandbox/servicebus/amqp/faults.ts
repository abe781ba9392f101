import type { Connection } from 'rhea';
import type { Rng } from '../../base/rng.ts';
import { cutConnection } from './rhea-internals.ts';

/** Failures a consumer or sender must survive, drawn from a seed. */
export interface Faults {
  /** Whether a completion shall get lost, so that the message comes once more. */
  redelivers(): boolean;
  /** Cuts the connection in place of an answer, when the draw says so; then the answer is true and must not be sent. */
  dropsConnection(connection: Connection): boolean;
  /** How long a receiver that gives its credit back waits for the answer, milliseconds. */
  drainMs(): number;
}

/** How often faults happen, in percent of the occasions. */
export interface FaultSettings {
  readonly rng: Rng;
  /** Of completions: the message is delivered once more (at most once per message). */
  readonly duplicatePercent: number;
  /** Of sends and settlements: the work is done and kept, then the connection is cut before the answer. */
  readonly dropPercent: number;
  /** So many drains, the first ones, are answered later than any client waits. */
  readonly slowDrains: number;
}

/** Azure's client closes its link after 200 ms, with what it has received (`receiveDrainTimeoutInMs`, 7.9.5). */
const SLOW_DRAIN_MS = 400;

/** A broker without faults. */
export const noFaults: Faults = { redelivers: () => false, dropsConnection: () => false, drainMs: () => 0 };

/** Faults that the seed of `rng` fixes: the same order of requests meets the same faults. */
export function faultsFrom(settings: FaultSettings): Faults {
  const duplicates = settings.rng.split('duplicates');
  const drops = settings.rng.split('drops');
  let slowDrains = settings.slowDrains;
  return {
    drainMs: () => (slowDrains-- > 0 ? SLOW_DRAIN_MS : 0),
    redelivers: () => settings.duplicatePercent > 0 && duplicates.chance(settings.duplicatePercent),
    dropsConnection(connection) {
      if (settings.dropPercent === 0 || !drops.chance(settings.dropPercent)) return false;
      cutConnection(connection);
      return true;
    },
  };
}
