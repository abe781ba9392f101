import { type Book, calmMs } from './book.ts';
import type { ClaimLife, Departure, PodLife } from './observe.ts';
import { apps, POOL_BUDGET } from './workloads.ts';

/** A law that was broken. */
export interface Breach {
  readonly law: string;
  /** Milliseconds since the run began. */
  readonly atMs: number;
  readonly what: string;
}

/** The counts of one queue. */
export interface QueueCount {
  readonly active: number;
  readonly deadLettered: number;
}

/** What laws judge: everything that is known at one moment. */
export interface Look {
  readonly atMs: number;
  readonly pods: ReadonlyArray<PodLife>;
  readonly claims: ReadonlyArray<ClaimLife>;
  /** Those since the look before. */
  readonly departures: ReadonlyArray<Departure>;
  readonly vms: ReadonlyArray<{ readonly name: string; readonly vCpus: number; readonly seenMs: number }>;
  /** VMs that came to be, by name. */
  readonly creations: Readonly<Record<string, number>>;
  /** Null while Service Bus cannot be asked. */
  readonly queues: Readonly<Record<string, QueueCount>> | null;
  /**
   * Lines since the look before by which the product says that it has refused a plan of its own, or given a message up.
   */
  readonly confessions: ReadonlyArray<string>;
  /** Resident memory, MB, by part. */
  readonly memoryMb: ReadonlyMap<string, number>;
  readonly book: Pick<Book, 'troubles' | 'touched' | 'struck' | 'limits'>;
}

/**
 * A pod that a node can hold waits no longer than this while nothing is broken: a boot takes 12 s, and two have to
 * follow each other at times.
 */
export const WAIT_MAX_MS = 90_000;
/** Whatever is broken meanwhile: no trouble lasts longer than a minute and a half, and a few may follow each other. */
export const WAIT_EVER_MAX_MS = 300_000;
/** A VM may be without its claim for so long: until a sweep, once a minute, has found it and Azure has deleted it. */
const ORPHAN_MAX_MS = 150_000;
/**
 * What follows from a change of a workload, or from the loss of a node, comes within this; evictions meanwhile say
 * nothing.
 */
const AFTERMATH_MS = 30_000;
/** A claim that was planned before its pool's limit was lowered may still come. */
const IN_FLIGHT_MS = 15_000;
/**
 * Above what either is known to take. Of the 960 MB that were seen of the Functions host some 50 were held: V8 lets a
 * heap grow to 512 MB before it collects all of it, and on an instance of 2 GB it does so too.
 */
export const MEMORY_MAX_MB: Readonly<Record<string, number>> = { 'functions host': 1_200, relay: 250 };

const VOLUNTARY: ReadonlySet<string> = new Set(['Underutilized', 'Empty', 'Drifted']);
/**
 * Whose word a pod goes by that no budget holds: the scheduler for another pod, the control plane for a node that is
 * gone or lost.
 */
const FORCED: ReadonlySet<string> = new Set([
  'PreemptionByScheduler',
  'DeletionByTaintManager',
  'DeletionByPodGC',
  'TerminationByKubelet',
]);

const laws: Readonly<Record<string, (look: Look) => ReadonlyArray<string>>> = {
  'a pod that can run runs in time': waitingTooLong,
  'no machine without its claim': orphans,
  'no machine is made twice': ({ creations }) =>
    Object.entries(creations).flatMap(([name, count]) => (count > 1 ? [`${name} was made ${count} times`] : [])),
  'nothing in dead letters or poison': givenUp,
  'protected pods stay': protectedGone,
  'budgets of pods hold': pastPodBudget,
  'budgets of pools hold': pastPoolBudget,
  'limits of pools hold': pastLimit,
  'no plan is refused': ({ confessions }) => confessions,
  'memory has a bound': ({ memoryMb }) =>
    Object.entries(MEMORY_MAX_MB).flatMap(([part, most]) => {
      const used = memoryMb.get(part) ?? 0;
      return used > most ? [`${part} takes ${used.toFixed(0)} MB, more than ${most}`] : [];
    }),
};

/** Judges one look by every law that must hold at any time. Pure. */
export function judge(look: Look): ReadonlyArray<Breach> {
  return Object.entries(laws).flatMap(([law, check]) => check(look).map((what) => ({ law, atMs: look.atMs, what })));
}

function waitingTooLong({ pods, atMs, book }: Look): ReadonlyArray<string> {
  return pods.flatMap((pod) => {
    if (!pod.canRun || pod.boundMs !== null || pod.goneMs !== null) return [];
    if (atMs - pod.seenMs > WAIT_EVER_MAX_MS) return [`${pod.name} has no node after ${WAIT_EVER_MAX_MS / 1_000} s`];
    const waited = calmMs(book.troubles, { fromMs: pod.seenMs, toMs: atMs });
    return waited > WAIT_MAX_MS ? [`${pod.name} has no node after ${WAIT_MAX_MS / 1_000} s with nothing broken`] : [];
  });
}

function orphans({ vms, claims, atMs, book }: Look): ReadonlyArray<string> {
  const there = new Map(claims.map((claim) => [`aks-${claim.name}`, claim]));
  return vms.flatMap(({ name, seenMs }) => {
    const claim = there.get(name);
    if (claim !== undefined && claim.goneMs === null) return [];
    const alone = calmMs(book.troubles, { fromMs: Math.max(seenMs, claim?.goneMs ?? 0), toMs: atMs });
    return alone > ORPHAN_MAX_MS ? [`${name} has no NodeClaim`] : [];
  });
}

function givenUp({ queues }: Look): ReadonlyArray<string> {
  return Object.entries(queues ?? {}).flatMap(([name, { active, deadLettered }]) => [
    ...(deadLettered > 0 ? [`queue ${name} has ${deadLettered} dead letters`] : []),
    ...(name === 'poison' && active > 0 ? [`${active} messages are poison`] : []),
  ]);
}

/**
 * Whether the pod's going has a reason that nobody is asked for: its owner wants fewer, its node was taken, or another
 * pod came first.
 */
function isExcused({ app, node, reason, atMs }: Departure, { claims, book }: Look): boolean {
  if (FORCED.has(reason)) return true;
  const since = (times: ReadonlyMap<string, number>, key: string): number => atMs - (times.get(key) ?? -Infinity);
  if (since(book.touched, app) < AFTERMATH_MS || book.struck.has(node)) return true;
  const claim = claims.find(({ name }) => `aks-${name}` === node);
  return claim === undefined || claim.isInterrupted || claim.goneMs !== null;
}

function protectedGone(look: Look): ReadonlyArray<string> {
  return look.departures.flatMap((one) =>
    one.isProtected && !isExcused(one, look)
      ? [`${one.pod} says do-not-disrupt and was told to leave ${one.node}`]
      : [],
  );
}

function pastPodBudget(look: Look): ReadonlyArray<string> {
  const { struck, touched } = look.book;
  return look.departures.flatMap((one) => {
    const app = apps.find(({ name }) => name === one.app);
    if (app?.hasBudget !== true || isExcused(one, look)) return [];
    // Pods that were lost just before count too, and nobody asked the budget for them.
    if ([...struck.values()].some((at) => one.atMs - at < 2 * AFTERMATH_MS)) return [];
    const isBeside = ({ app: of, goneFor, goneMs }: PodLife): boolean =>
      of === one.app && FORCED.has(goneFor) && Math.abs(one.atMs - (goneMs ?? Infinity)) < AFTERMATH_MS;
    if (look.pods.some(isBeside)) return [];
    const wanted = look.pods.filter((pod) => pod.app === one.app && pod.goneMs === null && !pod.isFinished).length;
    if (wanted === 0 || one.atMs - (touched.get(one.app) ?? -Infinity) < 2 * AFTERMATH_MS) return [];
    return one.left < wanted - 1 ? [`${one.pod} left ${one.node}, and ${one.left} of ${wanted} run`] : [];
  });
}

function pastPoolBudget({ claims }: Look): ReadonlyArray<string> {
  // As Karpenter counts: until the machine is being deleted, as nobody has pods there any more.
  const going = claims.filter(
    ({ goneMs, disruption, isInterrupted, isTerminating }) =>
      goneMs === null && !isInterrupted && !isTerminating && VOLUNTARY.has(disruption),
  );
  return [...Map.groupBy(going, ({ pool }) => pool)].flatMap(([pool, some]) =>
    some.length > POOL_BUDGET
      ? [`${some.length} nodes of ${pool} go at once: ${some.map(({ name }) => name).join()}`]
      : [],
  );
}

function pastLimit({ claims, vms, book }: Look): ReadonlyArray<string> {
  const sizes = new Map(vms.map(({ name, vCpus }) => [name, vCpus]));
  return [...book.limits].flatMap(([pool, { cpu, sinceMs }]) => {
    // As Karpenter counts: what certainly goes is made up for before it has gone.
    const own = claims.filter(
      (claim) =>
        claim.pool === pool && claim.deletingMs === null && !claim.isInterrupted && sizes.has(`aks-${claim.name}`),
    );
    const cores = own.reduce((sum, { name }) => sum + (sizes.get(`aks-${name}`) ?? 0), 0);
    const isNew = own.some(({ seenMs }) => seenMs > sinceMs + IN_FLIGHT_MS);
    return cores > cpu && isNew ? [`${pool} has ${cores} cores, and its limit is ${cpu}`] : [];
  });
}
