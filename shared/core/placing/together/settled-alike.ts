import { labelKey } from '../../../kubernetes/labels.ts';
import type { Need } from '../state/compile-shape.ts';
import { settledValue, type OpenClaim } from '../state/open-claim.ts';
import { type Counter, countersFor, filteredKeys, settledKeys } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

/**
 * The labels by which rules look at pods of the shape, its own rules and those of others: as long as these stay, it
 * concerns nobody on which node the pods are. Null where rules look at hosts, or choose nodes by labels that a size may
 * change.
 */
export function lookedAtKeys({ needs, topology }: Workspace, shape: number): ReadonlyArray<string> | null {
  const counters = [...(needs.get(shape) ?? []).flatMap(countersOf), ...countersFor(topology, shape)];
  if (counters.some(({ key }) => key === labelKey.hostname) || filteredKeys(counters).length > 0) return null;
  return settledKeys(counters);
}

function countersOf({ terms, exclusions }: Need): ReadonlyArray<Counter> {
  return [...terms.spread.map(({ counter }) => counter), ...terms.affinity, ...terms.antiAffinity, ...exclusions];
}

/** Has each of the labels been settled on both, and on the same value? */
export function areSettledAlike(one: OpenClaim, two: OpenClaim, keys: ReadonlySet<string>): boolean {
  for (const key of keys) {
    const value = settledValue(one, key);
    if (value === null || settledValue(two, key) !== value) return false;
  }
  return true;
}

/** What rules count on the one claim, they count on the other from now on. */
export function countElsewhere(
  { topology: { counters, exclusions } }: Workspace,
  from: OpenClaim,
  to: OpenClaim,
): void {
  for (const { byClaim } of [...counters.values(), ...exclusions.values()]) {
    const pods = byClaim.get(from);
    if (pods === undefined) continue;
    byClaim.delete(from);
    byClaim.set(to, (byClaim.get(to) ?? 0) + pods);
  }
}
