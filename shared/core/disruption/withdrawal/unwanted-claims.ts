import { parseGoDuration } from '../../../kubernetes/text/go-duration.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import { markKey } from '../../../kubernetes/marks.ts';
import type { PodReference } from '../../model/plan.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { machinesOf } from '../../present/existing-capacity.ts';
import { DO_NOT_DISRUPT } from '../../present/pending-pods.ts';
import type { Instant } from '../../quantity/units.ts';
import { readPause } from '../brakes/pauses.ts';
import { says } from '../candidates/claim-conditions.ts';
import { nodeBudgets } from '../candidates/node-budgets.ts';
import { isMarked, replacementsOf } from '../second-look/begun.ts';

/** What is known of pods beside the view that plans are made of. */
export interface Awaited {
  /**
   * Claims that were made for pods which had no node, and for nobody else: for each all pods that may come to its node.
   */
  readonly madeFor: ReadonlyMap<string, ReadonlyArray<PodReference>>;
  /** Namespaces in which an owner wants more pods than it has: some are about to come. */
  readonly coming: ReadonlySet<string>;
}

/**
 * The claims on their way to a node that nobody waits for any more: of the pods that each was made for, or that a plan
 * has a place for there, none is without a node. Sorted by name. None is among them that came in the place of a node
 * that goes, that holds the room of a buffer, that has a node already, or that somebody wants to keep
 * (`mayBeWithdrawn`, `keepsEmptyNodes`).
 */
export function unwantedClaims(
  { cluster, inFlight }: Pick<ProvisioningInput, 'cluster' | 'inFlight'>,
  { madeFor, coming }: Awaited,
  now: Instant,
): ReadonlyArray<NodeClaim> {
  // Whose room a buffer counts on is decided anew by each plan.
  if (cluster.capacityBuffers.length > 0) return [];
  const pools = new Map(cluster.nodePools.map((pool) => [pool.metadata.name, pool]));
  const waiting = new Set(
    cluster.pods.flatMap(({ uid, nodeName, deleting }) => (nodeName === null && !deleting ? [uid] : [])),
  );
  const replacing = new Set(cluster.nodeClaims.flatMap(replacementsOf));
  // Claims that share a dedication share thousands of pods.
  const known = new Map<ReadonlyArray<PodReference>, boolean>();
  const isAwaited = (pods: ReadonlyArray<PodReference>): boolean => {
    const is = known.get(pods) ?? pods.some((pod) => waiting.has(pod.uid) || coming.has(namespaceOf(pod)));
    known.set(pods, is);
    return is;
  };
  const isUnwanted = ({ metadata: { name, labels } }: NodeClaim): boolean => {
    const pods = madeFor.get(name);
    const pool = pools.get(labels?.[labelKey.nodePool] ?? '');
    if (pods === undefined || pool === undefined || replacing.has(name) || keepsEmptyNodes(pool, now)) return false;
    return !isAwaited(pods) && !(inFlight.get(name)?.pods ?? []).some((uid) => waiting.has(uid));
  };
  return machinesOf(cluster)
    .flatMap(({ node, claim }) => (node === null && claim !== null ? [claim] : []))
    .filter((claim) => mayBeWithdrawn(claim) && isUnwanted(claim))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** What says of a claim that it is going already, that it came in the place of another, or that it is to stay. */
const KEEPING: ReadonlyArray<string> = [
  DO_NOT_DISRUPT,
  markKey.givenUp,
  markKey.interruption,
  markKey.createdFor,
  markKey.noticed,
];

/** May a claim without a node be withdrawn, as far as it says itself? */
export function mayBeWithdrawn(claim: NodeClaim): boolean {
  const { annotations = {}, deletionTimestamp } = claim.metadata;
  if (deletionTimestamp !== undefined || isMarked(claim) || says(claim, 'Registered')) return false;
  return !KEEPING.some((key) => key in annotations);
}

/**
 * A pool that keeps an empty node for longer is one of whose nodes somebody wants some to be warm. Within a minute of
 * being empty a node would be gone before most could use it.
 */
const KEPT_FROM_MS = 60_000;

/** So many nodes that a budget which lets a share go lets at least one go. */
const MANY_NODES = 1_000;

/** Does the pool have a fixed number of nodes, is it going itself, or does somebody want its empty nodes to stay? */
function keepsEmptyNodes(pool: NodePool, now: Instant): boolean {
  const { metadata, spec } = pool;
  if (spec.replicas !== undefined || metadata.deletionTimestamp !== undefined) return true;
  if (readPause(metadata, now).kind !== 'none') return true;
  const afterMs = parseGoDuration(spec.disruption?.consolidateAfter ?? '0s');
  if (afterMs === null || afterMs > KEPT_FROM_MS) return true;
  return nodeBudgets(pool, now).allowed('Empty', MANY_NODES) === 0;
}

function namespaceOf({ name }: PodReference): string {
  return name.slice(0, name.indexOf('/'));
}
