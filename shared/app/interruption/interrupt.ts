import { label } from '../../contract/names.ts';
import type { SignalHint } from '../../contract/messages/messages.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { atMost } from '../../ports/at-most.ts';
import { claimFacts, machineFacts } from '../facts/claim-facts.ts';
import { isReadyNode } from '../claims/node-claim.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Ports } from '../ports/ports.ts';
import { findClaim } from '../claims/find-claim.ts';
import { giveUpNode, type GivenUp, type InTurn } from './give-up-node.ts';
import { deadlineOf, isPreempted } from '../facts/interrupted.ts';

export type InterruptOutcome =
  /** Not a machine of ours, one that has gone already, or an event that takes nothing away. */
  | { readonly kind: 'ignored'; readonly why: string }
  /**
   * Hearsay that Azure and the node do not confirm, or of a claim that is on its way in or out: `follow` looks at it.
   */
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

/**
 * A time that has passed, or nearly, says that the notice came late: pods have this long to end, as long as it lasts.
 */
const LATEST_MS = 10_000;

/**
 * A notice of what should have happened so long ago came late, and what it was about has passed: it is news no more.
 */
const STALE_MS = 2 * 60_000;

/** Kubernetes notices within so long that a kubelet has stopped. */
const KUBELET_LOST_MS = 60_000;

/**
 * Acts on the notice that a machine goes: its node is closed and given up, and its pods are told, each notice by itself
 * and with nothing else to wait for. What replaces it is planned by `provision`, for all that are noticed together. The
 * same notice again, or for a machine nobody knows, changes nothing. Of hearsay (`unlessThere`, and what comes minutes
 * late) Azure and the node are asked first. `receivedMs`: when the notice reached the app, milliseconds since the
 * epoch. `inTurn`: one for all notices that come together, so that every step is done for all of them before the next
 * is for the first.
 */
export async function interrupt(
  ports: Ports,
  signal: SignalHint,
  receivedMs: number = ports.now(),
  inTurn: InTurn = (step) => step(),
): Promise<InterruptOutcome> {
  // Azure is asked of hearsay, which takes its time: real notices do not stand behind it.
  const hearsay = isHearsay(signal, ports.now());
  const ask = (): ReturnType<typeof confirm> => confirm(ports, signal, hearsay);
  const confirmed = await (hearsay ? ask() : inTurn(ask));
  if (confirmed.kind !== 'confirmed') return confirmed;
  const { claim, nowMs, deadlineMs } = confirmed;
  const given = await giveUpNode(ports, claim, { signal, deadlineMs }, inTurn);
  if (given === null) return { kind: 'ignored', why: 'its NodeClaim has gone meanwhile' };
  // Clocks differ, and who sent it may be wrong: it was known before it came, and is measured from no later.
  const noticedMs = Math.min(signal.noticedMs ?? receivedMs, receivedMs);
  tellOf(ports, claim, signal, { ...given, noticedMs, leftMs: deadlineMs - nowMs });
  return { kind: 'given-up', claim: claim.metadata.name, ...given };
}

/** A notice that is acted on, read at `nowMs`; both times in milliseconds since the epoch. */
interface Confirmed {
  readonly kind: 'confirmed';
  readonly claim: NodeClaim;
  readonly nowMs: number;
  /** By when the pods must have left. */
  readonly deadlineMs: number;
}

async function confirm(ports: Ports, signal: SignalHint, hearsay: boolean): Promise<Confirmed | InterruptOutcome> {
  if (!ENDS_SERVICE.has(signal.event)) return { kind: 'ignored', why: `a ${signal.event} takes nothing away` };
  const claim = await findClaim(ports, signal);
  if (claim === null) return { kind: 'ignored', why: 'no NodeClaim of ours' };
  if (hearsay && !(await isGone(ports, claim))) return look(ports, claim, signal);
  if (signal.event === 'preempt' && isOnDemand(claim)) {
    return { kind: 'ignored', why: 'only spot machines are preempted' };
  }
  const nowMs = ports.now();
  const deadlineMs = Math.max(signal.notBeforeMs ?? nowMs + SHORTEST_NOTICE_MS, nowMs + LATEST_MS);
  const isNews = signal.event === 'preempt' && !isPreempted(claim);
  if (!isNews && isLeavingBy(claim, deadlineMs)) return { kind: 'ignored', why: 'already being removed' };
  return { kind: 'confirmed', claim, nowMs, deadlineMs };
}

/** Each step takes a few calls of the API server, which takes so many connections of one instance. */
const STEPS_AT_ONCE = 32;

/** The turns of notices that come together, for `interrupt`. */
export function createTurns(): InTurn {
  return atMost(STEPS_AT_ONCE);
}

/** The line of a notice. */
function tellOf(
  ports: Pick<Ports, 'log'>,
  claim: NodeClaim,
  { event, source }: SignalHint,
  { noticedMs, leftMs, markedMs, toldMs, pods }: GivenUp & { readonly noticedMs: number; readonly leftMs: number },
): void {
  ports.log('interrupted', {
    ...claimFacts(claim),
    ...machineFacts(claim),
    notice: event,
    source,
    markedAfterMs: markedMs === null ? null : markedMs - noticedMs,
    toldAfterMs: toldMs === null ? null : toldMs - noticedMs,
    leftMs,
    pods,
  });
}

/**
 * Is it being removed already, and by no later than that? A drain that may take its time has to learn that it may not.
 */
function isLeavingBy(claim: NodeClaim, deadlineMs: number): boolean {
  return claim.metadata.deletionTimestamp !== undefined && (deadlineOf(claim) ?? Infinity) <= deadlineMs;
}

function isOnDemand({ metadata }: NodeClaim): boolean {
  const type = metadata.labels?.[label.capacityType];
  return type !== undefined && type !== 'spot';
}

/** Where a notice names no time it was sent at it; a machine that is degraded stays so. */
function isHearsay({ event, unlessThere, notBeforeMs, noticedMs }: SignalHint, nowMs: number): boolean {
  const saidMs = notBeforeMs ?? (event === 'degraded' ? undefined : noticedMs) ?? nowMs;
  return unlessThere === true || saidMs < nowMs - STALE_MS;
}

/**
 * Whether Azure has taken from the claim what it had given. A launch under way, and a removal, see to that themselves.
 * While its node is ready it is not gone, whatever Azure answers: one wrong answer then removes nothing that works.
 */
async function isGone(ports: Ports, claim: NodeClaim): Promise<boolean> {
  const { metadata, status } = claim;
  if (metadata.deletionTimestamp !== undefined || status?.providerID === undefined) return false;
  const node = await ports.kubernetes.get('Node', { name: nodeNameOf(claim), namespace: null });
  return !isReadyNode(node?.status?.conditions) && (await ports.cloud.observe(metadata.name)).kind === 'gone';
}

/**
 * At once, and again when a kubelet that has stopped is known to have: of what is gone in truth nothing else may tell.
 */
async function look(ports: Ports, { metadata }: NodeClaim, { event, eventId }: SignalHint): Promise<InterruptOutcome> {
  const { name, deletionTimestamp } = metadata;
  const nowMs = ports.now();
  const occasion = `hearsay/${event}/${eventId ?? nowMs}`;
  const again = { reason: 'machine-changed', occasion: `${occasion}/later`, atMs: nowMs + KUBELET_LOST_MS };
  await hintObjects(ports, claimsNamed([name]), { reason: 'machine-changed', occasion });
  if (deletionTimestamp === undefined) await hintObjects(ports, claimsNamed([name]), again);
  return { kind: 'looked', claim: name };
}
