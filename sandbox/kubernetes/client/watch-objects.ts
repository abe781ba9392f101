import type { IncomingMessage } from 'node:http';
import { ApiError, type Connection } from './connection.ts';
import { keyOf, type KubernetesObject } from './objects.ts';

/** Objects per page of a list: the page size that kubectl uses. */
const PAGE_SIZE = 500;
/** The server ends a watch after this long, so that a connection that died unseen is noticed. */
const WATCH_TIMEOUT_SECONDS = 290;
/** Waits between attempts while the API server is away; it restarts within seconds in a sandbox. */
const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 2_000;

/** What is watched, and who is told. */
export interface WatchOptions<T extends KubernetesObject> {
  readonly connection: Connection;
  /** Collection path without a query, for example `/api/v1/pods`. */
  readonly path: string;
  /** Further query, for example `fieldSelector=spec.nodeName%3Dn1`; empty for none. */
  readonly query: string;
  /** Called for each change, also for what a relist finds; `previous` is null for a new object. */
  readonly onChange: (object: T, previous: T | null) => void;
  readonly onDelete: (object: T) => void;
}

/** A live, complete copy of a collection. */
export interface Watched<T extends KubernetesObject> {
  /** By `keyOf`. */
  readonly objects: ReadonlyMap<string, T>;
  /** Resolves once the first list has been told. */
  readonly synced: Promise<void>;
  readonly close: () => void;
}

interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: ReadonlyArray<KubernetesObject> | null;
}

/**
 * Keeps a copy of a collection by list and watch, until closed: through API server restarts, expired resource versions
 * (410: lists again and tells the difference) and dropped connections. Never rejects; waits while the server is away.
 */
export function watchObjects<T extends KubernetesObject>(options: WatchOptions<T>): Watched<T> {
  const objects = new Map<string, T>();
  const synced = Promise.withResolvers<void>();
  const state: { closed: boolean; stream: IncomingMessage | null; wake: () => void } = {
    closed: false,
    stream: null,
    wake: () => undefined,
  };
  const tell = (object: T): void => {
    const key = keyOf(object);
    const previous = objects.get(key) ?? null;
    if (previous?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    objects.set(key, object);
    options.onChange(object, previous);
  };
  const forget = (object: T): void => {
    objects.delete(keyOf(object));
    options.onDelete(object);
  };
  /** Tells what the collection holds and what it holds no more; answers the version to follow from. */
  const list = async (): Promise<string> => {
    const { version, items } = await listAll<T>(options);
    const seen = new Set<string>();
    for (const object of items) {
      seen.add(keyOf(object));
      tell(object);
    }
    for (const object of objects.values()) if (!seen.has(keyOf(object))) forget(object);
    return version;
  };
  /** Follows events from `version`; answers the version to go on from, or empty when a new list is needed. */
  const follow = async (version: string): Promise<string> => {
    const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${WATCH_TIMEOUT_SECONDS}&resourceVersion=${version}`;
    const stream = await options.connection.stream(`${options.path}?${query}${options.query && `&${options.query}`}`);
    if (state.closed) {
      stream.destroy();
      return '';
    }
    state.stream = stream;
    let latest = version;
    for await (const event of readEvents<T>(stream)) {
      if (event.type === 'ERROR') return '';
      latest = event.object.metadata.resourceVersion;
      if (event.type === 'DELETED') forget(event.object);
      else if (event.type !== 'BOOKMARK') tell(withoutManagedFields(event.object));
    }
    return latest;
  };
  const run = async (): Promise<void> => {
    let version = '';
    let waitMs = FIRST_RETRY_MS;
    while (!state.closed) {
      try {
        if (version === '') version = await list();
        synced.resolve();
        version = await follow(version);
        waitMs = FIRST_RETRY_MS;
      } catch (error) {
        // The server answered: what it holds has moved on, or it holds no such version. Otherwise it is away.
        if (error instanceof ApiError) version = '';
        if (state.closed) return;
        await pause(waitMs, state);
        waitMs = Math.min(waitMs * 2, LAST_RETRY_MS);
      }
    }
  };
  void run();
  return {
    objects,
    synced: synced.promise,
    close: () => {
      state.closed = true;
      state.stream?.destroy();
      state.wake();
    },
  };
}

async function listAll<T extends KubernetesObject>({
  connection,
  path,
  query,
}: WatchOptions<T>): Promise<{ readonly version: string; readonly items: ReadonlyArray<T> }> {
  const items: Array<T> = [];
  let token = '';
  for (;;) {
    const page = await connection.get<Page>(`${path}?${listQuery(query, token)}`);
    for (const item of page.items ?? []) items.push(withoutManagedFields(item as T));
    token = page.metadata.continue ?? '';
    if (token === '') return { version: page.metadata.resourceVersion, items };
  }
}

function listQuery(query: string, token: string): string {
  const page = token === '' ? `limit=${PAGE_SIZE}` : `limit=${PAGE_SIZE}&continue=${encodeURIComponent(token)}`;
  return query === '' ? page : `${query}&${page}`;
}

interface WatchEvent<T> {
  readonly type: string;
  readonly object: T;
}

async function* readEvents<T>(stream: IncomingMessage): AsyncGenerator<WatchEvent<T>> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent<T>;
  }
}

/** Half of a pod's bytes are managed fields, which nobody here reads. */
function withoutManagedFields<T extends KubernetesObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { readonly managedFields?: unknown };
  return { ...object, metadata };
}

function pause(waitMs: number, state: { wake: () => void }): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, waitMs);
    timer.unref();
    state.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}
