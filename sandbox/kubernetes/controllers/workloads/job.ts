import { isApiError } from '../../client/connection.ts';
import type { Condition } from '../../../../shared/kubernetes/manifest.ts';
import { controllerOf, keyOf, podPath, type Pod } from '../../client/objects.ts';
import { toTime } from '../../timestamp.ts';
import type { ControllerContext } from '../controller-context.ts';
import { inParallel, isActive, isReady, openPodControl, type PodControl } from '../pod-control.ts';
import type { Job } from './workloads.ts';

/** Keeps a finished pod until it is counted. */
const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';
const DEFAULT_BACKOFF_LIMIT = 6;
/** Wait before a failed pod is replaced, doubled by each further failure: the real controller's figures. */
const FIRST_BACKOFF_MS = 10_000;
const LAST_BACKOFF_MS = 600_000;

type Later = (key: string, delayMs: number) => void;

/** Runs each Job's pods to completion, counts each end exactly once, and reports Complete or Failed. */
export function runJobs(context: ControllerContext): void {
  const jobs = context.watch<Job>('/apis/batch/v1/jobs');
  const control = openPodControl(context, 'batch/v1', 'Job');
  const memory: Memory = { written: new Map(), counted: new Set() };
  const loop = context.loop('job', async (key) => {
    const job = jobs.objects.get(key);
    if (job === undefined) return;
    const { uid } = job.metadata;
    const written = memory.written.get(uid);
    // The watch has yet to show what an earlier pass wrote: counts from before would be counted on again.
    const latest = written !== undefined && isNewer(written, job) ? written : job;
    await reconcile({ context, control, memory, later: loop.enqueueAfter }, latest);
  });
  jobs.listen({
    onChange: (job) => {
      loop.enqueue(keyOf(job));
    },
    onDelete: ({ metadata }) => memory.written.delete(metadata.uid),
  });
  const onPod = (pod: Pod): void => {
    const owner = controllerOf(pod);
    if (owner?.kind === 'Job') loop.enqueue(`${pod.metadata.namespace ?? ''}/${owner.name}`);
  };
  context.pods.listen({
    onChange: onPod,
    onDelete: (pod) => {
      memory.counted.delete(pod.metadata.uid);
      onPod(pod);
    },
  });
}

/** What passes know beyond what the watches have shown. */
interface Memory {
  /** Each Job as this controller last wrote it, by uid. */
  readonly written: Map<string, Job>;
  /** Uids of pods whose end is counted, although the watch may still show their finalizer. */
  readonly counted: Set<string>;
}

interface Parts {
  readonly context: ControllerContext;
  readonly control: PodControl;
  readonly memory: Memory;
  readonly later: Later;
}

function isNewer(a: Job, b: Job): boolean {
  return Number(a.metadata.resourceVersion) > Number(b.metadata.resourceVersion);
}

interface Tally {
  readonly succeeded: number;
  readonly failed: number;
}

async function reconcile(parts: Parts, job: Job): Promise<void> {
  const { context, control, later } = parts;
  const pods = context.podsOf(job.metadata.uid);
  const finished = job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
  if (finished !== undefined || job.metadata.deletionTimestamp !== undefined) {
    await release(context, pods);
    if (finished !== undefined) await expire(context, job, later);
    return;
  }
  const active = pods.filter(isActive);
  const tally = await countEnded(parts, job, pods);
  const outcome = outcomeOf(context, job, tally, active.length);
  if (outcome !== null) {
    await control.remove(job, active);
    await release(context, active);
    return reportStatus(parts, job, { tally, active: [], outcome });
  }
  await reportStatus(parts, job, { tally, active, outcome: null });
  if (control.isBehind(job)) return;
  const missing = wantedActive(job, tally) - active.length;
  if (missing < 0) await control.remove(job, active.slice(missing));
  if (missing <= 0) return;
  const waitMs = backoffMs(context, pods, tally);
  if (waitMs > 0) return later(keyOf(job), waitMs);
  await control.create(
    job,
    Array.from({ length: missing }, () => trackedTemplate(job)),
  );
}

function wantedActive({ spec }: Job, { succeeded }: Tally): number {
  if (spec.suspend === true) return 0;
  const parallelism = spec.parallelism ?? 1;
  if (spec.completions === undefined) return succeeded > 0 ? 0 : parallelism;
  return Math.min(parallelism, Math.max(0, spec.completions - succeeded));
}

function trackedTemplate({ spec, metadata }: Job): Job['spec']['template'] {
  const { template } = spec;
  const labels = {
    'batch.kubernetes.io/controller-uid': metadata.uid,
    'batch.kubernetes.io/job-name': metadata.name,
    'controller-uid': metadata.uid,
    'job-name': metadata.name,
    ...template.metadata?.labels,
  };
  return { ...template, metadata: { ...template.metadata, labels, finalizers: [TRACKING_FINALIZER] } };
}

/**
 * Counts pods that have ended: first their uids go into the status, then their finalizers go, then the uids become
 * numbers. A crash between any two steps counts no pod twice and forgets none.
 */
async function countEnded(parts: Parts, job: Job, pods: ReadonlyArray<Pod>): Promise<Tally> {
  const tracked = pods.filter(({ metadata }) => metadata.finalizers?.includes(TRACKING_FINALIZER) === true);
  const { succeeded, failed } = endedPods(parts, job, tracked);
  const before: Tally = { succeeded: job.status?.succeeded ?? 0, failed: job.status?.failed ?? 0 };
  if (succeeded.size + failed.size === 0) return before;
  const uncounted = { succeeded: [...succeeded], failed: [...failed] };
  await patchStatus(parts, job, { uncountedTerminatedPods: uncounted });
  await release(
    parts.context,
    tracked.filter(({ metadata }) => succeeded.has(metadata.uid) || failed.has(metadata.uid)),
  );
  for (const uid of [...succeeded, ...failed]) parts.memory.counted.add(uid);
  const tally = { succeeded: before.succeeded + succeeded.size, failed: before.failed + failed.size };
  await patchStatus(parts, job, { ...tally, uncountedTerminatedPods: { succeeded: null, failed: null } });
  return tally;
}

interface Ended {
  readonly succeeded: ReadonlySet<string>;
  readonly failed: ReadonlySet<string>;
}

/** Uids of pods that have ended and are not counted: those noted by an earlier pass, and those seen now. */
function endedPods({ memory }: Parts, { status }: Job, tracked: ReadonlyArray<Pod>): Ended {
  const succeeded = new Set(status?.uncountedTerminatedPods?.succeeded ?? []);
  const failed = new Set(status?.uncountedTerminatedPods?.failed ?? []);
  for (const pod of tracked) {
    const { uid, deletionTimestamp } = pod.metadata;
    if (memory.counted.has(uid)) continue;
    // A pod that never ran leaves no last word: being deleted without a node is its end.
    const neverRan = deletionTimestamp !== undefined && pod.spec.nodeName === undefined;
    if (pod.status?.phase === 'Succeeded') succeeded.add(uid);
    else if (pod.status?.phase === 'Failed' || neverRan) failed.add(uid);
  }
  return { succeeded, failed };
}

async function release({ connection }: ControllerContext, pods: ReadonlyArray<Pod>): Promise<void> {
  const held = pods.filter(({ metadata }) => metadata.finalizers?.includes(TRACKING_FINALIZER) === true);
  await inParallel(held, async (pod) => {
    const { uid, finalizers } = pod.metadata;
    const rest = finalizers?.filter((name) => name !== TRACKING_FINALIZER) ?? [];
    try {
      await connection.patch(podPath(pod), 'merge', { metadata: { uid, finalizers: rest } });
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  });
}

interface Outcome {
  readonly type: 'Complete' | 'Failed';
  readonly reason: string;
  readonly message: string;
}

function outcomeOf({ clock }: ControllerContext, { spec, status }: Job, tally: Tally, active: number): Outcome | null {
  const { completions, activeDeadlineSeconds } = spec;
  const isComplete = completions === undefined ? tally.succeeded > 0 && active === 0 : tally.succeeded >= completions;
  if (isComplete)
    return { type: 'Complete', reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' };
  if (tally.failed > (spec.backoffLimit ?? DEFAULT_BACKOFF_LIMIT)) {
    return { type: 'Failed', reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit' };
  }
  const startedAt = Date.parse(status?.startTime ?? '');
  if (activeDeadlineSeconds !== undefined && clock.now() - startedAt >= activeDeadlineSeconds * 1_000) {
    return { type: 'Failed', reason: 'DeadlineExceeded', message: 'Job was active longer than specified deadline' };
  }
  return null;
}

function backoffMs({ clock }: ControllerContext, pods: ReadonlyArray<Pod>, { failed }: Tally): number {
  if (failed === 0) return 0;
  const wait = Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failed - 1));
  const ends = pods.filter(({ status }) => status?.phase === 'Failed').map(endedAt);
  return Math.max(0, Math.max(...ends, 0) + wait - clock.now());
}

function endedAt(pod: Pod): number {
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready');
  return Date.parse(ready?.lastTransitionTime ?? pod.metadata.creationTimestamp) || 0;
}

interface Observed {
  readonly tally: Tally;
  readonly active: ReadonlyArray<Pod>;
  readonly outcome: Outcome | null;
}

async function reportStatus(parts: Parts, job: Job, { tally, active, outcome }: Observed): Promise<void> {
  const at = toTime(parts.context.clock.now());
  const ready = active.filter(isReady).length;
  const startTime = job.status?.startTime ?? (job.spec.suspend === true ? undefined : at);
  const conditions = outcome === null ? (job.status?.conditions ?? []) : endConditions(job, outcome, at);
  if (outcome === null && !isNews(job, { startTime, active: active.length, ready })) return;
  const completionTime = outcome?.type === 'Complete' ? { completionTime: at } : {};
  await patchStatus(parts, job, { ...tally, active: active.length, ready, startTime, conditions, ...completionTime });
  if (outcome !== null) tellEnd(parts, job, outcome);
}

function isNews(
  { status }: Job,
  next: { readonly startTime: string | undefined; readonly active: number; readonly ready: number },
): boolean {
  return (
    status?.startTime !== next.startTime || (status?.active ?? 0) !== next.active || (status?.ready ?? 0) !== next.ready
  );
}

function tellEnd({ context }: Parts, job: Job, outcome: Outcome): void {
  const event =
    outcome.type === 'Complete'
      ? ({ type: 'Normal', reason: 'Completed', message: 'Job completed' } as const)
      : ({ type: 'Warning', reason: outcome.reason, message: outcome.message } as const);
  context.events.record({ object: job, kind: 'Job', apiVersion: 'batch/v1', ...event });
}

/** The real controller says first that the criteria are met or the target failed, then that the Job has ended. */
function endConditions(
  job: Job,
  { type, reason, message }: Outcome,
  at: string,
): ReadonlyArray<Condition & { readonly lastProbeTime: string }> {
  const first = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget';
  const before = (job.status?.conditions ?? []).map((condition) => ({ lastProbeTime: at, ...condition }));
  const row = { status: 'True', reason, message, lastTransitionTime: at, lastProbeTime: at };
  return [...before, { ...row, type: first }, { ...row, type }];
}

async function expire({ clock, connection }: ControllerContext, job: Job, later: Later): Promise<void> {
  const { ttlSecondsAfterFinished } = job.spec;
  if (ttlSecondsAfterFinished === undefined || job.metadata.deletionTimestamp !== undefined) return;
  const ended = job.status?.conditions?.findLast(({ type }) => type === 'Complete' || type === 'Failed');
  const dueMs = Date.parse(ended?.lastTransitionTime ?? '') + ttlSecondsAfterFinished * 1_000 - clock.now();
  if (dueMs > 0) return later(keyOf(job), dueMs);
  await connection.remove(jobPath(job), { propagationPolicy: 'Foreground', preconditions: { uid: job.metadata.uid } });
}

async function patchStatus({ context, memory }: Parts, job: Job, status: object): Promise<void> {
  const written = await context.connection.patch<Job>(`${jobPath(job)}/status`, 'merge', { status });
  memory.written.set(job.metadata.uid, written);
}

function jobPath({ metadata }: Job): string {
  return `/apis/batch/v1/namespaces/${metadata.namespace ?? ''}/jobs/${metadata.name}`;
}
