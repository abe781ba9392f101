import {
  createSnapshotBuilder,
  keyOf,
  type FedResource,
  type SnapshotBuilder,
  type SnapshotChange,
} from '../../shared/contract/snapshot/builder.ts';
import type { SnapshotHeader } from '../../shared/contract/snapshot/encode.ts';
import { isDisrupted } from '../../shared/kubernetes/disrupted-taint.ts';
import { QUIET_MS } from '../../shared/kubernetes/marks.ts';
import { createClusterIndex, type ClusterIndex } from '../watch/cluster-index.ts';
import type { FeedSink } from '../watch/feed.ts';
import { hintsOf, hintsOnStart, urgencyOf, type Hint, type Urgency } from '../hint/hints.ts';
import type { Metrics } from '../measure/metrics.ts';
import { createPodEvents, systemMoment, type Moment, type PodEventHint } from '../watch/pod-events.ts';

/** The cluster as the relay has seen it, fed by feeds. */
export interface Image {
  readonly sinkOf: (resource: FedResource) => FeedSink;
  readonly encode: (header: SnapshotHeader) => Uint8Array;
  readonly hintsOnStart: () => ReadonlyArray<Hint>;
  readonly gauges: Readonly<Record<string, () => number>>;
  readonly objects: SnapshotBuilder['objects'];
  readonly eachPod: SnapshotBuilder['eachPod'];
  readonly waiting: ClusterIndex['waiting'];
  /** Has `observer` told of every change from now on. */
  readonly observe: (observer: (change: SnapshotChange) => void) => void;
}

/** Who is told what an event changed. */
interface ImageListener {
  readonly changed: (urgency: Urgency) => void;
  readonly hint: (hint: Hint | PodEventHint) => void;
  /** In so long a heartbeat is wanted: somebody waits to hear that nothing has happened until then. */
  readonly beatIn: (delayMs: number) => void;
}

/**
 * Makes an image that has seen nothing yet. `buffers`: it has CapacityBuffers. `moment` is the clock, for simulations.
 */
export function createImage(
  { cluster, buffers }: { readonly cluster: string; readonly buffers: boolean },
  metrics: Metrics,
  listener: ImageListener,
  moment: () => Moment = systemMoment,
): Image {
  const builder = createSnapshotBuilder(cluster, { buffers });
  const index = createClusterIndex(builder);
  const podEvents = createPodEvents(index.view);
  const observers: Array<(change: SnapshotChange) => void> = [];

  function take(change: SnapshotChange, resource: string): void {
    if (change.kind === 'malformed') metrics.add('malformed_total', { resource });
    if (change.kind === 'same' || change.kind === 'malformed') return;
    const at = moment();
    index.apply(change, at.atMs);
    for (const observer of observers) observer(change);
    listener.changed(urgencyOf(change));
    for (const hint of hintsOf(change, index.view)) listener.hint(hint);
    const podEvent = podEvents.hintOf(change, at);
    if (podEvent !== null) listener.hint(podEvent);
    if (isMarking(change)) listener.beatIn(QUIET_MS);
  }

  return {
    sinkOf: (resource) => ({
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
    }),
    encode: (header) => builder.encode(header),
    hintsOnStart: () => hintsOnStart((resource) => builder.objects(resource), index.view),
    objects: (resource) => builder.objects(resource),
    eachPod: (visit) => builder.eachPod(visit),
    waiting: index.waiting,
    observe: (observer) => void observers.push(observer),
    gauges: {
      pods: () => builder.count('pods'),
      pod_shapes: () => builder.shapeCount(),
      waiting_pods: () => index.waiting.size(),
      nodes: () => builder.count('nodes'),
    },
  };
}

/** Does the change close a node before its removal? Whoever removes it waits until nobody has come for a while. */
function isMarking(change: SnapshotChange): boolean {
  if (change.kind !== 'object' || change.resource !== 'nodes') return false;
  return isDisrupted(change.after) && !isDisrupted(change.before);
}
