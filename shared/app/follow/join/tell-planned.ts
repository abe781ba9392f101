import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { publish } from '../../tell/events.ts';
import { eachAlone } from '../../ports/in-parallel.ts';
import type { Ports } from '../../ports/ports.ts';
import { aboutPod, podKeyOf } from '../../tell/pod-key.ts';
import { isStillWaiting, dedicationOf } from '../../gather/planned-pods.ts';

/** Pods told of one claim; its own events, and the decision's record, have them all. */
const TOLD_MAX = 100;
const TOLD_AT_ONCE = 8;

/**
 * Tells the pods that a claim's node was made for, and that still wait, that it does not come and why: for minutes they
 * were promised it, and heard nothing else. They are planned for again by the next look.
 */
export async function tellPlanned(ports: Ports, claim: NodeClaim, why: string): Promise<void> {
  const { pods } = await dedicationOf(ports, claim);
  const message = `NodeClaim ${claim.metadata.name}, which was created for this pod, has failed: ${why}. The pod will be planned again`;
  await eachAlone(pods.slice(0, TOLD_MAX), TOLD_AT_ONCE, async (planned) => {
    const pod = await ports.kubernetes.get('Pod', podKeyOf(planned));
    if (pod === null || !isStillWaiting(pod, planned)) return;
    const regarding = aboutPod(planned);
    await publish(ports.kubernetes, { regarding, type: 'Warning', reason: 'NodeGivenUp', message }, ports.now());
  });
}
