import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Plan } from '../../core/model/plan.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { conditionOf, isTrue } from '../facts/conditions.ts';
import { claimOfVm } from '../../contract/vm-name.ts';
import type { Ports } from '../ports/ports.ts';
import { tellWaitingPods } from './tell-waiting-pods.ts';

/** A driver's installation takes up to so long. */
const STARTED_MS = 10 * 60_000;

/**
 * Tells pods whose place is on a node that has registered and does not come into use what that waits for. As in
 * Karpenter the node is kept and its room is counted on, for however long: who looks why a pod waits finds nothing
 * else. Once an hour, whatever node it is.
 */
export async function tellSlowNodes(
  ports: Ports,
  { nodeClaims }: Pick<Snapshot, 'nodeClaims'>,
  { nominations }: Pick<Plan, 'nominations'>,
): Promise<void> {
  const slow = new Map(nodeClaims.filter((claim) => isSlow(claim, ports.now())).map((one) => [one.metadata.name, one]));
  if (slow.size === 0) return;
  const news = nominations.flatMap(({ target: { kind, name }, pods }) => {
    const claim = slow.get((kind === 'claim' ? name : claimOfVm(name)) ?? '');
    const { message = '' } = conditionOf(claim?.status?.conditions, 'Initialized') ?? {};
    if (claim === undefined) return [];
    const text = `This pod will run on the node of NodeClaim ${claim.metadata.name}, which is not initialized yet: ${message}`;
    return pods.map((pod) => {
      const key = `not-in-use/${pod.uid}/${message}`;
      return { pod, key, type: 'Warning', reason: 'NodeNotInUse', message: text } as const;
    });
  });
  await tellWaitingPods(ports, news);
}

function isSlow({ metadata, status }: NodeClaim, nowMs: number): boolean {
  if (metadata.deletionTimestamp !== undefined || isTrue(status?.conditions, 'Initialized')) return false;
  const registered = conditionOf(status?.conditions, 'Registered');
  const sinceMs = Date.parse(registered?.lastTransitionTime ?? '');
  return registered?.status === 'True' && nowMs >= sinceMs + STARTED_MS;
}
