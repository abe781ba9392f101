import { annotation } from '../../../contract/names.ts';
import { replacementsOf } from '../../../core/disruption/second-look/begun.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { annotateClaim } from '../../claims/annotate-claim.ts';
import { claimFacts } from '../../facts/claim-facts.ts';
import { knownDecision } from '../../gather/known-decision.ts';
import { eachAlone } from '../../ports/in-parallel.ts';
import type { Ports } from '../../ports/ports.ts';

/** NodeClaims written at once. */
const WRITTEN_AT_ONCE = 8;

/**
 * Says on the NodeClaims that `claim` was to replace that Azure has no capacity for it. To be called before it is
 * deleted: without a machine it is gone a moment later, and whoever misses it then finds the reason on what stays.
 * Idempotent; nothing for a claim that replaces nothing. What cannot be written is logged, and the replacement counts
 * as one that has failed.
 */
export async function noteUnavailable(ports: Ports, claim: NodeClaim): Promise<void> {
  const { name, annotations = {} } = claim.metadata;
  const decisionName = annotations[annotation.decision];
  if (decisionName === undefined || annotations[annotation.createdFor] === undefined) return;
  const decision = await knownDecision(ports, decisionName);
  if (decision?.claimNames.includes(name) !== true) return;
  const going = decision.removal?.claims ?? (await namedBy(ports, name));
  const noted = await eachAlone(going, WRITTEN_AT_ONCE, async (one) => {
    const found = await ports.kubernetes.get('NodeClaim', { name: one.name, namespace: null });
    if (found === null || found.metadata.uid !== one.uid) return;
    await annotateClaim(ports, found, (read) => {
      const { metadata } = read;
      const known = (metadata.annotations?.[annotation.replacementUnavailable] ?? '').split(',').filter(Boolean);
      if (known.includes(name)) return null;
      // Those of another removal say nothing any more.
      const named = replacementsOf(read);
      const own = known.filter((other) => decision.claimNames.includes(other) || named.includes(other));
      return { [annotation.replacementUnavailable]: [...own, name].join(',') };
    });
  });
  for (const one of noted) {
    if (one.kind !== 'failed') continue;
    ports.log('replacement-unavailable-not-noted', { ...claimFacts(claim), why: one.error.message });
  }
}

/** Who goes is on no record of a decision that bought more for a removal: the claims that name it. */
async function namedBy(
  ports: Ports,
  name: string,
): Promise<ReadonlyArray<{ readonly name: string; readonly uid: string }>> {
  const claims = await ports.kubernetes.list('NodeClaim');
  return claims
    .filter((claim) => replacementsOf(claim).includes(name))
    .map(({ metadata }) => ({ name: metadata.name, uid: metadata.uid ?? '' }));
}
