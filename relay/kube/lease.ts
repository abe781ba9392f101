import { pause } from '../process/backoff.ts';
import type { KubeClient } from './kube-client.ts';
import { reasonOf, type Log } from '../process/log.ts';

/** Times of leader election, in milliseconds. The defaults are the field's: client-go's 15 s, 10 s, 2 s. */
export interface LeaseTiming {
  /** How long a lease that is not renewed still keeps others out. */
  readonly durationMs: number;
  /** How long the holder continues without a renewal. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

export const leaseTiming: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/** What an election works with. */
export interface ElectionOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  /** The pod this runs in, which begins the identity of each of its processes; null: not known. */
  readonly pod: string | null;
  readonly timing: LeaseTiming;
  readonly log: Log;
  /** Called when the term we lead in begins or ends. */
  readonly onChange: () => void;
}

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

interface Lease {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly spec: LeaseSpec;
}

/** A time with microseconds, as the spec of a Lease wants it. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

/**
 * One replica's part in the election of the relay that publishes. It takes part from when it is made until it is
 * stopped.
 */
export class Election {
  readonly #options: ElectionOptions;
  readonly #collection: string;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #leading: { readonly term: number; readonly renewedAtMs: number } | null = null;
  /** What was last seen of another's lease and when, by our own clock: clocks of machines differ. */
  #observed = { text: '', atMs: 0 };
  #known: Lease | null = null;
  #isFirstLook = true;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#collection = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
    this.#running = this.#run();
  }

  /** The term in which we lead, or null. Null too when our last renewal is too long ago to be sure. */
  term(): number | null {
    return this.#leading === null || this.#isOverdue() ? null : this.#leading.term;
  }

  /**
   * Moves to a term above `term`, while we lead: for when what was published is of a later term than the lease says.
   */
  async raiseAbove(term: number): Promise<void> {
    await this.#turn;
    const lease = await this.#read();
    if (this.#leading === null || lease?.spec.holderIdentity !== this.#options.identity) return;
    if ((lease.spec.leaseTransitions ?? 0) > term) return;
    const renewedAtMs = performance.now();
    const raised = await this.#write({ ...lease.spec, leaseTransitions: term + 1 }, lease);
    if (raised) this.#lead({ term: term + 1, renewedAtMs });
  }

  /** Stops, and lets go of the lease so that the next need not wait for it to run out. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    if (this.#leading === null) return;
    this.#lead(null);
    try {
      await this.#release();
    } catch (error) {
      this.#options.log.warn('lease not released', { reason: reasonOf(error) });
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      this.#turn = this.#tryOnce();
      await this.#turn;
      // Jitter keeps replicas that started together from meeting at every attempt.
      await pause(this.#options.timing.retryMs * (1 + Math.random() / 5), this.#stopping.signal);
    }
  }

  async #tryOnce(): Promise<void> {
    try {
      await this.#attempt();
    } catch (error) {
      this.#known = null;
      this.#options.log.warn('lease not renewed', { reason: reasonOf(error) });
    }
  }

  async #attempt(): Promise<void> {
    const startedAtMs = performance.now();
    this.#endOverdue();
    const lease = this.#known ?? (await this.#read());
    if (lease !== null && !this.#mayTake(lease, startedAtMs)) {
      this.#isFirstLook = false;
      this.#known = null;
      this.#lead(null);
      return;
    }
    const spec = this.#claimOf(lease);
    // Renewed counts from before the request: the answer may have been long on its way.
    // A look whose read or write fails is made again.
    const isWritten = await this.#write(spec, lease);
    this.#isFirstLook = false;
    if (isWritten && !this.#endOverdue()) this.#lead({ term: spec.leaseTransitions, renewedAtMs: startedAtMs });
  }

  /**
   * Ends our term where its last renewal is too long ago, and returns whether it was. Who has asked since was told that
   * the term is over, and has ended what is done in it; so the next attempt takes the next term, though the lease is
   * still ours.
   */
  #endOverdue(): boolean {
    const isOverdue = this.#isOverdue();
    if (isOverdue) this.#lead(null);
    return isOverdue;
  }

  #mayTake({ spec }: Lease, nowMs: number): boolean {
    const holder = spec.holderIdentity ?? '';
    if (holder === '' || holder === this.#options.identity || this.#isFromBefore(holder)) return true;
    const text = JSON.stringify(spec);
    if (text !== this.#observed.text) this.#observed = { text, atMs: nowMs };
    return nowMs - this.#observed.atMs > (spec.leaseDurationSeconds ?? 0) * 1_000;
  }

  /**
   * Is it a process that ran in this pod before? The kubelet starts a container again once it has ended, so nobody
   * holds that lease, and nothing would be forwarded until it runs out. Only as we start: two that are called alike by
   * mistake would take it from each other for ever.
   */
  #isFromBefore(holder: string): boolean {
    const { pod } = this.#options;
    return this.#isFirstLook && pod !== null && holder.startsWith(`${pod}_`);
  }

  /** The lease as we want it: renewed in our term, or taken in the next. */
  #claimOf(lease: Lease | null): LeaseSpec & { readonly leaseTransitions: number } {
    const { identity, timing } = this.#options;
    const isRenewal = this.#leading !== null && lease?.spec.holderIdentity === identity;
    const time = microTime(Date.now());
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(timing.durationMs / 1_000)),
      acquireTime: (isRenewal ? lease.spec.acquireTime : undefined) ?? time,
      renewTime: time,
      leaseTransitions: (lease?.spec.leaseTransitions ?? 0) + (isRenewal ? 0 : 1),
    };
  }

  #lead(next: { readonly term: number; readonly renewedAtMs: number } | null): void {
    const { log, identity, onChange } = this.#options;
    const changed = this.#leading?.term !== next?.term;
    this.#leading = next;
    if (!changed) return;
    log.info(next === null ? 'no longer leading' : 'leading', { term: next?.term ?? null, identity });
    onChange();
  }

  #isOverdue(): boolean {
    const { renewDeadlineMs } = this.#options.timing;
    return this.#leading !== null && performance.now() - this.#leading.renewedAtMs > renewDeadlineMs;
  }

  async #read(): Promise<Lease | null> {
    const { status, body } = await this.#options.client.request('GET', `${this.#collection}/${this.#options.name}`);
    if (status === 404) return null;
    if (status !== 200 || !isLease(body)) throw new Error(`lease: answered ${status}`);
    return body;
  }

  /** Writes over what was read; false when another has written since. */
  async #write(spec: LeaseSpec, over: Lease | null): Promise<boolean> {
    const { client, name, namespace } = this.#options;
    const resourceVersion = over?.metadata.resourceVersion;
    const metadata = { name, namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    const answer =
      over === null
        ? await client.request('POST', this.#collection, lease)
        : await client.request('PUT', `${this.#collection}/${name}`, lease);
    if (answer.status === 409) {
      this.#known = null;
      return false;
    }
    if (answer.status >= 300 || !isLease(answer.body)) throw new Error(`lease: answered ${answer.status}`);
    this.#known = answer.body;
    return true;
  }

  async #release(): Promise<void> {
    const lease = await this.#read();
    if (lease?.spec.holderIdentity !== this.#options.identity) return;
    const renewTime = microTime(Date.now());
    await this.#write({ ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime }, lease);
  }
}

function isLease(value: unknown): value is Lease {
  if (typeof value !== 'object' || value === null) return false;
  const { metadata, spec } = value as { metadata?: unknown; spec?: unknown };
  return typeof metadata === 'object' && metadata !== null && typeof spec === 'object' && spec !== null;
}
