import { createBackoff, pause } from '../process/backoff.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { readListPage } from './list-page.ts';
import { reasonOf, type Log } from '../process/log.ts';
import type { WatchedResource } from './resources.ts';
import { readWatch, WatchExpired } from './watch.ts';

/** Receives what a feed sees. Objects are raw; nothing of them may be assumed. */
export interface FeedSink {
  readonly beginListing: () => void;
  readonly upsert: (raw: unknown) => void;
  /** Everything has been named since `beginListing`; what was not is gone. */
  readonly finishListing: () => void;
  readonly remove: (raw: unknown) => void;
  readonly setResourceVersion: (resourceVersion: string) => void;
}

/**
 * `starting`: never listed. `live`: listed, and the watch is open. `broken`: listed once, but changes are being missed
 * now. `absent`: the custom resource is not installed, which is as good as having none.
 */
export type FeedState = 'starting' | 'live' | 'broken' | 'absent';

/** One resource, kept up to date for as long as the feed runs. */
export interface Feed {
  readonly resource: string;
  readonly state: () => FeedState;
  /** Why it is not live; null when it is. */
  readonly problem: () => string | null;
  /** Settles when the feed has stopped. */
  readonly done: Promise<void>;
}

/** What feeds count, for metrics. */
export interface FeedCounters {
  readonly listed: (resource: string) => void;
  readonly watched: (resource: string) => void;
  readonly failed: (resource: string) => void;
  readonly malformed: (resource: string) => void;
}

interface FeedOptions {
  readonly client: KubeClient;
  readonly resource: WatchedResource;
  readonly sink: FeedSink;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly counters: FeedCounters;
  /** Called after the state has changed. */
  readonly onState: () => void;
  readonly timing: FeedTiming;
}

/** Times of a feed, in milliseconds. */
export interface FeedTiming {
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
  /** How often to look for a custom resource that is not installed. */
  readonly absentRetryMs: number;
  /** Silence after which a watch is opened again. Bookmarks come about once a minute. */
  readonly watchIdleMs: number;
  /** How long a watch that takes the place of one that ended may take to open, before the feed counts as broken. */
  readonly openMs: number;
}

export const feedTiming: FeedTiming = {
  firstRetryMs: 200,
  longestRetryMs: 30_000,
  absentRetryMs: 10_000,
  watchIdleMs: 150_000,
  openMs: 5_000,
};

/** Objects per page of a list. More would not be faster, and the API server holds a page in memory as a whole. */
const PAGE_SIZE = 500;

/** Pages of one list: 500,000 objects. A longer list is a server that repeats its continue token. */
const MOST_PAGES = 1_000;

/**
 * Longest that the API server keeps a watch open, in seconds; it then ends it in good order and we go on from there.
 */
const WATCH_SECONDS = 540;

/**
 * A watch that ends sooner, in good order or not, is not opened again at once: else a server in trouble is hammered.
 */
const SHORTEST_WATCH_MS = 1_000;

/** How often a list must find a custom resource not installed before what we know of its objects is forgotten. */
const ABSENCES_TO_FORGET = 3;

/** The API server answered with a status that is not success. */
class Refused extends Error {
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(what: string, status: number, retryAfterMs: number | null) {
    super(`${what}: answered ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Starts a feed: lists, then watches from there; lists again only when the server has forgotten our place. */
export function startFeed(options: FeedOptions): Feed {
  const { resource, signal, timing, log } = options;
  const name = resource.resource;
  const retry = createBackoff(timing.firstRetryMs, timing.longestRetryMs);
  let state: FeedState = 'starting';
  let problem: string | null = 'not listed yet';
  /** Where to watch from; null when a list is needed. */
  let position: string | null = null;
  let absences = 0;

  function enter(next: FeedState, why: string | null): void {
    const changed = next !== state;
    state = next;
    problem = why;
    if (changed) options.onState();
  }

  async function step(): Promise<number> {
    try {
      if (position === null) {
        position = await list(options);
        absences = 0;
        enter('broken', 'its watch is not open yet');
      }
      const openedAtMs = performance.now();
      position = await watchFrom(position);
      if (performance.now() - openedAtMs < SHORTEST_WATCH_MS) return retry.next(null);
      retry.reset();
      return 0;
    } catch (error) {
      if (signal.aborted) return 0;
      return recover(error);
    }
  }

  /** It is live from the moment that the server has opened the watch: an API server that queues it sends no change. */
  async function watchFrom(from: string): Promise<string> {
    const late = setTimeout(() => {
      if (state === 'live') enter('broken', 'its watch does not open');
    }, timing.openMs);
    const onOpen = (): void => {
      clearTimeout(late);
      enter('live', null);
    };
    try {
      return await watch(options, from, { onOpen, onEvent: () => retry.reset() });
    } finally {
      clearTimeout(late);
    }
  }

  async function recover(error: unknown): Promise<number> {
    options.counters.failed(name);
    if (error instanceof WatchExpired) {
      position = error.lastSeen;
      if (error.isGone) position = null;
      enter('broken', error.message);
      return retry.next(error.retryAfterMs);
    }
    if (error instanceof Refused && error.status === 404 && resource.isCustom) {
      position = null;
      if (await isInstalled(options)) return retry.next(null);
      absences += 1;
      if (state === 'starting' || state === 'absent' || absences >= ABSENCES_TO_FORGET) {
        options.sink.beginListing();
        options.sink.finishListing();
        enter('absent', 'not installed');
        return timing.absentRetryMs;
      }
      return retry.next(null);
    }
    const why = reasonOf(error);
    if (why !== problem) log.warn('feed failed', { resource: name, reason: why });
    enter(state === 'starting' ? 'starting' : 'broken', why);
    return retry.next(error instanceof Refused ? error.retryAfterMs : null);
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const delayMs = await step();
      if (delayMs > 0) await pause(delayMs, signal);
    }
  }

  return { resource: name, state: () => state, problem: () => problem, done: run() };
}

function pathOf(resource: WatchedResource, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(parameters).toString();
  return `${resource.group}/${resource.resource}?${query}`;
}

/** Lists all pages. Returns the resource version of the whole. */
async function list({ client, resource, sink, signal, counters, timing }: FeedOptions): Promise<string> {
  let continueToken = '';
  let resourceVersion = '';
  sink.beginListing();
  for (let page = 0; page < MOST_PAGES; page++) {
    const path = pathOf(resource, {
      limit: String(PAGE_SIZE),
      ...(continueToken === '' ? {} : { continue: continueToken }),
    });
    const answer = await client.open(path, signal, timing.watchIdleMs);
    if (answer.status !== 200) {
      await drain(answer.chunks);
      throw new Refused(`list ${resource.resource}`, answer.status, answer.retryAfterMs);
    }
    const read = await readListPage(answer.chunks, sink.upsert);
    for (let count = 0; count < read.malformed; count++) counters.malformed(resource.resource);
    ({ continueToken, resourceVersion } = read);
    if (continueToken === '') break;
  }
  if (continueToken !== '') throw new Error(`list ${resource.resource}: more than ${MOST_PAGES} pages`);
  counters.listed(resource.resource);
  sink.setResourceVersion(resourceVersion);
  sink.finishListing();
  return resourceVersion;
}

/** Watches until the server ends the watch in good order. Returns where to go on. */
async function watch(
  options: FeedOptions,
  from: string,
  { onOpen, onEvent }: { readonly onOpen: () => void; readonly onEvent: () => void },
): Promise<string> {
  const { client, resource, sink, signal, counters, timing } = options;
  const path = pathOf(resource, {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(WATCH_SECONDS),
  });
  const answer = await client.open(path, signal, timing.watchIdleMs);
  if (answer.status === 410) throw new WatchExpired(from, true, null, 'the server has forgotten our place');
  if (answer.status !== 200) {
    await drain(answer.chunks);
    throw new Refused(`watch ${resource.resource}`, answer.status, answer.retryAfterMs);
  }
  onOpen();
  return readWatch(answer.chunks, from, {
    upsert: sink.upsert,
    remove: sink.remove,
    seen(resourceVersion) {
      sink.setResourceVersion(resourceVersion);
      counters.watched(resource.resource);
      onEvent();
    },
    malformed: () => counters.malformed(resource.resource),
  });
}

/** Reads an answer to its end, so that its connection can serve again. */
async function drain(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of chunks);
}

/**
 * Asks the API's own table of contents. A server that is just starting may answer 404 for a custom resource that is
 * installed; to take that for "there are none" would be to lose all of them. One that does not answer says nothing.
 */
async function isInstalled({ client, resource }: FeedOptions): Promise<boolean> {
  const answer = await client.request('GET', resource.group).catch(() => null);
  if (answer === null) return true;
  const { status, body } = answer;
  if (status === 404) return false;
  if (status !== 200) return true;
  const resources: unknown = typeof body === 'object' && body !== null && 'resources' in body ? body.resources : [];
  return (
    !Array.isArray(resources) ||
    resources.some(
      (one: unknown) => typeof one === 'object' && one !== null && 'name' in one && one.name === resource.resource,
    )
  );
}
