import type { Clock } from '../../base/clock.ts';
import type { PodInfo } from './cluster-state.ts';
import { newHeap } from './heap.ts';

/**
 * Back-off after the first failed attempt, doubled by each further one: the default configuration's one to ten seconds.
 */
const FIRST_BACKOFF_MS = 1_000;
const LAST_BACKOFF_MS = 10_000;
/** Pods that nothing has woken for so long are tried all the same. */
const FLUSH_AFTER_MS = 300_000;
/**
 * kube-scheduler tries a pod that backs off as soon as it has nothing else to do. Here it shares the process, so that
 * with more of them than this their time must have come.
 */
const FEW = 100;

/** A pod that waits for a node. */
export interface QueuedPod {
  info: PodInfo;
  /** Failed attempts so far. */
  attempts: number;
  /** When the last attempt failed. */
  triedAt: number;
  /** True when the last attempt failed for pods elsewhere, so that any pod's coming or going may change the answer. */
  topological: boolean;
  /** What to tell about the last attempt, empty before the first. */
  message: string;
  /** What the last attempt makes of its nomination, to be told: a node, empty to take it away, null to leave it. */
  nominated: string | null;
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
  /** When the next pod that backs off may be tried, if none can be now; null when none waits for its time. */
  nextAt(): number | null;
  /** Puts back a pod that no node could take. */
  putUnschedulable(entry: QueuedPod): void;
  /** Puts back a pod whose binding failed; it backs off. */
  putBack(entry: QueuedPod): void;
  /** Tries again those unschedulable pods that `mayFitNow` names, asked once for pods that are alike. */
  wake(mayFitNow: (entry: QueuedPod) => boolean): void;
  /** Tries again the pods whose answer depends on pods elsewhere. */
  wakeTopological(): void;
  /** Tries again what has waited for five minutes. */
  flush(): void;
  find(uid: string): QueuedPod | undefined;
}

/** Opens an empty queue. */
export function openSchedulingQueue(clock: Clock): SchedulingQueue {
  const active = new Map<string, QueuedPod>();
  const backingOff = openBackOff(clock);
  const unschedulable = openShelf();
  // The heap also holds entries that have moved on: those are skipped when their turn comes.
  const turns = newHeap<QueuedPod>(byTurn);
  const remove = (uid: string): void => {
    active.delete(uid);
    backingOff.remove(uid);
    unschedulable.remove(uid);
  };
  const activate = (entry: QueuedPod): void => {
    active.set(entry.info.uid, entry);
    turns.push(entry);
  };
  const find = (uid: string): QueuedPod | undefined =>
    active.get(uid) ?? backingOff.find(uid) ?? unschedulable.find(uid);
  const ready = (entry: QueuedPod): void => {
    if (entry.attempts > 0 && clock.now() < readyAt(entry)) backingOff.put(entry);
    else activate(entry);
  };
  const wakeAll = (entries: ReadonlyArray<QueuedPod>): void => {
    for (const entry of entries) {
      unschedulable.remove(entry.info.uid);
      ready(entry);
    }
  };
  return {
    add: (info) => {
      const entry = find(info.uid) ?? newEntry(info);
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
      return backingOff.pop();
    },
    nextAt: backingOff.nextAt,
    putUnschedulable: unschedulable.put,
    putBack: backingOff.put,
    wake: (mayFitNow) => {
      wakeAll(
        unschedulable
          .alike()
          .flatMap(([first, ...rest]) => (first !== undefined && mayFitNow(first) ? [first, ...rest] : [])),
      );
    },
    wakeTopological: () => {
      wakeAll(unschedulable.topological());
    },
    flush: () => {
      const old = clock.now() - FLUSH_AFTER_MS;
      wakeAll(
        unschedulable
          .alike()
          .flat()
          .filter(({ triedAt }) => triedAt <= old),
      );
    },
    find,
  };
}

/** A pod that waits and has not been tried. */
function newEntry(info: PodInfo): QueuedPod {
  return { info, attempts: 0, triedAt: 0, topological: false, message: '', nominated: null };
}

interface BackOff {
  readonly put: (entry: QueuedPod) => void;
  readonly nextAt: () => number | null;
  remove(uid: string): void;
  find(uid: string): QueuedPod | undefined;
  pop(): QueuedPod | null;
}

/** Where pods wait that have failed a short while ago, by the time when they may try again. */
function openBackOff(clock: Clock): BackOff {
  const entries = new Map<string, QueuedPod>();
  const waits = newHeap<QueuedPod>((a, b) => readyAt(a) - readyAt(b));
  const peek = (): QueuedPod | null => {
    for (let next = waits.pop(); next !== undefined; next = waits.pop()) {
      if (entries.get(next.info.uid) !== next) continue;
      waits.push(next);
      return next;
    }
    return null;
  };
  return {
    put: (entry) => {
      entries.set(entry.info.uid, entry);
      waits.push(entry);
    },
    nextAt: () => {
      const next = peek();
      return next === null ? null : readyAt(next);
    },
    remove: (uid) => {
      entries.delete(uid);
    },
    find: (uid) => entries.get(uid),
    pop: () => {
      const next = peek();
      if (next === null || (entries.size > FEW && readyAt(next) > clock.now())) return null;
      entries.delete(next.info.uid);
      return next;
    },
  };
}

interface Shelf {
  readonly put: (entry: QueuedPod) => void;
  remove(uid: string): void;
  find(uid: string): QueuedPod | undefined;
  /** Groups of pods that ask for the same. */
  alike(): ReadonlyArray<ReadonlyArray<QueuedPod>>;
  topological(): ReadonlyArray<QueuedPod>;
}

/** Where unschedulable pods lie, by what they ask for: thousands of them are often a handful of kinds. */
function openShelf(): Shelf {
  const shapes = new Map<string, Map<string, QueuedPod>>();
  const shapeOf = new Map<string, string>();
  const topological = new Map<string, QueuedPod>();
  const remove = (uid: string): void => {
    const shape = shapeOf.get(uid) ?? '';
    const own = shapes.get(shape);
    own?.delete(uid);
    if (own?.size === 0) shapes.delete(shape);
    shapeOf.delete(uid);
    topological.delete(uid);
  };
  return {
    put: (entry) => {
      const { uid, shape } = entry.info;
      remove(uid);
      const own = shapes.get(shape) ?? new Map<string, QueuedPod>();
      own.set(uid, entry);
      shapes.set(shape, own);
      shapeOf.set(uid, shape);
      if (entry.topological) topological.set(uid, entry);
    },
    remove,
    find: (uid) => shapes.get(shapeOf.get(uid) ?? '')?.get(uid),
    alike: () => [...shapes.values()].map((own) => [...own.values()]),
    topological: () => [...topological.values()],
  };
}

function byTurn(a: QueuedPod, b: QueuedPod): number {
  return b.info.priority - a.info.priority || a.info.createdMs - b.info.createdMs || (a.info.uid < b.info.uid ? -1 : 1);
}

function readyAt({ attempts, triedAt }: QueuedPod): number {
  return triedAt + Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.max(0, attempts - 1));
}
