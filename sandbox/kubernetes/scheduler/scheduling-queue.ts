import type { Clock } from '../../world/clock.ts';
import type { PodInfo } from './cluster-state.ts';
import { newHeap } from './heap.ts';

/** Back-off after the first failed attempt, doubled by each further one: the default configuration's one to ten seconds. */
const FIRST_BACKOFF_MS = 1_000;
const LAST_BACKOFF_MS = 10_000;
/** Pods that nothing has woken for so long are tried all the same. */
const FLUSH_AFTER_MS = 300_000;

/** A pod that waits for a node. */
export interface QueuedPod {
  info: PodInfo;
  /** Failed attempts so far. */
  attempts: number;
  /** When the last attempt failed. */
  triedAt: number;
  /** Why: reasons of nodes, or the one reason for all. Empty before the first attempt. */
  reasons: ReadonlySet<string>;
}

/** The pods that wait, in three states: active, backing off, and unschedulable until something changes. */
export interface SchedulingQueue {
  /** Adds a pod, or takes its new version; a changed pod is tried again. */
  add(info: PodInfo): void;
  /** Takes a new version of a waiting pod without trying it again. */
  refresh(info: PodInfo): void;
  remove(uid: string): void;
  /** The next pod to try: by priority, then by age; one that backs off only when no other is left. */
  pop(): QueuedPod | null;
  /** Puts back a pod that no node could take. */
  putUnschedulable(entry: QueuedPod): void;
  /** Puts back a pod whose binding failed; it backs off. */
  putBack(entry: QueuedPod): void;
  /** Tries again those unschedulable pods that `mayFitNow` names, and those that have waited for five minutes. */
  wake(mayFitNow: (entry: QueuedPod) => boolean): void;
  has(uid: string): boolean;
}

/** Opens an empty queue. */
export function openSchedulingQueue(clock: Clock): SchedulingQueue {
  const active = new Map<string, QueuedPod>();
  const backingOff = new Map<string, QueuedPod>();
  const unschedulable = new Map<string, QueuedPod>();
  /** Active pods by turn, and some that are not active any more: those are skipped when their turn comes. */
  const turns = newHeap<QueuedPod>(byTurn);
  const remove = (uid: string): void => {
    active.delete(uid);
    backingOff.delete(uid);
    unschedulable.delete(uid);
  };
  const activate = (entry: QueuedPod): void => {
    active.set(entry.info.uid, entry);
    turns.push(entry);
  };
  const find = (uid: string): QueuedPod | undefined => active.get(uid) ?? backingOff.get(uid) ?? unschedulable.get(uid);
  const ready = (entry: QueuedPod): void => {
    const until = entry.triedAt + backoffMs(entry.attempts);
    if (entry.attempts > 0 && clock.now() < until) backingOff.set(entry.info.uid, entry);
    else activate(entry);
  };
  const popBackingOff = (): QueuedPod | null => {
    let first: QueuedPod | null = null;
    for (const entry of backingOff.values()) {
      if (first === null || readyAt(entry) < readyAt(first)) first = entry;
    }
    if (first !== null) backingOff.delete(first.info.uid);
    return first;
  };
  return {
    add: (info) => {
      const entry = find(info.uid) ?? { info, attempts: 0, triedAt: 0, reasons: new Set<string>() };
      remove(info.uid);
      entry.info = info;
      ready(entry);
    },
    refresh: (info) => {
      const entry = find(info.uid);
      if (entry !== undefined) entry.info = info;
    },
    remove,
    pop: () => {
      for (let next = turns.pop(); next !== undefined; next = turns.pop()) {
        if (active.get(next.info.uid) !== next) continue;
        active.delete(next.info.uid);
        return next;
      }
      return popBackingOff();
    },
    putUnschedulable: (entry) => unschedulable.set(entry.info.uid, entry),
    putBack: (entry) => backingOff.set(entry.info.uid, entry),
    wake: (mayFitNow) => {
      const old = clock.now() - FLUSH_AFTER_MS;
      for (const [uid, entry] of unschedulable) {
        if (entry.triedAt > old && !mayFitNow(entry)) continue;
        unschedulable.delete(uid);
        ready(entry);
      }
    },
    has: (uid) => find(uid) !== undefined,
  };
}

function byTurn(a: QueuedPod, b: QueuedPod): number {
  return b.info.priority - a.info.priority || a.info.createdMs - b.info.createdMs || (a.info.uid < b.info.uid ? -1 : 1);
}

function backoffMs(attempts: number): number {
  return Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.max(0, attempts - 1));
}

function readyAt(entry: QueuedPod): number {
  return entry.triedAt + backoffMs(entry.attempts);
}
