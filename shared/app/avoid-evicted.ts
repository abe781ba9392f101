import { label } from '../contract/names.ts';
import type { Snapshot } from '../contract/snapshot/parse.ts';
import type { SpotStorm } from '../core/offerings/spot-storms.ts';
import { microUsdPerHour } from '../core/quantity/units.ts';
import type { NodeClaim } from '../kubernetes/manifest.ts';
import { claimFacts } from './claim-facts.ts';
import { isTrue, toTimestamp } from './conditions.ts';
import { eventAboutPool } from './disrupt/event-about.ts';
import { publish } from './events.ts';
import { RetryableError } from '../ports/errors.ts';
import type { EvictedMachine } from '../ports/cloud.ts';
import type { Ports } from './ports.ts';

/** Karpenter has no figure; a spot offering that was just taken back is avoided this long by new plans. */
const EVICTED_OFFERING_PAUSE_MS = 10 * 60_000;

/** While a storm goes on each eviction moves its end; one event in so long tells of it. */
const TOLD_EVERY_MS = 30 * 60_000;

/**
 * Where spot capacity was just taken back, new spot capacity would go the same way: its offering is avoided for a while, and where many
 * go at once, others are preferred to all that is like it. Answers the storms that the machine is part of. `snapshot` tells how many there are; null: nobody knows.
 */
export async function avoidEvicted(
  ports: Ports,
  claim: NodeClaim,
  snapshot: Pick<Snapshot, 'nodeClaims'> | null,
): Promise<ReadonlyArray<SpotStorm>> {
  const { instanceType, zone, isSpot } = placeOf(claim);
  if (!isSpot || instanceType === undefined || zone === undefined) return [];
  const offering = { instanceType, zone, capacityType: 'spot', price: microUsdPerHour(0) } as const;
  const untilMs = ports.now() + EVICTED_OFFERING_PAUSE_MS;
  const spotInZone = new Map<string, number>();
  for (const one of snapshot?.nodeClaims ?? []) {
    // Claims have the labels of their machine before there is one.
    if (!isTrue(one.status?.conditions, 'Launched')) continue;
    const place = placeOf(one);
    if (!place.isSpot || place.zone !== zone || place.instanceType === undefined) continue;
    spotInZone.set(place.instanceType, (spotInZone.get(place.instanceType) ?? 0) + 1);
  }
  const [storms] = await Promise.all([
    noteEvicted(ports, { claim: claim.metadata.name, instanceType, zone, spotInZone }),
    ports.catalogs.refuse([{ scope: 'offering', offering, untilMs, reason: 'SpotEvicted' }]),
  ]);
  return storms;
}

/** Where so many write at once that this one comes to no turn, enough are counted: the replacement does not wait for it. */
async function noteEvicted(ports: Ports, machine: EvictedMachine): Promise<ReadonlyArray<SpotStorm>> {
  try {
    return await ports.catalogs.evicted(machine);
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    ports.log('eviction-not-counted', { claim: machine.claim, why: error.message });
    return [];
  }
}

/** Says in the log, and on the NodePool of the machine, what counts as more and until when: why its replacement is something else. */
export async function tellStorms(
  ports: Ports,
  claim: NodeClaim,
  nodePools: Snapshot['nodePools'],
  storms: ReadonlyArray<SpotStorm>,
): Promise<void> {
  const pool = nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels?.[label.nodePool]);
  for (const storm of storms) {
    const { zone, family, times, evicted, of, untilMs } = storm;
    ports.log('spot-storm', { ...claimFacts(claim), zone, family, times, evicted, of, untilMs });
    if (pool === undefined) continue;
    const note = {
      ...eventAboutPool(pool, 'Warning', 'SpotStorm', renderStorm(storm)),
      dedupe: { key: `${zone}/${family ?? ''}/${times}`, periodMs: TOLD_EVERY_MS },
    };
    // Two at most: of the family, and of the zone.
    // oxlint-disable-next-line no-await-in-loop
    await publish(ports.kubernetes, note, ports.now());
  }
}

/** A storm as a sentence. */
export function renderStorm({ zone, family, times, evicted, of, untilMs }: SpotStorm): string {
  const ofFamily = family === null ? '' : ` of ${family}`;
  const again = times === 1 ? '' : `, storm ${times} in a row`;
  return (
    `Azure took back ${evicted} of ${of} spot machines${ofFamily} in ${zone} within ten minutes${again}: until ${toTimestamp(untilMs)} ` +
    `spot${ofFamily} in ${zone} is bought only where NodePools allow nothing else: other families, other zones and on-demand come first`
  );
}

function placeOf({ metadata: { labels = {} } }: NodeClaim): {
  readonly instanceType: string | undefined;
  readonly zone: string | undefined;
  readonly isSpot: boolean;
} {
  const [instanceType, zone] = [labels[label.instanceType], labels[label.zone]];
  return { instanceType, zone, isSpot: labels[label.capacityType] === 'spot' };
}
