import type { Pod } from '../model/cluster.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';
import { machinesOf } from './existing-capacity.ts';
import { isUnevictable } from './pending-pods.ts';
import { withoutNodes } from './without-nodes.ts';
import type { Instant } from '../quantity/units.ts';
import { parseTimestamp } from '../quantity/utc-time.ts';

/** By when the pods of a NodeClaim must have left: Karpenter's annotation. */
const TERMINATION_TIMESTAMP = 'karpenter.sh/nodeclaim-termination-timestamp';

/**
 * How long before its node's deadline a pod that nothing may evict till then is planned for: as long as new nodes take
 * to join.
 */
const PLANNED_AHEAD_MS = 5 * 60_000;

/**
 * The input as it will be without what leaves, to plan for the pods that lose their node. One that nothing may evict
 * stays as long as its node does, so that a node for it would stay empty: as Karpenter, nobody plans for it, but
 * shortly before the node's deadline, which spares no pod. `held`: as of `withoutNodes`.
 */
export function withoutLeaving(
  input: ProvisioningInput,
  leaving: ReadonlyArray<string>,
  now: Instant,
  held: ReadonlySet<string> = new Set(),
): ProvisioningInput {
  const stays = new Set(
    machinesOf(input.cluster).flatMap(({ node, claim }) => {
      const deleted = node?.metadata.deletionTimestamp ?? claim?.metadata.deletionTimestamp;
      const deadlineMs = parseTimestamp(claim?.metadata.annotations?.[TERMINATION_TIMESTAMP]) ?? Infinity;
      return deleted === undefined || deadlineMs <= now + PLANNED_AHEAD_MS ? [] : (node?.metadata.name ?? []);
    }),
  );
  const staysWithNode = (pod: Pod): boolean =>
    !pod.deleting && stays.has(pod.nodeName ?? '') && isUnevictable(input.cluster, pod, now);
  return withoutNodes(input, leaving, { held, staysWithNode });
}
