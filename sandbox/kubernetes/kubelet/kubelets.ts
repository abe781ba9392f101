import type { Clock } from '../../base/clock.ts';
import type { Rng } from '../../base/rng.ts';
import { connect, isApiError, type Connection } from '../client/connection.ts';
import type { Condition } from '../../../shared/kubernetes/manifest.ts';
import { hasCondition, isFinished, type Node, type Pod } from '../client/objects.ts';
import { watchObjects } from '../client/watch-objects.ts';
import { openWriteQueue, retryWrite, type WriteQueue } from '../client/write-queue.ts';
import { toAmounts } from '../quantity.ts';
import { toMicroTime } from '../timestamp.ts';
import type { Machine, MachineSpec } from './machine.ts';
import { readyCondition, renderNode, renderNodeStatus, stamped, uninitializedTaint } from './node-status.ts';
import { openPodLives, type PodLives, type PodPace } from './pod-lives.ts';

/** Status patches in flight at once: on two cores more only queue in the API server. */
const POD_WRITES = 12;
const NODE_WRITES = 6;
/** A kubelet renews its Lease every 10 s; with many nodes less often, since a node counts as lost after 50 s. */
const LEASE_RENEW_MS = 10_000;
const LEASE_RENEW_MAX_MS = 20_000;
const LEASE_RENEWALS_PER_SECOND = 10;
const LEASE_TICK_MS = 1_000;
const LEASE_SECONDS = 40;
const READY_DELAY_MS = 1_000;

const defaultPace: PodPace = {
  podStartMs: { min: 300, max: 1_500 },
  podStopMs: { min: 50, max: 300 },
  jobRunMs: 10_000,
};

/** How to run kubelets. Durations in milliseconds. */
export interface KubeletsOptions extends Partial<PodPace> {
  /** YAML text of a kubeconfig. */
  readonly kubeconfig: string;
  readonly clock: Clock;
  /** Draws each pod's durations, by its name. */
  readonly rng: Rng;
  /** Between two renewals of one node's Lease; by default 10 s, growing to 20 s with the number of nodes. */
  readonly leaseRenewMs?: number;
  readonly log?: (line: string) => void;
}

/** The kubelets of many machines. Calls name nodes; a name that is not here is an error that says so. */
export interface Kubelets {
  /**
   * A machine boots: its Node appears, becomes Ready, and its pods run. Resolves when the Node is registered, or when
   * the machine was removed before. An existing Node of that name is adopted, with its pods, as after a kubelet's
   * restart.
   */
  join(spec: MachineSpec): Promise<void>;
  /**
   * The machine is gone: no more status, no more Lease. Its Node is deleted `deleteNodeAfterMs` later, as the cloud
   * provider does, or stays when that is null. Harmless for a machine that is not here.
   */
  remove(name: string, deleteNodeAfterMs: number | null): void;
  /** The kubelet hangs: status, Lease and pods stand still; the control plane will find the node lost. */
  freeze(name: string): void;
  /** A frozen kubelet goes on. */
  thaw(name: string): Promise<void>;
  /** Reports a condition of the node, as node-problem-detector does. */
  setCondition(name: string, condition: Condition): Promise<void>;
  /** Names of the machines that are here, joining and frozen ones included. */
  names(): ReadonlyArray<string>;
  /** Resolves when every write that is due has been made. */
  idle(): Promise<void>;
  /** All stop at once; Nodes and pods stay in the API as they are. */
  close(): void;
}

interface Fleet {
  readonly options: KubeletsOptions;
  readonly connection: Connection;
  readonly machines: Map<string, Machine>;
  readonly nodeWrites: WriteQueue;
  readonly lives: PodLives;
  /** Bound pods by node name, then by uid. */
  readonly podsByNode: Map<string, Map<string, Pod>>;
  joined: number;
  closed: boolean;
}

/** Starts the kubelets' shared watch and Lease keeper; there are no machines until they join. */
export async function startKubelets(options: KubeletsOptions): Promise<Kubelets> {
  const { clock } = options;
  const connection = connect(options.kubeconfig);
  const onDropped = (key: string, error: unknown): void => options.log?.(`kubelet: ${key} given up: ${String(error)}`);
  const podWrites = openWriteQueue({ concurrency: POD_WRITES, onDropped: quietly(onDropped) });
  const nodeWrites = openWriteQueue({ concurrency: NODE_WRITES, onDropped });
  const lives = openPodLives({ ...defaultPace, ...options, connection, writes: podWrites });
  const fleet: Fleet = {
    options,
    connection,
    machines: new Map(),
    nodeWrites,
    lives,
    podsByNode: new Map(),
    joined: 0,
    closed: false,
  };
  const pods = watchObjects<Pod>({
    connection,
    path: '/api/v1/pods',
    query: 'fieldSelector=spec.nodeName!%3D',
    onChange: (pod) => {
      indexPod(fleet, pod);
      const machine = fleet.machines.get(pod.spec.nodeName ?? '');
      if (machine !== undefined) lives.observe(pod, machine);
    },
    onDelete: (pod) => {
      fleet.podsByNode.get(pod.spec.nodeName ?? '')?.delete(pod.metadata.uid);
      lives.forget(pod, fleet.machines.get(pod.spec.nodeName ?? ''));
    },
  });
  let stopLeases = keepLeases(fleet);
  await pods.synced;
  return {
    join: (spec) => join(fleet, spec),
    remove: (name, deleteNodeAfterMs) => {
      const machine = fleet.machines.get(name);
      if (machine !== undefined) removeMachine(fleet, machine, deleteNodeAfterMs);
    },
    freeze: (name) => {
      const machine = machineOf(fleet, name);
      machine.phase = 'frozen';
      lives.abandon(machine);
    },
    thaw: async (name) => {
      const machine = machineOf(fleet, name);
      if (machine.phase !== 'frozen') return;
      machine.phase = 'running';
      renewLease(fleet, machine);
      await reportReady(fleet, machine);
      observeAll(fleet, machine);
    },
    setCondition: (name, condition) => {
      const body = { status: { conditions: [stamped(condition, clock.now())] } };
      return written(fleet, `condition/${machineOf(fleet, name).spec.name}/${condition.type}`, () =>
        connection.patch(`${nodePath(name)}/status`, 'strategic', body),
      );
    },
    names: () => [...fleet.machines.keys()],
    idle: async () => {
      await podWrites.idle();
      await nodeWrites.idle();
    },
    close: () => {
      fleet.closed = true;
      stopLeases();
      stopLeases = () => undefined;
      pods.close();
      for (const machine of fleet.machines.values()) stopMachine(fleet, machine);
      podWrites.close();
      nodeWrites.close();
      connection.close();
    },
  };
}

/** A pod that is gone, or whose place was taken by another of its name, needs no word. */
function quietly(onDropped: (key: string, error: unknown) => void): (key: string, error: unknown) => void {
  return (key, error) => {
    if (!isApiError(error, 404) && !isApiError(error, 409)) onDropped(key, error);
  };
}

const nodePath = (name: string): string => `/api/v1/nodes/${name}`;
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

function machineOf(fleet: Fleet, name: string): Machine {
  const machine = fleet.machines.get(name);
  if (machine === undefined) throw new Error(`node ${name} has no kubelet here; join it first`);
  return machine;
}

function indexPod(fleet: Fleet, pod: Pod): void {
  const name = pod.spec.nodeName ?? '';
  const known = fleet.podsByNode.get(name) ?? new Map<string, Pod>();
  known.set(pod.metadata.uid, pod);
  fleet.podsByNode.set(name, known);
}

async function join(fleet: Fleet, spec: MachineSpec): Promise<void> {
  if (fleet.machines.has(spec.name)) throw new Error(`node ${spec.name} has joined already; remove it first`);
  const machine = newMachine(fleet, spec);
  fleet.machines.set(spec.name, machine);
  await delay(fleet.options.clock, spec.joinDelayMs ?? 0);
  if (machine.phase !== 'joining') return;
  const ready = await register(fleet, machine);
  if (isGone(machine)) return;
  machine.phase = 'running';
  renewLease(fleet, machine);
  if (spec.cloudInitMs !== undefined) {
    fleet.options.clock.after(spec.cloudInitMs, () => void initializeByCloud(fleet, machine));
  }
  if (!ready && spec.neverReady === undefined)
    fleet.options.clock.after(spec.readyDelayMs ?? READY_DELAY_MS, () => void reportReady(fleet, machine));
  observeAll(fleet, machine);
}

/** A call, so that the type checker does not take the phase read before an await for the one after. */
function isGone(machine: Machine): boolean {
  return machine.phase === 'gone';
}

/** Addresses as Azure CNI overlay gives them: nodes from 10.224.0.0/12, a /24 of 10.128.0.0/9 for each node's pods. */
function newMachine(fleet: Fleet, spec: MachineSpec): Machine {
  const index = fleet.joined++ % 16_000;
  const high = index >> 8;
  // The first address of a network is nobody's.
  const host = index + 1;
  return {
    spec,
    allocatable: toAmounts(spec.allocatable),
    hostIp: `10.224.${host >> 8}.${host & 255}`,
    podNetwork: `10.${128 + (high & 63)}.${index & 255}`,
    phase: 'joining',
    uid: '',
    pods: 0,
    renewAt: 0,
    admitted: new Map(),
  };
}

/** Creates the Node, or adopts the one that exists. Answers whether it is Ready already. */
async function register(fleet: Fleet, machine: Machine): Promise<boolean> {
  const { connection, options } = fleet;
  let ready = false;
  await written(fleet, `node/${machine.spec.name}`, async () => {
    try {
      const node = await connection.create<Node>('/api/v1/nodes', renderNode(machine, options.clock.now()));
      machine.uid = node.metadata.uid;
      if (node.status?.conditions !== undefined) return;
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      const node = await connection.get<Node>(nodePath(machine.spec.name));
      machine.uid = node.metadata.uid;
      ready = hasCondition(node.status?.conditions, 'Ready');
      if (ready) return;
    }
    const status = renderNodeStatus(machine, options.clock.now());
    await connection.patch(`${nodePath(machine.spec.name)}/status`, 'strategic', { status });
  });
  return ready;
}

async function reportReady(fleet: Fleet, machine: Machine): Promise<void> {
  if (machine.phase !== 'running') return;
  const { spec } = machine;
  await written(fleet, `ready/${spec.name}`, () => {
    const status = { conditions: [readyCondition(true, fleet.options.clock.now())] };
    return fleet.connection.patch(`${nodePath(spec.name)}/status`, 'strategic', { status });
  });
}

async function initializeByCloud(fleet: Fleet, machine: Machine): Promise<void> {
  if (machine.phase !== 'running') return;
  const path = nodePath(machine.spec.name);
  await written(fleet, `cloud/${machine.spec.name}`, async () => {
    const node = await fleet.connection.get<Node>(path);
    const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== uninitializedTaint.key);
    const { resourceVersion } = node.metadata;
    await fleet.connection.patch(path, 'merge', { metadata: { resourceVersion }, spec: { taints } });
  });
}

/** Pods that run come first: they keep their place, and only what is left is offered to those that wait. */
function observeAll(fleet: Fleet, machine: Machine): void {
  const bound = [...(fleet.podsByNode.get(machine.spec.name)?.values() ?? [])].filter(
    (pod) => !isFinished(pod) || pod.metadata.deletionTimestamp !== undefined,
  );
  const rank = (pod: Pod): number => (pod.status?.phase === 'Running' ? 0 : 1);
  for (const pod of bound.toSorted((a, b) => rank(a) - rank(b))) fleet.lives.observe(pod, machine);
}

function removeMachine(fleet: Fleet, machine: Machine, deleteNodeAfterMs: number | null): void {
  stopMachine(fleet, machine);
  fleet.machines.delete(machine.spec.name);
  if (deleteNodeAfterMs === null || machine.uid === '') return;
  fleet.options.clock.after(deleteNodeAfterMs, () => {
    fleet.nodeWrites.put(`delete/${machine.spec.name}`, async () => {
      try {
        await fleet.connection.remove(nodePath(machine.spec.name), { preconditions: { uid: machine.uid } });
      } catch (error) {
        if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
      }
    });
  });
}

function stopMachine(fleet: Fleet, machine: Machine): void {
  machine.phase = 'gone';
  fleet.lives.abandon(machine);
}

/** Renews the Leases that are due, once a second; answers how to stop. */
function keepLeases(fleet: Fleet): () => void {
  const { clock } = fleet.options;
  let cancel = (): void => undefined;
  const tick = (): void => {
    for (const machine of fleet.machines.values()) {
      if (machine.phase === 'running' && machine.renewAt <= clock.now()) renewLease(fleet, machine);
    }
    cancel = clock.after(LEASE_TICK_MS, tick);
  };
  tick();
  return () => {
    cancel();
  };
}

function renewLease(fleet: Fleet, machine: Machine): void {
  const { options, connection, nodeWrites } = fleet;
  machine.renewAt = options.clock.now() + leaseRenewMs(fleet);
  const { name } = machine.spec;
  nodeWrites.put(`lease/${name}`, async () => {
    if (machine.phase !== 'running') return;
    const renewTime = toMicroTime(options.clock.now());
    try {
      await connection.patch(`${leasePath}/${name}`, 'merge', { spec: { holderIdentity: name, renewTime } });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
      await createLease(fleet, machine, renewTime);
    }
  });
}

function leaseRenewMs({ options, machines }: Fleet): number {
  if (options.leaseRenewMs !== undefined) return options.leaseRenewMs;
  const spreadMs = (machines.size / LEASE_RENEWALS_PER_SECOND) * 1_000;
  return Math.min(LEASE_RENEW_MAX_MS, Math.max(LEASE_RENEW_MS, spreadMs));
}

/**
 * A Lease that is missing is made, unless its Node was deleted under the running kubelet: then there is nothing to
 * keep.
 */
async function createLease(fleet: Fleet, machine: Machine, renewTime: string): Promise<void> {
  const { name } = machine.spec;
  try {
    const node = await fleet.connection.get<Node>(nodePath(name));
    machine.uid = node.metadata.uid;
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
    machine.renewAt = Number.POSITIVE_INFINITY;
    return;
  }
  await fleet.connection.create(leasePath, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: machine.uid }] },
    spec: { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime },
  });
}

/** Makes a write about one node, through restarts of the API server; one that is refused is logged, not thrown. */
async function written(fleet: Fleet, what: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await retryWrite(write, () => fleet.closed);
  } catch (error) {
    fleet.options.log?.(`kubelet: ${what} given up: ${String(error)}`);
  }
}

function delay(clock: Clock, ms: number): Promise<void> {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => void clock.after(ms, resolve));
}
