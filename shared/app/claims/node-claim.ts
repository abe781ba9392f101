import { annotation, finalizer } from '../../contract/names.ts';
import type { Condition, NodeClaim } from '../../kubernetes/manifest.ts';
import { type EventNote, publish } from '../tell/events.ts';
import { LostRaceError, RefusedError } from '../../ports/errors.ts';
import { DEFINITIONS_AGE_MS, type Refusal } from '../../ports/kubernetes.ts';
import { type ConditionChange, clearConditions, isTrue, sameConditions, setConditions } from '../facts/conditions.ts';
import { claimsNamed, hintObjects } from '../ports/hint-objects.ts';
import { alone } from '../ports/in-parallel.ts';
import { claimFacts } from '../facts/claim-facts.ts';
import type { Ports } from '../ports/ports.ts';
import type { FollowOutcome } from '../ports/follow-outcome.ts';

/** The conditions whose conjunction is a NodeClaim's `Ready`. */
const DEPENDENTS = ['Launched', 'Registered', 'Initialized'] as const;

/** What a claim shows from its launch until its node joins. */
export const NODE_NOT_FOUND: ConditionChange = {
  type: 'Registered',
  status: 'Unknown',
  reason: 'NodeNotFound',
  message: 'Node not registered with cluster',
};

export function createdAtMs(claim: NodeClaim): number {
  return Date.parse(claim.metadata.creationTimestamp ?? '') || 0;
}

/** When the claim's condition last changed, milliseconds since the epoch; its creation when it never did. */
export function transitionMs(claim: NodeClaim, type: string): number {
  const at = claim.status?.conditions?.find((condition) => condition.type === type)?.lastTransitionTime;
  return Date.parse(at ?? '') || createdAtMs(claim);
}

/** Adds our finalizer before anything else: from then on a deletion waits until the VM is gone. */
export async function ensureFinalizer(ports: Ports, claim: NodeClaim): Promise<NodeClaim> {
  const finalizers = claim.metadata.finalizers ?? [];
  if (finalizers.includes(finalizer)) return claim;
  const { name, resourceVersion } = claim.metadata;
  const outcome = await ports.kubernetes.patch(
    'NodeClaim',
    { name, namespace: null },
    {
      metadata: { resourceVersion, finalizers: [...finalizers, finalizer] },
    },
  );
  return written(outcome, name);
}

/** What a step makes of a claim's status: conditions to set and to take off, and other fields. */
export interface StatusChange {
  readonly conditions: ReadonlyArray<ConditionChange>;
  readonly clear?: ReadonlyArray<string>;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** The claim as it will be once its status is changed so. */
export function withStatus(claim: NodeClaim, change: StatusChange, nowMs: number): NodeClaim {
  const set = setConditions(claim.status?.conditions, change.conditions, {
    dependents: DEPENDENTS,
    generation: claim.metadata.generation ?? 1,
    nowMs,
    createdAt: claim.metadata.creationTimestamp ?? '',
  });
  return {
    ...claim,
    status: { ...claim.status, ...change.fields, conditions: clearConditions(set, change.clear ?? []) },
  };
}

/**
 * The patch that makes `next` of a claim's status, on condition that nobody has written since; null when nothing would
 * change.
 */
export function statusPatch(read: NodeClaim, next: NodeClaim): object | null {
  const { conditions = [], ...fields } = next.status ?? {};
  const changed = changedFields(read, fields);
  if (sameConditions(read.status?.conditions, conditions) && Object.keys(changed).length === 0) return null;
  return { metadata: { resourceVersion: read.metadata.resourceVersion }, status: { ...changed, conditions } };
}

/** Writes what steps have made of a claim's status, in one conditional write; none when nothing would change. */
export async function commitStatus(ports: Ports, read: NodeClaim, next: NodeClaim): Promise<NodeClaim> {
  const patch = statusPatch(read, next);
  if (patch === null) return read;
  const { name } = read.metadata;
  return written(await ports.kubernetes.patchStatus('NodeClaim', { name, namespace: null }, patch), name);
}

/** One step's change in a write of its own. */
export async function writeStatus(ports: Ports, claim: NodeClaim, change: StatusChange): Promise<NodeClaim> {
  return commitStatus(ports, claim, withStatus(claim, change, ports.now()));
}

/**
 * Asks the API server to remove the claim as it was read; its finalizer keeps it until the machine is gone. Throws
 * LostRaceError where somebody has written since: another process may have launched what this one found no machine for.
 */
export async function deleteClaim(ports: Ports, claim: NodeClaim, why: EventNote | null): Promise<FollowOutcome> {
  const { metadata } = why?.type === 'Warning' ? await noteGivenUp(ports, claim, why.reason) : claim;
  if (why !== null) await publish(ports.kubernetes, why, ports.now());
  await deleteAsRead(ports, metadata, 'deleting');
  ports.log('nodeclaim-deleted', {
    ...claimFacts(claim),
    reason: why?.reason ?? null,
    message: why?.message ?? null,
  });
  return { kind: 'ended', why: why?.reason ?? 'deleted' };
}

/**
 * Deletes the claim as it was read, by uid and version. `doing` is what the error says. Throws LostRaceError where
 * somebody has written since, and RefusedError.
 */
export async function deleteAsRead(
  { kubernetes }: Pick<Ports, 'kubernetes'>,
  { name, uid, resourceVersion }: NodeClaim['metadata'],
  doing: string,
): Promise<'deleted' | 'not-found'> {
  const asRead = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const outcome = await kubernetes.delete('NodeClaim', { name, namespace: null }, asRead);
  if (outcome === 'conflict') throw new LostRaceError(`${doing} ${name}: it has changed since it was read`);
  return outcome;
}

/**
 * Said on the claim, as the relay sees nothing else of it. Who wrote meanwhile is not overruled; a note that is
 * refused, or fails, keeps nothing from going.
 */
async function noteGivenUp(ports: Ports, claim: NodeClaim, reason: string): Promise<NodeClaim> {
  const { name, annotations = {}, resourceVersion } = claim.metadata;
  if (annotations[annotation.givenUp] === reason) return claim;
  const patch = { metadata: { resourceVersion, annotations: { [annotation.givenUp]: reason } } };
  const noted = await alone(() => ports.kubernetes.patch('NodeClaim', { name, namespace: null }, patch));
  if (noted.kind === 'failed') return claim;
  if (noted.answer.kind === 'conflict') throw new LostRaceError(`giving ${name} up: it has changed since it was read`);
  return noted.answer.kind === 'written' ? noted.answer.object : claim;
}

/**
 * Asks for a look at each of `claims` because a definition they depend on has changed, once nobody has the old one any
 * more.
 */
export async function hintClaims(ports: Ports, claims: ReadonlyArray<NodeClaim>, occasion: string): Promise<void> {
  const names = claims.map(({ metadata }) => metadata.name);
  const atMs = ports.now() + DEFINITIONS_AGE_MS;
  await hintObjects(ports, claimsNamed(names), { reason: 'depends-on', occasion, atMs });
}

export function eventAbout(claim: NodeClaim, type: EventNote['type'], reason: string, message: string): EventNote {
  const { name, uid = '' } = claim.metadata;
  const regarding = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, namespace: null, uid };
  return { regarding, type, reason, message };
}

export function isReadyNode(conditions: ReadonlyArray<Condition> | undefined): boolean {
  return isTrue(conditions, 'Ready');
}

/**
 * Throws LostRaceError where somebody else wrote in between: the hint is delivered again and finds the newer object;
 * and RefusedError.
 */
export function written<T>(
  outcome: { readonly kind: string; readonly object?: T; readonly refusal?: Refusal },
  name: string,
): T {
  if (outcome.object !== undefined) return outcome.object;
  if (outcome.refusal !== undefined) throw new RefusedError(outcome.refusal);
  throw new LostRaceError(`writing ${name}: ${outcome.kind}`);
}

function changedFields({ status }: NodeClaim, fields: object): Readonly<Record<string, unknown>> {
  const present: Readonly<Record<string, unknown>> = { ...status };
  return Object.fromEntries(
    Object.entries(fields).filter(([key, value]) => JSON.stringify(present[key]) !== JSON.stringify(value)),
  );
}
