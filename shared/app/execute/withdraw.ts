import { mayBeWithdrawn } from '../../core/disruption/withdrawal/unwanted-claims.ts';
import { RefusedError } from '../../ports/errors.ts';
import type { Decision, Withdrawn } from '../../ports/store.ts';
import { deleteAsRead, eventAbout } from '../claims/node-claim.ts';
import { claimFacts } from '../facts/claim-facts.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { alone, eachAlone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { publish } from '../tell/events.ts';
import { tellDenied } from '../tell/tell-denied.ts';
import { despiteRivals } from './despite-rivals.ts';

/** Claims withdrawn at once: each takes four calls. */
const AT_ONCE = 8;

/** Whose turn comes later is left to a later look: pods may wait for nodes, and nobody can decide meanwhile. */
const WITHIN_MS = 4_000;

/** For the same reason nothing is withdrawn for so long after a deletion that failed: each may wait for an answer. */
const PUT_OFF_MS = 60_000;
const PUT_OFF = 'withdrawing-put-off';

/** What the event of such a claim says. */
const WHY = 'Deleted before its node came: its pods run elsewhere or are gone, and no other waits for it';

/**
 * Deletes the claims that the decision withdraws, and returns the resource versions by which they are gone. One that
 * has a node by now, that says by now that it is to stay, or that is another, is left alone. Twice is as once. What
 * cannot be deleted is told, and nobody waits for it: a later look tries again, and a node that nobody uses goes as
 * empty.
 */
export async function withdrawClaims(
  ports: Ports,
  { withdrawn = [], name: decision }: Pick<Decision, 'withdrawn' | 'name'>,
): Promise<ReadonlyArray<string | null>> {
  const untilMs = ports.now() + WITHIN_MS;
  const settled = await eachAlone(withdrawn, AT_ONCE, async (one) =>
    // Whoever follows the claim writes it at any moment: what is on it by then decides.
    ports.now() > untilMs ? null : despiteRivals(() => withdraw(ports, one)),
  );
  await eachAlone(withdrawn, AT_ONCE, async ({ name }, index) => {
    const one = settled[index];
    if (one?.kind !== 'failed') return;
    ports.log('nodeclaim-not-withdrawn', { claim: name, decision, why: one.error.message });
    const about = { kind: 'NodeClaim', key: { name, namespace: null } } as const;
    if (one.error instanceof RefusedError) await tellDenied(ports, one.error.refusal, [about]);
    else ports.told.isNews(PUT_OFF, ports.now(), PUT_OFF_MS);
  });
  return settled.map((one) => (one.kind === 'done' ? one.answer : null));
}

/** Has a deletion failed lately, other than by a policy, which is about one claim? */
export function isWithdrawingPutOff({ told, now }: Pick<Ports, 'told' | 'now'>): boolean {
  return told.isKnown(PUT_OFF, now());
}

async function withdraw(ports: Ports, { name, uid }: Withdrawn): Promise<string | null> {
  const key = { name, namespace: null };
  const claim = await ports.kubernetes.get('NodeClaim', key);
  if (claim === null || (claim.metadata.uid ?? '') !== uid) return null;
  const { resourceVersion, deletionTimestamp } = claim.metadata;
  if (deletionTimestamp !== undefined) return resourceVersion ?? null;
  if (!mayBeWithdrawn(claim)) return null;
  const node = await ports.kubernetes.get('Node', { name: nodeNameOf(claim), namespace: null });
  if (node !== null) return null;
  if ((await deleteAsRead(ports, claim.metadata, 'withdrawing')) === 'not-found') return null;
  ports.log('nodeclaim-withdrawn', { ...claimFacts(claim) });
  // It is deleted, whatever becomes of what is told.
  const going = await alone(() => ports.kubernetes.get('NodeClaim', key));
  await publish(ports.kubernetes, eventAbout(claim, 'Normal', 'Withdrawn', WHY), ports.now());
  await alone(() => hintObjects(ports, claimsNamed([name]), { reason: 'withdrawn', occasion: `withdrawn/${uid}` }));
  return going.kind === 'done' ? (going.answer?.metadata.resourceVersion ?? null) : null;
}
