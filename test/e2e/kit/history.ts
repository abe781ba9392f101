import type { KubernetesObject } from '../../../sandbox/kubernetes/client/objects.ts';
import { type Watched, watchObjects } from '../../../sandbox/kubernetes/client/watch-objects.ts';
import type { World } from './world.ts';

/** One version of an object, and when a watch told of it. */
export interface Version<T> {
  /** Milliseconds since the epoch, by the test's own clock. */
  readonly atMs: number;
  readonly object: T;
}

/** All versions of a collection's objects since it was opened, for questions about what was true in between. */
export interface History<T> {
  /** In the order they came. */
  readonly versions: ReadonlyArray<Version<T>>;
  /** When objects went, by name. */
  readonly gone: ReadonlyMap<string, number>;
  /** The resource version of each deletion, by name. One store counts for all kinds, whichever watch tells first. */
  readonly goneAs: ReadonlyMap<string, number>;
  /** The versions of one object. */
  of(name: string): ReadonlyArray<Version<T>>;
  /**
   * The first version of `name` (null: of any object) at or after `sinceMs` that `holds` accepts; null when there is
   * none.
   */
  first(name: string | null, holds: (object: T) => boolean, sinceMs?: number): Version<T> | null;
  close(): void;
}

interface Named {
  readonly metadata: { readonly name: string };
}

/** Watches a collection; resolves once what is there has been read. */
export async function recordHistory<T extends Named>(world: World, path: string): Promise<History<T>> {
  const versions: Array<Version<T>> = [];
  const gone = new Map<string, number>();
  const goneAs = new Map<string, number>();
  const watched: Watched<KubernetesObject & T> = watchObjects<KubernetesObject & T>({
    connection: world.api,
    path,
    query: '',
    onChange: (object) => void versions.push({ atMs: Date.now(), object }),
    onDelete: ({ metadata }) => {
      gone.set(metadata.name, Date.now());
      goneAs.set(metadata.name, Number(metadata.resourceVersion));
    },
  });
  await watched.synced;
  const of = (name: string): ReadonlyArray<Version<T>> =>
    versions.filter(({ object }) => object.metadata.name === name);
  return {
    versions,
    gone,
    goneAs,
    of,
    first: (name, holds, sinceMs = 0) =>
      (name === null ? versions : of(name)).find(({ atMs, object }) => atMs >= sinceMs && holds(object)) ?? null,
    close: () => watched.close(),
  };
}
