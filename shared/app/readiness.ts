import { isOwnPool } from '../contract/own-class.ts';
import type { Snapshot } from '../contract/snapshot/parse.ts';
import type { Condition } from '../kubernetes/manifest.ts';
import { conditionOf } from './conditions.ts';

/** What the condition `Ready` of a pool or class says. `unjudged`: nobody has looked yet, which is no reason to refuse. */
export type Readiness =
  { readonly kind: 'ready' } | { readonly kind: 'refused'; readonly message: string } | { readonly kind: 'unjudged' };

/** Reads it of a pool, a class, or their images in a snapshot. */
export function readinessOf(conditions: ReadonlyArray<Condition> | undefined): Readiness {
  const ready = conditionOf(conditions, 'Ready');
  if (ready?.status === 'True') return { kind: 'ready' };
  if (ready?.status === 'False') return { kind: 'refused', message: ready.message ?? ready.reason ?? '' };
  return { kind: 'unjudged' };
}

/** A pool or class that nobody has judged for so long will not be judged soon: something is wrong, and people are told. */
const JUDGED_WITHIN_MS = 60_000;

/** The pools of which it is not known yet whether they can have nodes: they, or their classes, have just been made. */
export function unjudgedPools(
  { nodePools, nodeClasses }: Pick<Snapshot, 'nodePools' | 'nodeClasses'>,
  nowMs: number,
): ReadonlySet<string> {
  const isUnjudged = ({ metadata, status }: Judged): boolean =>
    readinessOf(status?.conditions).kind === 'unjudged' &&
    nowMs < (Date.parse(metadata.creationTimestamp ?? '') || 0) + JUDGED_WITHIN_MS;
  const classes = new Set(nodeClasses.filter(isUnjudged).map(({ metadata }) => metadata.name));
  const pools = nodePools
    .filter(isOwnPool)
    .filter((pool) => isUnjudged(pool) || classes.has(pool.spec.template.spec.nodeClassRef.name));
  return new Set(pools.map(({ metadata }) => metadata.name));
}

interface Judged {
  readonly metadata: { readonly creationTimestamp?: string };
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> };
}
