import type { Clock } from '../../../sandbox/base/clock.ts';

export interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: ReadonlyArray<string>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: ReadonlyArray<{ readonly kind: string; readonly name: string; readonly uid: string }>;
}

/** An object of any kind. Replaced by each write, never changed, so what was read stays as it was. */
export interface Stored {
  readonly metadata: Meta;
  readonly spec?: Fields;
  readonly status?: Fields;
}

// oxlint-disable-next-line typescript/no-explicit-any -- objects of all kinds, as their writers made them
export type Fields = Readonly<Record<string, any>>;

/** An HTTP status and a body, as the API answers. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** `before` null: created. `after` null: gone. */
export interface Change {
  readonly resource: string;
  readonly before: Stored | null;
  readonly after: Stored | null;
}

const withStatus = new Set(['pods', 'nodes', 'nodeclaims', 'nodepools', 'aksnodeclasses', 'poddisruptionbudgets']);

const DEFAULT_GRACE_S = 30;

/**
 * What an API server keeps and the rules it keeps it by: optimistic concurrency, uids, finalizers, deletion in two
 * steps, status apart from spec, evictions within budgets. Without schemas and admission: those are the real double's
 * business.
 */
export class ApiServer {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #watchers: Array<(change: Change) => void> = [];
  #revision = 100;
  #uids = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** By its own clock, milliseconds since the epoch. */
  now(): number {
    return this.#clock.now();
  }

  get revision(): string {
    return String(this.#revision);
  }

  watch(listener: (change: Change) => void): void {
    this.#watchers.push(listener);
  }

  /** Puts an object back as it was kept elsewhere. Later versions are counted from the newest on. */
  restore(resource: string, object: Stored): void {
    this.#revision = Math.max(this.#revision, Number(object.metadata.resourceVersion));
    this.#uids += 1;
    this.#of(resource).set(keyOf(object.metadata), object);
  }

  list(resource: string): ReadonlyArray<Stored> {
    return [...this.#of(resource).values()];
  }

  get(resource: string, key: string): Stored | null {
    return this.#of(resource).get(key) ?? null;
  }

  create(resource: string, body: Fields): Reply {
    const given: Fields = body['metadata'] ?? {};
    const key = keyOf(given);
    if (this.#of(resource).has(key)) return failure(409, `${resource} ${key} already exists`);
    this.#uids += 1;
    const metadata = {
      ...given,
      uid: `00000000-0000-4000-8000-${String(this.#uids).padStart(12, '0')}`,
      creationTimestamp: timestamp(this.#clock.now()),
      generation: 1,
    };
    const { status: _, ...rest } = body;
    const object = { ...(withStatus.has(resource) ? rest : body), metadata };
    return { status: 201, body: this.#store(resource, key, object, null) };
  }

  /** JSON merge patch on the object, or on its status. */
  patch(resource: string, key: string, patch: Fields, part: 'object' | 'status'): Reply {
    const current = this.get(resource, key);
    if (current === null) return failure(404, `${resource} ${key} not found`);
    if (!isMeant(current, patch['metadata'] ?? {})) {
      return failure(409, `${resource} ${key}: the object has been modified`);
    }
    const merged = part === 'status' ? statusOf(current, patch) : objectOf(resource, current, patch);
    const added = (merged.metadata.finalizers ?? []).some((one) => !current.metadata.finalizers?.includes(one));
    if (added && current.metadata.deletionTimestamp !== undefined) {
      return failure(422, 'metadata.finalizers: no new finalizers can be added if the object is being deleted');
    }
    if (resource === 'pods' && part === 'status' && current.spec?.['nodeName'] && patch['status']?.nominatedNodeName) {
      return failure(422, 'status.nominatedNodeName: may not be set on a bound pod');
    }
    if (JSON.stringify(merged) === JSON.stringify(current)) return { status: 200, body: current };
    return { status: 200, body: this.#settle(resource, key, merged, current) };
  }

  delete(
    resource: string,
    key: string,
    options: {
      readonly uid?: string;
      readonly resourceVersion?: string;
      readonly graceSeconds?: number;
      readonly isTrial?: boolean;
    } = {},
  ): Reply {
    const current = this.get(resource, key);
    if (current === null) return failure(404, `${resource} ${key} not found`);
    if (options.uid !== undefined && options.uid !== current.metadata.uid) return failure(409, `${key}: other uid`);
    if (options.resourceVersion !== undefined && options.resourceVersion !== current.metadata.resourceVersion) {
      return failure(409, `${key}: other version`);
    }
    if (options.isTrial === true) return { status: 200, body: current };
    const graceSeconds = resource === 'pods' ? graceOf(current, options.graceSeconds) : 0;
    const at = this.#clock.now() + graceSeconds * 1000;
    const known = Date.parse(current.metadata.deletionTimestamp ?? '');
    // A second deletion may only shorten the first's grace.
    if (!Number.isNaN(known) && !(resource === 'pods' && at < known)) return { status: 200, body: current };
    const deleted = {
      ...current,
      metadata: {
        ...current.metadata,
        deletionTimestamp: timestamp(at),
        deletionGracePeriodSeconds: graceSeconds,
      },
    };
    if (resource === 'pods' && graceSeconds === 0) return { status: 200, body: this.remove(resource, key) };
    return { status: 200, body: this.#settle(resource, key, deleted, current) };
  }

  evict(key: string, uid: string | undefined): Reply {
    const pod = this.get('pods', key);
    if (pod === null) return failure(404, `pod ${key} not found`);
    if (uid !== undefined && uid !== pod.metadata.uid) return failure(409, `pod ${key}: other uid`);
    const budgets = pod.metadata.deletionTimestamp === undefined && isReady(pod) ? this.#budgetsOf(pod) : [];
    if (budgets.length > 1) return failure(500, 'This pod has more than one PodDisruptionBudget.');
    if (!budgets.every((one) => this.allowedDisruptions(one) > 0)) {
      return failure(429, "Cannot evict pod as it would violate the pod's disruption budget.");
    }
    return this.delete('pods', key);
  }

  /** Takes an object away whatever holds it, as only the server itself and kubelets may. */
  remove(resource: string, key: string): Stored | null {
    const current = this.get(resource, key);
    if (current === null) return null;
    this.#of(resource).delete(key);
    this.#revision += 1;
    this.#tell({ resource, before: current, after: null });
    return current;
  }

  #budgetsOf(pod: Stored): ReadonlyArray<Stored> {
    return this.list('poddisruptionbudgets').filter(({ spec }) => matches(pod, spec?.['selector']?.matchLabels ?? {}));
  }

  /** How many of its pods may go now. */
  allowedDisruptions(budget: Stored): number {
    // 0 is all that is drawn of this kind.
    if (budget.spec?.['maxUnavailable'] !== undefined) return Number(budget.spec['maxUnavailable']);
    return Math.max(0, this.healthyPods(budget) - Number(budget.spec?.['minAvailable'] ?? 0));
  }

  healthyPods(budget: Stored): number {
    const labels = budget.spec?.['selector']?.matchLabels ?? {};
    return this.list('pods').filter(
      (pod) => matches(pod, labels) && isReady(pod) && pod.metadata.deletionTimestamp === undefined,
    ).length;
  }

  #settle(resource: string, key: string, object: Stored, before: Stored): Stored {
    const held = object.metadata.deletionTimestamp === undefined || (object.metadata.finalizers ?? []).length > 0;
    if (held || resource === 'pods') return this.#store(resource, key, object, before);
    this.remove(resource, key);
    return object;
  }

  #store(resource: string, key: string, object: Fields, before: Stored | null): Stored {
    this.#revision += 1;
    const stored = {
      ...object,
      metadata: { ...object['metadata'], resourceVersion: String(this.#revision) },
    } as Stored;
    this.#of(resource).set(key, stored);
    this.#tell({ resource, before, after: stored });
    return stored;
  }

  #tell(change: Change): void {
    for (const listener of this.#watchers) listener(change);
  }

  #of(resource: string): Map<string, Stored> {
    const known = this.#objects.get(resource) ?? new Map<string, Stored>();
    this.#objects.set(resource, known);
    return known;
  }
}

export function keyOf({ name, namespace }: Fields): string {
  return namespace === undefined ? String(name) : `${String(namespace)}/${String(name)}`;
}

export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

export function isReady({ status }: Stored): boolean {
  return conditionStatus(status, 'Ready') === 'True';
}

export function conditionStatus(status: Fields | undefined, type: string): string | null {
  const conditions: ReadonlyArray<Fields> = status?.['conditions'] ?? [];
  return conditions.find((one) => one['type'] === type)?.['status'] ?? null;
}

export function matches(object: Stored, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(labels).every(([key, value]) => object.metadata.labels?.[key] === value);
}

/** Does the object have the version and the uid that a patch makes its condition? */
function isMeant({ metadata }: Stored, { resourceVersion, uid }: Fields): boolean {
  if (typeof resourceVersion === 'string' && resourceVersion !== metadata.resourceVersion) return false;
  return typeof uid !== 'string' || uid === metadata.uid;
}

function failure(status: number, message: string): Reply {
  return { status, body: { kind: 'Status', message } };
}

function graceOf(pod: Stored, asked: number | undefined): number {
  if (!pod.spec?.['nodeName']) return 0;
  return asked ?? pod.spec['terminationGracePeriodSeconds'] ?? DEFAULT_GRACE_S;
}

function objectOf(resource: string, current: Stored, patch: Fields): Stored {
  const { status: _, ...rest } = patch;
  const merged = merge(current, withStatus.has(resource) ? rest : patch) as Stored;
  const changed = JSON.stringify(merged.spec) !== JSON.stringify(current.spec);
  const { uid, resourceVersion, generation, creationTimestamp } = current.metadata;
  const metadata = {
    ...merged.metadata,
    uid,
    resourceVersion,
    generation: changed ? generation + 1 : generation,
    creationTimestamp,
  };
  return { ...merged, metadata };
}

function statusOf(current: Stored, patch: Fields): Stored {
  return { ...current, status: merge(current.status ?? {}, patch['status'] ?? {}) as Fields };
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
