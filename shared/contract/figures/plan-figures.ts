import { NO_DURATIONS, toDurationHistogram, withDurations, type DurationHistogram } from './duration-histogram.ts';

/** What waited when a plan was made, in pods. */
export interface WaitingFigures {
  /** Pods without a node that the plan was for. */
  readonly pending: number;
  /** Those of them that the plan found no place for. */
  readonly unschedulable: number;
  /** Pods without a node that ask for a node of no NodePool, which nobody here plans for. */
  readonly ignored: number;
  /** Of `pending`, by effective zone: a zone's name, `flexible` or `none`. */
  readonly zones: Readonly<Record<string, number>>;
}

/** What one plan has to say of itself. */
export interface PlanFigures {
  /** Different for every plan. */
  readonly id: string;
  /** When it was made, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly tookMs: number;
  /** It decided about all pods that waited at this moment: when its snapshot was taken. */
  readonly decidedUpToMs: number;
  readonly waiting: WaitingFigures;
}

/** What happened to a plan: another one came first, or it holds. Plans that lost count for their duration alone. */
export type PlanFate = 'lost' | 'holds';

/** The figures of all plans of a cluster, as the blob has them that the functions write and the relay reads. */
export interface FiguresRecord {
  readonly version: 1;
  /** Of every plan since the record was begun, each counted once. */
  readonly durations: DurationHistogram;
  /** The latest plans, newest last. */
  readonly recent: ReadonlyArray<RecentPlan>;
  /** The latest plan that holds; null before the first. */
  readonly last: LastPlan | null;
}

export interface RecentPlan {
  readonly id: string;
  readonly atMs: number;
  /** Null when it lost, and so decided about nobody. */
  readonly decidedUpToMs: number | null;
}

export interface LastPlan extends WaitingFigures {
  readonly atMs: number;
  readonly decidedUpToMs: number;
}

/** The blob's name in the cluster's folder in the container of snapshots, where the relay has its rights already. */
export const FIGURES_BLOB = 'figures';

/** What a record begins with. */
export const NO_FIGURES: FiguresRecord = { version: 1, durations: NO_DURATIONS, recent: [], last: null };

/**
 * So many plans are told one by one. In a minute between two scrapes there are fewer: a plan is made for a hint, and
 * hints come with snapshots, which are seconds apart where pods come all the time. The record stays below 8 KiB.
 */
const RECENT_MAX = 64;

/** The record with one plan more. The same record when the plan is in it already, so that nothing is counted twice. */
export function withPlan(record: FiguresRecord, plan: PlanFigures, fate: PlanFate): FiguresRecord {
  const { id, atMs, tookMs, decidedUpToMs, waiting } = plan;
  if (record.recent.some((one) => one.id === id)) return record;
  const recent = [...record.recent, { id, atMs, decidedUpToMs: fate === 'lost' ? null : decidedUpToMs }];
  // A slow instance may come late with a plan that is older than the last.
  const isNewest = fate === 'holds' && (record.last === null || record.last.decidedUpToMs <= decidedUpToMs);
  return {
    version: 1,
    durations: withDurations(record.durations, [tookMs]),
    recent: recent.slice(-RECENT_MAX),
    last: isNewest ? { ...waiting, atMs, decidedUpToMs } : record.last,
  };
}

/** Null for what is no record, or one of another version. */
export function parseFigures(text: string): FiguresRecord | null {
  try {
    const raw = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
    const durations = toDurationHistogram(raw?.['durations']);
    if (raw?.['version'] !== 1 || durations === null || !Array.isArray(raw['recent'])) return null;
    return { version: 1, durations, recent: raw['recent'].flatMap(toRecentPlan), last: toLastPlan(raw['last']) };
  } catch {
    return null;
  }
}

function toRecentPlan(raw: unknown): ReadonlyArray<RecentPlan> {
  if (!isObject(raw)) return [];
  const { id, atMs, decidedUpToMs } = raw;
  if (typeof id !== 'string' || typeof atMs !== 'number') return [];
  return [{ id, atMs, decidedUpToMs: typeof decidedUpToMs === 'number' ? decidedUpToMs : null }];
}

function toLastPlan(raw: unknown): LastPlan | null {
  if (!isObject(raw) || !isObject(raw['zones'])) return null;
  const { atMs, decidedUpToMs, pending, unschedulable, ignored } = raw;
  if (typeof atMs !== 'number' || typeof decidedUpToMs !== 'number' || typeof pending !== 'number') return null;
  if (typeof unschedulable !== 'number' || typeof ignored !== 'number') return null;
  const zones = Object.entries(raw['zones']).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
  return { atMs, decidedUpToMs, pending, unschedulable, ignored, zones: Object.fromEntries(zones) };
}

function isObject(raw: unknown): raw is Readonly<Record<string, unknown>> {
  return typeof raw === 'object' && raw !== null;
}
