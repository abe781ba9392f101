import { annotation, label } from '../../contract/names.ts';
import type { SignalHint } from '../../contract/messages.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { claimFacts, machineFacts } from '../claim-facts.ts';
import { claimsNamed, hintObjects } from '../hint-objects.ts';
import type { Ports } from '../ports.ts';
import { findClaim } from './find-claim.ts';
import { giveUpNode, type GivenUp } from './give-up-node.ts';

export type InterruptOutcome =
  /** Not a machine of ours, one that has gone already, or an event that takes nothing away. */
  | { readonly kind: 'ignored'; readonly why: string }
  /** Hearsay that Azure does not confirm, or of a claim that is on its way in or out: `follow` looks at it. */
  | { readonly kind: 'looked'; readonly claim: string }
  /** Its node takes no more pods, and its pods are on their way. What replaces it is provisioning's to plan. */
  | ({ readonly kind: 'given-up'; readonly claim: string } & GivenUp);

/** Events that end a machine's service for longer than pods should wait. A freeze lasts seconds: nothing is done. */
const ENDS_SERVICE: ReadonlySet<SignalHint['event']> = new Set([
  'preempt',
  'terminate',
  'redeploy',
  'reboot',
  'degraded',
  'gone',
]);

/** Used when the notice names no time: spot's shortest notice. */
const SHORTEST_NOTICE_MS = 30_000;

/** A time that has passed, or nearly, says that the notice came late: pods have this long to end, as long as it lasts. */
const LATEST_MS = 10_000;

/**
 * Acts on the notice that a machine goes: its node is closed and given up, and its pods are told, each notice by itself and with
 * nothing else to wait for. What replaces it is planned by `provision`, for all that are noticed together. The same notice
 * again, late, or for a machine nobody knows changes nothing. Of hearsay (`unlessThere`) Azure is asked first. `noticedMs`: when the
 * notice reached us, milliseconds since the epoch.
 */
export async function interrupt(
  ports: Ports,
  signal: SignalHint,
  noticedMs: number = ports.now(),
): Promise<InterruptOutcome> {
  if (!ENDS_SERVICE.has(signal.event)) return { kind: 'ignored', why: `a ${signal.event} takes nothing away` };
  const claim = await findClaim(ports, signal);
  if (claim === null) return { kind: 'ignored', why: 'no NodeClaim of ours' };
  if (signal.unlessThere === true && !(await isGone(ports, claim))) return look(ports, claim, signal);
  if (signal.event === 'preempt' && isOnDemand(claim)) {
    return { kind: 'ignored', why: 'only spot machines are preempted' };
  }
  const nowMs = ports.now();
  const deadlineMs = Math.max(signal.notBeforeMs ?? nowMs + SHORTEST_NOTICE_MS, nowMs + LATEST_MS);
  if (isLeavingBy(claim, deadlineMs)) return { kind: 'ignored', why: 'already being removed' };
  const given = await giveUpNode(ports, claim, { signal, deadlineMs });
  if (given === null) return { kind: 'ignored', why: 'its NodeClaim has gone meanwhile' };
  ports.log('interrupted', {
    ...claimFacts(claim),
    ...machineFacts(claim),
    notice: signal.event,
    source: signal.source,
    markedAfterMs: given.markedMs === null ? null : given.markedMs - noticedMs,
    toldAfterMs: given.toldMs === null ? null : given.toldMs - noticedMs,
    leftMs: deadlineMs - nowMs,
    pods: given.pods,
  });
  return { kind: 'given-up', claim: claim.metadata.name, ...given };
}

/** Is it being removed already, and by no later than that? A drain that may take its time has to learn that it may not. */
function isLeavingBy({ metadata }: NodeClaim, deadlineMs: number): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    Date.parse(metadata.annotations?.[annotation.terminationTimestamp] ?? '') <= deadlineMs
  );
}

function isOnDemand({ metadata }: NodeClaim): boolean {
  const type = metadata.labels?.[label.capacityType];
  return type !== undefined && type !== 'spot';
}

/** Whether Azure has taken from the claim what it had given. A launch under way, and a removal, see to that themselves. */
async function isGone(ports: Ports, { metadata, status }: NodeClaim): Promise<boolean> {
  if (metadata.deletionTimestamp !== undefined || status?.providerID === undefined) return false;
  return (await ports.cloud.observe(metadata.name)).kind === 'gone';
}

async function look(ports: Ports, claim: NodeClaim, { event, eventId }: SignalHint): Promise<InterruptOutcome> {
  const { name } = claim.metadata;
  const occasion = `hearsay/${event}/${eventId ?? ports.now()}`;
  await hintObjects(ports, claimsNamed([name]), { reason: 'machine-changed', occasion });
  return { kind: 'looked', claim: name };
}
