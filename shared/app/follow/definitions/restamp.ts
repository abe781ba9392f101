import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { isTrue } from '../../facts/conditions.ts';
import { eachAlone } from '../../ports/in-parallel.ts';
import type { Ports } from '../../ports/ports.ts';
import { tellDenied } from '../../tell/tell-denied.ts';

/** Claims stamped at once: a version changes once in a release, and the API server has other work. */
const STAMPS_AT_ONCE = 4;

/** Between looks at a pool or class of which a claim could not be stamped. */
export const UNSTAMPED_LOOK_MS = 60_000;

/** The two annotations by which drift is judged: a hash, and the version of how it is made. */
export interface Stamp {
  readonly hash: readonly [key: string, value: string];
  readonly version: readonly [key: string, value: string];
}

/**
 * Gives claims the hash that their pool or class has in a new hash version, so that an update of ours never looks like
 * drift. A claim that has drifted keeps its old hash, and so stays drifted. Do it before the pool or class is stamped,
 * which is how it is known to be done, and not unless the answer is true: that all have been. One that cannot be
 * written keeps no other from being stamped; until it can be, none of the pool or class drifts by its hash, and people
 * are told which it is.
 */
export async function restampClaims(ports: Ports, claims: ReadonlyArray<NodeClaim>, stamp: Stamp): Promise<boolean> {
  const settled = await eachAlone(claims, STAMPS_AT_ONCE, async ({ metadata: { name }, status }) => {
    const stamps = isTrue(status?.conditions, 'Drifted') ? [stamp.version] : [stamp.hash, stamp.version];
    const patch = { metadata: { annotations: Object.fromEntries(stamps) } };
    return ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch);
  });
  await eachAlone(settled, STAMPS_AT_ONCE, async (one, index) => {
    const name = claims[index]?.metadata.name ?? '';
    if (one.kind === 'failed') ports.log('claim-not-stamped', { claim: name, why: one.error.message });
    else if (one.answer.kind === 'refused')
      await tellDenied(ports, one.answer.refusal, [{ kind: 'NodeClaim', key: { name, namespace: null } }]);
  });
  return settled.every((one) => one.kind === 'done' && ['written', 'not-found'].includes(one.answer.kind));
}
