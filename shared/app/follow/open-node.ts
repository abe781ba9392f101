import { taint } from '../../contract/names.ts';
import type { Node, NodeClaim } from '../../core/model/manifest.ts';
import type { Ports } from '../ports.ts';
import { type Step, transitionMs } from './node-claim.ts';
import { patchNode } from './patch-node.ts';
import { lookOnceSettled } from './look-once-settled.ts';
import { letIn, nominate, plannedPods } from './planned-pods.ts';

/**
 * How long after its registration a node is kept for its planned pods at most. The scheduler binds them within a second;
 * one that has refused a pod often waits up to ten before it tries again, and pods that spread over zones wait for the
 * nodes of other zones, which boot some seconds sooner or later.
 */
const RESERVED_MS = 30_000;

/** ... and with a startup taint on it, under which they cannot come: a driver's installation takes minutes. */
const STARTING_MS = 10 * 60_000;

/**
 * Between looks at a reserved node: half as long as it has been one, within these bounds. That a startup taint goes is
 * told by the relay.
 */
const LOOK_MIN_MS = 1_000;
const LOOK_MAX_MS = 5_000;
const STARTING_LOOK_MAX_MS = 60_000;

/** Puts off the look at whether the planned pods have come. */
export function awaitPlanned(ports: Ports, claim: NodeClaim, node: Node): Step {
  const sinceMs = ports.now() - transitionMs(claim, 'Registered');
  const longestMs = isStarting(claim, node) ? STARTING_LOOK_MAX_MS : LOOK_MAX_MS;
  const pauseMs = Math.min(Math.max(LOOK_MIN_MS, sinceMs / 2), longestMs);
  return { kind: 'wait', for: 'the pods that its node was made for', lookAgainMs: ports.now() + pauseMs };
}

function isStarting(claim: NodeClaim, node: Node): boolean {
  const present = node.spec?.taints ?? [];
  return (claim.spec.startupTaints ?? []).some(({ key, effect }) =>
    present.some((one) => one.key === key && one.effect === effect),
  );
}

/** Lets everybody onto a reserved node once its planned pods have come, or found room elsewhere, or have had their time. */
export async function openNode(ports: Ports, claim: NodeClaim, node: Node): Promise<Step> {
  const planned = await plannedPods(ports, claim);
  const waiting = await letIn(ports, claim, node.metadata.name, planned);
  const late = ports.now() >= transitionMs(claim, 'Registered') + (isStarting(claim, node) ? STARTING_MS : RESERVED_MS);
  if (waiting.length > 0 && !late) return awaitPlanned(ports, claim, node);
  await nominate(ports, node.metadata.name, waiting);
  await patchNode(ports, node, ({ spec, metadata: { resourceVersion } }) => ({
    metadata: { resourceVersion },
    spec: { taints: (spec?.taints ?? []).filter(({ key }) => key !== taint.reserved.key) },
  }));
  await lookOnceSettled(ports, claim);
  ports.log('node-opened', {
    claim: claim.metadata.name,
    node: node.metadata.name,
    planned: planned.length,
    stillWaiting: waiting.length,
  });
  return { kind: 'next', claim };
}
