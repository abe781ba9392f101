import { isDisrupted } from '../../kubernetes/disrupted-taint.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { isMarked, candidatesOf } from '../../core/disruption/second-look/begun.ts';
import type { Ports } from '../ports/ports.ts';
import { isInterrupted } from '../facts/interrupted.ts';

/**
 * The snapshot with claims that say why their nodes are closed. A notice closes the node and writes to its claim at the
 * same moment, and an image may show the one and not yet the other: a plan from it could buy the very offering that is
 * being evicted.
 */
export async function withKnownReasons(ports: Pick<Ports, 'kubernetes'>, snapshot: Snapshot): Promise<Snapshot> {
  const isUnexplained = candidatesOf(snapshot).some(
    ({ claim, node }) =>
      isDisrupted(node) && claim.metadata.deletionTimestamp === undefined && !isInterrupted(claim) && !isMarked(claim),
  );
  return isUnexplained ? { ...snapshot, nodeClaims: await ports.kubernetes.list('NodeClaim') } : snapshot;
}
