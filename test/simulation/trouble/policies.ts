import type { ApiRequest } from '../../../shared/adapters/kubernetes/transport.ts';
import { label } from '../../../shared/contract/names.ts';
import type { ApiServer, Fields, Reply } from '../world/api-server.ts';
import type { Policy, PolicyVerb } from '../world/faults.ts';

/** A request as a policy sees it. */
interface Asked {
  readonly verb: PolicyVerb;
  readonly resource: string;
  /** As the API server keeps it. */
  readonly key: string;
  /** Of a NodeClaim that is to be created. */
  readonly pool: string | null;
}

interface Parts {
  readonly server: ApiServer;
  /** Milliseconds since the start of the run. */
  readonly elapsedMs: () => number;
  readonly isHealed: () => boolean;
}

/** What one policy has done. */
interface Record {
  readonly policy: Policy;
  /** The object or the pool that it is about; null until it is asked for, and where it is about all. */
  target: string | null;
  denied: number;
}

const place =
  /^\/apis?(?:\/[a-z0-9.]+)?\/v\d\w*(?:\/namespaces\/(?<namespace>[^/?]+))?\/(?<resource>[a-z]+)(?:\/(?<name>[^/?]+))?(?:\/(?<sub>[a-z]+))?$/;

/** Policies that deny some of what we write, as an API server answers for them. Nobody else is kept from anything. */
export class Policies {
  readonly #parts: Parts;
  readonly #records: ReadonlyArray<Record>;
  /** Kept, as a pod that was denied is gone by the time that somebody asks where it was. */
  readonly #heldClaims = new Set<string>();

  constructor(policies: ReadonlyArray<Policy>, parts: Parts) {
    this.#parts = parts;
    this.#records = policies.map((policy) => ({ policy, target: null, denied: 0 }));
  }

  /** The answer of the first policy that denies the request; null where none does. */
  answer(request: ApiRequest): Reply | null {
    if (this.#records.length === 0 || request.method === 'GET') return null;
    const asked = askedBy(request);
    if (asked === null) return null;
    const found = this.#records.find((record) => this.#denies(record, asked));
    if (found === undefined) return null;
    found.denied += 1;
    if (found.policy.forMs === null && found.policy.scope === 'first') this.#remember(asked);
    return toReply(found.policy, asked);
  }

  /**
   * The claims that something is denied of for good, or of their nodes, or of pods on these: they may stay as they are.
   */
  heldClaims(): ReadonlySet<string> {
    return this.#heldClaims;
  }

  /** The pools that may have no new claims for good. */
  heldPools(): ReadonlySet<string> {
    const own = this.#records.filter(({ policy }) => policy.scope === 'pool' && policy.forMs === null);
    return new Set(own.flatMap(({ target, denied }) => (target === null || denied === 0 ? [] : [target])));
  }

  /** Does one of them keep us for good from writing that of the object? */
  keepsFrom(verb: PolicyVerb, resource: string, key: string): boolean {
    return this.#records.some(({ policy, target, denied }) => {
      const isMeant = policy.verb === verb && policy.resource === resource && policy.forMs === null && denied > 0;
      return isMeant && (policy.scope === 'all' || target === key);
    });
  }

  /** The kinds of objects and messages that are looked at for ever, as something is denied of them for good. */
  toldFor(): ReadonlySet<string> {
    const isDenied = (resource: string): boolean =>
      this.#records.some(({ policy, denied }) => policy.forMs === null && policy.resource === resource && denied > 0);
    return new Set([
      ...(isDenied('nodepools') ? ['NodePool'] : []),
      // What a plan could not create is planned again.
      ...(this.heldPools().size > 0 ? ['pods', 'NodePool'] : []),
    ]);
  }

  /** What each has done, as a line. */
  told(): ReadonlyArray<string> {
    return this.#records.map(({ policy, target, denied }) => {
      const { verb, resource, scope, fromMs, forMs, by } = policy;
      const what = scope === 'all' ? `all ${resource}` : `${resource} of ${scope} ${target ?? 'asked for, none yet'}`;
      const how = forMs === null ? 'for good' : `for ${Math.round(forMs / 1000)} s`;
      return `${verb} ${what}, by ${by} from ${Math.round(fromMs / 1000)} s on ${how}: ${denied} times`;
    });
  }

  #denies(record: Record, { verb, resource, key, pool }: Asked): boolean {
    const { policy } = record;
    if (verb !== policy.verb || resource !== policy.resource) return false;
    const sinceMs = this.#parts.elapsedMs() - policy.fromMs;
    if (sinceMs < 0 || (policy.forMs !== null && (sinceMs > policy.forMs || this.#parts.isHealed()))) return false;
    if (policy.scope === 'all') return true;
    record.target ??= policy.scope === 'pool' ? pool : key;
    return record.target === (policy.scope === 'pool' ? pool : key);
  }

  #remember({ resource, key }: Asked): void {
    if (resource === 'nodeclaims') this.#heldClaims.add(key);
    const node = resource === 'pods' ? this.#parts.server.get('pods', key)?.spec?.['nodeName'] : key;
    if ((resource === 'nodes' || resource === 'pods') && typeof node === 'string')
      this.#heldClaims.add(node.replace(/^aks-/, ''));
  }
}

function askedBy({ method, path, body = {} }: ApiRequest): Asked | null {
  const { namespace, resource = '', name, sub = '' } = place.exec(path)?.groups ?? {};
  const { metadata } = body as { readonly metadata?: Fields };
  const own = name ?? String(metadata?.['name']);
  const verb = verbOf(method, sub);
  if (verb === null) return null;
  const pool: unknown = metadata?.['labels']?.[label.nodePool];
  const key = namespace === undefined ? own : `${namespace}/${own}`;
  return { verb, resource, key, pool: typeof pool === 'string' ? pool : null };
}

function verbOf(method: ApiRequest['method'], sub: string): PolicyVerb | null {
  if (method === 'POST') return sub === 'eviction' ? 'evict' : 'create';
  if (method === 'PATCH') return sub === 'status' ? 'status' : 'patch';
  return method === 'DELETE' ? 'delete' : null;
}

/** As the API server's sources have it (`shared/adapters/kubernetes/policy-in.ts`). */
function toReply({ by }: Policy, { resource, key }: Asked): Reply {
  if (by === 'webhook') {
    const message = 'admission webhook "guard.example.com" denied the request: not now';
    return { status: 403, body: { kind: 'Status', message } };
  }
  const message = `${resource} "${key}" is forbidden: ValidatingAdmissionPolicy 'guard' with binding 'guard' denied request: not now`;
  return { status: 422, body: { kind: 'Status', reason: 'Invalid', message } };
}
