import { OF_AZURE, type Trouble } from './book.ts';
import type { ClaimLife, NodeLife, PodLife } from './observe.ts';
import { textFact } from '../../sandbox/start/view/app-events.ts';
import type { RemovalSet, Told } from './read-lines.ts';

/** Where values lie, by nearest rank: each is one that occurred. Null: there were none. */
export interface Spread {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly most: number;
}

/** Where `values` lie; null when there are none. */
export function spreadOf(values: ReadonlyArray<number>): Spread | null {
  const sorted = values.toSorted((a, b) => a - b);
  if (sorted.length === 0) return null;
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), most: sorted.at(-1) ?? 0 };
}

/** From when a pod was seen to when it had a node, seconds; of those that can run and have one. */
export function waitsOf(pods: Iterable<PodLife>): Spread | null {
  const waits: Array<number> = [];
  for (const { canRun, seenMs, boundMs } of pods)
    if (canRun && boundMs !== null) waits.push((boundMs - seenMs) / 1_000);
  return spreadOf(waits);
}

/** Those that had their node before any fault of Azure began, or were seen after it had ended. */
export function besideFaults(
  pods: ReadonlyArray<PodLife>,
  troubles: ReadonlyArray<Pick<Trouble, 'what' | 'fromMs' | 'endedMs'>>,
): ReadonlyArray<PodLife> {
  const faults = troubles.filter(({ what }) => what.startsWith(OF_AZURE));
  return pods.filter(({ seenMs, boundMs }) =>
    faults.every(({ fromMs, endedMs }) => (boundMs ?? Infinity) < fromMs || (endedMs ?? Infinity) < seenMs),
  );
}

/** The pods that waited longest, longest first, as sentences, each with what its events told meanwhile. */
export function longestWaits(pods: Iterable<PodLife>, count: number): ReadonlyArray<string> {
  return [...pods]
    .filter(({ canRun, boundMs }) => canRun && boundMs !== null)
    .map((pod) => ({ ...pod, waitedMs: (pod.boundMs ?? 0) - pod.seenMs }))
    .toSorted((a, b) => b.waitedMs - a.waitedMs || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name, seenMs, waitedMs, told }) =>
      [`${name}: ${seconds(waitedMs)} s, from ${seconds(seenMs)} s on`, ...told].join('\n      '),
    );
}

/** What was taken back, as sentences: each node of each set, with why. In order. */
export function takenBackIn(told: ReadonlyArray<Told>): ReadonlyArray<string> {
  return told
    .filter(({ event }) => event === 'disruption-taken-back')
    .map(
      (one) =>
        `${seconds(one.atMs)} s ${textFact(one, 'claim')} (${textFact(one, 'removal')}): ${textFact(one, 'why')}`,
    );
}

/** Removal sets of one reason. */
export interface SetFigures {
  readonly reason: string;
  readonly told: number;
  readonly takenBack: number;
}

/** How many sets were told and taken back, by reason, in the order of their names. */
export function setFigures(sets: ReadonlyArray<RemovalSet>): ReadonlyArray<SetFigures> {
  return [...Map.groupBy(sets, ({ reason }) => reason)]
    .map(([reason, some]) => ({
      reason,
      told: some.length,
      takenBack: some.filter(({ isTakenBack }) => isTakenBack).length,
    }))
    .toSorted((a, b) => (a.reason < b.reason ? -1 : 1));
}

/** From the mark to the removal, seconds; of sets in whose place nothing comes, and that went. */
export function toldToRemoved(sets: ReadonlyArray<RemovalSet>): Spread | null {
  return spreadOf(
    sets.flatMap(({ replacements, toldMs, removedMs }) =>
      replacements === 0 && removedMs !== null ? [(removedMs - toldMs) / 1_000] : [],
    ),
  );
}

/**
 * From the last replacement's readiness to the removal's beginning, seconds; of sets with replacements that went, and
 * that no PodDisruptionBudget held.
 */
export function readyToRemoved(sets: ReadonlyArray<RemovalSet>): Spread | null {
  return spreadOf(
    sets.flatMap(({ replacements, readyMs, removedMs, isHeldByPods }) =>
      replacements > 0 && !isHeldByPods && readyMs !== null && removedMs !== null && removedMs >= readyMs
        ? [(removedMs - readyMs) / 1_000]
        : [],
    ),
  );
}

/** How long nodes were there, and how much of it they were kept for planned pods. */
export function keptFigures(
  nodes: Iterable<NodeLife>,
  nowMs: number,
): { readonly nodeMinutes: number; readonly keptMinutes: number } {
  let thereMs = 0;
  let keptMs = 0;
  for (const node of nodes) {
    thereMs += (node.goneMs ?? nowMs) - node.seenMs;
    keptMs += node.keptMs + (node.keptSinceMs === null ? 0 : nowMs - node.keptSinceMs);
  }
  return { nodeMinutes: thereMs / 60_000, keptMinutes: keptMs / 60_000 };
}

/** The nodes that were kept longest, longest first, as sentences. `nodes`: by name. */
export function longestKept(
  nodes: Iterable<readonly [string, NodeLife]>,
  nowMs: number,
  count: number,
): ReadonlyArray<string> {
  return [...nodes]
    .map(([name, { keptMs, keptSinceMs }]) => ({
      name,
      keptMs: keptMs + (keptSinceMs === null ? 0 : nowMs - keptSinceMs),
    }))
    .toSorted((a, b) => b.keptMs - a.keptMs || (a.name < b.name ? -1 : 1))
    .slice(0, count)
    .map(({ name, keptMs }) => `${name}: ${seconds(keptMs)} s`);
}

/** Empty for longer than this is longer than consolidation waits for, and twice a look of it. */
const LONG_EMPTY_MS = 45_000;

/** Claims that came to be ready and stood there for nobody. */
export function emptyFigures(claims: Iterable<ClaimLife>): {
  readonly made: number;
  readonly neverUsed: number;
  readonly longEmpty: number;
} {
  const all = [...claims];
  return {
    made: all.length,
    neverUsed: all.filter(isUnused).length,
    longEmpty: all.filter(({ longestEmptyMs }) => longestEmptyMs > LONG_EMPTY_MS).length,
  };
}

function isUnused({ goneMs, isUsed, readyMs }: ClaimLife): boolean {
  return goneMs !== null && readyMs !== null && !isUsed;
}

/** Those to which nobody ever came, as sentences: from when to when they were there. */
export function unusedClaims(claims: Iterable<ClaimLife>): ReadonlyArray<string> {
  return [...claims]
    .filter(isUnused)
    .map(
      ({ name, seenMs, readyMs, goneMs, isInterrupted }) =>
        `${name}: made at ${seconds(seenMs)} s, ready at ${seconds(readyMs ?? 0)}, gone at ${seconds(goneMs ?? 0)}${isInterrupted ? ', as Azure took it' : ''}`,
    );
}

/** What a process took at one moment. */
export interface Sample {
  readonly atMs: number;
  readonly rssMb: number;
  readonly cpuS: number;
  /** What it holds without garbage, where that was measured. */
  readonly liveMb?: number;
}

/** A process is warm after this long. */
const WARM_MS = 90_000;
/** Shorter lives say nothing of growth. */
const LIFE_MIN_MS = 300_000;
/** What may differ between two looks. */
const SWING = { share: 1.25, mb: 40 };

/**
 * The least and most that a part took once warm, and whether it has grown: null where no life was long enough to tell.
 */
export function memoryFigures(samples: ReadonlyArray<Sample>): {
  readonly leastMb: number;
  readonly mostMb: number;
  /** What it held without garbage at each measurement, oldest first. */
  readonly liveMb: ReadonlyArray<number>;
  readonly grew: boolean | null;
} {
  const lives = livesOf(samples).map((life) => life.filter(({ atMs }) => atMs - (life[0]?.atMs ?? 0) >= WARM_MS));
  const warm = lives.flat().map(({ rssMb }) => rssMb);
  const long = lives.filter((life) => (life.at(-1)?.atMs ?? 0) - (life[0]?.atMs ?? 0) >= LIFE_MIN_MS);
  return {
    leastMb: warm.length === 0 ? 0 : Math.min(...warm),
    mostMb: Math.max(0, ...samples.map(({ rssMb }) => rssMb)),
    liveMb: samples.flatMap(({ liveMb }) => liveMb ?? []),
    grew: grewIn(long),
  };
}

/** A new process has used less CPU than the one before. */
export function livesOf(samples: ReadonlyArray<Sample>): ReadonlyArray<ReadonlyArray<Sample>> {
  const lives: Array<Array<Sample>> = [];
  for (const sample of samples) {
    const current = lives.at(-1);
    if (current === undefined || sample.cpuS < (current.at(-1)?.cpuS ?? 0)) lives.push([sample]);
    else current.push(sample);
  }
  return lives;
}

/**
 * By what each life holds without garbage, first and last. Where that was measured in none by what is resident, which
 * is much less sure: a heap with room left is collected late. Null where no life tells it.
 */
function grewIn(lives: ReadonlyArray<ReadonlyArray<Sample>>): boolean | null {
  const held = lives.map((life) => life.flatMap(({ liveMb }) => liveMb ?? []));
  const isMeasured = held.some(({ length }) => length > 0);
  const pairs = isMeasured ? held.filter(({ length }) => length > 1).map(endsOf) : lives.map(residentEnds);
  if (pairs.length === 0) return null;
  return pairs.some(([first, last]) => last > first * SWING.share + SWING.mb);
}

type Ends = readonly [first: number, last: number];

function endsOf(values: ReadonlyArray<number>): Ends {
  return [values[0] ?? 0, values.at(-1) ?? 0];
}

/** Of its first and last quarter the middle. */
function residentEnds(life: ReadonlyArray<Sample>): Ends {
  const quarter = Math.floor(life.length / 4);
  const middle = (some: ReadonlyArray<Sample>): number => spreadOf(some.map(({ rssMb }) => rssMb))?.p50 ?? 0;
  return [middle(life.slice(0, quarter)), middle(life.slice(-quarter))];
}

/**
 * CPU between the first and the last sample, in hundredths of a core; null where the process was replaced, or none was
 * taken.
 */
export function cpuPercent(samples: ReadonlyArray<Sample>): number | null {
  const [first] = samples;
  const last = samples.at(-1);
  if (first === undefined || last === undefined || last.atMs === first.atMs || last.cpuS < first.cpuS) return null;
  return (100 * (last.cpuS - first.cpuS)) / ((last.atMs - first.atMs) / 1_000);
}

/** How often the product told of each of `events`. */
export function countTold(told: ReadonlyArray<Told>, events: ReadonlyArray<string>): Readonly<Record<string, number>> {
  return Object.fromEntries(events.map((event) => [event, told.filter((one) => one.event === event).length]));
}

/** Milliseconds as seconds with one decimal. */
export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}
