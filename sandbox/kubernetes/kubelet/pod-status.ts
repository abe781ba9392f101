import type { Container, Pod } from '../client/objects.ts';
import { toTime } from '../timestamp.ts';
import type { Machine } from './machine.ts';

/** Where a pod is on its machine, and when. */
export interface PodMoment {
  readonly pod: Pod;
  readonly machine: Machine;
  readonly nowMs: number;
}

/** Accepted by the kubelet, containers being created. */
export function creatingStatus({ pod, machine, nowMs }: PodMoment): object {
  const waiting = { waiting: { reason: 'ContainerCreating' } };
  return {
    phase: 'Pending',
    startTime: toTime(nowMs),
    hostIP: machine.hostIp,
    hostIPs: [{ ip: machine.hostIp }],
    conditions: podConditions({ initialized: (pod.spec.initContainers ?? []).length === 0, ready: false, nowMs }),
    containerStatuses: pod.spec.containers.map((container) => containerStatus(container, waiting, false)),
  };
}

/** Running; `ready` unless something keeps the pod unhealthy. */
export function runningStatus({ pod, machine, nowMs }: PodMoment, podIp: string, ready: boolean): object {
  const since = toTime(nowMs);
  const running = { running: { startedAt: since } };
  const completed = { terminated: { exitCode: 0, reason: 'Completed', startedAt: since, finishedAt: since } };
  return {
    phase: 'Running',
    startTime: pod.status?.startTime ?? since,
    hostIP: machine.hostIp,
    hostIPs: [{ ip: machine.hostIp }],
    podIP: podIp,
    podIPs: [{ ip: podIp }],
    conditions: podConditions({ initialized: true, ready, nowMs }),
    containerStatuses: pod.spec.containers.map((container) => containerStatus(container, running, ready)),
    initContainerStatuses: (pod.spec.initContainers ?? []).map((container) =>
      containerStatus(container, container.restartPolicy === 'Always' ? running : completed, true),
    ),
  };
}

/** Readiness alone, for a running pod whose health has changed. */
export function readinessStatus({ pod, nowMs }: PodMoment, ready: boolean): object {
  return {
    conditions: podConditions({ initialized: true, ready, nowMs }),
    containerStatuses: (pod.status?.containerStatuses ?? []).map((status) => ({ ...status, ready })),
  };
}

/** All containers have ended with `exitCode`. */
export function finishedStatus({ pod, nowMs }: PodMoment, exitCode: number): object {
  const at = toTime(nowMs);
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  const terminated = { exitCode, reason, startedAt: pod.status?.startTime ?? at, finishedAt: at };
  const conditions = podConditions({ initialized: true, ready: false, nowMs });
  return {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    conditions:
      exitCode === 0 ? conditions.map((condition) => ({ ...condition, ...completedReason(condition) })) : conditions,
    containerStatuses: pod.spec.containers.map((container) =>
      containerStatus(container, { running: null, waiting: null, terminated }, false),
    ),
  };
}

/** Refused by the kubelet: `reason` is OutOfcpu and its like. */
export function rejectedStatus({ nowMs }: PodMoment, reason: string, message: string): object {
  return { phase: 'Failed', reason, message: `Pod was rejected: ${message}`, startTime: toTime(nowMs) };
}

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly lastTransitionTime: string;
}

interface Readiness {
  readonly initialized: boolean;
  readonly ready: boolean;
  readonly nowMs: number;
}

/** Null takes a reason away in a patch. */
function podConditions({ initialized, ready, nowMs }: Readiness): ReadonlyArray<PodCondition> {
  const of = (type: string, holds: boolean, reason: string): PodCondition => ({
    type,
    status: holds ? 'True' : 'False',
    reason: holds ? null : reason,
    message: null,
    lastTransitionTime: toTime(nowMs),
  });
  return [
    of('PodReadyToStartContainers', initialized, 'ContainersNotInitialized'),
    of('Initialized', initialized, 'ContainersNotInitialized'),
    of('ContainersReady', ready, 'ContainersNotReady'),
    of('Ready', ready, 'ContainersNotReady'),
  ];
}

function completedReason({ type }: PodCondition): Partial<PodCondition> {
  return type === 'Ready' || type === 'ContainersReady' ? { reason: 'PodCompleted' } : {};
}

function containerStatus({ name, image }: Container, state: object, ready: boolean): object {
  const started = 'running' in state && state.running !== null;
  return { name, image: image ?? '', imageID: '', ready, restartCount: 0, started, state };
}
