import type { Pod } from '../model/cluster.ts';
import { admitsAsk, allowsBin, hasRoom, type Bin } from './bins.ts';
import { guardFor, putOnBin } from './place.ts';
import { unsupportedFeature } from './unsupported.ts';
import type { Workspace } from './workspace.ts';

/** Promised pods may have to wait for each other, as all pods do; chains longer than this are planned anew. */
const MAX_ROUNDS = 20;

/**
 * Pods that an earlier plan or kube-scheduler gave a place keep it, so that plans made while nodes start do not chase each
 * other. Whoever took the room or the domain in the meantime has it: such a pod is planned again. Answers those that are
 * not placed.
 */
export function keepPromises(workspace: Workspace, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  const byNode = new Map(workspace.bins.map((bin) => [bin.capacity.name, bin]));
  const byPod = new Map<string, Bin>();
  for (const bin of workspace.bins) {
    const promise = workspace.input.inFlight.get(bin.capacity.claim ?? '');
    for (const uid of promise?.pods ?? []) byPod.set(uid, bin);
  }
  let open = pods;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const still = open.filter((pod) => {
      const bin = byPod.get(pod.uid) ?? byNode.get(pod.nominatedNodeName ?? '');
      return bin === undefined || !keep(workspace, bin, pod);
    });
    if (still.length === open.length) break;
    open = still;
  }
  return open;
}

function keep(workspace: Workspace, bin: Bin, pod: Pod): boolean {
  const ask = workspace.asks.get(pod.shape)?.at(-1);
  if (ask === undefined || unsupportedFeature(ask.shape.shape.spec) !== null) return false;
  if (!hasRoom(bin, ask.shape) || !admitsAsk(bin, ask)) return false;
  if (!allowsBin(guardFor(workspace, ask, true), bin)) return false;
  putOnBin(workspace, bin, ask, pod);
  return true;
}
