import type { Clock } from '../../base/clock.ts';
import type { Rng } from '../../base/rng.ts';
import { isApiError, type Connection } from '../client/connection.ts';
import { controllerOf, hasCondition, isFinished, keyOf, podPath, type Pod } from '../client/objects.ts';
import type { WriteQueue } from '../client/write-queue.ts';
import { parseDurationMs } from '../duration.ts';
import { hostPorts, podRequests } from '../pod-requests.ts';
import { admitPod } from './admit-pod.ts';
import type { Machine } from './machine.ts';
import {
  creatingStatus,
  finishedStatus,
  readinessStatus,
  rejectedStatus,
  runningStatus,
  type PodMoment,
} from './pod-status.ts';

/** Lowest and highest of a duration that is drawn, in milliseconds. */
export interface RangeMs {
  readonly min: number;
  readonly max: number;
}

/** How long the parts of a pod's life take. */
export interface PodPace {
  /** From binding to Running: image pull and container start. */
  readonly podStartMs: RangeMs;
  /** From the request to delete until the containers have ended by themselves. */
  readonly podStopMs: RangeMs;
  /** How long a Job's pod runs when no annotation says so. */
  readonly jobRunMs: number;
}

/** Annotations and a label by which a pod says how it behaves here; kwok's are honoured under their own names. */
export const podBehaviour = {
  /** Seconds (a number, or a Go duration) after which a pod that may end has ended. */
  runSeconds: 'nodewright.dev/run-seconds',
  /** The exit code it ends with; 0 unless told. */
  exitCode: 'nodewright.dev/exit-code',
  /** `true`: the pod ends only when its grace period does. */
  ignoreSigterm: 'nodewright.dev/ignore-sigterm',
  kwokCompleteDelay: 'pod-complete.stage.kwok.x-k8s.io/delay',
  kwokDeleteDelay: 'pod-delete.stage.kwok.x-k8s.io/delay',
  kwokStage: 'kwok.x-k8s.io/stage',
} as const;

/** Added to the start for each init container that runs to its end. */
const INIT_CONTAINER_MS = 50;
/** The API's default for terminationGracePeriodSeconds. */
const DEFAULT_GRACE_SECONDS = 30;
/** Exit code of a container that SIGKILL ended: 128 + 9. */
const KILLED = 137;

/** What the lives of pods need. */
export interface PodLivesOptions extends PodPace {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly writes: WriteQueue;
}

/** The pods of all machines of this process, from admission to their end. */
export interface PodLives {
  /** Tells what the API says of a pod bound to `machine`. Telling it again changes nothing. */
  observe(pod: Pod, machine: Machine): void;
  /** The API has forgotten the pod: its place on the machine is free. */
  forget(pod: Pod, machine: Machine | undefined): void;
  /** The machine is gone or hangs: nothing more happens to its pods. */
  abandon(machine: Machine): void;
}

interface Life {
  readonly machine: Machine;
  pod: Pod;
  podIp: string;
  stage: 'starting' | 'running' | 'ending' | 'ended';
  /** When it will have ended; meaningful while ending. */
  endAt: number;
  cancel: () => void;
}

const nothing = (): void => undefined;

/** The lives by pod uid, and what they need. */
interface Book {
  readonly options: PodLivesOptions;
  readonly lives: Map<string, Life>;
}

/** Opens the book of lives; it is empty until pods are observed. */
export function openPodLives(options: PodLivesOptions): PodLives {
  const lives = new Map<string, Life>();
  const book: Book = { options, lives };
  return {
    observe: (pod, machine) => {
      if (machine.phase !== 'running') return;
      const { uid, deletionTimestamp } = pod.metadata;
      const known = lives.get(uid);
      const isLeaving = deletionTimestamp !== undefined;
      if (known !== undefined) {
        known.pod = pod;
        if (isLeaving) endPod(book, known);
        else followPod(book, known);
        return;
      }
      if (isFinished(pod) && !isLeaving) return;
      const stage = isFinished(pod) ? 'ended' : isLeaving ? 'running' : 'starting';
      const life: Life = { machine, pod, podIp: '', stage, endAt: 0, cancel: nothing };
      lives.set(uid, life);
      if (isLeaving) endPod(book, life);
      else admit(book, life);
    },
    forget: ({ metadata }, machine) => {
      lives.get(metadata.uid)?.cancel();
      lives.delete(metadata.uid);
      machine?.admitted.delete(metadata.uid);
    },
    abandon: (machine) => {
      for (const [uid, life] of lives) {
        if (life.machine !== machine) continue;
        life.cancel();
        lives.delete(uid);
      }
    },
  };
}

function momentOf({ options }: Book, { pod, machine }: Life): PodMoment {
  return { pod, machine, nowMs: options.clock.now() };
}

function patchStatus({ options }: Book, { pod }: Life, status: object): void {
  const { uid } = pod.metadata;
  const path = `${podPath(pod)}/status`;
  options.writes.put(`pod/${uid}`, () => options.connection.patch(path, 'strategic', { metadata: { uid }, status }));
}

function admit(book: Book, life: Life): void {
  const { pod, machine } = life;
  const { uid } = pod.metadata;
  if (pod.status?.phase === 'Running') {
    // Another process, or this one before it was lost, started it: its place is taken, whatever the sums say.
    machine.admitted.set(uid, { requests: podRequests(pod), ports: hostPorts(pod) });
    run(book, life);
    // While it was lost the control plane said that its pods are not ready.
    followPod(book, life);
    return;
  }
  const admission = admitPod(pod, machine);
  if (admission.kind === 'rejected') {
    life.stage = 'ended';
    patchStatus(book, life, rejectedStatus(momentOf(book, life), admission.reason, admission.message));
    return;
  }
  machine.admitted.set(uid, admission.holds);
  start(book, life);
}

function start(book: Book, life: Life): void {
  const { clock, rng, podStartMs } = book.options;
  const { spec } = life.pod;
  life.podIp = spec.hostNetwork === true ? life.machine.hostIp : nextPodIp(life.machine);
  patchStatus(book, life, creatingStatus(momentOf(book, life)));
  const inits = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy !== 'Always').length;
  const delayMs = draw(rng, `start/${keyOf(life.pod)}`, podStartMs) + inits * INIT_CONTAINER_MS;
  life.cancel = clock.after(delayMs, () => {
    patchStatus(book, life, runningStatus(momentOf(book, life), life.podIp, !isUnhealthy(life.pod)));
    run(book, life);
  });
}

function run(book: Book, life: Life): void {
  const { clock, jobRunMs } = book.options;
  life.stage = 'running';
  const ms = runMsOf(life.pod, jobRunMs);
  if (ms === null) return;
  const startedAt = Date.parse(life.pod.status?.startTime ?? '') || clock.now();
  const exitCode = Number(life.pod.metadata.annotations?.[podBehaviour.exitCode] ?? 0) || 0;
  life.cancel = clock.after(Math.max(0, startedAt + ms - clock.now()), () => {
    life.stage = 'ended';
    life.machine.admitted.delete(life.pod.metadata.uid);
    patchStatus(book, life, finishedStatus(momentOf(book, life), exitCode));
  });
}

/** Takes a change of a pod that is not being deleted: its end, or its health. */
function followPod(book: Book, life: Life): void {
  const { pod } = life;
  if (isFinished(pod)) {
    life.cancel();
    life.stage = 'ended';
    life.machine.admitted.delete(pod.metadata.uid);
    return;
  }
  if (life.stage !== 'running' || pod.status?.phase !== 'Running') return;
  const ready = !isUnhealthy(pod);
  if (hasCondition(pod.status.conditions, 'Ready') !== ready) {
    patchStatus(book, life, readinessStatus(momentOf(book, life), ready));
  }
}

function endPod(book: Book, life: Life): void {
  const endAt = endOf(life, book.options);
  if (life.stage === 'ending' && endAt >= life.endAt) return;
  life.cancel();
  const hasEnded = life.stage === 'ended';
  if (!hasEnded) life.stage = 'ending';
  life.endAt = endAt;
  life.cancel = book.options.clock.after(hasEnded ? 0 : Math.max(0, endAt - book.options.clock.now()), () => {
    removePod(book, life);
  });
}

function removePod(book: Book, life: Life): void {
  const { connection, writes } = book.options;
  const { pod } = life;
  const { uid } = pod.metadata;
  const mustReport = pod.spec.restartPolicy !== 'Always' && life.stage !== 'ended';
  life.stage = 'ended';
  const status = finishedStatus(momentOf(book, life), KILLED);
  writes.put(`pod/${uid}`, async () => {
    try {
      // A Job counts a pod only by its final phase.
      if (mustReport) await connection.patch(`${podPath(pod)}/status`, 'strategic', { metadata: { uid }, status });
      await connection.remove(podPath(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      // Gone, or another pod of that name: what was to be deleted is deleted.
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  });
}

/** How long the pod runs before it ends by itself; null: until it is deleted. */
function runMsOf(pod: Pod, jobRunMs: number): number | null {
  if (pod.spec.restartPolicy === 'Always') return null;
  const annotations = pod.metadata.annotations;
  const told = annotations?.[podBehaviour.runSeconds] ?? annotations?.[podBehaviour.kwokCompleteDelay];
  if (told !== undefined) return parseDurationMs(told);
  return controllerOf(pod)?.kind === 'Job' ? jobRunMs : null;
}

/**
 * When a pod being deleted has ended. kwok's delay may outlast the pod's own grace period, as it does with kwok, but
 * not a period that whoever deleted the pod made shorter.
 */
function endOf({ pod, stage }: Life, { clock, rng, podStopMs }: PodLivesOptions): number {
  const { deletionTimestamp, deletionGracePeriodSeconds, annotations } = pod.metadata;
  const now = clock.now();
  if (stage === 'starting') return now;
  const ownGrace = pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  const grace = deletionGracePeriodSeconds ?? ownGrace;
  const killAt = Math.max(now, Date.parse(deletionTimestamp ?? '') || now);
  const kwokDelay = parseDurationMs(annotations?.[podBehaviour.kwokDeleteDelay] ?? '');
  if (kwokDelay !== null) {
    const askedAt = Math.min(now, killAt - grace * 1_000);
    const endAt = Math.max(now, askedAt + kwokDelay);
    return grace < ownGrace ? Math.min(endAt, killAt) : endAt;
  }
  if (annotations?.[podBehaviour.ignoreSigterm] === 'true') return killAt;
  return Math.min(killAt, now + draw(rng, `stop/${keyOf(pod)}`, podStopMs));
}

function isUnhealthy(pod: Pod): boolean {
  return pod.metadata.labels?.[podBehaviour.kwokStage] === 'unhealthy';
}

function draw(rng: Rng, purpose: string, { min, max }: RangeMs): number {
  return min + rng.split(purpose).below(max - min + 1);
}

/** Addresses wrap around: a machine outlives more pods than a /24 holds, but never runs that many. */
function nextPodIp(machine: Machine): string {
  machine.pods = (machine.pods % 250) + 1;
  return `${machine.podNetwork}.${machine.pods + 3}`;
}
