import type { Rng } from '../../../sandbox/base/rng.ts';
import { capacityTypes, zones } from '../world/catalog.ts';
import { noFaults, type Clocks, type Events, type Faults, type NodeFaults, type Wishes } from '../world/faults.ts';
import { drawPolicies } from './draw-policies.ts';

function offeringsOf(size: string): ReadonlyArray<string> {
  return zones.flatMap((zone) => capacityTypes.map((capacityType) => `${size}/${zone}/${capacityType}`));
}

/**
 * Which faults exist in a run, and how often they happen: each is there in about one run of three or four, as a run
 * with one fault finds what a run with all hides. Each group has a source of its own, so that a new one changes none of
 * the others.
 */
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
  const stalls = rng.split('relay stalls');
  const unfinished = rng.split('unfinished');
  const loseUnfinished = unfinished.chance(30) ? 10 + unfinished.below(91) : 0;
  const queues = { lose: some(20), delay: some(40), duplicate: some(40), loseLock: some(15), aheadMs: some(200) };
  const calls = { failBefore: few(4), failAfter: few(4), crash: few(2), stall: few(1) };
  return {
    azure: { refusal: some(40), asyncFailure: some(40), soldOut },
    queues: { ...queues, loseUnfinished },
    // Where nobody stops in the middle, nothing is unfinished.
    calls: loseUnfinished > 0 ? { ...calls, crash: Math.max(calls.crash, 0.5) } : calls,
    events: {
      ...noFaults.events,
      spotEviction: some(40),
      spotStorm: storms.chance(50) ? 5 + storms.below(30) : 0,
      maintenance: maintenance.chance(35) ? 5 + maintenance.below(30) : 0,
      relayDies: some(15),
      relayStalls: stalls.chance(25) ? 10 + stalls.below(60) : 0,
      allNodesLost: some(6),
      userDeletesClaim: some(15),
      userDeletesNode: some(15),
      userStripsClaim: some(15),
      malformedMessage: some(20),
      ...drawStray(rng.split('stray signals')),
      ...drawLosses(rng.split('lost blobs')),
    },
    relayComesAfterMs: rng.chance(20) ? rng.below(600_000) : 0,
    policies: drawPolicies(rng.split('policies')),
    nodes: drawNodes(rng.split('odd nodes')),
    clocks: drawClocks(rng.split('clocks')),
    wishes: drawWishes(rng.split('wishes')),
    olderApiServers: rng.split('versions').chance(15),
  };
}

function drawStray(rng: Rng): Pick<Events, 'forgedSignal' | 'staleSignal'> {
  return {
    forgedSignal: rng.chance(25) ? 10 + rng.below(90) : 0,
    staleSignal: rng.chance(25) ? 10 + rng.below(60) : 0,
  };
}

function drawLosses(
  rng: Rng,
): Pick<Events, 'decisionLost' | 'snapshotLost' | 'snapshotDamaged' | 'heartbeatLost' | 'catalogLost'> {
  const some = (): number => (rng.chance(15) ? 5 + rng.below(40) : 0);
  return {
    decisionLost: some(),
    snapshotLost: some(),
    snapshotDamaged: some(),
    heartbeatLost: some(),
    catalogLost: some(),
  };
}

/** In every run: sizes promise what a daemon of the cluster may take. */
const SMALL = 5;

function drawNodes(rng: Rng): NodeFaults {
  const some = (): number => (rng.chance(15) ? 5 + rng.below(30) : 0);
  return { withoutProviderId: some(), neverReady: some(), keepsTaints: some(), small: SMALL };
}

/** Servers that keep time differ by some seconds at most; one that has lost its source, by a minute and more. */
function drawClocks(rng: Rng): Clocks {
  const apart = (most: number): number => rng.below(2 * most + 1) - most;
  return {
    relayMs: rng.chance(25) ? apart(rng.chance(35) ? 90_000 : 5_000) : 0,
    apiServerMs: rng.chance(25) ? apart(5_000) : 0,
  };
}

function drawWishes(rng: Rng): Wishes {
  return {
    usedStaticPool: rng.chance(20) ? (rng.chance(50) ? 'by all' : 'by its own') : null,
    protectedPods: rng.chance(20) ? 60 : 0,
    closedBudgets: rng.chance(15) ? 60 : 0,
    forGood: rng.chance(50) ? 50 : 0,
    expireAfterMinutes: rng.chance(15) ? 4 + rng.below(8) : null,
  };
}
