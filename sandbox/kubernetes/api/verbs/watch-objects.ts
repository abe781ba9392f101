import type { ServerResponse } from 'node:http';
import type { ApiReply } from '../request/api-reply.ts';
import type { ApiRequest } from '../request/api-request.ts';
import { negotiate, type Presentation } from '../request/media-type.ts';
import type { ResourceRoute } from '../request/route.ts';
import type { Json, JsonObject } from '../json.ts';
import { objectText } from '../wire/object-text.ts';
import type { Resource } from '../registry/resources.ts';
import { type ApiState, apiVersionOf } from '../state.ts';
import { expired, invalid } from '../status-error.ts';
import type { Change, Stored } from '../store/store.ts';
import { partialMetadata } from '../tables/partial-metadata.ts';
import { renderTable } from '../tables/render-table.ts';
import { isTrue, parseRevision, type StoredMatcher, toStoredMatcher } from './list-query.ts';
import type { OpenWatches } from '../request/open-watches.ts';

/** No open watches yet. */
export function createOpenWatches(): OpenWatches {
  const open = new Set<{ readonly plural: string; readonly end: (expire: boolean) => void }>();
  return {
    drop(plural, expire) {
      const ended = [...open].filter((watch) => plural === '' || watch.plural === plural);
      for (const watch of ended) watch.end(expire);
      return ended.length;
    },
    count: () => open.size,
    add(plural, end) {
      const watch = { plural, end };
      open.add(watch);
      return () => {
        open.delete(watch);
      };
    },
  };
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Without traffic a bookmark goes out this often. Source: the API server's watch cache, about once a minute. */
const BOOKMARK_MS = 60_000;

/** The API server ends watches after 30 to 60 minutes when the client does not say. */
const DEFAULT_TIMEOUT_SECONDS = 1800;

/** A client that reads slower than this many bytes behind is cut off, as the API server cuts off slow watchers. */
const MAX_BACKLOG_BYTES = 256 * 1024 * 1024;

/** The last event made for watchers of plain objects: all of them want the same one after the other. */
let lastPlain: { readonly object: JsonObject; readonly key: string; readonly line: Buffer } | null = null;

/** The event as bytes; shared by all watchers who want plain objects. */
function plainLine(type: EventType, object: JsonObject, resource: Resource): Buffer {
  const key = `${type} ${resource.group}/${resource.version}`;
  if (lastPlain?.object === object && lastPlain.key === key) return lastPlain.line;
  const line = Buffer.from(`{"type":"${type}","object":${objectText(object, resource)}}\n`);
  lastPlain = { object, key, line };
  return line;
}

interface Watcher {
  readonly state: ApiState;
  readonly resource: Resource;
  readonly matches: StoredMatcher | null;
  readonly presentation: Presentation;
  readonly include: string;
  readonly response: ServerResponse;
  columnsSent: boolean;
}

function eventLine(watcher: Watcher, type: EventType, object: JsonObject): Buffer {
  const { presentation, resource, state, include } = watcher;
  if (presentation.as === 'object') return plainLine(type, object, resource);
  let shown: JsonObject;
  if (presentation.as === 'Table') {
    const withColumns = !watcher.columnsSent;
    watcher.columnsSent = true;
    shown = renderTable(state, resource, [object], { version: presentation.version, include, withColumns });
  } else shown = partialMetadata(object, presentation.version);
  return Buffer.from(`${JSON.stringify({ type, object: shown })}\n`);
}

function bookmarkLine({ resource, presentation }: Watcher, revision: number, isInitialEnd: boolean): string {
  const annotations: JsonObject = isInitialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
  const metadata: JsonObject = { resourceVersion: String(revision), ...annotations };
  const plain: JsonObject = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata };
  const partial: JsonObject = {
    kind: 'PartialObjectMetadata',
    apiVersion: `meta.k8s.io/${presentation.version}`,
    metadata,
  };
  const table: JsonObject = {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${presentation.version}`,
    metadata: { resourceVersion: String(revision) },
    columnDefinitions: null,
    rows: [{ cells: [], object: partial as Json }],
  };
  const object = presentation.as === 'object' ? plain : presentation.as === 'Table' ? table : partial;
  return `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
}

/** What a change is for a watcher who sees only matching objects: null when it sees neither side of it. */
function seenAs(matches: StoredMatcher | null, change: Change): EventType | null {
  if (matches === null) return change.type;
  const before = change.previous !== null && matches(change.previous);
  const after = change.type !== 'DELETED' && matches(change.current);
  if (after) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : null;
}

function sendChange(watcher: Watcher, change: Change): void {
  const type = seenAs(watcher.matches, change);
  if (type === null) return;
  watcher.response.write(eventLine(watcher, type, change.current.object));
}

function errorLine(wanted: number, oldest: number): string {
  const status = expired(`too old resource version: ${wanted} (${oldest})`).toStatus();
  return `${JSON.stringify({ type: 'ERROR', object: status })}\n`;
}

function checkInitialEvents(query: URLSearchParams): boolean {
  const text = query.get('sendInitialEvents');
  const forbid = (field: string, detail: string): never => {
    throw invalid({ name: 'ListOptions', group: 'meta.k8s.io' }, '', [
      { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` },
    ]);
  };
  const match = query.get('resourceVersionMatch') ?? '';
  if (text === null || text === '') {
    if (match !== '')
      forbid(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      );
    return false;
  }
  if (match !== 'NotOlderThan') {
    forbid('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
  return isTrue(query, 'sendInitialEvents');
}

/** Where a watch starts: the objects to send first, then the changes after a revision. */
interface Start {
  readonly initial: ReadonlyArray<Stored>;
  readonly changes: ReadonlyArray<Change> | null;
  readonly revision: number;
  readonly isList: boolean;
}

function startOf(state: ApiState, storage: string, query: URLSearchParams): Start {
  const wantsInitial = checkInitialEvents(query);
  const revision = parseRevision(query);
  const now = state.store.revision();
  const isGiven = query.has('sendInitialEvents');
  if (wantsInitial || (!isGiven && (revision === null || revision === 0))) {
    return { initial: state.store.list(storage).items, changes: [], revision: now, isList: wantsInitial };
  }
  if (revision === null || revision === 0) return { initial: [], changes: [], revision: now, isList: false };
  return { initial: [], changes: state.store.changesSince(storage, revision), revision, isList: false };
}

function timeoutMs(query: URLSearchParams): number {
  const seconds = Number(query.get('timeoutSeconds') ?? '0');
  return (Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_TIMEOUT_SECONDS) * 1000;
}

function follow(watcher: Watcher, query: URLSearchParams, watches: OpenWatches): void {
  const { state, response, resource } = watcher;
  const cleanups: Array<() => void> = [];
  let cancelBookmark = (): void => {};
  let isEnded = false;
  const end = (): void => {
    if (isEnded) return;
    isEnded = true;
    for (const cleanup of cleanups) cleanup();
    cancelBookmark();
    response.end();
  };
  cleanups.push(
    state.store.subscribe(resource.storage, (change) => {
      sendChange(watcher, change);
      if (response.writableLength > MAX_BACKLOG_BYTES) end();
    }),
    watches.add(resource.name, (expire) => {
      if (expire) response.write(errorLine(0, state.store.revision()));
      end();
    }),
  );
  const wantsBookmarks = isTrue(query, 'allowWatchBookmarks');
  const bookmarkLater = (): void => {
    cancelBookmark = state.clock.after(BOOKMARK_MS, () => {
      response.write(bookmarkLine(watcher, state.store.revision(), false));
      bookmarkLater();
    });
  };
  if (wantsBookmarks) bookmarkLater();
  cleanups.push(
    state.clock.after(timeoutMs(query), () => {
      if (wantsBookmarks) response.write(bookmarkLine(watcher, state.store.revision(), false));
      end();
    }),
  );
  response.on('close', end);
}

/** Answers a watch: initial events, the changes since, then live changes until its timeout. */
export function watchObjects(
  state: ApiState,
  route: ResourceRoute,
  request: ApiRequest,
  watches: OpenWatches,
): ApiReply {
  const { resource } = route;
  const { query } = request;
  const matches = toStoredMatcher(state, route, query);
  const presentation = negotiate(request.accept);
  parseRevision(query);
  checkInitialEvents(query);
  const include = query.get('includeObject') ?? 'Metadata';
  const stream = (response: ServerResponse): void => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' });
    const watcher: Watcher = { state, resource, matches, presentation, include, response, columnsSent: false };
    const start = startOf(state, resource.storage, query);
    if (start.changes === null) {
      response.end(errorLine(start.revision, state.store.revision()));
      return;
    }
    for (const stored of start.initial) {
      if (matches === null || matches(stored)) response.write(eventLine(watcher, 'ADDED', stored.object));
    }
    if (start.isList) response.write(bookmarkLine(watcher, start.revision, true));
    for (const change of start.changes) sendChange(watcher, change);
    response.flushHeaders();
    follow(watcher, query, watches);
  };
  return { stream };
}
