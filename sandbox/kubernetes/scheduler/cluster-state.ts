import type { PodAffinityRules, PodAffinityTerm } from '../../../shared/kubernetes/manifest.ts';
import type { Node, OwnerReference, Pod } from '../client/objects.ts';
import { controllerOf, isFinished } from '../client/objects.ts';
import { hostPorts, podRequests, type HostPort } from '../pod-requests.ts';
import { toAmounts, type Amounts } from '../quantity.ts';

/** What the scheduler assumes for scoring of a container that requests nothing: 100 millicores and 200 MB. */
const ASSUMED_CPU = 100;
const ASSUMED_MEMORY = 200 * 1024 * 1024;

/** A pod with what scheduling asks of it, worked out once per version of the pod. */
export interface PodInfo {
  readonly pod: Pod;
  readonly uid: string;
  readonly namespace: string;
  readonly priority: number;
  readonly createdMs: number;
  /** The uid of the controller that made it, empty for a bare pod. */
  readonly controllerUid: string;
  /** Pods with the same shape ask for the same: those that one controller made from one template. */
  readonly shape: string;
  /** True when the pod has terms about other pods, required or preferred. */
  readonly hasTerms: boolean;
  readonly requests: Amounts;
  /** For scoring only: requests with the assumed least. */
  readonly scoredCpu: number;
  readonly scoredMemory: number;
  readonly ports: ReadonlyArray<HostPort>;
  readonly affinity: ReadonlyArray<PodAffinityTerm>;
  readonly antiAffinity: ReadonlyArray<PodAffinityTerm>;
}

/** A node, and what is on it. `node` is null while pods are bound to a node that the watch has not shown. */
export interface NodeInfo {
  readonly name: string;
  node: Node | null;
  allocatable: Amounts;
  readonly requested: Record<string, number>;
  scoredCpu: number;
  scoredMemory: number;
  readonly pods: Map<string, PodInfo>;
  /** Pods by the uid of their controller, those being deleted left out. */
  readonly byController: Map<string, number>;
  /** How many pods have terms about other pods. */
  withTerms: number;
}

/**
 * The scheduler's picture of the cluster: watched nodes and bound pods, and pods it has placed and not yet seen bound.
 */
export interface ClusterState {
  readonly nodes: Map<string, NodeInfo>;
  /** Node name by uid of each pod that holds room. */
  readonly placed: Map<string, string>;
  /** Grows with every change: an answer from the same version still holds. */
  version(): number;
  setNode(node: Node): void;
  removeNode(name: string): void;
  /** Takes what is known of a pod: holds room where it is bound, frees it when it has finished. */
  setPod(pod: Pod): void;
  removePod(uid: string): void;
  /** Holds room for a pod on a node before the API has said so. */
  assume(info: PodInfo, nodeName: string): void;
}

/** Works out what scheduling asks of a pod. */
export function toPodInfo(pod: Pod): PodInfo {
  const requests = podRequests(pod);
  const affinity = pod.spec.affinity;
  const controller = controllerOf(pod);
  const bare = (resource: string): number =>
    pod.spec.containers.filter(({ resources }) => resources?.requests?.[resource] === undefined).length;
  return {
    pod,
    uid: pod.metadata.uid,
    namespace: pod.metadata.namespace ?? 'default',
    priority: pod.spec.priority ?? 0,
    createdMs: Date.parse(pod.metadata.creationTimestamp) || 0,
    controllerUid: controller?.uid ?? '',
    shape: shapeOf(pod, controller),
    hasTerms: affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined,
    requests,
    scoredCpu: (requests['cpu'] ?? 0) + bare('cpu') * ASSUMED_CPU,
    scoredMemory: (requests['memory'] ?? 0) + bare('memory') * ASSUMED_MEMORY,
    ports: hostPorts(pod),
    affinity: requiredTerms(affinity?.podAffinity),
    antiAffinity: requiredTerms(affinity?.podAntiAffinity),
  };
}

function requiredTerms(terms: PodAffinityRules | undefined): ReadonlyArray<PodAffinityTerm> {
  return terms?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}

/**
 * A bare pod is of its own kind, and so is a daemon pod, which is for one node. Of other pods the controller and the
 * template tell the kind; a claim of its own sets a pod apart, and so does what was made tolerable to it later.
 */
function shapeOf({ metadata, spec }: Pod, controller: OwnerReference | undefined): string {
  const tolerations = JSON.stringify(spec.tolerations ?? []);
  if (controller === undefined || controller.kind === 'DaemonSet') return `${metadata.uid}/${tolerations}`;
  const hash = metadata.labels?.['pod-template-hash'] ?? metadata.labels?.['controller-revision-hash'] ?? '';
  const apart = (spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim) ? metadata.uid : '';
  return `${controller.uid}/${hash}/${apart}/${tolerations}`;
}

/** An empty picture. */
export function newClusterState(): ClusterState {
  const nodes = new Map<string, NodeInfo>();
  const placed = new Map<string, string>();
  let version = 0;
  const nodeOf = (name: string): NodeInfo => {
    const known = nodes.get(name) ?? emptyNode(name);
    nodes.set(name, known);
    return known;
  };
  const removePod = (uid: string): void => {
    const info = nodes.get(placed.get(uid) ?? '');
    const held = info?.pods.get(uid);
    placed.delete(uid);
    if (info === undefined || held === undefined) return;
    version++;
    takeOff(info, held);
    if (info.node === null && info.pods.size === 0) nodes.delete(info.name);
  };
  const assume = (info: PodInfo, nodeName: string): void => {
    removePod(info.uid);
    version++;
    putOn(nodeOf(nodeName), info);
    placed.set(info.uid, nodeName);
  };
  return {
    nodes,
    placed,
    version: () => version,
    setNode: (node) => {
      version++;
      const info = nodeOf(node.metadata.name);
      info.node = node;
      info.allocatable = toAmounts(node.status?.allocatable);
    },
    removeNode: (name) => {
      const info = nodes.get(name);
      if (info === undefined) return;
      version++;
      info.node = null;
      if (info.pods.size === 0) nodes.delete(name);
    },
    setPod: (pod) => {
      if (isFinished(pod) || pod.spec.nodeName === undefined) removePod(pod.metadata.uid);
      else assume(toPodInfo(pod), pod.spec.nodeName);
    },
    removePod,
    assume,
  };
}

/** The node with further pods on it; the original is left as it is. */
export function withPods(info: NodeInfo, extra: ReadonlyArray<PodInfo>): NodeInfo {
  const copy: NodeInfo = {
    ...info,
    requested: { ...info.requested },
    pods: new Map(info.pods),
    byController: new Map(),
  };
  for (const pod of extra) if (!copy.pods.has(pod.uid)) putOn(copy, pod);
  return copy;
}

/** The node without some of its pods; the original is left as it is. */
export function withoutPods(info: NodeInfo, gone: ReadonlyArray<PodInfo>): NodeInfo {
  const copy: NodeInfo = {
    ...info,
    requested: { ...info.requested },
    pods: new Map(info.pods),
    byController: new Map(),
  };
  for (const pod of gone) if (copy.pods.has(pod.uid)) takeOff(copy, pod);
  return copy;
}

function emptyNode(name: string): NodeInfo {
  return {
    name,
    node: null,
    allocatable: {},
    requested: {},
    scoredCpu: 0,
    scoredMemory: 0,
    pods: new Map(),
    byController: new Map(),
    withTerms: 0,
  };
}

function putOn(info: NodeInfo, pod: PodInfo): void {
  info.pods.set(pod.uid, pod);
  add(info, pod, 1);
}

function takeOff(info: NodeInfo, pod: PodInfo): void {
  info.pods.delete(pod.uid);
  add(info, pod, -1);
}

function add(info: NodeInfo, pod: PodInfo, sign: 1 | -1): void {
  for (const [name, amount] of Object.entries(pod.requests)) {
    info.requested[name] = (info.requested[name] ?? 0) + sign * amount;
  }
  if (pod.hasTerms) info.withTerms += sign;
  if (pod.controllerUid !== '' && pod.pod.metadata.deletionTimestamp === undefined) {
    info.byController.set(pod.controllerUid, (info.byController.get(pod.controllerUid) ?? 0) + sign);
  }
  info.scoredCpu += sign * pod.scoredCpu;
  info.scoredMemory += sign * pod.scoredMemory;
}
