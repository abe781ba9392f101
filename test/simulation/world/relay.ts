import { createImage, type Image } from '../../../relay/publish/image.ts';
import type { Hint, Urgency } from '../../../relay/hint/hints.ts';
import { signalMessage } from '../../../relay/hint/signals.ts';
import { createMetrics } from '../../../relay/measure/metrics.ts';
import type { Moment, PodEventHint } from '../../../relay/watch/pod-events.ts';
import type { FedResource } from '../../../shared/contract/snapshot/builder.ts';
import type { Blobs } from '../../../shared/ports/blobs.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import type { ApiServer, Change } from './api-server.ts';
import type { Queues } from './queue.ts';
import type { Timeline } from './timeline.ts';

/** Resources of the simulated cluster that a snapshot is made of. */
const watched: ReadonlyArray<FedResource> = [
  'nodes',
  'nodepools',
  'nodeclaims',
  'aksnodeclasses',
  'daemonsets',
  'replicasets',
  'poddisruptionbudgets',
  'pods',
];

const LEAST_MS = 200;
const LAZY_MS = 1_500;
const HEARTBEAT_MS = 10_000;

interface RelayParts {
  readonly cluster: string;
  readonly timeline: Timeline;
  readonly rng: Rng;
  readonly server: ApiServer;
  readonly blobs: Blobs;
  readonly queues: Queues;
  /** By how much its clock is ahead of all others. */
  readonly aheadMs: number;
}

/**
 * A relay in virtual time: the real image, hints and urgencies, fed by watches that lag each by its own, and published
 * as the real publisher does, without its files and sockets. One object is one process: a dead one stays dead.
 */
export class SimulatedRelay {
  readonly #parts: RelayParts;
  readonly #term: number;
  readonly #image: Image;
  readonly #arrivals = new Map<string, number>();
  readonly #waiting = new Map<string, { readonly hint: Hint | PodEventHint; readonly dueMs: number }>();
  #sequence = 0;
  #stamps = 0;
  #urgent = false;
  #dirty = false;
  /** Since when something has changed that is not in what is being published, and that is not published yet. */
  #dirtySinceMs: number | null = null;
  #publishingSinceMs: number | null = null;
  /** Of the snapshots, the last that can be read. */
  #published = 0;
  #earliestMs = 0;
  #publishing = false;
  #started = false;
  #alive = true;
  #wakeAt = Number.POSITIVE_INFINITY;
  #stalledUntilMs = 0;

  constructor(parts: RelayParts, term: number) {
    this.#parts = parts;
    this.#term = term;
    const listener = {
      changed: (urgency: Urgency): void => {
        this.#dirty = true;
        this.#dirtySinceMs ??= parts.timeline.now();
        this.#urgent ||= urgency === 'urgent';
        this.#wake(urgency === 'urgent' ? 0 : LAZY_MS);
      },
      hint: (hint: Hint | PodEventHint): void => this.#hint(hint),
      beatIn: (delayMs: number): void => void parts.timeline.after(delayMs, () => this.#writeBeat()),
    };
    const moment = (): Moment => ({ nowMs: parts.timeline.now(), atMs: this.#clockMs() });
    this.#image = createImage({ cluster: parts.cluster, buffers: false }, createMetrics(), listener, moment);
    for (const resource of watched) this.#list(resource);
    parts.timeline.after(500 + parts.rng.below(2_000), () => {
      if (!this.#alive) return;
      this.#started = true;
      this.#urgent = true;
      this.#dirty = true;
      this.#dirtySinceMs ??= parts.timeline.now();
      for (const hint of this.#image.hintsOnStart()) this.#hint(hint);
      this.#wake(0);
      this.#beat();
    });
  }

  /** What it takes the time for. */
  #clockMs(): number {
    return this.#parts.timeline.now() + this.#parts.aheadMs;
  }

  kill(): void {
    this.#alive = false;
  }

  /** From now on it writes and sends nothing for so long, as a process that is paused. */
  stall(forMs: number): void {
    const { timeline } = this.#parts;
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, timeline.now() + forMs);
    timeline.after(forMs, () => this.#turn());
  }

  get #isStalled(): boolean {
    return this.#parts.timeline.now() < this.#stalledUntilMs;
  }

  /**
   * What it has seen by then is in what it has published, by the clock of the run; null where it has published nothing.
   */
  holdsMs(): number | null {
    if (this.#published === 0) return null;
    return this.#publishingSinceMs ?? this.#dirtySinceMs ?? this.#parts.timeline.now();
  }

  /** A watch's event, which arrives when it arrives; those of one resource in order. */
  observe({ resource, before, after }: Change): void {
    const found = watched.find((one) => one === resource);
    if (found === undefined || !this.#alive) return;
    const { timeline, rng } = this.#parts;
    const now = timeline.now();
    const at = Math.max(now + 1 + rng.below(300), this.#arrivals.get(resource) ?? 0);
    this.#arrivals.set(resource, at);
    timeline.after(at - now, () => {
      if (!this.#alive) return;
      const sink = this.#image.sinkOf(found);
      const version = (after ?? before)?.metadata.resourceVersion ?? '';
      sink.setResourceVersion(version);
      if (after === null) sink.remove(before);
      else sink.upsert(after);
    });
  }

  #list(resource: FedResource): void {
    const { server } = this.#parts;
    const sink = this.#image.sinkOf(resource);
    sink.beginListing();
    for (const object of server.list(resource)) sink.upsert(object);
    sink.finishListing();
    sink.setResourceVersion(server.revision);
  }

  #hint(hint: Hint | PodEventHint): void {
    if (!this.#started || !this.#alive) return;
    if (hint.kind === 'signal' && this.#isStalled) {
      const { timeline } = this.#parts;
      timeline.after(this.#stalledUntilMs - timeline.now(), () => this.#hint(hint));
      return;
    }
    const now = this.#parts.timeline.now();
    if (hint.kind === 'signal') {
      const body = signalMessage(this.#parts.cluster, hint.signal, this.#clockMs());
      this.#parts.queues.signals.send({ id: hint.signal.key, sessionId: null, body, atMs: null });
      return;
    }
    const key = keyOf(hint);
    const dueMs = now + hint.delayMs;
    const known = this.#waiting.get(key);
    if (known === undefined || dueMs < known.dueMs) this.#waiting.set(key, { hint, dueMs });
    else if (hint.kind === 'pod-event') this.#waiting.set(key, { hint, dueMs: known.dueMs });
    if (hint.kind === 'pods' && hint.delayMs === 0) this.#urgent ||= this.#dirty;
    this.#wake(hint.delayMs);
  }

  #wake(delayMs: number): void {
    const { timeline } = this.#parts;
    const at = Math.max(timeline.now() + delayMs, this.#earliestMs);
    if (at >= this.#wakeAt) return;
    this.#wakeAt = at;
    timeline.after(at - timeline.now(), () => {
      if (this.#wakeAt === at) this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#turn();
    });
  }

  #turn(): void {
    if (!this.#alive || !this.#started || this.#publishing || this.#isStalled) return;
    if (this.#dirty) {
      void this.#publish();
      return;
    }
    const { timeline, queues, cluster } = this.#parts;
    const now = timeline.now();
    this.#stamps += 1;
    for (const [key, { hint, dueMs }] of this.#waiting) {
      if (dueMs > now) {
        this.#wake(dueMs - now);
        continue;
      }
      this.#waiting.delete(key);
      const stamp = `${this.#term}-${this.#stamps}`;
      if (hint.kind === 'pods') {
        const snapshot = `${this.#term}-${this.#sequence}`;
        const body = { kind: 'pods', version: 1, cluster, snapshot, reason: hint.reason };
        queues.pods.send({ id: `relay-pods-${snapshot}`, sessionId: cluster, body, atMs: null });
      } else if (hint.kind === 'pod-event') {
        const object = { kind: 'NodeClaim', name: hint.claim } as const;
        const objects = [{ ...object, podEventMs: hint.atMs }];
        const body = { kind: 'objects', version: 1, cluster, objects, reason: 'pod-event' };
        queues.claims.send({ id: `${key}-${stamp}`, sessionId: null, body, atMs: null });
      } else if (hint.kind === 'object') {
        const { object, reason } = hint;
        const body = { kind: 'objects', version: 1, cluster, objects: [object], reason };
        queues.claims.send({ id: `${key}-${stamp}`, sessionId: null, body, atMs: null });
      }
    }
  }

  async #publish(): Promise<void> {
    const { timeline, rng, blobs, cluster } = this.#parts;
    this.#publishing = true;
    this.#dirty = false;
    this.#urgent = false;
    this.#sequence += 1;
    const version = `${this.#term}-${this.#sequence}`;
    const bytes = this.#image.encode({ version, takenAtMs: this.#clockMs(), source: 'relay' });
    const sequence = this.#sequence;
    this.#publishingSinceMs = this.#dirtySinceMs;
    this.#dirtySinceMs = null;
    await timeline.sleep(20 + rng.below(300));
    // A process that is paused while it writes may write late, after its successor: the real store refuses that.
    if (!this.#alive) return;
    await blobs.write(`${cluster}/latest`, bytes, 'any');
    this.#published = sequence;
    this.#publishingSinceMs = null;
    this.#publishing = false;
    this.#earliestMs = timeline.now() + LEAST_MS;
    if (this.#dirty) this.#wake(this.#urgent ? 0 : LAZY_MS);
    // Hints wait for the snapshot that holds what they speak of; those of before this one may go now.
    if (!this.#urgent) this.#sendHeld();
  }

  #sendHeld(): void {
    const wasDirty = this.#dirty;
    this.#dirty = false;
    this.#turn();
    this.#dirty = wasDirty;
  }

  #beat(): void {
    if (!this.#alive) return;
    this.#parts.timeline.after(HEARTBEAT_MS, () => this.#beat());
    this.#writeBeat();
  }

  #writeBeat(): void {
    if (!this.#alive || !this.#started || this.#isStalled) return;
    const { timeline, blobs, cluster, aheadMs } = this.#parts;
    const version = `${this.#term}-${this.#published}`;
    const atMs = this.#clockMs();
    const holdsAtMs = (this.holdsMs() ?? timeline.now()) + aheadMs;
    const text = JSON.stringify({ term: this.#term, version, atMs, holdsAtMs });
    void blobs.write(`${cluster}/heartbeat`, new TextEncoder().encode(text), 'any');
  }
}

/** Hints of one key are one hint, as the real publisher has it. */
function keyOf(hint: Exclude<Hint, { kind: 'signal' }> | PodEventHint): string {
  if (hint.kind === 'pods') return 'pods';
  return hint.kind === 'pod-event' ? `pod-event/${hint.claim}` : `${hint.object.kind}/${hint.object.name}`;
}
