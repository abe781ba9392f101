import type { Rng } from '../../../sandbox/world/rng.ts';
import { capacityTypes, zones } from './catalog.ts';

/** Chances in percent, per launch. */
export interface AzureFaults {
  readonly refusal: number;
  readonly asyncFailure: number;
  /** `size/zone/capacityType` that Azure never has while the faults last. */
  readonly soldOut: ReadonlySet<string>;
}

/** Chances in percent, per message. */
export interface QueueFaults {
  readonly lose: number;
  readonly delay: number;
  readonly duplicate: number;
  /** Chance that a lock is lost while the message is worked on, so that it is delivered a second time beside that. */
  readonly loseLock: number;
  /** The queue's clock is this much ahead of the workers': what is scheduled arrives early. */
  readonly aheadMs: number;
}

/** Chances in percent, per call of a port; each draws before the effect and after it. */
export interface CallFaults {
  readonly failBefore: number;
  readonly failAfter: number;
  /** The process ends, as by kill -9. */
  readonly crash: number;
  /** The call takes half a minute. */
  readonly stall: number;
}

/** Chances in percent, per minute. */
export interface Events {
  readonly spotEviction: number;
  /** Of all spot machines of a zone, or of a family in it, at once. */
  readonly spotStorm: number;
  /** Of one machine, announced minutes ahead. */
  readonly maintenance: number;
  readonly relayDies: number;
  readonly allNodesLost: number;
  readonly userDeletesClaim: number;
  readonly userDeletesNode: number;
  /** A claim is deleted and its finalizer removed by hand. */
  readonly userStripsClaim: number;
  readonly malformedMessage: number;
}

export interface Faults {
  readonly azure: AzureFaults;
  readonly queues: QueueFaults;
  readonly calls: CallFaults;
  readonly events: Events;
  /** How long no relay can run from the start; its first hints come after that. */
  readonly relayComesAfterMs: number;
}

export const noFaults: Faults = {
  azure: { refusal: 0, asyncFailure: 0, soldOut: new Set() },
  queues: { lose: 0, delay: 0, duplicate: 0, loseLock: 0, aheadMs: 0 },
  calls: { failBefore: 0, failAfter: 0, crash: 0, stall: 0 },
  events: {
    spotEviction: 0,
    spotStorm: 0,
    maintenance: 0,
    relayDies: 0,
    allNodesLost: 0,
    userDeletesClaim: 0,
    userDeletesNode: 0,
    userStripsClaim: 0,
    malformedMessage: 0,
  },
  relayComesAfterMs: 0,
};

function offeringsOf(size: string): ReadonlyArray<string> {
  return zones.flatMap((zone) => capacityTypes.map((capacityType) => `${size}/${zone}/${capacityType}`));
}

/** Which faults exist in a run, and how often they happen: each is there in about one run of three. */
export function drawFaults(rng: Rng): Faults {
  const some = (most: number): number => (rng.chance(35) ? 1 + rng.below(most) : 0);
  const few = (most: number): number => some(most * 10) / 10;
  const offerings = ['Standard_D2s_v5', 'Standard_D4s_v5', 'Standard_E2s_v5'].flatMap(offeringsOf);
  const scattered = rng.chance(30) ? offerings.filter(() => rng.chance(40)) : [];
  // Whole sizes, all but the largest, so that many launches fall back to a larger one at the same time.
  const short = rng.split('short');
  const sizes = ['Standard_D2s_v5', 'Standard_E2s_v5', 'Standard_D4s_v5', 'Standard_E4s_v5'];
  const whole = short.chance(25) ? sizes.filter(() => short.chance(75)).flatMap(offeringsOf) : [];
  const soldOut = new Set([...scattered, ...whole]);
  const storms = rng.split('spot storms');
  const maintenance = rng.split('maintenance');
  return {
    azure: { refusal: some(40), asyncFailure: some(40), soldOut },
    queues: { lose: some(20), delay: some(40), duplicate: some(40), loseLock: some(15), aheadMs: some(200) },
    calls: { failBefore: few(4), failAfter: few(4), crash: few(2), stall: few(1) },
    events: {
      spotEviction: some(40),
      spotStorm: storms.chance(50) ? 5 + storms.below(30) : 0,
      maintenance: maintenance.chance(35) ? 5 + maintenance.below(30) : 0,
      relayDies: some(15),
      allNodesLost: some(6),
      userDeletesClaim: some(15),
      userDeletesNode: some(15),
      userStripsClaim: some(15),
      malformedMessage: some(20),
    },
    relayComesAfterMs: rng.chance(20) ? rng.below(600_000) : 0,
  };
}
