import { relayLease } from '../shared/contract/names.ts';
import { createBlobClient, type BlobClient, type StorageSettings } from './azure/blob-client.ts';
import { feedTiming, startFeed, type Feed, type FeedTiming } from './watch/feed.ts';
import { DISRUPTION_BLOB, parseDisruptionFigures } from '../shared/contract/figures/disruption-figures.ts';
import { FIGURES_BLOB, parseFigures } from '../shared/contract/figures/plan-figures.ts';
import { renderDisruption } from './measure/disruption-metrics.ts';
import { createFiguresReader, SCRAPE_WAIT_MS, type ReadOutcome } from './measure/figures-reader.ts';
import { servePages, type PageAnswer } from './process/http-server.ts';
import { createImage, type Image } from './publish/image.ts';
import { createDurationMetrics } from './measure/duration-metrics.ts';
import { createInterruptionMetrics } from './measure/interruption-metrics.ts';
import { createKarpenterMetrics } from './measure/karpenter-metrics.ts';
import { createKubeClient, type KubeClient } from './kube/kube-client.ts';
import type { KubeConnection } from './kube/kube-config.ts';
import { Election, leaseTiming, type LeaseTiming } from './kube/lease.ts';
import { reasonOf, type Log } from './process/log.ts';
import { createMetrics, type Metrics } from './measure/metrics.ts';
import { createOutbox, type Outbox } from './publish/outbox.ts';
import { Publisher, publishTiming, type PublishTiming } from './publish/publisher.ts';
import { openQueueSender, type QueueSender, type ServiceBusSettings } from './azure/queue-sender.ts';
import { watchedResources } from './watch/resources.ts';
import { createSchedulerMetrics } from './measure/scheduler-metrics.ts';
import { openSnapshotStore } from './publish/snapshot-store.ts';
import { createNodeMetrics } from './measure/node-metrics.ts';

/** Everything a relay needs to know to start. */
export interface RelayConfig {
  /** The id of the cluster, as hints and snapshots carry it. */
  readonly cluster: string;
  /** CapacityBuffers, and what they refer to, are watched too. */
  readonly buffers: boolean;
  /** `<pod>_<id>`, different for every process. */
  readonly identity: string;
  /** The pod this runs in; null: not known. */
  readonly pod: string | null;
  /** The namespace of the Lease. */
  readonly namespace: string;
  readonly kubernetes: KubeConnection;
  readonly serviceBus: ServiceBusSettings;
  readonly storage: StorageSettings;
  /** Address to serve metrics and health on. */
  readonly host: string;
  /** 0 lets the system choose, here and below. */
  readonly metricsPort: number;
  readonly healthPort: number;
  readonly log: Log;
  readonly timing: RelayTiming;
}

/** All times of a relay. Tests shorten them. */
export interface RelayTiming {
  readonly feed: FeedTiming;
  readonly lease: LeaseTiming;
  readonly publish: PublishTiming;
}

export const relayTiming: RelayTiming = { feed: feedTiming, lease: leaseTiming, publish: publishTiming };

/** A relay that runs. */
export interface Relay {
  readonly metricsPort: number;
  readonly healthPort: number;
  /** What `/readyz` would say: null when all resources are seen, else what is not. */
  readonly notReady: () => string | null;
  /** True while this relay is the one that publishes. */
  readonly isLeading: () => boolean;
  /** Stops: no more reads, hints that wait get a moment to leave, the lease is let go. Safe to call twice. */
  readonly stop: () => Promise<void>;
}

/** How long hints that wait get to leave when the relay stops. Kubernetes grants 30 s by default. */
const LAST_SEND_MS = 3_000;

/**
 * Starts a relay. Rejects when a port is taken or a setting is refused; everything else is retried for as long as it
 * runs.
 */
export async function startRelay(config: RelayConfig): Promise<Relay> {
  const { cluster, buffers, log, timing } = config;
  const metrics = createMetrics();
  const client = createKubeClient(config.kubernetes, 'nodewright-relay');
  const blobs = createBlobClient(config.storage);
  const sender = openQueueSender(config.serviceBus);
  const outbox = openOutbox(config, sender, metrics);
  const stopping = new AbortController();
  let feeds: Feeds | null = null;
  let election: Election | null = null;
  const image = createImage({ cluster, buffers }, metrics, {
    changed: (urgency) => publisher.changed(urgency),
    hint: (hint) => publisher.hint(hint),
    beatIn: (delayMs) => publisher.beatIn(delayMs),
  });
  const publisher = new Publisher({
    encode: image.encode,
    store: openSnapshotStore(blobs, cluster),
    outbox,
    timing: timing.publish,
    log,
    term: () => election?.term() ?? null,
    isComplete: () => feeds !== null && feeds.notReady() === null,
    hintsOnStart: image.hintsOnStart,
    onSuperseded: async (term) => election?.raiseAbove(term),
    onPublished: (outcome) => metrics.add('publishes_total', { outcome }),
    onBeat: (outcome) => metrics.add('heartbeats_total', { outcome }),
  });
  addGauges(metrics, {
    ...image.gauges,
    leading: () => (isLeading() ? 1 : 0),
    pending_hints: () => outbox.size(),
  });
  const isLeading = (): boolean => election !== null && election.term() !== null;
  const notReady = (): string | null => (feeds === null ? 'starting' : feeds.notReady());
  const karpenter = showKarpenter(image, publisher, () => notReady() === null);
  const scheduling = showScheduling(config, { blobs, image, publisher, metrics });
  const showMetrics = async (): Promise<string> => metrics.render() + karpenter.render() + (await scheduling());
  const texts = { metrics: showMetrics, notReady, absent: () => feeds?.absent() ?? '' };
  const servers = await serve(config, texts);
  const reconsider = (): void => publisher.reconsider();
  feeds = startFeeds({
    buffers,
    client,
    image,
    signal: stopping.signal,
    log,
    metrics,
    onState: reconsider,
    timing: timing.feed,
  });
  const { namespace, identity, pod } = config;
  election = new Election({
    client,
    namespace,
    name: relayLease,
    identity,
    pod,
    timing: timing.lease,
    log,
    onChange: reconsider,
  });
  const { metricsPort, healthPort } = servers;
  log.info('relay started', { cluster, identity, metricsPort, healthPort });

  async function stop(): Promise<void> {
    stopping.abort();
    await feeds?.done;
    await publisher.stop();
    await outbox.settled(LAST_SEND_MS);
    outbox.stop();
    await election?.stop();
    await sender.close().catch((error: unknown) => log.warn('queue not closed', { reason: reasonOf(error) }));
    client.close();
    blobs.close();
    await servers.close();
    log.info('relay stopped');
  }

  let stopped: Promise<void> | null = null;
  return { metricsPort, healthPort, notReady, isLeading, stop: () => (stopped ??= stop()) };
}

/** All feeds as one. */
interface Feeds {
  /** What is not listed and watched, with the reason, a line each; null when nothing is missing. */
  readonly notReady: () => string | null;
  /** The custom resources that are not installed. */
  readonly absent: () => string;
  readonly done: Promise<unknown>;
}

interface FeedsOptions {
  readonly buffers: boolean;
  readonly client: KubeClient;
  readonly image: Image;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly onState: () => void;
  readonly timing: FeedTiming;
}

function startFeeds({ buffers, image, metrics, ...options }: FeedsOptions): Feeds {
  const count = (name: string) => (resource: string) => metrics.add(name, { resource });
  const counters = {
    listed: count('lists_total'),
    watched: count('watch_events_total'),
    failed: count('feed_failures_total'),
    malformed: count('malformed_total'),
  };
  const feeds = watchedResources({ buffers }).map((resource) => {
    return startFeed({ ...options, resource, sink: image.sinkOf(resource.resource), counters });
  });
  const missing = (): ReadonlyArray<Feed> =>
    feeds.filter((feed) => feed.state() !== 'live' && feed.state() !== 'absent');
  metrics.gauge('resources_missing', 'Resources that are not listed and watched now.', () => missing().length);
  return {
    notReady() {
      const lines = missing().map((feed) => `${feed.resource}: ${feed.problem() ?? feed.state()}`);
      return lines.length === 0 ? null : lines.join('\n');
    },
    absent() {
      const names = feeds.filter((feed) => feed.state() === 'absent').map(({ resource }) => resource);
      return names.join(', ');
    },
    done: Promise.all(feeds.map(({ done }) => done)),
  };
}

function openOutbox({ cluster, log }: RelayConfig, sender: QueueSender, metrics: Metrics): Outbox {
  return createOutbox({
    cluster,
    sender,
    log,
    onSent: (queue, count) => metrics.add('hints_sent_total', { queue }, count),
    onFailed: (queue) => metrics.add('hint_failures_total', { queue }),
  });
}

function showKarpenter(image: Image, publisher: Publisher, isSynced: () => boolean): { readonly render: () => string } {
  const isPublishing = (): boolean => publisher.isPublishing();
  const karpenter = createKarpenterMetrics({ objects: image.objects, isPublishing, isSynced, now: Date.now });
  const durations = createDurationMetrics({ isPublishing, now: Date.now });
  image.observe(karpenter.observe);
  const interruptions = createInterruptionMetrics({ isPublishing, now: Date.now });
  image.observe(durations.observe);
  image.observe(interruptions.observe);
  const nodes = createNodeMetrics({
    objects: image.objects,
    eachPod: image.eachPod,
    podCount: () => image.gauges['pods']?.() ?? 0,
    isPublishing,
    now: Date.now,
  });
  return { render: () => karpenter.render() + nodes.render() + durations.render() + interruptions.render() };
}

interface SchedulingParts {
  readonly blobs: BlobClient;
  readonly image: Image;
  readonly publisher: Publisher;
  readonly metrics: Metrics;
}

/** Reads the figures of plans when somebody scrapes, and only then. */
function showScheduling({ cluster }: RelayConfig, parts: SchedulingParts): () => Promise<string> {
  const { blobs, image, publisher, metrics } = parts;
  const reading = {
    onRead: (outcome: ReadOutcome) => metrics.add('figure_reads_total', { outcome }),
    longestMs: SCRAPE_WAIT_MS,
  };
  const reader = createFiguresReader(blobs, cluster, { ...reading, blob: FIGURES_BLOB, parse: parseFigures });
  const looks = createFiguresReader(blobs, cluster, {
    ...reading,
    blob: DISRUPTION_BLOB,
    parse: parseDisruptionFigures,
  });
  const scheduling = createSchedulerMetrics({
    waiting: image.waiting,
    figures: reader.known,
    publishingSinceMs: () => publisher.publishingSinceMs(),
    now: Date.now,
  });
  return async () => {
    if (!publisher.isPublishing()) return scheduling.render();
    await Promise.all([reader.refresh(), looks.refresh()]);
    return scheduling.render() + renderDisruption(looks.known(), Date.now());
  };
}

/** What the relay has to say when it is asked. */
interface Texts {
  readonly metrics: () => Promise<string>;
  readonly notReady: () => string | null;
  readonly absent: () => string;
}

interface Servers {
  readonly metricsPort: number;
  readonly healthPort: number;
  readonly close: () => Promise<void>;
}

async function serve(
  { host, metricsPort, healthPort }: RelayConfig,
  { metrics, notReady, absent }: Texts,
): Promise<Servers> {
  const forMetrics = await servePages(host, metricsPort, {
    '/metrics': async () => ({ status: 200, contentType: 'text/plain; version=0.0.4', body: await metrics() }),
  });
  const ready = (): PageAnswer => {
    const why = notReady();
    if (why !== null) return plain(503, why);
    return plain(200, absent() === '' ? 'ok' : `ok; not installed: ${absent()}`);
  };
  try {
    const forHealth = await servePages(host, healthPort, { '/healthz': () => plain(200, 'ok'), '/readyz': ready });
    return {
      metricsPort: forMetrics.port,
      healthPort: forHealth.port,
      close: async () => void (await Promise.all([forMetrics.close(), forHealth.close()])),
    };
  } catch (error) {
    await forMetrics.close();
    throw error;
  }
}

function plain(status: number, body: string): PageAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${body}\n` };
}

function addGauges(metrics: Metrics, gauges: Readonly<Record<string, () => number>>): void {
  for (const [name, read] of Object.entries(gauges)) metrics.gauge(name, `Now: ${name.replaceAll('_', ' ')}.`, read);
}
