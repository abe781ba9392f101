import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { isTrue } from '../conditions.ts';
import { inParallel } from '../in-parallel.ts';
import type { Ports } from '../ports.ts';

/** Claims stamped at once: a version changes once in a release, and the API server has other work. */
const STAMPS_AT_ONCE = 4;

/** The two annotations by which drift is judged: a hash, and the version of how it is made. */
export interface Stamp {
  readonly hash: readonly [key: string, value: string];
  readonly version: readonly [key: string, value: string];
}

/**
 * Gives claims the hash that their pool or class has in a new hash version, so that an update of ours never looks like
 * drift. A claim that has drifted keeps its old hash, and so stays drifted. Do it before the pool or class is stamped,
 * which is how it is known to be done.
 */
export async function restampClaims(ports: Ports, claims: ReadonlyArray<NodeClaim>, stamp: Stamp): Promise<void> {
  await inParallel(claims, STAMPS_AT_ONCE, async ({ metadata: { name }, status }) => {
    const stamps = isTrue(status?.conditions, 'Drifted') ? [stamp.version] : [stamp.hash, stamp.version];
    const patch = { metadata: { annotations: Object.fromEntries(stamps) } };
    await ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch);
  });
}
