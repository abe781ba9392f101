import { isOwnPool } from '../../contract/own-class.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Condition } from '../../kubernetes/manifest.ts';
import { conditionOf } from './conditions.ts';

/** The reason of a pool's condition `NodeClassReady` when it names a class that does not exist. */
export const CLASS_NOT_FOUND = 'NodeClassNotFound';

/**
 * What the condition `Ready` of a pool or class says. `unjudged`: nobody has looked yet, which is no reason to refuse.
 */
export type Readiness =
  { readonly kind: 'ready' } | { readonly kind: 'refused'; readonly message: string } | { readonly kind: 'unjudged' };

/** Reads it of a pool, a class, or their images in a snapshot. */
export function readinessOf(conditions: ReadonlyArray<Condition> | undefined): Readiness {
  const ready = conditionOf(conditions, 'Ready');
  if (ready?.status === 'True') return { kind: 'ready' };
  if (ready?.status === 'False') return { kind: 'refused', message: ready.message ?? ready.reason ?? '' };
  return { kind: 'unjudged' };
}

/**
 * A pool or class that nobody has judged for so long will not be judged soon: something is wrong, and people are told.
 */
const JUDGED_WITHIN_MS = 60_000;

/** What is older than this was not made together with a class that is not there yet. */
export const CLASS_COMES_WITHIN_MS = 5_000;

/**
 * The pools of which it is not known yet whether they can have nodes, by name, with the end of that in milliseconds
 * since the epoch: they or their classes have just been made, or their class may still come, or came after they were
 * judged without it.
 */
export function unjudgedPools(
  { nodePools, nodeClasses }: Pick<Snapshot, 'nodePools' | 'nodeClasses'>,
  nowMs: number,
): ReadonlyMap<string, number> {
  const classes = new Map(nodeClasses.map((nodeClass) => [nodeClass.metadata.name, nodeClass]));
  const ends = nodePools.filter(isOwnPool).map((pool) => {
    const nodeClass = classes.get(pool.spec.template.spec.nodeClassRef.name);
    const ofClass =
      nodeClass === undefined ? createdMs(pool) + CLASS_COMES_WITHIN_MS : judgedBy(nodeClass, wasMissed(pool));
    return [pool.metadata.name, Math.max(judgedBy(pool, false), ofClass)] as const;
  });
  return new Map(ends.filter(([, endMs]) => nowMs < endMs));
}

/** When it should have been judged: long ago, if it has been and not `again`. */
function judgedBy(judged: Judged, again: boolean): number {
  const isWaited = again || readinessOf(judged.status?.conditions).kind === 'unjudged';
  return isWaited ? createdMs(judged) + JUDGED_WITHIN_MS : -Infinity;
}

/** Was the pool judged when its class was not there? */
function wasMissed({ status }: Judged): boolean {
  return conditionOf(status?.conditions, 'NodeClassReady')?.reason === CLASS_NOT_FOUND;
}

function createdMs({ metadata }: Judged): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0;
}

interface Judged {
  readonly metadata: { readonly creationTimestamp?: string };
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> };
}
