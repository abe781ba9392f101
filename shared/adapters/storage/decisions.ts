import { gunzipSync, gzipSync } from 'node:zlib';
import { UnreadableError } from '../../ports/errors.ts';
import { DECISION_VERSION, type Decision, type Decisions } from '../../ports/store.ts';
import type { Plan, PlannedClaim, PodReference } from '../../core/model/plan.ts';
import type { Blobs } from '../../ports/blobs.ts';

/** Decisions kept in memory: those in flight are read at every step of their claims, and never change. */
const CACHED_MAX = 64;

/** Decision records as blobs `<cluster>/<name>.json.gz`. */
export function createDecisions(blobs: Blobs, cluster: string): Decisions {
  const cache = new Map<string, Decision>();
  const remember = (decision: Decision): void => {
    cache.set(decision.name, decision);
    const [oldest] = cache.keys();
    if (cache.size > CACHED_MAX && oldest !== undefined) cache.delete(oldest);
  };
  const pathOf = (name: string): string => `${cluster}/${name}.json.gz`;
  return {
    put: async (decision) => {
      // Absent or the same: the name carries the content's digest.
      await blobs.write(pathOf(decision.name), gzipSync(JSON.stringify(decision)), 'absent');
      remember(decision);
    },
    get: async (name) => {
      const known = cache.get(name);
      if (known !== undefined) return known;
      const blob = await blobs.read(pathOf(name));
      if (blob === null) return null;
      const decision = parseDecision(name, blob.bytes);
      remember(decision);
      return decision;
    },
  };
}

function parseDecision(name: string, bytes: Uint8Array): Decision {
  let value: Decision | FirstDecision | null;
  try {
    value = JSON.parse(gunzipSync(bytes).toString('utf8')) as Decision | FirstDecision | null;
  } catch (cause) {
    throw new UnreadableError(`decision ${name} cannot be read`, { cause });
  }
  if (value?.name !== name || !Array.isArray(value.claimNames) || !Array.isArray(value.plan?.claims)) {
    throw new UnreadableError(`decision ${name}: the record is another's or incomplete`);
  }
  if (value.version === undefined) return upgrade(value);
  const version: unknown = value.version;
  // A later version of the app was here, and its records may mean what this one does not know.
  if (typeof version !== 'number' || version > DECISION_VERSION) {
    throw new UnreadableError(
      `decision ${name} is of version ${String(version)}, and this app reads up to ${DECISION_VERSION}`,
    );
  }
  return value;
}

/** Version 1: reasons were free text, which nothing but people read, and claims did not say what was refused. */
type FirstDecision = Omit<Decision, 'version' | 'plan'> & {
  readonly version?: undefined;
  readonly plan: Omit<Plan, 'claims' | 'left'> & {
    readonly claims: ReadonlyArray<Omit<PlannedClaim, 'cheaper'>>;
    readonly left: ReadonlyArray<{ readonly pod: PodReference }>;
  };
};

/**
 * The first version's decision in today's form. Its reasons are left behind: what is executed does not depend on them.
 */
function upgrade({ plan, ...rest }: FirstDecision): Decision {
  const claims = plan.claims.map((claim) => ({ ...claim, cheaper: [] }));
  const left = plan.left.map(({ pod }) => ({ pod, refusals: [] }));
  return { ...rest, version: DECISION_VERSION, plan: { ...plan, claims, left } };
}
