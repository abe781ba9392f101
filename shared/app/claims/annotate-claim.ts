import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { RefusedError, RetryableError } from '../../ports/errors.ts';
import type { Ports } from '../ports/ports.ts';

/** Others write claims, too; losing five times in a row is not chance. */
const ATTEMPTS_MAX = 5;

/** Null takes an annotation off. */
type Annotations = Readonly<Record<string, string | null>>;

/**
 * Writes what `change` makes of a claim, on condition that it is still the one that was read; a conflict is met with a
 * fresh look and no pause. `change` returns null where nothing is to be written. Throws RetryableError when it changes
 * all the time, and RefusedError.
 */
export async function annotateClaim(
  ports: Pick<Ports, 'kubernetes'>,
  read: NodeClaim,
  change: (claim: NodeClaim) => Annotations | null,
): Promise<'written' | 'left' | 'gone'> {
  const { name } = read.metadata;
  const key = { name, namespace: null };
  let claim: NodeClaim | null = read;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const annotations = change(claim);
    if (annotations === null) return 'left';
    const { resourceVersion } = claim.metadata;
    // Each try reads what the last one lost to.
    const outcome = await ports.kubernetes.patch('NodeClaim', key, { metadata: { resourceVersion, annotations } });
    if (outcome.kind === 'written') return 'written';
    if (outcome.kind === 'not-found') return 'gone';
    if (outcome.kind === 'refused') throw new RefusedError(outcome.refusal);
    claim = await ports.kubernetes.get('NodeClaim', key);
    if (claim === null || claim.metadata.uid !== read.metadata.uid) return 'gone';
  }
  throw new RetryableError(`writing ${name}: it changed ${ATTEMPTS_MAX} times meanwhile`, { retryAfterMs: 200 });
}
