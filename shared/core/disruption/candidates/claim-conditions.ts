import type { Condition, NodeClaim } from '../../../kubernetes/manifest.ts';
import { parseTimestamp } from '../../quantity/utc-time.ts';

/** The condition of that type; undefined where nothing is said. */
export function conditionIn(conditions: ReadonlyArray<Condition> | undefined, type: string): Condition | undefined {
  return conditions?.find((one) => one.type === type);
}

/** Does the claim say so? */
export function says({ status }: NodeClaim, type: string): boolean {
  return conditionIn(status?.conditions, type)?.status === 'True';
}

/** When the claim was made, milliseconds since the epoch; 0 where that cannot be read. */
export function createdMs({ metadata }: NodeClaim): number {
  return parseTimestamp(metadata.creationTimestamp) ?? 0;
}

/** When the claim's condition last changed, milliseconds since the epoch; its creation when it never did. */
export function changedMs(claim: NodeClaim, type: string): number {
  return parseTimestamp(conditionIn(claim.status?.conditions, type)?.lastTransitionTime) ?? createdMs(claim);
}
