import { annotation, label } from '../../../shared/contract/names.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import { conditionStatus, type ApiServer, type Change, type Fields, type Stored } from '../world/api-server.ts';
import type { Timeline } from '../world/timeline.ts';

const MINUTE_MS = 60_000;

/** Longer than a node may take to join. */
const JOINED_MS = 16 * 60_000;

/**
 * A look may have read what it decides by so long before: calls stall for half a minute, several in a row, while
 * anything goes wrong.
 */
const READ_BEFORE_MS = { inTrouble: 2 * MINUTE_MS, atRest: 15_000 };

/** How long after it is ready a node of a bad image stops being so. */
const BREAKS_AFTER_MS = 20_000;

interface ReleaseParts {
  readonly timeline: Timeline;
  readonly server: ApiServer;
  readonly rng: Rng;
  readonly note: (text: string) => void;
  readonly setReady: (node: string, status: 'True' | 'Unknown') => void;
  /** Tells who watches the images of the class. */
  readonly tell: (name: string) => void;
}

/**
 * Node images that Azure publishes, of which some are bad, and the law of canaries: one node goes first, and is
 * watched.
 */
export class Releases {
  readonly bakeMs: number;
  #image = 'image';
  #isBad = false;
  #readBeforeMs = READ_BEFORE_MS.inTrouble;
  #publishedMs = Number.POSITIVE_INFINITY;
  readonly #parts: ReleaseParts;
  /** By claim of the newest image, when its node was initialized. */
  readonly #initializedMs = new Map<string, number>();
  readonly #haltedMs = new Map<string, number>();
  /** By pool, how many nodes have gone for the newest image. */
  readonly #gone = new Map<string, number>();
  /** By pool, until when a new node that had baked was there, where it is not any more. */
  readonly #bakedUntilMs = new Map<string, number>();
  #isOver = false;

  constructor(parts: ReleaseParts) {
    this.#parts = parts;
    this.bakeMs = (3 + parts.rng.below(4)) * MINUTE_MS;
    parts.server.watch((change) => this.#changed(change));
  }

  get image(): string {
    return this.#image;
  }

  /**
   * An image comes within the trouble in two seeds of five, and is bad in a third of those. Most pools try it by a
   * canary.
   */
  draw(): void {
    const { rng, timeline, server } = this.#parts;
    if (!rng.chance(40)) return;
    for (const { metadata } of server.list('nodepools')) {
      if (rng.chance(75)) this.#annotate(metadata.name, { [annotation.bakeTime]: `${this.bakeMs / MINUTE_MS}m` });
    }
    const isBad = rng.chance(33);
    timeline.after((2 + rng.below(6)) * MINUTE_MS, () => this.#publish('image-2', isBad));
  }

  /** What was drawn is published no more. */
  cease(): void {
    this.#isOver = true;
  }

  /** A bad image is followed by a good one, its nodes are well again, and somebody lets all go on. */
  mend(): void {
    const { server, setReady, timeline } = this.#parts;
    const goOn = (): void => {
      for (const { metadata } of server.list('nodepools')) {
        this.#annotate(metadata.name, { [annotation.rolloutHalted]: null });
      }
    };
    goOn();
    timeline.after(READ_BEFORE_MS.inTrouble, () => {
      this.#readBeforeMs = READ_BEFORE_MS.atRest;
      // Who had read by then how the bad ones did may have halted it anew.
      goOn();
    });
    // A machine of before that never becomes a node is given up by then, and may have halted one.
    timeline.after(JOINED_MS, goOn);
    if (!this.#isBad) return;
    const bad = this.#image;
    this.#publish('image-3', false);
    for (const claim of server.list('nodeclaims')) {
      if (claim.status?.['imageID'] === bad) setReady(`aks-${claim.metadata.name}`, 'True');
    }
  }

  /** Those of the claims that are of an older image. */
  behind(claims: ReadonlyArray<Stored>): ReadonlyArray<string> {
    return claims
      .filter(({ status }) => status?.['imageID'] !== undefined && status['imageID'] !== this.#image)
      .map(({ metadata }) => `claim ${metadata.name} has an old image`);
  }

  /** What is wrong with deleting a claim for the newest image; null where nothing is, or it goes for something else. */
  mistake(claim: Stored): string | null {
    if (conditionOf(claim, 'DisruptionReason')?.['reason'] !== 'Drifted') return null;
    if (conditionOf(claim, 'Drifted')?.['reason'] !== 'ImageDrift') return null;
    const name = claim.metadata.labels?.[label.nodePool] ?? '';
    const pool = this.#parts.server.get('nodepools', name);
    if (pool === null || !hasBakeTime(pool)) return null;
    // Nothing comes in place of an empty one: it says nothing about the image, and costs nobody anything.
    if (!this.#isUsed(claim) && pool.spec?.['replicas'] === undefined) return null;
    const haltedMs = this.#haltedMs.get(name) ?? Number.POSITIVE_INFINITY;
    if (this.#parts.timeline.now() - haltedMs > this.#readBeforeMs) return 'its rollout is halted';
    return this.#bakeMistake(claim, name);
  }

  /** The first may go, and the others once a new node has baked; or when there is none any more, for a new canary. */
  #bakeMistake(claim: Stored, pool: string): string | null {
    const now = this.#parts.timeline.now();
    const before = this.#gone.get(pool) ?? 0;
    this.#gone.set(pool, before + 1);
    const fresh = [...this.#initializedMs].filter(([one]) => this.#isLiving(one, pool));
    if (before === 0 || fresh.some(([, sinceMs]) => now - sinceMs >= this.bakeMs - 1_000)) return null;
    const own = (claim.metadata.annotations?.[annotation.replacedBy] ?? '').split(',');
    const markedMs = Date.parse(String(conditionOf(claim, 'DisruptionReason')?.['lastTransitionTime']));
    if (markedMs <= (this.#bakedUntilMs.get(pool) ?? Number.NEGATIVE_INFINITY) + this.#readBeforeMs) return null;
    const others = fresh.filter(
      ([one, sinceMs]) => !own.includes(one) && markedMs - sinceMs > this.#readBeforeMs && this.#isKnownNew(one, claim),
    );
    return others.length === 0 ? null : `it is the ${before + 1}. of its pool, and the first new node still bakes`;
  }

  /**
   * Was it made for drift, or since the other was found to have drifted? Of any other an image that differs may be one
   * of another architecture.
   */
  #isKnownNew(name: string, drifted: Stored): boolean {
    const { creationTimestamp = '', annotations } = this.#parts.server.get('nodeclaims', name)?.metadata ?? {};
    const foundMs = Date.parse(String(conditionOf(drifted, 'Drifted')?.['lastTransitionTime']));
    return annotations?.[annotation.createdFor] === 'Drifted' || Date.parse(creationTimestamp) >= foundMs;
  }

  #isUsed({ metadata }: Stored): boolean {
    return this.#parts.server.list('pods').some(({ spec }) => spec?.['nodeName'] === `aks-${metadata.name}`);
  }

  #isLiving(claim: string, pool: string): boolean {
    const metadata = this.#parts.server.get('nodeclaims', claim)?.metadata;
    return metadata?.deletionTimestamp === undefined && metadata?.labels?.[label.nodePool] === pool;
  }

  #publish(image: string, isBad: boolean): void {
    const { note, tell, timeline } = this.#parts;
    if (this.#isOver) return;
    note(`azure: publishes ${isBad ? 'the bad ' : ''}${image}`);
    this.#image = image;
    this.#isBad = isBad;
    this.#publishedMs = timeline.now();
    this.#initializedMs.clear();
    this.#gone.clear();
    this.#bakedUntilMs.clear();
    tell(image);
  }

  #annotate(pool: string, annotations: Readonly<Record<string, string | null>>): void {
    this.#parts.server.patch('nodepools', pool, { metadata: { annotations } }, 'object');
  }

  #changed({ resource, before, after }: Change): void {
    if (resource === 'nodepools' && after !== null) this.#noteHalt(after);
    if (resource !== 'nodeclaims') return;
    if (before !== null && before.metadata.deletionTimestamp === undefined) this.#left(before, after);
    if (after !== null) this.#noteNew(before, after);
  }

  #noteHalt({ metadata: { name, annotations } }: Stored): void {
    if (annotations?.[annotation.rolloutHalted] === undefined) this.#haltedMs.delete(name);
    else if (!this.#haltedMs.has(name)) this.#haltedMs.set(name, this.#parts.timeline.now());
  }

  /** A claim of the newest image may have been initialized. */
  #noteNew(before: Stored | null, after: Stored): void {
    if (after.status?.['imageID'] !== this.#image) return;
    if (!isInitialized(after) || (before !== null && isInitialized(before))) return;
    const { name } = after.metadata;
    if (this.#publishedMs > this.#parts.timeline.now()) return;
    this.#initializedMs.set(name, this.#parts.timeline.now());
    if (this.#isBad) {
      this.#parts.timeline.after(BREAKS_AFTER_MS, () => this.#isBad && this.#parts.setReady(`aks-${name}`, 'Unknown'));
    }
  }

  /** A claim that lived may do so no more: who was begun while a new node had baked goes, though that one has gone. */
  #left({ metadata: { name, labels } }: Stored, after: Stored | null): void {
    if (after !== null && after.metadata.deletionTimestamp === undefined) return;
    const now = this.#parts.timeline.now();
    const sinceMs = this.#initializedMs.get(name) ?? Number.POSITIVE_INFINITY;
    if (now - sinceMs >= this.bakeMs - 1_000) this.#bakedUntilMs.set(labels?.[label.nodePool] ?? '', now);
  }
}

function hasBakeTime({ metadata }: Stored): boolean {
  return metadata.annotations?.[annotation.bakeTime] !== undefined;
}

function isInitialized({ status }: Stored): boolean {
  return conditionStatus(status, 'Initialized') === 'True';
}

function conditionOf({ status }: Stored, type: string): Fields | undefined {
  const conditions: ReadonlyArray<Fields> = status?.['conditions'] ?? [];
  return conditions.find((one) => one['type'] === type && one['status'] === 'True');
}
