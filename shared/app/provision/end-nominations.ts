import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { dedicationIn } from '../../kubernetes/dedicated-taint.ts';
import { podName } from '../../core/model/pod-name.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { conditionOf } from '../facts/conditions.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import { SETTLING_MS } from '../gather/gather.ts';
import { plannedIn } from '../gather/heirs.ts';
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
  const stale = staleNominations(ports, snapshot);
  const claims = new Map(snapshot.nodeClaims.map((claim) => [nodeNameOf(claim), claim]));
  await eachAlone([...stale], NODES_AT_ONCE, async ([node, pods]) => {
    const claim = claims.get(node);
    // Who was not planned for the node was nominated by the scheduler.
    const planned = new Set(claim === undefined ? [] : plannedIn(await decisionOf(ports, claim)));
    const ours = pods.filter(({ uid }) => planned.has(uid));
    await nominateNoMore(ports, node, ours);
  });
}

/** By node; those of the scheduler, which preempts others for a pod, are among them. */
function staleNominations(ports: Ports, snapshot: Snapshot): ReadonlyMap<string, ReadonlyArray<PlannedPod>> {
  const nowMs = ports.now();
  const nominated = snapshot.pods.filter(
    (pod) => pod.nodeName === null && pod.nominatedNodeName !== null && pod.unschedulable && !pod.deleting,
  );
  if (nominated.length === 0) return new Map();
  const nodes = new Map(snapshot.nodes.map((node) => [node.metadata.name, node]));
  const settled = snapshot.nodeClaims.filter((claim) => isSettled(claim, nowMs)).map(nodeNameOf);
  // Those that it preempts have their grace, and their room is meant for who is nominated.
  const emptying = new Set(snapshot.pods.flatMap(({ nodeName, deleting }) => (deleting ? (nodeName ?? []) : [])));
  const open = new Set(settled.filter((name) => nodes.has(name) && dedicationIn(nodes.get(name) ?? null) === null));
  const stale = new Map<string, Array<PlannedPod>>();
  for (const pod of nominated) {
    const { uid, nominatedNodeName } = pod;
    if (nominatedNodeName === null || !open.has(nominatedNodeName) || emptying.has(nominatedNodeName)) continue;
    if (!ports.told.isNews(`nominated/${uid}`, nowMs, ASKED_EVERY_MS)) continue;
    const own = stale.get(nominatedNodeName) ?? [];
    stale.set(nominatedNodeName, [...own, { uid, name: podName(snapshot, pod) }]);
  }
  return stale;
}

/** In use for as long as a scheduler takes that tries again all whom a new node may help. */
function isSettled({ status }: NodeClaim, nowMs: number): boolean {
  const initialized = conditionOf(status?.conditions, 'Initialized');
  const sinceMs = Date.parse(initialized?.lastTransitionTime ?? '');
  return initialized?.status === 'True' && nowMs > sinceMs + SETTLING_MS;
}
