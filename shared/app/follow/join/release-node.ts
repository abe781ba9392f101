import { finalizer } from '../../../contract/names.ts';
import { vmNameOf } from '../../../contract/vm-name.ts';
import type { Ports } from '../../ports/ports.ts';
import { written } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';

/** Between looks at a node whose claim has gone and whose machine has not. */
const MACHINE_LOOK_MS = 30_000;

/**
 * Lets the Node of a claim that is no more go with its machine. A claim takes its Node with it, unless somebody removes
 * the claim's finalizer by hand: then nothing else would ever remove ours from the Node. As Karpenter's node
 * controller.
 */
export async function releaseNode(ports: Ports, claim: string): Promise<FollowOutcome> {
  const key = { name: vmNameOf(claim), namespace: null };
  const node = await ports.kubernetes.get('Node', key);
  const { finalizers = [], deletionTimestamp, resourceVersion } = node?.metadata ?? {};
  if (deletionTimestamp === undefined || !finalizers.includes(finalizer)) {
    return { kind: 'ended', why: 'there is no such NodeClaim' };
  }
  const machine = await ports.cloud.observe(claim);
  if (machine.kind !== 'gone') {
    return { kind: 'wait', for: 'the machine to go', lookAgainMs: ports.now() + MACHINE_LOOK_MS };
  }
  const rest = finalizers.filter((one) => one !== finalizer);
  const outcome = await ports.kubernetes.patch('Node', key, { metadata: { resourceVersion, finalizers: rest } });
  if (outcome.kind !== 'not-found') written(outcome, key.name);
  ports.log('node-released', { claim });
  return { kind: 'ended', why: 'its claim has gone before it' };
}
