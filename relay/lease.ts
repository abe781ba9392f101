import { pause } from './backoff.ts';
import type { KubeClient } from './kube-client.ts';
import { reasonOf, type Log } from './log.ts';

/** Times of leader election, in milliseconds. The defaults are the field's: client-go's 15 s, 10 s, 2 s. */
export interface LeaseTiming {
  /** How long a lease that is not renewed still keeps others out. */
  readonly durationMs: number;
  /** How long the holder goes on without having renewed. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

export const leaseTiming: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/** One replica's part in the election of the relay that publishes. */
export interface Election {
  /** The term in which we lead, or null. Null too when our last renewal is too long ago to be sure. */
  readonly term: () => number | null;
  /** Moves to a term above `term`, while we lead: for when what was published is of a later term than the lease says. */
  readonly raiseAbove: (term: number) => Promise<void>;
  /** Stops, and lets go of the lease so that the next need not wait for it to run out. */
  readonly stop: () => Promise<void>;
}

interface ElectionOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
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

/** Takes part in the election until stopped. */
export function startElection(options: ElectionOptions): Election {
  const { client, identity, timing, log } = options;
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${options.namespace}/leases`;
  const path = `${collection}/${options.name}`;
  const stopping = new AbortController();
  let leading: { readonly term: number; readonly renewedAtMs: number } | null = null;
  /** What was last seen of another's lease and when, by our own clock: clocks of machines differ. */
  let observed = { text: '', atMs: 0 };
  let known: Lease | null = null;
  let turn: Promise<void> = Promise.resolve();

  function lead(next: typeof leading): void {
    const changed = leading?.term !== next?.term;
    leading = next;
    if (!changed) return;
    log.info(next === null ? 'no longer leading' : 'leading', { term: next?.term ?? null, identity });
    options.onChange();
  }

  async function read(): Promise<Lease | null> {
    const { status, body } = await client.request('GET', path);
    if (status === 404) return null;
    if (status !== 200 || !isLease(body)) throw new Error(`lease: answered ${status}`);
    return body;
  }

  async function write(spec: LeaseSpec, over: Lease | null): Promise<boolean> {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: options.name,
        namespace: options.namespace,
        ...(over?.metadata.resourceVersion === undefined ? {} : { resourceVersion: over.metadata.resourceVersion }),
      },
      spec,
    };
    const answer =
      over === null ? await client.request('POST', collection, lease) : await client.request('PUT', path, lease);
    if (answer.status === 409) {
      known = null;
      return false;
    }
    if (answer.status >= 300 || !isLease(answer.body)) throw new Error(`lease: answered ${answer.status}`);
    known = answer.body;
    return true;
  }

  function mayTake(lease: Lease, nowMs: number): boolean {
    const holder = lease.spec.holderIdentity ?? '';
    if (holder === '' || holder === identity) return true;
    const text = JSON.stringify(lease.spec);
    if (text !== observed.text) observed = { text, atMs: nowMs };
    return nowMs - observed.atMs > (lease.spec.leaseDurationSeconds ?? 0) * 1_000;
  }

  async function attempt(): Promise<void> {
    const startedAtMs = performance.now();
    const lease = known ?? (await read());
    if (lease !== null && !mayTake(lease, startedAtMs)) {
      known = null;
      return lead(null);
    }
    const isRenewal = leading !== null && lease?.spec.holderIdentity === identity;
    const term = isRenewal ? (lease.spec.leaseTransitions ?? 0) : (lease?.spec.leaseTransitions ?? 0) + 1;
    const time = microTime(Date.now());
    const spec: LeaseSpec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(timing.durationMs / 1_000)),
      acquireTime: isRenewal ? (lease.spec.acquireTime ?? time) : time,
      renewTime: time,
      leaseTransitions: term,
    };
    // Renewed counts from before the request: the answer may have been long on its way.
    if (await write(spec, lease)) lead({ term, renewedAtMs: startedAtMs });
  }

  function isOverdue(): boolean {
    return leading !== null && performance.now() - leading.renewedAtMs > timing.renewDeadlineMs;
  }

  async function tryOnce(): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      known = null;
      log.warn('lease not renewed', { reason: reasonOf(error) });
    }
    if (isOverdue()) lead(null);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      turn = tryOnce();
      await turn;
      // Jitter keeps replicas that started together from meeting at every attempt.
      await pause(timing.retryMs * (1 + Math.random() / 5), stopping.signal);
    }
  }

  const running = run();

  async function release(): Promise<void> {
    const lease = await read();
    if (lease?.spec.holderIdentity !== identity) return;
    await write(
      { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(Date.now()) },
      lease,
    );
  }

  return {
    term: () => (leading === null || isOverdue() ? null : leading.term),
    async raiseAbove(term) {
      await turn;
      const lease = await read();
      if (leading === null || lease?.spec.holderIdentity !== identity || (lease.spec.leaseTransitions ?? 0) > term)
        return;
      const startedAtMs = performance.now();
      const raised = await write({ ...lease.spec, leaseTransitions: term + 1 }, lease);
      if (raised) lead({ term: term + 1, renewedAtMs: startedAtMs });
    },
    async stop() {
      stopping.abort();
      await running;
      const wasLeading = leading !== null;
      lead(null);
      if (!wasLeading) return;
      await release().catch((error: unknown) => log.warn('lease not released', { reason: reasonOf(error) }));
    },
  };
}

function isLease(value: unknown): value is Lease {
  if (typeof value !== 'object' || value === null) return false;
  const { metadata, spec } = value as { metadata?: unknown; spec?: unknown };
  return typeof metadata === 'object' && metadata !== null && typeof spec === 'object' && spec !== null;
}
