import { harmless } from '../../contract/harmless.ts';
import { parseUntil } from '../../core/quantity/told-time.ts';
import type { Condition } from '../../kubernetes/manifest.ts';
import type { Key, Kind, Refusal } from '../../ports/kubernetes.ts';
import { type ConditionChange, clearConditions, conditionOf, putConditions, toTimestamp } from '../facts/conditions.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * The condition of an object that it, or what belongs to it, may not be written. It is about now: who can write takes
 * it off.
 */
export const WRITE_DENIED = 'WriteDenied';

/** An object that people are told of a refusal on. */
export interface About {
  readonly kind: Kind;
  readonly key: Key;
}

/** By what a process remembers that something is denied of the object. */
export function deniedKey({ kind, key }: About): string {
  return `denied/${kind}/${key.namespace ?? ''}/${key.name}`;
}

/** Kinds whose conditions are ours to write. */
const carrying = ['NodeClaim', 'NodePool', 'AKSNodeClass'] as const;

/** Why something is not written: by whose word, and for people. */
export interface Unwritten {
  readonly reason: 'DeniedByPolicy' | 'RefusedByApiServer' | 'WriteFails';
  /** A sentence. */
  readonly message: string;
}

/**
 * Puts the condition on an object that carries conditions of ours, until `forMs` from now or as long as it says
 * already.
 */
export async function noteDenied(
  ports: Pick<Ports, 'kubernetes' | 'now'>,
  about: About,
  why: Unwritten,
  forMs: number,
): Promise<void> {
  await changeCondition(ports, about, (conditions, generation) => {
    const againMs = Math.max(ports.now() + forMs, deniedUntilMs(conditions, ports.now()) ?? 0);
    return putConditions(conditions, [deniedCondition(why, againMs)], { generation, nowMs: ports.now() });
  });
}

/** Takes the condition off where the object has it. A conflict is left to the next look. */
export async function clearDenied(ports: Pick<Ports, 'kubernetes'>, about: About): Promise<void> {
  await changeCondition(ports, about, (conditions) =>
    conditionOf(conditions, WRITE_DENIED) === undefined ? null : clearConditions(conditions, [WRITE_DENIED]),
  );
}

async function changeCondition(
  ports: Pick<Ports, 'kubernetes'>,
  about: About,
  change: (conditions: ReadonlyArray<Condition>, generation: number) => ReadonlyArray<Condition> | null,
): Promise<void> {
  const { key } = about;
  const kind = carrying.find((one) => one === about.kind);
  const found = kind === undefined ? null : await ports.kubernetes.get(kind, key);
  if (kind === undefined || found === null) return;
  const { resourceVersion, generation = 1 } = found.metadata;
  const conditions = change(found.status?.conditions ?? [], generation);
  if (conditions !== null)
    await ports.kubernetes.patchStatus(kind, key, { metadata: { resourceVersion }, status: { conditions } });
}

const AGAIN = 'Tried again from ';

/** Nothing that is denied is left alone for longer at a time. */
const DENIED_MAX_MS = 60 * 60_000;

function deniedCondition({ reason, message }: Unwritten, againMs: number): ConditionChange {
  return { type: WRITE_DENIED, status: 'True', reason, message: `${AGAIN}${toTimestamp(againMs)}: ${message}` };
}

/** A refusal, as objects say it. */
export function deniedBy(refusal: Refusal): Unwritten {
  const reason = refusal.policy === null ? 'RefusedByApiServer' : 'DeniedByPolicy';
  return { reason, message: renderDenied(refusal) };
}

/** A write that nobody denies, and that fails all the same, as where a webhook is called for it and does not answer. */
export function failingBy(what: string, error: Error): Unwritten {
  const words = harmless(error.message).slice(0, REASON_MAX);
  const fix = 'Look for a webhook that is called for this and does not answer';
  return { reason: 'WriteFails', message: `${what} fails, and has for two minutes: ${words}. ${fix}` };
}

/**
 * Until when what is denied is not tried, as the object says, milliseconds since the epoch; null where nothing is
 * denied. What people read is the only memory that all instances share.
 */
export function deniedUntilMs(conditions: ReadonlyArray<Condition> | undefined, nowMs: number): number | null {
  const denied = conditionOf(conditions, WRITE_DENIED);
  if (denied?.status !== 'True' || denied.message?.startsWith(AGAIN) !== true) return null;
  const end = denied.message.indexOf('Z', AGAIN.length) + 1;
  return parseUntil(denied.message.slice(AGAIN.length, end), nowMs, DENIED_MAX_MS);
}

/** Is something denied of it, and not to be tried yet? Where it could not say so itself, this process may know. */
export function isDeniedStill(
  { told, now }: Pick<Ports, 'told' | 'now'>,
  kind: Kind,
  { metadata: { name, namespace }, status }: Denied,
): boolean {
  if (now() < (deniedUntilMs(status?.conditions, now()) ?? 0)) return true;
  // What it says may be of before, and its status denied since.
  return told.isKnown(deniedKey({ kind, key: { name, namespace: namespace ?? null } }), now());
}

/** An object that may say so, or its image in a snapshot. */
interface Denied {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> };
}

/** The condition's type where its time has come, so that it is taken off; else none. */
export function deniedNoMore(conditions: ReadonlyArray<Condition> | undefined, nowMs: number): ReadonlyArray<string> {
  const isShown = conditionOf(conditions, WRITE_DENIED) !== undefined;
  return isShown && nowMs >= (deniedUntilMs(conditions, nowMs) ?? 0) ? [WRITE_DENIED] : [];
}

/**
 * Policies quote what they look at, and may say anything. What to do comes after it, and an event has 1,024 characters.
 */
const REASON_MAX = 600;

/** What is refused, by whom, in whose words, and what to do, as a sentence. */
export function renderDenied({ act, kind, key, policy, reason }: Refusal): string {
  const name = key.namespace === null ? key.name : `${key.namespace}/${key.name}`;
  const words = harmless(reason).slice(0, REASON_MAX);
  if (policy === null) {
    return `The API server refuses to ${act} ${kind} ${name}: ${words}. Install the custom resource definitions of this version of Nodewright; if they are, please report it`;
  }
  return `${policy} does not allow Nodewright to ${act} ${kind} ${name}: ${words}. ${fixFor(act, kind)}`;
}

function fixFor(act: Refusal['act'], kind: Kind): string {
  const exempt = 'exempt the identity of Nodewright from that policy';
  return act === 'create' && kind === 'NodeClaim'
    ? `Change spec.template of the NodePool to meet the policy, or ${exempt}`
    : `To allow it, ${exempt}, or exempt this object`;
}
