import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { isDedicated } from '../../kubernetes/dedicated-taint.ts';
import { podName } from '../../core/model/pod-name.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { conditionOf } from '../facts/conditions.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import { SETTLING_MS } from '../gather/gather.ts';
import { plannedIn } from '../gather/movers/planned.ts';
import { decisionOf, nominateNoMore, type PlannedPod } from '../gather/planned-pods.ts';
import { eachAlone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';

/** Nodes at once; each ends so many nominations at once itself. */
const NODES_AT_ONCE = 4;

/** The scheduler's own nominations are told from ours by the decision, and may last for long. */
const ASKED_EVERY_MS = 60_000;

/**
 * Ends our nominations to nodes that have been open to all for a while: the scheduler has tried these pods since, and
 * they do not fit, as where the machine has turned out smaller. It keeps what others have nominated, and who is
 * nominated is not planned for; from the next snapshot on these are.
 */
export async function endNominations(ports: Ports, snapshot: Snapshot): Promise<void> {
  await eachAlone(staleNominations(ports, snapshot), NODES_AT_ONCE, async ({ claim, pods }) => {
    // Who was not planned for the node was nominated by the scheduler.
    const planned = new Set(plannedIn(await decisionOf(ports, claim)));
    const ours = pods.filter(({ uid }) => planned.has(uid));
    await nominateNoMore(ports, nodeNameOf(claim), ours);
  });
}

/** Pods that are nominated to the node of a claim, and do not fit. */
interface Stale {
  readonly claim: NodeClaim;
  readonly pods: ReadonlyArray<PlannedPod>;
}

/** Those of the scheduler, which preempts others for a pod, are among them. */
function staleNominations(ports: Ports, snapshot: Snapshot): ReadonlyArray<Stale> {
  const nowMs = ports.now();
  const refused = snapshot.pods.filter(
    ({ nodeName, unschedulable, deleting }) => nodeName === null && unschedulable && !deleting,
  );
  // Stryker disable next-line ConditionalExpression: a shortcut, where nobody waits nobody is nominated
  if (refused.length === 0) return [];
  const nominated = Map.groupBy(refused, ({ nominatedNodeName }) => nominatedNodeName ?? '');
  const open = new Set(snapshot.nodes.flatMap((node) => (isDedicated(node) ? [] : node.metadata.name)));
  // Those that it preempts have their grace, and their room is meant for who is nominated.
  const emptying = new Set(snapshot.pods.flatMap(({ nodeName, deleting }) => (deleting ? nodeName : null) ?? []));
  return snapshot.nodeClaims.flatMap((claim) => {
    const node = nodeNameOf(claim);
    if (!isSettled(claim, nowMs) || !open.has(node) || emptying.has(node)) return [];
    const asked = (nominated.get(node) ?? []).filter(({ uid }) =>
      ports.told.isNews(`nominated/${uid}`, nowMs, ASKED_EVERY_MS),
    );
    const pods = asked.map((pod) => ({ uid: pod.uid, name: podName(snapshot, pod) }));
    return pods.length === 0 ? [] : [{ claim, pods }];
  });
}

/** In use for as long as a scheduler takes that tries again all whom a new node may help. */
function isSettled({ status }: NodeClaim, nowMs: number): boolean {
  const initialized = conditionOf(status?.conditions, 'Initialized');
  const sinceMs = Date.parse(initialized?.lastTransitionTime ?? '');
  return initialized?.status === 'True' && nowMs > sinceMs + SETTLING_MS;
}
