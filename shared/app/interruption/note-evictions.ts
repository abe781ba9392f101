import { label } from '../../contract/names.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { SpotStorm } from '../../core/offerings/spot-storms.ts';
import { microUsdPerHour } from '../../core/quantity/units.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { claimFacts } from '../facts/claim-facts.ts';
import { isTrue, toTimestamp } from '../facts/conditions.ts';
import { eventAboutPool } from '../tell/event-about.ts';
import { publish } from '../tell/events.ts';
import { EVICTION_COUNTS_MS, evictedAmong, takenBackMs } from '../facts/interrupted.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { EvictedMachine, RefusedOffering } from '../../ports/cloud.ts';
import type { Ports } from '../ports/ports.ts';

/** While a storm lasts each eviction moves its end; one event in so long tells of it. */
const TOLD_EVERY_MS = 30 * 60_000;

/**
 * Machines are on their way out for minutes, and are noted by the first look at them of each process. Longer than they
 * count.
 */
const NOTED_AGAIN_MS = 2 * EVICTION_COUNTS_MS;

/** What could not be written is tried again after so long, so that not every look of a storm waits for it. */
const UNWRITTEN_AGAIN_MS = 10_000;

/** A plan waits no longer for what is remembered: it knows by itself what is being evicted. */
const WRITING_MAX_MS = 2_000;

/**
 * Where spot capacity was just evicted, new spot capacity would go the same way: its offering is avoided for a while,
 * and where many go at once, others are preferred to all that is like it. One write for all that the snapshot shows,
 * before plans are made from it; where it fails or takes too long, plans go on without, and the next look tries again.
 */
export async function noteEvictions(ports: Ports, snapshot: Pick<Snapshot, 'nodeClaims' | 'nodePools'>): Promise<void> {
  const claims = evictedAmong(snapshot.nodeClaims, ports.now()).filter(
    (claim) => !ports.told.isKnown(keyOf(claim), ports.now()),
  );
  const machines = claims.flatMap((claim) => evictedMachine(claim, snapshot));
  if (machines.length === 0) return;
  let againMs = UNWRITTEN_AGAIN_MS;
  try {
    const [storms] = await inTime(
      ports,
      Promise.all([
        ports.catalogs.evicted(machines),
        ports.catalogs.refuse(claims.flatMap((claim) => refusalOf(claim, ports.now()))),
      ]),
    );
    againMs = NOTED_AGAIN_MS;
    await tellStorms(ports, claims, snapshot.nodePools, storms);
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    ports.log('eviction-not-counted', { claims: machines.map(({ claim }) => claim).join(','), why: error.message });
  } finally {
    for (const claim of claims) ports.told.isNews(keyOf(claim), ports.now(), againMs);
  }
}

/** From when it was evicted, so that whoever notes it again says the same. */
function refusalOf(claim: NodeClaim, nowMs: number): ReadonlyArray<RefusedOffering> {
  const place = spotPlaceOf(claim);
  if (place === null) return [];
  const offering = { ...place, capacityType: 'spot', price: microUsdPerHour(0) } as const;
  const untilMs = takenBackMs(claim, nowMs) + EVICTION_COUNTS_MS;
  return [{ scope: 'offering', offering, untilMs, reason: 'SpotEvicted' }];
}

function keyOf({ metadata }: NodeClaim): string {
  return `evicted/${metadata.name}`;
}

/** Rejects with a RetryableError where it takes too long. The write continues meanwhile, and may succeed or not. */
async function inTime<Answer>({ sleep }: Pick<Ports, 'sleep'>, work: Promise<Answer>): Promise<Answer> {
  const late = sleep(WRITING_MAX_MS).then(() => {
    throw new RetryableError(`not written within ${WRITING_MAX_MS} ms`);
  });
  return Promise.race([work, late]);
}

function evictedMachine(claim: NodeClaim, { nodeClaims }: Pick<Snapshot, 'nodeClaims'>): ReadonlyArray<EvictedMachine> {
  const place = spotPlaceOf(claim);
  if (place === null) return [];
  const spotInZone = new Map<string, number>();
  for (const one of nodeClaims) {
    // Claims have the labels of their machine before there is one.
    if (!isTrue(one.status?.conditions, 'Launched')) continue;
    const { instanceType, zone } = spotPlaceOf(one) ?? {};
    if (instanceType === undefined || zone !== place.zone) continue;
    spotInZone.set(instanceType, (spotInZone.get(instanceType) ?? 0) + 1);
  }
  return [{ claim: claim.metadata.name, ...place, spotInZone }];
}

/**
 * Says in the log, and on the NodePools of the machines, what counts as more and until when: why their replacements are
 * something else.
 */
export async function tellStorms(
  ports: Ports,
  claims: ReadonlyArray<NodeClaim>,
  nodePools: Snapshot['nodePools'],
  storms: ReadonlyArray<SpotStorm>,
): Promise<void> {
  const tell = async (storm: SpotStorm): Promise<void> => {
    const { zone, family, times, evicted, of, untilMs } = storm;
    const [first, ...others] = claims.filter(({ metadata }) => metadata.labels?.[label.zone] === zone);
    if (first === undefined) return;
    ports.log('spot-storm', { ...claimFacts(first), zone, family, times, evicted, of, untilMs });
    const hit = new Set([first, ...others].map(({ metadata }) => metadata.labels?.[label.nodePool]));
    const dedupe = { key: `${zone}/${family ?? ''}/${times}`, periodMs: TOLD_EVERY_MS };
    const notes = nodePools
      .filter(({ metadata }) => hit.has(metadata.name))
      .map((pool) => ({ ...eventAboutPool(pool, 'Warning', 'SpotStorm', renderStorm(storm)), dedupe }));
    await Promise.all(notes.map((note) => publish(ports.kubernetes, note, ports.now())));
  };
  await Promise.all(storms.map(tell));
}

/** A storm as a sentence. */
export function renderStorm({ zone, family, times, evicted, of, untilMs }: SpotStorm): string {
  const ofFamily = family === null ? '' : ` of ${family}`;
  const again = times === 1 ? '' : `, storm ${times} in a row`;
  return (
    `Azure evicted ${evicted} of ${of} spot VMs${ofFamily} in ${zone} within ten minutes${again}. Until ${toTimestamp(untilMs)} ` +
    `spot${ofFamily} in ${zone} is a last resort: other families, other zones and on-demand are chosen first`
  );
}

/** The size and zone of a spot machine; null of any other, and of one that does not say. */
function spotPlaceOf({ metadata: { labels = {} } }: NodeClaim): SpotPlace | null {
  const [instanceType, zone] = [labels[label.instanceType], labels[label.zone]];
  if (labels[label.capacityType] !== 'spot' || instanceType === undefined || zone === undefined) return null;
  return { instanceType, zone };
}

type SpotPlace = Pick<EvictedMachine, 'instanceType' | 'zone'>;
