/** A spot machine that the cloud has evicted. */
export interface SpotEviction {
  /** The claim's name: an eviction counts once, by however many ways it is told of. */
  readonly claim: string;
  readonly family: string;
  readonly zone: string;
  readonly atMs: number;
  /** Spot machines that there were when it was told of, this one too: of its family in its zone. */
  readonly ofFamily: number;
  /** The same, of its zone. */
  readonly ofZone: number;
}

/** So many spot machines were evicted at once that others are preferred to their kind for a while. */
export interface SpotStorm {
  readonly zone: string;
  /** Null: of every family in the zone. */
  readonly family: string | null;
  /** How many there were in a row, this one too: the more, the longer it rests. */
  readonly times: number;
  /** Machines that were evicted within the window of the last eviction, of so many. */
  readonly evicted: number;
  readonly of: number;
  readonly untilMs: number;
}

/** What is remembered of evictions. */
export interface SpotMemory {
  readonly evictions: ReadonlyArray<SpotEviction>;
  readonly storms: ReadonlyArray<SpotStorm>;
}

export const NO_EVICTIONS: SpotMemory = { evictions: [], storms: [] };

const MINUTE_MS = 60_000;

/** Evictions that are as close together as this are one event. An offering that is evicted rests as long by itself. */
const WINDOW_MS = 10 * MINUTE_MS;

/**
 * A storm is so many within the window, and this share of what there was. In Azure's worst band a quarter of machines
 * go within an hour, which is 4 % in ten minutes: where nothing is wrong, a fifth is reached by chance only where there
 * are few machines, hence the number.
 */
const LEAST_EVICTED = 3;
const LEAST_SHARE = 0.2;

/** The first rest; each further storm of the same kind doubles it, up to the longest. */
const FIRST_REST_MS = 30 * MINUTE_MS;
const LONGEST_REST_MS = 240 * MINUTE_MS;

/**
 * Every three minutes, which is as long as one takes to start. With what an eviction costs by default, spot in a storm
 * counts as eleven times its price: more than on demand at Azure's deepest discount, 90 %; where a pool has nothing
 * else it is bought all the same, elsewhere first.
 */
export const STORM_EVICTIONS_PER_HOUR = 20;

/** After so long without one, the next storm is a first one again. */
const FORGOTTEN_MS = 24 * 60 * MINUTE_MS;

/** Evictions are counted within minutes; these are kept to know one that is told of again. */
const KEPT_MS = 60 * MINUTE_MS;

/**
 * Of the newest: some 60 KB where all instances read it. A share of more machines than that is a storm by any count.
 */
const KEPT_MAX = 500;

/** What is remembered after an eviction. One that is known changes nothing. */
export function withEviction(memory: SpotMemory, eviction: SpotEviction): SpotMemory {
  if (memory.evictions.some(({ claim }) => claim === eviction.claim)) return memory;
  const { atMs, zone, family } = eviction;
  const kept = memory.evictions.filter((one) => atMs - one.atMs < KEPT_MS);
  const evictions = [...kept, eviction].slice(-KEPT_MAX);
  const storms = memory.storms.filter(({ untilMs }) => atMs - untilMs < FORGOTTEN_MS);
  const inZone = evictions.filter((one) => one.zone === zone && atMs - one.atMs < WINDOW_MS);
  const ofFamily = inZone.filter((one) => one.family === family);
  const counted = [
    { family, recent: ofFamily, of: most(ofFamily.map((one) => one.ofFamily)), isWide: true },
    // One family that goes says nothing about the others.
    {
      family: null,
      recent: inZone,
      of: most(inZone.map((one) => one.ofZone)),
      isWide: ofFamily.length < inZone.length,
    },
  ];
  const seen = counted.reduce<ReadonlyArray<SpotStorm>>(
    (known, one) => withStorm(known, { ...one, zone, atMs }),
    storms,
  );
  return { evictions, storms: seen };
}

interface Counted {
  readonly zone: string;
  readonly family: string | null;
  readonly atMs: number;
  readonly recent: ReadonlyArray<SpotEviction>;
  readonly of: number;
  /** It is about all that it would make rest. */
  readonly isWide: boolean;
}

function withStorm(storms: ReadonlyArray<SpotStorm>, counted: Counted): ReadonlyArray<SpotStorm> {
  const { zone, family, atMs, recent } = counted;
  const before = storms.find((one) => one.zone === zone && one.family === family);
  const evicted = recent.length;
  // Nodes leave the count as they go: there were at least as many as went.
  const of = Math.max(counted.of, evicted);
  if (evicted < LEAST_SHARE * of) return storms;
  // Where it was stormy a short while ago one is enough: the way back is tried, not trusted.
  const isKnown = before !== undefined && atMs < before.untilMs + restMs(before.times);
  if (!isKnown && (evicted < LEAST_EVICTED || !counted.isWide)) return storms;
  const goesOn = before !== undefined && atMs < before.untilMs;
  const times = goesOn ? before.times : (before?.times ?? 0) + 1;
  const untilMs = Math.max(before?.untilMs ?? 0, atMs + restMs(times));
  return [...storms.filter((one) => one !== before), { zone, family, times, evicted, of, untilMs }];
}

function restMs(times: number): number {
  return Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (times - 1));
}

function most(counts: ReadonlyArray<number>): number {
  return Math.max(0, ...counts);
}

/** The storms that are on now. */
export function stormsAt({ storms }: SpotMemory, nowMs: number): ReadonlyArray<SpotStorm> {
  return storms.filter(({ untilMs }) => untilMs > nowMs);
}

/** The storms that spot of this family in this zone is in. */
export function stormsOver(storms: ReadonlyArray<SpotStorm>, family: string, zone: string): ReadonlyArray<SpotStorm> {
  return storms.filter((one) => one.zone === zone && (one.family === null || one.family === family));
}

/** Spot of a size that the cloud had none of when it was asked for it. */
export interface SpotRefusal {
  readonly size: string;
  readonly family: string;
  readonly zone: string;
  readonly atMs: number;
}

/** So many were refused within a few minutes, of several families: there is hardly any spot of the others. */
export interface SpotShortage {
  /** Null: in every zone. */
  readonly zone: string | null;
  /** Sizes. */
  readonly refused: number;
  readonly untilMs: number;
}

/** Refusals as close together as this say something about all spot of the zone or region, for as long. */
const SHORT_MS = 10 * MINUTE_MS;

/**
 * Sizes of one zone, or pairs of size and zone of the region. What is refused after the machine was asked for costs ten
 * seconds each time, in which pods wait; what is bought on demand for no need goes back to spot by consolidation.
 */
const LEAST_OF_ZONE = 3;
const LEAST_OF_REGION = 5;

/** One family can be sold out by itself, and its sizes are the cheapest for a pool as a rule. */
const LEAST_FAMILIES = 2;

/** The shortages that are on now: each for ten minutes from the refusal with which there were enough. */
export function spotShortages(refusals: ReadonlyArray<SpotRefusal>, nowMs: number): ReadonlyArray<SpotShortage> {
  const recent = refusals.filter(({ atMs }) => nowMs - atMs < SHORT_MS).toSorted((a, b) => b.atMs - a.atMs);
  const perZone = [...Map.groupBy(recent, ({ zone }) => zone)];
  const zones = perZone.flatMap(([zone, inZone]) => shortageOf(zone, inZone, LEAST_OF_ZONE));
  return perZone.length < 2 ? zones : [...zones, ...shortageOf(null, recent, LEAST_OF_REGION)];
}

/** `newest` first. */
function shortageOf(
  zone: string | null,
  newest: ReadonlyArray<SpotRefusal>,
  least: number,
): ReadonlyArray<SpotShortage> {
  const refused = new Set(newest.map(({ size }) => size)).size;
  const asked = new Set<string>();
  const families = new Set<string>();
  for (const one of newest) {
    asked.add(`${one.size}/${one.zone}`);
    families.add(one.family);
    if (asked.size >= least && families.size >= LEAST_FAMILIES) {
      return [{ zone, refused, untilMs: one.atMs + SHORT_MS }];
    }
  }
  return [];
}

/** What spot in the zone has to say of shortages: of that which lasts longest; null where there is none. */
export function shortageIn(shortages: ReadonlyArray<SpotShortage>, zone: string): SpotShortage | null {
  const own = shortages.filter((one) => one.zone === null || one.zone === zone);
  return own.toSorted((a, b) => b.untilMs - a.untilMs)[0] ?? null;
}
