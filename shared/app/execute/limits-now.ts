import { label } from '../../contract/names.ts';
import { capacityAmounts } from '../../core/model/allocatable.ts';
import type { InstanceType } from '../../core/model/catalog.ts';
import { bookCapacity, overLimits } from '../../core/offerings/pool-state.ts';
import { parseAmounts } from '../../kubernetes/text/quantity.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import type { Decision } from '../../ports/store.ts';
import { isInterrupted } from '../facts/interrupted.ts';
import type { Ports } from '../ports/ports.ts';
import type { ClaimParts } from '../claims/to-node-claim.ts';

/**
 * What of these a node has is known when it runs, and may be less than its size promises: by so much, or people are
 * told.
 */
const LESS_BY = 0.1;
const MEASURED: ReadonlySet<string> = new Set(['memory', 'ephemeral-storage']);

/**
 * Which claims of a decision would take a NodePool past its limits, by name, with the reason for people. Limits and
 * NodeClaims are read from the API server at this moment: a plan may have been made from a view that is old, or forged.
 * What the decision has made already counts, what is being deleted or evicted by Azure does not. Reads nothing where no
 * pool has limits.
 */
export async function pastLimits(
  ports: Pick<Ports, 'kubernetes'>,
  decision: Decision,
  partsByPool: ReadonlyMap<string, ClaimParts>,
): Promise<ReadonlyMap<string, string>> {
  const limited = [...partsByPool.values()].filter(({ pool }) => Object.keys(pool.spec.limits ?? {}).length > 0);
  if (limited.length === 0) return new Map();
  const claims = await ports.kubernetes.list('NodeClaim');
  return new Map(limited.flatMap((parts) => pastLimitsOf(parts, claims, decision)));
}

function pastLimitsOf(
  { pool, types: list }: ClaimParts,
  claims: ReadonlyArray<NodeClaim>,
  { plan, claimNames, removal }: Decision,
): ReadonlyArray<readonly [claim: string, why: string]> {
  const { name } = pool.metadata;
  const types = new Map(list.map((type) => [type.name, type]));
  const replaced = new Set(pool.spec.replicas === undefined ? [] : removal?.claims.map((one) => one.name));
  const own = claims.filter(({ metadata }) => metadata.labels?.[label.nodePool] === name);
  const remaining = parseAmounts(pool.spec.limits, 'down');
  for (const claim of own) {
    if (counts(claim) && !replaced.has(claim.metadata.name)) bookCapacity(remaining, capacityOf(claim, types), 1);
  }
  const there = new Set(claims.map(({ metadata }) => metadata.name));
  return plan.claims.flatMap(({ nodePool, offering: { instanceType } }, index) => {
    const claim = claimNames[index] ?? '';
    const type = types.get(instanceType);
    if (nodePool !== name || there.has(claim) || type === undefined) return [];
    const capacity = capacityAmounts(type);
    const over = overLimits(remaining, capacity, null);
    if (over !== null)
      return [[claim, `limit of ${over.resource} of NodePool ${name} leaves no room for ${instanceType}`]];
    bookCapacity(remaining, capacity, 1);
    return [];
  });
}

/** What has been marked only counts, as it may stay. */
function counts(claim: NodeClaim): boolean {
  return claim.metadata.deletionTimestamp === undefined && !isInterrupted(claim);
}

function capacityOf(
  { metadata, status }: NodeClaim,
  types: ReadonlyMap<string, InstanceType>,
): ReadonlyMap<string, number> {
  const type = types.get(metadata.labels?.[label.instanceType] ?? '');
  const said =
    status?.capacity === undefined
      ? type === undefined
        ? new Map()
        : capacityAmounts(type)
      : parseAmounts(status.capacity, 'down');
  return new Map(
    [...said].map(([resource, amount]) => [resource, MEASURED.has(resource) ? amount * (1 - LESS_BY) : amount]),
  );
}
