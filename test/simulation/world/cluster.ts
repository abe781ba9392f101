import { parseAmounts, type Amounts } from '../../../shared/kubernetes/quantity.ts';
import { allocatableOf } from '../../../shared/core/model/allocatable.ts';
import { podRequests } from '../../../shared/core/rules/pod-requests.ts';
import type { PodSpec, ResourceList, Taint, Toleration } from '../../../shared/kubernetes/manifest.ts';
import type { Rng } from '../../../sandbox/world/rng.ts';
import {
  conditionStatus,
  isReady,
  keyOf,
  timestamp,
  type ApiServer,
  type Change,
  type Fields,
  type Stored,
} from './api-server.ts';
import type { Azure, Vm } from './azure.ts';
import type { Timeline } from './timeline.ts';

const NOT_READY = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
];
const UNREACHABLE = [
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
];

interface ClusterParts {
  readonly timeline: Timeline;
  readonly rng: Rng;
  readonly server: ApiServer;
  readonly azure: () => Azure;
}

/**
 * Everything in a cluster that is not ours and moves pods and nodes: a scheduler, kubelets, replica sets, the node life
 * cycle, the cloud's node controller and the pod garbage collector, each with delays of its own.
 */
export class Cluster {
  readonly #parts: ClusterParts;
  #schedulerDue = false;
  #budgetsDue = false;
  #pods = 0;

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    parts.server.watch((change) => this.#react(change));
  }

  #react({ resource, before, after }: Change): void {
    if (resource === 'pods' || resource === 'poddisruptionbudgets') this.#soonBudgets(before, after);
    if (resource === 'replicasets' || (resource === 'pods' && after === null)) this.#soonReplicas();
    if (resource === 'pods' && after !== null) this.#reactToPod(before, after);
    if (resource === 'nodes' || (resource === 'pods' && asksAnew(before, after))) this.#soonSchedule();
    if (resource === 'nodes' && before !== null && after === null) this.#nodeVanished(before.metadata.name);
  }

  /** The disruption controller: what a budget allows is written a moment after its pods have changed. */
  #soonBudgets(before: Stored | null, after: Stored | null): void {
    const counts = (pod: Stored | null): boolean =>
      pod !== null && isReady(pod) && pod.metadata.deletionTimestamp === undefined;
    if (this.#budgetsDue || (before !== null && after !== null && counts(before) === counts(after))) return;
    this.#budgetsDue = true;
    this.#parts.timeline.after(100, () => {
      this.#budgetsDue = false;
      const { server } = this.#parts;
      for (const budget of server.list('poddisruptionbudgets')) {
        const healthy = server.healthyPods(budget);
        const disruptionsAllowed = Math.max(0, healthy - Number(budget.spec?.['minAvailable'] ?? 0));
        if (budget.status?.['disruptionsAllowed'] === disruptionsAllowed) continue;
        server.patch('poddisruptionbudgets', keyOf(budget.metadata), { status: { disruptionsAllowed } }, 'status');
      }
    });
  }

  #reactToPod(before: Stored | null, after: Stored): void {
    const { timeline, rng } = this.#parts;
    const key = keyOf(after.metadata);
    const bound = after.spec?.['nodeName'] !== undefined;
    if (bound && before?.spec?.['nodeName'] === undefined)
      timeline.after(500 + rng.below(3_000), () => this.#start(key));
    const deleting = after.metadata.deletionTimestamp;
    if (deleting !== undefined && before?.metadata.deletionTimestamp !== deleting) {
      const graceMs = Math.max(0, Date.parse(deleting) - timeline.now());
      // Most processes end at once when asked, some only when killed.
      timeline.after(rng.chance(80) ? rng.below(Math.min(3_000, graceMs) + 1) : graceMs, () => this.#stopped(key));
      this.#soonReplicas();
    }
  }

  /** The kubelet runs the pod, if the machine does. */
  #start(key: string): void {
    const { server } = this.#parts;
    const pod = server.get('pods', key);
    if (pod === null || pod.metadata.deletionTimestamp !== undefined || !this.#runs(pod.spec?.['nodeName'])) return;
    const startTime = timestamp(this.#parts.timeline.now());
    const conditions = [...(pod.status?.['conditions'] ?? []), { type: 'Ready', status: 'True' }];
    server.patch('pods', key, { status: { phase: 'Running', startTime, conditions } }, 'status');
  }

  #stopped(key: string): void {
    const { server } = this.#parts;
    const pod = server.get('pods', key);
    if (pod?.metadata.deletionTimestamp === undefined || !this.#runs(pod.spec?.['nodeName'])) return;
    server.remove('pods', key);
  }

  #runs(nodeName: unknown): boolean {
    if (nodeName === 'system') return true;
    const vm = this.#parts.azure().vms.get(String(nodeName).replace(/^aks-/, ''));
    return vm?.state === 'running';
  }

  /** A VM has booted: its kubelet registers, gets ready, and startup taints go. */
  boot(vm: Vm): void {
    const { timeline, rng } = this.#parts;
    const name = `aks-${vm.machine.claim}`;
    timeline.after(3_000 + rng.below(25_000), () => {
      if (vm.state === 'running') this.#join(vm, name);
    });
  }

  #join(vm: Vm, name: string): void {
    const { timeline, rng, server } = this.#parts;
    const { labels, taints, startupTaints, instanceType } = vm.order;
    const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
    const created = server.create('nodes', {
      metadata: { name, labels: { ...labels, 'kubernetes.io/hostname': name } },
      spec: { providerID: vm.machine.providerId, taints: [...taints, ...startupTaints, unregistered, ...NOT_READY] },
    });
    if (created.status !== 201) return;
    const status = {
      capacity: instanceType.capacity,
      allocatable: rng.chance(5) ? smaller(allocatableOf(instanceType)) : allocatableOf(instanceType),
      conditions: [{ type: 'Ready', status: 'False', reason: 'KubeletNotReady' }],
    };
    server.patch('nodes', name, { status }, 'status');
    const readyMs = 500 + (rng.chance(10) ? 35_000 : rng.below(8_000));
    timeline.after(readyMs, () => vm.state === 'running' && this.setReady(name, 'True'));
    timeline.after(readyMs + rng.below(5_000), () => this.#untaint(name, startupTaints));
  }

  setReady(name: string, status: 'True' | 'Unknown'): void {
    const { server } = this.#parts;
    const node = server.get('nodes', name);
    if (node === null) return;
    const others = (node.status?.['conditions'] ?? []).filter((one: Fields) => one['type'] !== 'Ready');
    const lastTransitionTime = timestamp(this.#parts.timeline.now());
    server.patch(
      'nodes',
      name,
      { status: { conditions: [...others, { type: 'Ready', status, lastTransitionTime }] } },
      'status',
    );
    if (status === 'True') this.#untaint(name, [...NOT_READY, ...UNREACHABLE]);
    else this.#taint(name, UNREACHABLE);
  }

  #untaint(name: string, gone: ReadonlyArray<Taint>): void {
    const { server } = this.#parts;
    const taints: ReadonlyArray<Taint> = server.get('nodes', name)?.spec?.['taints'] ?? [];
    const rest = taints.filter((one) => !gone.some(({ key, effect }) => key === one.key && effect === one.effect));
    if (rest.length < taints.length) server.patch('nodes', name, { spec: { taints: rest } }, 'object');
  }

  #taint(name: string, added: ReadonlyArray<Taint>): void {
    const { server } = this.#parts;
    const taints: ReadonlyArray<Taint> = server.get('nodes', name)?.spec?.['taints'] ?? [];
    server.patch('nodes', name, { spec: { taints: [...taints, ...added] } }, 'object');
  }

  /** A VM has gone, by whoever: its node is found not ready, then without a machine, and deleted. */
  vmGone(vm: Vm): void {
    const { timeline, rng, server } = this.#parts;
    const name = `aks-${vm.machine.claim}`;
    timeline.after(20_000 + rng.below(20_000), () => {
      if (server.get('nodes', name) === null) return;
      this.setReady(name, 'Unknown');
      timeline.after(5_000 + rng.below(30_000), () => server.delete('nodes', name));
      timeline.after(30_000, () => {
        for (const pod of this.#podsOn(name)) server.delete('pods', keyOf(pod.metadata));
      });
    });
  }

  /** The pod garbage collector. */
  #nodeVanished(name: string): void {
    const { timeline, rng, server } = this.#parts;
    timeline.after(5_000 + rng.below(20_000), () => {
      if (server.get('nodes', name) !== null) return;
      for (const pod of this.#podsOn(name)) server.remove('pods', keyOf(pod.metadata));
    });
  }

  #podsOn(name: string): ReadonlyArray<Stored> {
    return this.#parts.server.list('pods').filter(({ spec }) => spec?.['nodeName'] === name);
  }

  #soonReplicas(): void {
    const { timeline, rng } = this.#parts;
    timeline.after(50 + rng.below(500), () => this.#replicate());
  }

  #replicate(): void {
    const { server } = this.#parts;
    const pods = server.list('pods');
    for (const set of server.list('replicasets')) {
      const own = pods.filter(({ metadata }) => metadata.ownerReferences?.[0]?.uid === set.metadata.uid);
      const living = own.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      const wanted = Number(set.spec?.['replicas'] ?? 0);
      for (let missing = living.length; missing < wanted; missing++) this.#createPod(set);
      for (const pod of living.slice(wanted)) server.delete('pods', keyOf(pod.metadata));
    }
  }

  #createPod(set: Stored): void {
    this.#pods += 1;
    const { name, namespace, uid } = set.metadata;
    const template: Fields = set.spec?.['template'] ?? {};
    this.#parts.server.create('pods', {
      metadata: {
        name: `${name}-${this.#pods}`,
        namespace,
        labels: template['metadata']?.labels ?? {},
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid, controller: true }],
      },
      spec: template['spec'],
    });
  }

  #soonSchedule(): void {
    if (this.#schedulerDue) return;
    this.#schedulerDue = true;
    const { timeline, rng } = this.#parts;
    timeline.after(20 + rng.below(200), () => {
      this.#schedulerDue = false;
      this.#schedule();
    });
  }

  #schedule(): void {
    const { server, rng } = this.#parts;
    const nodes = server.list('nodes');
    const waiting = server
      .list('pods')
      .filter(({ metadata, spec }) => spec?.['nodeName'] === undefined && metadata.deletionTimestamp === undefined);
    for (const pod of waiting) {
      const fitting = nodes.filter((node) => this.#fits(pod, node));
      const nominated = fitting.find(({ metadata }) => metadata.name === pod.status?.['nominatedNodeName']);
      const chosen = nominated ?? fitting[rng.below(Math.max(1, fitting.length))];
      if (chosen === undefined) this.#refuse(pod);
      else this.#bind(pod, chosen.metadata.name);
    }
  }

  #bind(pod: Stored, node: string): void {
    const { server } = this.#parts;
    const key = keyOf(pod.metadata);
    server.patch('pods', key, { status: { nominatedNodeName: null } }, 'status');
    server.patch(
      'pods',
      key,
      { metadata: { labels: placeOf(server.get('nodes', node)) }, spec: { nodeName: node } },
      'object',
    );
    server.patch('pods', key, { status: { conditions: [{ type: 'PodScheduled', status: 'True' }] } }, 'status');
  }

  #refuse(pod: Stored): void {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
    const status = { conditions, nominatedNodeName: null };
    this.#parts.server.patch('pods', keyOf(pod.metadata), { status }, 'status');
  }

  #fits(pod: Stored, node: Stored): boolean {
    if (node.spec?.['unschedulable'] === true) return false;
    const taints: ReadonlyArray<Taint> = node.spec?.['taints'] ?? [];
    const tolerations: ReadonlyArray<Toleration> = pod.spec?.['tolerations'] ?? [];
    if (taints.some((taint) => !tolerations.some((one) => tolerates(one, taint)))) return false;
    const labels = node.metadata.labels ?? {};
    const wanted: Readonly<Record<string, string>> = pod.spec?.['nodeSelector'] ?? {};
    if (Object.entries(wanted).some(([key, value]) => labels[key] !== value)) return false;
    return this.roomOn(node, pod, pod.metadata.uid);
  }

  /** Is there room for what `pod` requests, besides the pods that are there and those nominated, `except` one? */
  roomOn(node: Stored, pod: Stored, except: string): boolean {
    const name = node.metadata.name;
    const free = new Map(parseAmounts(node.status?.['allocatable'], 'down'));
    for (const other of this.#parts.server.list('pods')) {
      const takes = other.spec?.['nodeName'] ?? other.status?.['nominatedNodeName'];
      if (takes !== name || other.metadata.uid === except) continue;
      for (const [resource, amount] of requestsOf(other)) free.set(resource, (free.get(resource) ?? 0) - amount);
    }
    return [...requestsOf(pod)].every(([resource, amount]) => amount <= (free.get(resource) ?? 0));
  }
}

export function requestsOf(pod: Stored): Amounts {
  return podRequests(pod.spec as unknown as PodSpec);
}

/** What the API server gives pods of their node's labels when they are bound. */
function placeOf(node: Stored | null): Readonly<Record<string, string>> {
  const labels = Object.entries(node?.metadata.labels ?? {});
  return Object.fromEntries(labels.filter(([key]) => PLACE.has(key)));
}

const PLACE: ReadonlySet<string> = new Set(['topology.kubernetes.io/region', 'topology.kubernetes.io/zone']);

/** The kubelet keeps more for itself than the catalog has it. */
function smaller(allocatable: ResourceList): ResourceList {
  const cpu = (parseAmounts(allocatable, 'down').get('cpu') ?? 0) / 2;
  return { ...allocatable, cpu: `${Math.floor(cpu)}m` };
}

/** Came or went, or tolerates more. */
function asksAnew(before: Stored | null, after: Stored | null): boolean {
  if (before === null || after === null) return true;
  return JSON.stringify(before.spec?.['tolerations']) !== JSON.stringify(after.spec?.['tolerations']);
}

function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.key !== undefined && toleration.key !== taint.key) return false;
  if (toleration.operator !== 'Exists' && (toleration.value ?? '') !== (taint.value ?? '')) return false;
  return toleration.effect === undefined || toleration.effect === taint.effect;
}

export { conditionStatus, isReady };
