import { annotation } from '../../contract/names.ts';
import type { Candidate } from '../../core/disruption/second-look/begun.ts';
import { reasonOf } from '../../core/disruption/second-look/judge-begun.ts';
import { isDisrupted } from '../../kubernetes/disrupted-taint.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { parseAmounts } from '../../kubernetes/text/quantity.ts';
import { deleteAsRead, eventAbout, written } from '../claims/node-claim.ts';
import { despiteRivals } from '../execute/despite-rivals.ts';
import { NODES_AT_ONCE, tellFailed } from '../execute/mark.ts';
import { claimFacts, machineFacts } from '../facts/claim-facts.ts';
import { isTrue, toTimestamp } from '../facts/conditions.ts';
import { LostRaceError, RefusedError } from '../../ports/errors.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { alone, eachAlone, type Settled } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';
import { eventAboutNode } from '../tell/event-about.ts';
import { publish } from '../tell/events.ts';
import { withinBudgetsNow, type Going, type WithinBudgets } from './budgets-now.ts';

/** What has come of nodes that are to go. */
export interface Removed {
  readonly going: ReadonlyArray<Going>;
  /** Of each of them: false where it is not to go any more. */
  readonly removed: ReadonlyArray<Settled<boolean>>;
  readonly held: WithinBudgets['held'];
}

/** Deletes the claims of what budgets let go now. What may not be deleted keeps none of the others. */
export async function removeWithinBudgets(ports: Ports, sets: ReadonlyArray<ReadonlyArray<Going>>): Promise<Removed> {
  const { going: allowed, held } = await withinBudgetsNow(ports, sets);
  // The largest pods are on the largest node, and are to come to the scheduler before the others: see `drain`.
  const going = allowed.toSorted((a, b) => coresOf(b) - coresOf(a));
  const removed = await eachAlone(going, NODES_AT_ONCE, ({ candidate }) => remove(ports, candidate));
  const candidates = going.map(({ candidate }) => candidate);
  await tellFailed(ports, candidates, removed, 'remove');
  for (const { one, why } of held) {
    ports.log('disruption-step-refused', { claim: one.candidate.claim.metadata.name, step: 'remove', why });
  }
  return { going, removed, held };
}

function coresOf({ candidate: { node } }: Going): number {
  return parseAmounts(node.status?.allocatable, 'down').get('cpu') ?? 0;
}

/**
 * Names of the nodes whose claims a policy does not let be deleted, which each claim says then: what is bought in their
 * place would be bought in vain, and again when that is over. Nothing is deleted. Where nobody answers, the deletion
 * itself will tell.
 */
export async function deniedRemovals(
  ports: Ports,
  candidates: ReadonlyArray<Candidate>,
): Promise<ReadonlyArray<string>> {
  const tried = await eachAlone(candidates, NODES_AT_ONCE, ({ claim: { metadata } }) => {
    return ports.kubernetes.delete('NodeClaim', { name: metadata.name, namespace: null }, { isTrial: true });
  });
  const denied = [...candidates.entries()].filter(([index]) => isDenied(tried[index]));
  await tellFailed(
    ports,
    denied.map(([, candidate]) => candidate),
    denied.flatMap(([index]) => tried[index] ?? []),
    'remove',
  );
  return denied.map(([, { node }]) => node.metadata.name);
}

/** A webhook that cannot be asked for a trial is no policy that denies it. */
function isDenied(tried: Settled<unknown> | undefined): boolean {
  return tried?.kind === 'failed' && tried.error instanceof RefusedError && tried.error.refusal.policy !== null;
}

/** The decision that the node goes by, as `disruption-begun` has it. */
export function removalOf({ claim: { metadata } }: Candidate): string | null {
  return metadata.annotations?.[annotation.disruption] ?? null;
}

/**
 * From here it drains: see `terminate`. Of another claim of that name nothing is removed, nor of one that is not marked
 * any more.
 */
async function remove(ports: Ports, candidate: Candidate): Promise<boolean> {
  const { claim, node } = candidate;
  if (!(await despiteRivals(() => deleteMarked(ports, candidate)))) return false;
  const { name, uid } = claim.metadata;
  const reason = reasonOf(claim) ?? '';
  ports.log('disrupted', { ...claimFacts(claim), ...machineFacts(claim), removal: removalOf(candidate), reason });
  const told = 'DisruptionTerminating';
  const about = [
    eventAboutNode(node, 'Normal', told, `Disrupting Node: ${reason}`),
    eventAbout(claim, 'Normal', told, `Disrupting NodeClaim: ${reason}`),
  ];
  for (const note of about) {
    // Two, in Karpenter's order.
    await publish(ports.kubernetes, note, ports.now());
  }
  // It is deleted, whoever hears of it: the relay tells of it, too.
  const occasion = `disrupted/${uid ?? name}`;
  await alone(() => hintObjects(ports, claimsNamed([name]), { reason: 'disrupted', occasion }));
  return true;
}

/**
 * Deletes the claim as it was read with the marks on it: a request that stands still on its way would remove a node
 * that another look has taken them off meanwhile, and that has pods again. A sick node is not asked for patience: as in
 * Karpenter its deadline is now. Throws LostRaceError where somebody has written since.
 */
async function deleteMarked(ports: Ports, candidate: Candidate): Promise<boolean> {
  const marked = await readMarked(ports, candidate);
  if (marked === null) return false;
  const { metadata } = reasonOf(marked) === 'Unhealthy' ? await withoutPatience(ports, marked) : marked;
  const asked = await alone(() => deleteAsRead(ports, metadata, 'removing'));
  if (asked.kind === 'done') return asked.answer === 'deleted';
  const isAnswered = asked.error instanceof RefusedError || asked.error instanceof LostRaceError;
  if (isAnswered || !(await isDeleted(ports, marked))) throw asked.error;
  return true;
}

async function withoutPatience(ports: Ports, { metadata: { name, resourceVersion } }: NodeClaim): Promise<NodeClaim> {
  const annotations = { [annotation.terminationTimestamp]: toTimestamp(ports.now()) };
  const patch = { metadata: { resourceVersion, annotations } };
  return written(await ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch), name);
}

/** Where the answer was lost: was the claim deleted all the same? */
async function isDeleted(ports: Ports, { metadata: { name, uid } }: NodeClaim): Promise<boolean> {
  const current = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  return current?.metadata.uid === uid && current?.metadata.deletionTimestamp !== undefined;
}

/**
 * The claim as it is, where it still says that it is to go by the decision that was judged, nobody deletes it, and its
 * node is closed; else null. What was judged may be old.
 */
async function readMarked(ports: Ports, candidate: Candidate): Promise<NodeClaim | null> {
  const { claim, node } = candidate;
  const current = await ports.kubernetes.get('NodeClaim', { name: claim.metadata.name, namespace: null });
  if (current === null || current.metadata.uid !== claim.metadata.uid) return null;
  if (current.metadata.deletionTimestamp !== undefined) return null;
  if (removalOf({ claim: current, node }) !== removalOf(candidate)) return null;
  const closed = await ports.kubernetes.get('Node', { name: node.metadata.name, namespace: null });
  return isTrue(current.status?.conditions, 'DisruptionReason') && isDisrupted(closed) ? current : null;
}
