import { gunzipSync, gzipSync } from 'node:zlib';
import { RetryableError } from '../../ports/errors.ts';
import type { Decision, Decisions } from '../../ports/store.ts';
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
  try {
    const value = JSON.parse(gunzipSync(bytes).toString('utf8')) as Decision;
    if (value.name === name && Array.isArray(value.claimNames) && Array.isArray(value.plan.claims)) return value;
  } catch (cause) {
    throw new RetryableError(`decision ${name} cannot be read`, { cause });
  }
  throw new RetryableError(`decision ${name}: the record is another's or incomplete`);
}
