import { claimsNamed, hintObjects } from './hint-objects.ts';
import { isDisrupted } from '../contract/disrupted-taint.ts';
import { annotation, taint } from '../contract/names.ts';
import type { SignalHint } from '../contract/messages.ts';
import type { Snapshot } from '../contract/snapshot/parse.ts';
import type { NodeClaim } from '../kubernetes/manifest.ts';
import type { Plan } from '../core/model/plan.ts';
import { withoutBuffers } from '../core/present/buffer-pods.ts';
import { withoutNodes } from '../core/present/without-nodes.ts';
import { RetryableError } from '../ports/errors.ts';
import { avoidEvicted, tellStorms } from './avoid-evicted.ts';
import { claimFacts, machineFacts } from './claim-facts.ts';
import { commitPlan, execute, resumeNow } from './commit-plan.ts';
import { toTimestamp } from './conditions.ts';
import { publish } from './events.ts';
import { type Gathered, gatherFrom, readSnapshot } from './gather.ts';
import { initializedNodes } from './initialized-nodes.ts';
import { leavingNames } from './leaving.ts';
import { isSameId } from './same-id.ts';
import { claimOfVm, nodeNameOf } from './node-name.ts';
import type { Ports } from './ports.ts';
import type { LedgerState } from '../ports/store.ts';
import { makePlan, type MadePlan } from './make-plan.ts';
import { planWithoutSpares } from './plan-without-spares.ts';
import { recordPlan } from './record-plan.ts';
import { tellRefused } from './tell-refused.ts';

export type InterruptOutcome =
  /** Not a machine of ours, one that has gone already, or an event that takes nothing away. */
  | { readonly kind: 'ignored'; readonly why: string }
  /** Hearsay that Azure does not confirm, or of a claim that is on its way in or out: `follow` looks at it. */
  | { readonly kind: 'looked'; readonly claim: string }
  | { readonly kind: 'replaced'; readonly claim: string; readonly replacements: number };

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
 * Acts on the notice that a machine goes: its replacement is launched first, then the node is tainted and its claim
 * deleted with the deadline, which drains it in time. The same notice again, late, or for a machine nobody knows
 * changes nothing. Of hearsay (`unlessThere`) Azure is asked first.
 */
export async function interrupt(ports: Ports, signal: SignalHint): Promise<InterruptOutcome> {
  if (!ENDS_SERVICE.has(signal.event)) return { kind: 'ignored', why: `a ${signal.event} takes nothing away` };
  const claim = await findClaim(ports, signal);
  if (claim === null) return { kind: 'ignored', why: 'no NodeClaim of ours' };
  if (signal.unlessThere === true && !(await isGone(ports, claim))) return look(ports, claim, signal);
  if (claim.metadata.deletionTimestamp !== undefined) return { kind: 'ignored', why: 'already being removed' };

  const ledger = await resumeNow(ports);
  // Before the replacement is planned, or it would be the very offering that is being taken back.
  const snapshot = await readSnapshot(ports, true);
  const storms = signal.event === 'preempt' ? await avoidEvicted(ports, claim, snapshot) : [];
  const { replacements, made } = await replace(ports, claim, ledger, snapshot);
  await taintNode(ports, claim);
  await removeInTime(ports, claim, signal, replacements);
  const { event: notice, source } = signal;
  ports.log('interrupted', {
    ...claimFacts(claim),
    ...machineFacts(claim),
    notice,
    source,
    replacements: replacements.join(','),
  });
  await tellStorms(ports, claim, snapshot?.nodePools ?? [], storms);
  if (made !== null) await Promise.all([tellRefused(ports, made), recordPlan(ports, made, 'holds')]);
  return { kind: 'replaced', claim: claim.metadata.name, replacements: replacements.length };
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

/** Finds the claim of the machine that a signal is about; null when it is none of ours. */
export async function findClaim(
  ports: Pick<Ports, 'kubernetes'>,
  signal: Pick<SignalHint, 'vmId' | 'nodeName'>,
): Promise<NodeClaim | null> {
  const names = [signal.vmId?.split('/').at(-1), signal.nodeName].flatMap((name) => {
    const claim = name === undefined || name === null ? null : claimOfVm(name);
    return claim === null ? [] : [claim];
  });
  for (const name of new Set(names)) {
    // At most two names, and the first nearly always decides.
    // oxlint-disable-next-line no-await-in-loop
    const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
    if (claim !== null) return isAbout(signal, claim) ? claim : null;
  }
  return null;
}

/** Azure tells of all machines of a subscription: one of another cluster may have the name of ours. */
function isAbout({ vmId }: Pick<SignalHint, 'vmId'>, claim: NodeClaim): boolean {
  const { providerID } = claim.status ?? {};
  return vmId === null || providerID === undefined || isSameId(`azure://${vmId}`, providerID);
}

interface Replaced {
  /** The claims that the node's pods have to wait for. */
  readonly replacements: ReadonlyArray<string>;
  /** Null when there was nothing to plan from. */
  readonly made: MadePlan | null;
}

/**
 * Launches what the node's pods will need, and names the claims that they have to wait for. Capacity already on its way
 * for them counts, so a second notice adds nothing.
 */
async function replace(
  ports: Ports,
  claim: NodeClaim,
  ledger: LedgerState,
  snapshot: Snapshot | null,
): Promise<Replaced> {
  if (snapshot === null) return { replacements: [], made: null };
  const gathered = await gatherFrom(ports, ledger, snapshot);
  // All that leave go together: the plan counts on none of them, and neither may its audit.
  // Buffers are filled again by the next provisioning: pods that have to move wait for nobody's room.
  const interrupted = claim.metadata.name;
  const from = withoutBuffers(gathered.input);
  const leaving = [...leavingNames(gathered.snapshot), interrupted];
  const planned = makePlan(ports, gathered, withoutNodes(from, leaving));
  const made = planWithoutSpares(ports, planned, { from, leaving, interrupted });
  const { input, plan } = made;
  const moving = podsOf(gathered, claim);
  const onTheirWay = claimsOnTheirWay(plan, gathered, moving);
  if (plan.claims.length === 0) return { replacements: onTheirWay, made };
  const cause = `interruption of ${claim.metadata.name}`;
  const outcome = await commitPlan(ports, { ...gathered, input }, plan, cause);
  if (outcome.kind === 'lost') throw new RetryableError('another plan was committed first', { retryAfterMs: 100 });
  await execute(ports, outcome.state, outcome.decision);
  const { claimNames } = outcome.decision;
  const own = claimNames.filter((_, index) => plan.claims[index]?.pods.some(({ uid }) => moving.has(uid)) === true);
  return { replacements: [...own, ...onTheirWay], made };
}

/** The pods on the claim's node, and those promised to it, which may be there before a snapshot shows it. */
function podsOf({ snapshot, input }: Gathered, claim: NodeClaim): ReadonlySet<string> {
  const bound = snapshot.pods.filter(({ nodeName }) => nodeName === nodeNameOf(claim)).map(({ uid }) => uid);
  return new Set([...bound, ...(input.inFlight.get(claim.metadata.name)?.pods ?? [])]);
}

/** Claims of earlier plans that this one counts on for the node's pods, and that have no node in use yet. */
function claimsOnTheirWay(plan: Plan, { snapshot }: Gathered, moving: ReadonlySet<string>): ReadonlyArray<string> {
  const inUse = initializedNodes(snapshot);
  return plan.nominations
    .filter(({ pods, target }) => !inUse.has(target.name) && pods.some(({ uid }) => moving.has(uid)))
    .flatMap(({ target }) => (target.kind === 'claim' ? target.name : (claimOfVm(target.name) ?? [])));
}

async function taintNode(ports: Ports, claim: NodeClaim): Promise<void> {
  const key = { name: nodeNameOf(claim), namespace: null };
  const node = await ports.kubernetes.get('Node', key);
  if (node === null || isDisrupted(node)) return;
  const taints = [...(node.spec?.taints ?? []), taint.disrupted];
  const { resourceVersion } = node.metadata;
  // A conflict is left to the drain, which taints again.
  await ports.kubernetes.patch('Node', key, { metadata: { resourceVersion }, spec: { taints } });
}

/** Deletes the claim with the time by which its pods must have left. An earlier deadline stays. */
async function removeInTime(
  ports: Ports,
  claim: NodeClaim,
  signal: SignalHint,
  replacements: ReadonlyArray<string>,
): Promise<void> {
  const key = { name: claim.metadata.name, namespace: null };
  // Read again: another notice may have set its own deadline while the replacement was planned.
  const fresh = await ports.kubernetes.get('NodeClaim', key);
  if (fresh === null) return;
  const known = Date.parse(fresh.metadata.annotations?.[annotation.terminationTimestamp] ?? '');
  const noticed = signal.notBeforeMs ?? ports.now() + SHORTEST_NOTICE_MS;
  const deadline = toTimestamp(Number.isNaN(known) ? noticed : Math.min(known, noticed));
  const annotations = {
    [annotation.terminationTimestamp]: deadline,
    [annotation.interruption]: `${signal.event} by ${deadline}`,
    ...(replacements.length === 0 ? {} : { [annotation.replacedBy]: replacements.join(',') }),
  };
  const { name, uid = '', resourceVersion } = fresh.metadata;
  const outcome = await ports.kubernetes.patch('NodeClaim', key, { metadata: { resourceVersion, annotations } });
  if (outcome.kind === 'conflict') throw new RetryableError(`${name} changed meanwhile`, { retryAfterMs: 100 });
  const regarding = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, namespace: null, uid };
  const message = `Azure takes this machine back (${signal.event}) at ${deadline}; replacing it`;
  await publish(ports.kubernetes, { regarding, type: 'Warning', reason: 'Interrupted', message }, ports.now());
  await ports.kubernetes.delete('NodeClaim', key, uid === '' ? undefined : { uid });
  await hintObjects(ports, claimsNamed([name]), { reason: 'interrupted', occasion: `interrupted/${uid}` });
}
