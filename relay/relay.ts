import { relayLease } from '../shared/contract/names.ts';
import {
  createSnapshotBuilder,
  keyOf,
  type SnapshotChange,
  type SnapshotResource,
} from '../shared/contract/snapshot/builder.ts';
import { createBlobClient, type StorageSettings } from './blob-client.ts';
import { createClusterIndex } from './cluster-index.ts';
import { feedTiming, startFeed, type Feed, type FeedSink, type FeedTiming } from './feed.ts';
import { hintsOf, hintsOnStart, urgencyOf } from './hints.ts';
import { servePages, type PageAnswer } from './http-server.ts';
import { leaseTiming, startElection, type Election, type LeaseTiming } from './lease.ts';
import { createKubeClient } from './kube-client.ts';
import type { KubeConnection } from './kube-config.ts';
import type { Log } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { readNodeEvent } from './node-event.ts';
import { createOutbox } from './outbox.ts';
import { Publisher, publishTiming, type PublishTiming } from './publisher.ts';
import { openQueueSender, type ServiceBusSettings } from './queue-sender.ts';
import { watchedResources } from './resources.ts';
import { openSnapshotStore } from './snapshot-store.ts';

/** Everything a relay needs to know to start. */
export interface RelayConfig {
  /** The id of the cluster, as hints and snapshots carry it. */
  readonly cluster: string;
  /** `<pod>_<id>`, different for every process. */
  readonly identity: string;
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
const lastSendMs = 3_000;

/** Starts a relay. Rejects when a port is taken or a setting is refused; everything else is retried for as long as it runs. */
export async function startRelay(config: RelayConfig): Promise<Relay> {
  const { cluster, log, timing } = config;
  const metrics = createMetrics();
  const client = createKubeClient(config.kubernetes, 'nodewright-relay');
  const builder = createSnapshotBuilder(cluster);
  const index = createClusterIndex(builder);
  const blobs = createBlobClient(config.storage);
  const store = openSnapshotStore(blobs, cluster);
  const sender = openQueueSender(config.serviceBus);
  const outbox = createOutbox({
    cluster,
    sender,
    log,
    onSent: (queue, count) => metrics.add('hints_sent_total', { queue }, count),
    onFailed: (queue) => metrics.add('hint_failures_total', { queue }),
  });
  const feeds: Array<Feed> = [];
  const stopping = new AbortController();
  let election: Election | null = null;

  const missing = (): ReadonlyArray<Feed> =>
    feeds.filter((feed) => feed.state() !== 'live' && feed.state() !== 'absent');
  const publisher = new Publisher({
    encode: (header) => builder.encode(header),
    store,
    outbox,
    timing: timing.publish,
    log,
    term: () => election?.term() ?? null,
    isComplete: () => feeds.length === watchedResources.length && missing().length === 0,
    hintsOnStart: () =>
      hintsOnStart(
        {
          nodes: builder.objects('nodes'),
          claims: builder.objects('nodeclaims'),
          pools: builder.objects('nodepools'),
          classes: builder.objects('aksnodeclasses'),
        },
        index.view,
      ),
    onSuperseded: async (term) => election?.raiseAbove(term),
    onPublished: (outcome) => metrics.add('publishes_total', { outcome }),
    onBeat: (outcome) => metrics.add('heartbeats_total', { outcome }),
  });

  function take(change: SnapshotChange, resource: string): void {
    if (change.kind === 'malformed') metrics.add('malformed_total', { resource });
    if (change.kind === 'same' || change.kind === 'malformed') return;
    index.apply(change);
    publisher.changed(urgencyOf(change));
    for (const hint of hintsOf(change, index.view)) publisher.hint(hint);
  }

  function sinkOf(resource: SnapshotResource): FeedSink {
    return {
      beginListing: () => builder.beginListing(resource),
      upsert: (raw) => take(builder.upsert(resource, raw), resource),
      finishListing() {
        for (const change of builder.finishListing(resource)) take(change, resource);
      },
      remove(raw) {
        const key = keyOf(raw);
        take(key === null ? { kind: 'malformed' } : builder.remove(resource, key), resource);
      },
      setResourceVersion: (resourceVersion) => builder.setResourceVersion(resource, resourceVersion),
    };
  }

  const eventSink: FeedSink = {
    beginListing() {},
    upsert(raw) {
      const signal = readNodeEvent(raw, Date.now(), (name) => builder.object('nodes', name)?.spec?.providerID ?? null);
      if (signal !== null) publisher.hint({ kind: 'signal', signal });
    },
    finishListing() {},
    remove() {},
    setResourceVersion() {},
  };

  for (const resource of watchedResources) {
    feeds.push(
      startFeed({
        client,
        resource,
        sink: resource.resource === 'events' ? eventSink : sinkOf(resource.resource),
        signal: stopping.signal,
        log,
        counters: countersOf(metrics),
        onState: () => publisher.reconsider(),
        timing: timing.feed,
      }),
    );
  }

  addGauges(metrics, {
    leading: () => (election?.term() === undefined || election.term() === null ? 0 : 1),
    pods: () => builder.count('pods'),
    pod_shapes: () => builder.shapeCount(),
    waiting_pods: () => index.waitingPods(),
    nodes: () => builder.count('nodes'),
    pending_hints: () => outbox.size(),
    resources_missing: () => missing().length,
  });
  const notReady = (): string | null => {
    const lines = missing().map((feed) => `${feed.resource}: ${feed.problem() ?? feed.state()}`);
    return lines.length === 0 ? null : lines.join('\n');
  };
  const absent = (): string =>
    feeds
      .filter((feed) => feed.state() === 'absent')
      .map((feed) => feed.resource)
      .join(', ');
  const metricsServer = await servePages(config.host, config.metricsPort, {
    '/metrics': () => ({ status: 200, contentType: 'text/plain; version=0.0.4', body: metrics.render() }),
  });
  const healthServer = await servePages(config.host, config.healthPort, {
    '/healthz': () => plain(200, 'ok'),
    '/readyz': () =>
      plain(notReady() === null ? 200 : 503, notReady() ?? (absent() === '' ? 'ok' : `ok; not installed: ${absent()}`)),
  });
  election = startElection({
    client,
    namespace: config.namespace,
    name: relayLease,
    identity: config.identity,
    timing: timing.lease,
    log,
    onChange: () => publisher.reconsider(),
  });
  log.info('relay started', {
    cluster,
    identity: config.identity,
    metricsPort: metricsServer.port,
    healthPort: healthServer.port,
  });

  async function stop(): Promise<void> {
    stopping.abort();
    await Promise.all(feeds.map((feed) => feed.done));
    await publisher.stop();
    await outbox.settled(lastSendMs);
    outbox.stop();
    await election?.stop();
    await sender.close().catch(() => {});
    client.close();
    blobs.close();
    await Promise.all([metricsServer.close(), healthServer.close()]);
    log.info('relay stopped');
  }

  let stopped: Promise<void> | null = null;
  return {
    metricsPort: metricsServer.port,
    healthPort: healthServer.port,
    notReady,
    isLeading: () => election?.term() !== null,
    stop: () => (stopped ??= stop()),
  };
}

function plain(status: number, body: string): PageAnswer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${body}\n` };
}

function countersOf(metrics: Metrics) {
  return {
    listed: (resource: string) => metrics.add('lists_total', { resource }),
    watched: (resource: string) => metrics.add('watch_events_total', { resource }),
    failed: (resource: string) => metrics.add('feed_failures_total', { resource }),
    malformed: (resource: string) => metrics.add('malformed_total', { resource }),
  };
}

function addGauges(metrics: Metrics, gauges: Readonly<Record<string, () => number>>): void {
  for (const [name, read] of Object.entries(gauges)) metrics.gauge(name, `Now: ${name.replaceAll('_', ' ')}.`, read);
}
