import type { Clock } from '../../base/clock.ts';
import type { Connection } from '../client/connection.ts';
import { controllerOf, keyOf, type KubernetesObject, type Node, type Pod } from '../client/objects.ts';
import type { EventRecorder } from '../client/record-event.ts';
import { watchObjects, type Watched } from '../client/watch-objects.ts';
import { openReconcileLoop, type ReconcileLoop } from './reconcile-loop.ts';

/** Who hears of changes to a watched kind. */
export interface Listener<T extends KubernetesObject> {
  readonly onChange: (object: T, previous: T | null) => void;
  readonly onDelete: (object: T) => void;
}

/** A watched collection that several controllers listen to. */
export interface Shared<T extends KubernetesObject> {
  readonly objects: ReadonlyMap<string, T>;
  listen(listener: Listener<T>): void;
}

/** What every controller is given. */
export interface ControllerContext {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly pods: Shared<Pod>;
  readonly nodes: Shared<Node>;
  /** Pods by the uid of their controller. */
  readonly podsOf: (ownerUid: string) => ReadonlyArray<Pod>;
  /** Bound pods by node name. */
  readonly podsOn: (nodeName: string) => ReadonlyArray<Pod>;
  /** Opens a watch of a further kind, closed with the rest. */
  watch<T extends KubernetesObject>(path: string): Shared<T>;
  /** Opens a reconcile loop, closed with the rest. */
  loop(name: string, reconcile: (key: string) => Promise<void>): ReconcileLoop;
  /** Calls `task` every `periodMs` until closed; a call that is still running is not doubled. */
  every(periodMs: number, task: () => Promise<void>): void;
  /** Begins the loops once every watch has shown what there is. */
  start(): Promise<void>;
  close(): void;
}

/** Where the context takes its parts from. */
export interface ContextOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly log: (line: string) => void;
}

/** Opens the watches that all controllers share. */
export function openControllerContext({ connection, clock, events, log }: ContextOptions): ControllerContext {
  const closers: Array<() => void> = [];
  const watches: Array<Promise<void>> = [];
  const starters: Array<() => void> = [];
  const shared = <T extends KubernetesObject>(path: string): Shared<T> => {
    const listeners: Array<Listener<T>> = [];
    const watched: Watched<T> = watchObjects<T>({
      connection,
      path,
      query: '',
      onChange: (object, previous) => {
        for (const { onChange } of listeners) onChange(object, previous);
      },
      onDelete: (object) => {
        for (const { onDelete } of listeners) onDelete(object);
      },
    });
    closers.push(watched.close);
    watches.push(watched.synced);
    return { objects: watched.objects, listen: (listener) => listeners.push(listener) };
  };
  const pods = shared<Pod>('/api/v1/pods');
  const byOwner = openIndex<Pod>(pods, (pod) => controllerOf(pod)?.uid ?? '');
  const byNode = openIndex<Pod>(pods, (pod) => pod.spec.nodeName ?? '');
  return {
    connection,
    clock,
    events,
    pods,
    nodes: shared<Node>('/api/v1/nodes'),
    podsOf: (ownerUid) => (ownerUid === '' ? [] : byOwner(ownerUid)),
    podsOn: (nodeName) => byNode(nodeName),
    watch: shared,
    loop: (name, reconcile) => {
      const loop = openReconcileLoop(clock, reconcile, (key, error) => {
        log(`${name}: ${key}: ${String(error)}`);
      });
      closers.push(loop.close);
      starters.push(loop.start);
      return loop;
    },
    every: (periodMs, task) => {
      let closed = false;
      let cancel = (): void => undefined;
      const turn = async (): Promise<void> => {
        try {
          await task();
        } catch (error) {
          log(`periodic: ${String(error)}`);
        }
        if (!closed) cancel = clock.after(periodMs, () => void turn());
      };
      starters.push(() => {
        cancel = clock.after(periodMs, () => void turn());
      });
      closers.push(() => {
        closed = true;
        cancel();
      });
    },
    start: async () => {
      await Promise.all(watches);
      for (const start of starters) start();
    },
    close: () => {
      for (const close of closers) close();
    },
  };
}

/** Keeps the objects of a collection by a further key; the empty key is not kept. */
function openIndex<T extends KubernetesObject>(
  shared: Shared<T>,
  indexKey: (object: T) => string,
): (key: string) => ReadonlyArray<T> {
  const index = new Map<string, Map<string, T>>();
  const drop = (object: T): void => {
    const key = indexKey(object);
    const found = index.get(key);
    found?.delete(keyOf(object));
    if (found?.size === 0) index.delete(key);
  };
  shared.listen({
    onChange: (object, previous) => {
      if (previous !== null) drop(previous);
      const key = indexKey(object);
      if (key === '') return;
      const found = index.get(key) ?? new Map<string, T>();
      found.set(keyOf(object), object);
      index.set(key, found);
    },
    onDelete: drop,
  });
  return (key) => [...(index.get(key)?.values() ?? [])];
}

/** What an error says, in the words of the API server where it is its answer. */
export function rejectionOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Deep equality of two values as the API would write them: absent fields and order of keys do not matter. */
export function isSameJson(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

/** JSON with sorted keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

const HASH_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** A short name for a value, the same on every machine: FNV-1a in the letters the API uses for generated names. */
export function shortHash(value: unknown): string {
  let hash = 0x811c9dc5;
  for (const unit of canonicalJson(value)) hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return Array.from(String(hash), (digit) => HASH_ALPHABET[Number(digit)]).join('');
}
