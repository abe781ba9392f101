import type { PodInfo } from './cluster-state.ts';

/** Which waiting pods are meant for which nodes: their room is not given to pods of the same or lower priority. */
export interface Nominations {
  /** Takes the pod's wish; an empty name takes it away. */
  set(pod: PodInfo, nodeName: string): void;
  remove(uid: string): void;
  /** Grows with every change. */
  version(): number;
  /** The pods whose room `pod` must respect on the node. */
  ahead(pod: PodInfo, nodeName: string): ReadonlyArray<PodInfo>;
  /** Pods of lower priority than `pod` that are meant for the node. */
  behind(pod: PodInfo, nodeName: string): ReadonlyArray<PodInfo>;
}

/** An empty list of nominations. */
export function openNominations(): Nominations {
  const nodeOf = new Map<string, string>();
  const byNode = new Map<string, Map<string, PodInfo>>();
  let version = 0;
  const remove = (uid: string): void => {
    const name = nodeOf.get(uid);
    if (name === undefined) return;
    version++;
    nodeOf.delete(uid);
    const pods = byNode.get(name);
    pods?.delete(uid);
    if (pods?.size === 0) byNode.delete(name);
  };
  const others = (pod: PodInfo, nodeName: string, isMeant: (other: PodInfo) => boolean): ReadonlyArray<PodInfo> => {
    const pods = byNode.get(nodeName);
    if (pods === undefined) return [];
    return [...pods.values()].filter((other) => other.uid !== pod.uid && isMeant(other));
  };
  return {
    set: (pod, nodeName) => {
      remove(pod.uid);
      if (nodeName === '') return;
      version++;
      nodeOf.set(pod.uid, nodeName);
      const pods = byNode.get(nodeName) ?? new Map<string, PodInfo>();
      pods.set(pod.uid, pod);
      byNode.set(nodeName, pods);
    },
    remove,
    version: () => version,
    ahead: (pod, nodeName) => others(pod, nodeName, (other) => other.priority >= pod.priority),
    behind: (pod, nodeName) => others(pod, nodeName, (other) => other.priority < pod.priority),
  };
}
