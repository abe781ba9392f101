import { bakeMsOf } from '../../../kubernetes/bake-time.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { markKey } from '../../../kubernetes/marks.ts';
import type { NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Rollout } from '../../model/disruption-input.ts';
import { changedMs, conditionIn, createdMs, says } from '../candidates/claim-conditions.ts';
import { isReleaseDrift } from '../candidates/pool-brakes.ts';
import { renderTimestamp } from '../../quantity/utc-time.ts';

/** The claims of a NodePool on both sides of a new image or Kubernetes version. Those that are going are on neither. */
export interface Sides {
  /** They are to be replaced by it. */
  readonly behind: ReadonlyArray<NodeClaim>;
  /**
   * Made since the first of those was found behind, whatever for, or in place of one that was; the first that was
   * initialized comes first, those that are not last.
   */
  readonly fresh: ReadonlyArray<NodeClaim>;
}

/**
 * The claims of the pool on both sides; null where it has no bake time, or none is behind. All of it is read from the
 * objects, so that any instance finds the same: when a newer release comes, what was fresh is behind, and the next
 * canary is another.
 */
export function sidesOf(pool: NodePool, nodeClaims: ReadonlyArray<NodeClaim>): Sides | null {
  if (bakeMsOf(pool.metadata) === null) return null;
  const own = nodeClaims.filter(
    ({ metadata }) =>
      metadata.labels?.[labelKey.nodePool] === pool.metadata.name && metadata.deletionTimestamp === undefined,
  );
  const behind = own.filter(isBehind);
  if (behind.length === 0) return null;
  const sinceMs = Math.min(...behind.map((claim) => changedMs(claim, 'Drifted')));
  const isNew = (claim: NodeClaim): boolean => createdMs(claim) >= sinceMs || succeedsDrifted(claim, behind);
  const fresh = own.filter((claim) => !says(claim, 'Drifted') && isNew(claim));
  const inOrder = (a: NodeClaim, b: NodeClaim): number =>
    Math.sign(initializedMs(a) - initializedMs(b)) || (a.metadata.name < b.metadata.name ? -1 : 1);
  return { behind, fresh: fresh.toSorted(inOrder) };
}

/**
 * Was it made in place of one that had drifted, and of another image than those that are left? A node that was starting
 * when the release came is found behind when it has registered, by when the canary may have been made already.
 */
function succeedsDrifted({ metadata, status }: NodeClaim, behind: ReadonlyArray<NodeClaim>): boolean {
  if (metadata.annotations?.[markKey.createdFor] !== 'Drifted' || status?.imageID === undefined) return false;
  return behind.every((claim) => claim.status?.imageID !== status.imageID);
}

/** Is the claim to be replaced by one of a newer image or Kubernetes version? */
export function isBehind({ status }: NodeClaim): boolean {
  const drifted = conditionIn(status?.conditions, 'Drifted');
  return drifted?.status === 'True' && isReleaseDrift(drifted.reason);
}

/** Milliseconds since the epoch; the end of time for a claim that is not initialized. */
function initializedMs(claim: NodeClaim): number {
  return says(claim, 'Initialized') ? changedMs(claim, 'Initialized') : Number.MAX_SAFE_INTEGER;
}

/**
 * What the nodes of NodePools wait for that are behind a new image or Kubernetes version, by pool; nothing where none
 * waits.
 */
export function rollouts(
  { nodePools, nodeClaims }: Pick<Cluster, 'nodePools' | 'nodeClaims'>,
  nowMs: number,
): ReadonlyMap<string, Rollout> {
  return new Map(
    nodePools.flatMap((pool): ReadonlyArray<readonly [string, Rollout]> => {
      const why = haltOf(pool);
      const sides = sidesOf(pool, nodeClaims);
      const rollout =
        why !== null ? ({ kind: 'halted', why } as const) : sides === null ? null : rolloutOf(pool, sides, nowMs);
      return rollout === null ? [] : [[pool.metadata.name, rollout]];
    }),
  );
}

/** It stays until somebody removes it, whatever comes: nobody forgets that an image was bad. */
function haltOf({ metadata }: NodePool): string | null {
  const why = metadata.annotations?.[markKey.rolloutHalted] ?? null;
  return bakeMsOf(metadata) === null ? null : why;
}

function rolloutOf({ metadata }: NodePool, { fresh }: Sides, nowMs: number): Rollout | null {
  const [first] = fresh;
  if (first === undefined) return { kind: 'canary' };
  const claim = first.metadata.name;
  const sinceMs = initializedMs(first);
  if (sinceMs === Number.MAX_SAFE_INTEGER) return { kind: 'starting', claim };
  const untilMs = sinceMs + (bakeMsOf(metadata) ?? 0);
  return nowMs < untilMs ? { kind: 'baking', claim, until: renderTimestamp(untilMs) } : null;
}
