import { annotation, label, taint } from '../../shared/contract/names.ts';
import type { Condition } from '../../shared/kubernetes/manifest.ts';
import {
  hasCondition,
  isFinished,
  type KubernetesObject,
  type Node,
  type Pod,
} from '../../sandbox/kubernetes/client/objects.ts';
import { watchObjects } from '../../sandbox/kubernetes/client/watch-objects.ts';
import type { World } from '../e2e/kit/world.ts';
import { APP_LABEL, apps } from './workloads.ts';

/** What is known of a pod's life. Times are milliseconds since the run began. */
export interface PodLife {
  readonly name: string;
  /** Its Deployment or Job. */
  readonly app: string;
  readonly canRun: boolean;
  isProtected: boolean;
  readonly seenMs: number;
  boundMs: number | null;
  node: string | null;
  /** When its deletion was first seen, or it was gone. */
  goneMs: number | null;
  /** By its condition DisruptionTarget; empty without one. */
  goneFor: string;
  isRunning: boolean;
  isFinished: boolean;
  /** What its events say, with the second in which each came. */
  readonly told: Array<string>;
}

/** A pod that was told to go, as the cluster was at that moment. */
export interface Departure {
  readonly pod: string;
  readonly app: string;
  readonly isProtected: boolean;
  readonly node: string;
  readonly atMs: number;
  /** Pods of the app that run and stay. */
  readonly left: number;
  /** Of its condition DisruptionTarget; empty without one. */
  readonly reason: string;
}

/** What is known of a NodeClaim's life. */
export interface ClaimLife {
  readonly name: string;
  readonly pool: string;
  readonly seenMs: number;
  readyMs: number | null;
  deletingMs: number | null;
  goneMs: number | null;
  /** True once a pod that is not a daemon's was bound to its node. */
  isUsed: boolean;
  /** Since when it is ready without a pod; null while it has one. */
  emptySinceMs: number | null;
  longestEmptyMs: number;
  /** Of its condition DisruptionReason, also after it has gone; empty without one. */
  disruption: string;
  isInterrupted: boolean;
  /** Its pods have gone, and its machine is being deleted. */
  isTerminating: boolean;
}

/** What is known of a node's life. */
export interface NodeLife {
  readonly seenMs: number;
  goneMs: number | null;
  /** Since when it is kept for planned pods (`nodewright.dev/reserved`); null: it is open, or goes. */
  keptSinceMs: number | null;
  keptMs: number;
}

/** Everything seen so far, by watches. */
export interface Observed {
  /** By uid. */
  readonly pods: ReadonlyMap<string, PodLife>;
  readonly claims: ReadonlyMap<string, ClaimLife>;
  readonly nodes: ReadonlyMap<string, NodeLife>;
  readonly departures: ReadonlyArray<Departure>;
  /** Names of the claims that are there and not being deleted, sorted. */
  claimsThere(): ReadonlyArray<string>;
  /** Brings what depends on the time up to it. */
  tick(): void;
  close(): void;
}

interface Claim extends KubernetesObject {
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> };
}

interface PodEvent extends KubernetesObject {
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly kind?: string; readonly uid?: string };
}

/** So much of the message of an event is kept. */
const MESSAGE_MAX = 240;

/** Follows pods of `default`, claims and nodes until closed. Resolves once what is there is known. */
export async function observe(world: World, nowMs: () => number): Promise<Observed> {
  const pods = new Map<string, PodLife>();
  const claims = new Map<string, ClaimLife>();
  const nodes = new Map<string, NodeLife>();
  const departures: Array<Departure> = [];
  // By uid: an event may be seen before its pod.
  const told = new Map<string, Array<string>>();
  const connection = world.api;
  const watches = [
    watchObjects<Pod>({
      connection,
      path: '/api/v1/namespaces/default/pods',
      query: '',
      onChange: (pod) => {
        const departure = notePod(pods, told, pod, nowMs());
        if (departure !== null) departures.push(departure);
        const claim = claims.get((pod.spec.nodeName ?? '').replace(/^aks-/, ''));
        if (claim !== undefined) claim.isUsed = true;
      },
      onDelete: ({ metadata }) => {
        const life = pods.get(metadata.uid);
        if (life !== undefined) life.goneMs ??= nowMs();
      },
    }),
    watchObjects<PodEvent>({
      connection,
      path: '/api/v1/namespaces/default/events',
      query: '',
      onChange: (event) => noteEvent(told, event, nowMs()),
      onDelete: () => undefined,
    }),
    watchObjects<Claim>({
      connection,
      path: '/apis/karpenter.sh/v1/nodeclaims',
      query: '',
      onChange: (claim) => noteClaim(claims, claim, nowMs()),
      onDelete: ({ metadata }) => {
        const life = claims.get(metadata.name);
        if (life !== undefined) life.goneMs ??= nowMs();
      },
    }),
    watchObjects<Node>({
      connection,
      path: '/api/v1/nodes',
      query: '',
      onChange: (node) => noteNode(nodes, node, nowMs()),
      onDelete: ({ metadata }) => {
        const life = nodes.get(metadata.name);
        if (life === undefined) return;
        life.goneMs ??= nowMs();
        keep(life, false, nowMs());
      },
    }),
  ];
  await Promise.all(watches.map(({ synced }) => synced));
  return {
    pods,
    claims,
    nodes,
    departures,
    claimsThere: () =>
      [...claims.values()]
        .filter(({ goneMs, deletingMs }) => goneMs === null && deletingMs === null)
        .map(({ name }) => name)
        .toSorted(),
    tick: () => noteEmpty({ pods, claims, nowMs: nowMs() }),
    close: () => {
      for (const watch of watches) watch.close();
    },
  };
}

type Told = Map<string, Array<string>>;

function noteEvent(told: Told, { involvedObject = {}, reason = '', message = '' }: PodEvent, nowMs: number): void {
  const { kind, uid = '' } = involvedObject;
  if (kind !== 'Pod') return;
  toldOf(told, uid).push(`${(nowMs / 1_000).toFixed(1)} ${reason}: ${message.slice(0, MESSAGE_MAX)}`);
}

function toldOf(told: Told, uid: string): Array<string> {
  const lines = told.get(uid) ?? [];
  told.set(uid, lines);
  return lines;
}

function notePod(pods: Map<string, PodLife>, told: Told, pod: Pod, nowMs: number): Departure | null {
  const { uid, deletionTimestamp } = pod.metadata;
  const life = pods.get(uid) ?? newPodLife(pod, toldOf(told, uid), nowMs);
  pods.set(uid, life);
  const wasRunning = life.isRunning;
  life.node = pod.spec.nodeName ?? null;
  if (life.node !== null) life.boundMs ??= nowMs;
  life.isFinished = isFinished(pod);
  life.isRunning = hasCondition(pod.status?.conditions, 'Ready') && deletionTimestamp === undefined;
  // As it says now: somebody may have let it go.
  life.isProtected = pod.metadata.annotations?.[annotation.doNotDisrupt] === 'true';
  if (deletionTimestamp === undefined || life.goneMs !== null) return null;
  life.goneMs = nowMs;
  life.goneFor = targetReason(pod);
  // What never ran, or has ended by itself, loses nothing.
  if (!wasRunning) return null;
  const { name, app, isProtected } = life;
  const left = [...pods.values()].filter((one) => one.app === app && one.isRunning).length;
  return { pod: name, app, isProtected, node: life.node ?? '', atMs: nowMs, left, reason: life.goneFor };
}

function newPodLife({ metadata: { name, labels } }: Pod, told: Array<string>, seenMs: number): PodLife {
  const app = labels?.[APP_LABEL] ?? '';
  const canRun = apps.find((one) => one.name === app)?.canRun !== false;
  const unknown = { isProtected: false, boundMs: null, node: null, goneMs: null, isRunning: false, isFinished: false };
  return { name, app, canRun, seenMs, told, goneFor: '', ...unknown };
}

function targetReason({ status }: Pod): string {
  return status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason ?? '';
}

function noteClaim(claims: Map<string, ClaimLife>, { metadata, status }: Claim, nowMs: number): void {
  const { annotations = {} } = metadata;
  const life = claims.get(metadata.name) ?? newClaimLife(metadata, nowMs);
  claims.set(metadata.name, life);
  if (hasCondition(status?.conditions, 'Initialized')) life.readyMs ??= nowMs;
  if (metadata.deletionTimestamp !== undefined) life.deletingMs ??= nowMs;
  life.isTerminating ||= hasCondition(status?.conditions, 'InstanceTerminating');
  life.isInterrupted ||= annotations[annotation.interruption] !== undefined;
  const reason = status?.conditions?.find(({ type, status: holds }) => type === 'DisruptionReason' && holds === 'True');
  life.disruption = reason?.reason ?? '';
}

function newClaimLife({ name, labels = {} }: Claim['metadata'], seenMs: number): ClaimLife {
  const pool = labels[label.nodePool] ?? '';
  const unknown = { readyMs: null, deletingMs: null, goneMs: null, emptySinceMs: null, longestEmptyMs: 0 };
  const flags = { isUsed: false, isInterrupted: false, isTerminating: false };
  return { name, pool, seenMs, disruption: '', ...unknown, ...flags };
}

function noteNode(nodes: Map<string, NodeLife>, { metadata, spec }: Node, nowMs: number): void {
  if (!metadata.name.startsWith('aks-') || metadata.name.startsWith('aks-system-')) return;
  const life: NodeLife = nodes.get(metadata.name) ?? { seenMs: nowMs, goneMs: null, keptSinceMs: null, keptMs: 0 };
  nodes.set(metadata.name, life);
  // One that goes is closed to all, whoever it was kept for.
  const isGoing = metadata.deletionTimestamp !== undefined;
  keep(life, !isGoing && spec?.taints?.some(({ key }) => key === taint.dedicated.key) === true, nowMs);
}

function keep(node: NodeLife, isKept: boolean, nowMs: number): void {
  if (isKept) node.keptSinceMs ??= nowMs;
  if (isKept || node.keptSinceMs === null) return;
  node.keptMs += nowMs - node.keptSinceMs;
  node.keptSinceMs = null;
}

function noteEmpty({
  pods,
  claims,
  nowMs,
}: {
  readonly pods: ReadonlyMap<string, PodLife>;
  readonly claims: ReadonlyMap<string, ClaimLife>;
  readonly nowMs: number;
}): void {
  const taken = new Set<string>();
  for (const { node, goneMs, isFinished: hasEnded } of pods.values()) {
    if (node !== null && goneMs === null && !hasEnded) taken.add(node);
  }
  for (const claim of claims.values()) {
    const isEmpty = claim.readyMs !== null && claim.goneMs === null && !taken.has(`aks-${claim.name}`);
    if (!isEmpty || claim.deletingMs !== null) claim.emptySinceMs = null;
    else {
      claim.emptySinceMs ??= nowMs;
      claim.longestEmptyMs = Math.max(claim.longestEmptyMs, nowMs - claim.emptySinceMs);
    }
  }
}
