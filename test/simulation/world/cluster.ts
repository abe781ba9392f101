import { parseAmounts, type Amounts } from '../../../shared/kubernetes/text/quantity.ts';
import { allocatableOf } from '../../../shared/core/model/allocatable.ts';
import { podRequests } from '../../../shared/core/rules/pod-requests.ts';
import type {
  LabelSelector,
  PodSpec,
  ResourceList,
  Taint,
  Toleration,
  TopologySpreadConstraint,
} from '../../../shared/kubernetes/manifest.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
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
import { KUBERNETES_VERSION } from './api-transport.ts';
import type { Azure, Vm } from './azure.ts';
import type { NodeFaults } from './faults.ts';
import type { Timeline } from './timeline.ts';

const NOT_READY = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
];
const HOST = 'kubernetes.io/hostname';
const UNREACHABLE = [
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
];

/** Until the cloud's controller has written what machine the node is on. */
const UNINITIALIZED = [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }];

/** What is wrong with a node that joins comes right within so long, or does not. */
const ODD_MS = 10 * 60_000;

/** What is wrong with a node that joins, in milliseconds later than usual; null for never. */
interface Odd {
  readonly withoutProviderId: boolean;
  readonly identifiedMs: number | null;
  readonly readyMs: number | null;
  readonly untaintedMs: number | null;
}

interface ClusterParts {
  readonly timeline: Timeline;
  readonly rng: Rng;
  readonly server: ApiServer;
  readonly azure: () => Azure;
  readonly faults: NodeFaults;
  readonly note: (text: string) => void;
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
  #isMended = false;
  /** Nodes whose startup taints stay until somebody mends that. */
  readonly #tainted = new Map<string, ReadonlyArray<Taint>>();
  /**
   * By node: the pods that are on it or nominated to it, by uid. To look through all pods for each node took most of a
   * large run.
   */
  readonly #occupants = new Map<string, Map<string, Stored>>();
  /** By node: what is free beside them, of which allocatable. Forgotten when they change. */
  readonly #free = new Map<string, { readonly of: ResourceList; readonly amounts: Amounts }>();

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    parts.server.watch((change) => this.#react(change));
  }

  #react({ resource, before, after }: Change): void {
    if (resource === 'pods') this.#podChanged(before, after);
    if (resource === 'poddisruptionbudgets' && before?.spec !== after?.spec) this.#soonBudgets();
    if (resource === 'replicasets') this.#soonReplicas();
    if (resource === 'nodes') this.#soonSchedule();
    if (resource === 'nodes' && before !== null && after === null) this.#nodeVanished(before.metadata.name);
  }

  #podChanged(before: Stored | null, after: Stored | null): void {
    this.#moved(before, after);
    if (counts(before) !== counts(after)) this.#soonBudgets();
    if (after === null) this.#soonReplicas();
    else this.#reactToPod(before, after);
    if (asksAnew(before, after)) this.#soonSchedule();
  }

  #moved(before: Stored | null, after: Stored | null): void {
    const [from, to] = [placeTaken(before), placeTaken(after)];
    for (const node of [from, to]) if (node !== null) this.#free.delete(node);
    if (before !== null && from !== null) this.#occupants.get(from)?.delete(before.metadata.uid);
    if (after === null || to === null) return;
    const there = this.#occupants.get(to) ?? new Map<string, Stored>();
    this.#occupants.set(to, there.set(after.metadata.uid, after));
  }

  /** The disruption controller: what a budget allows is written a moment after its pods have changed. */
  #soonBudgets(): void {
    if (this.#budgetsDue) return;
    this.#budgetsDue = true;
    this.#parts.timeline.after(100, () => {
      this.#budgetsDue = false;
      const { server } = this.#parts;
      for (const budget of server.list('poddisruptionbudgets')) {
        const disruptionsAllowed = server.allowedDisruptions(budget);
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
      const graceMs = Math.max(0, Date.parse(deleting) - this.#parts.server.now());
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
    const { labels, taints, startupTaints, instanceType, nodeClass } = vm.order;
    const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
    const odd = this.#drawOdd(name, startupTaints);
    const providerId = odd.withoutProviderId ? {} : { providerID: vm.machine.providerId };
    const uninitialized = odd.withoutProviderId ? UNINITIALIZED : [];
    const all = [...taints, ...startupTaints, unregistered, ...NOT_READY, ...uninitialized];
    const created = server.create('nodes', {
      metadata: { name, labels: { ...labels, 'kubernetes.io/hostname': name } },
      spec: { ...providerId, taints: all },
    });
    if (created.status !== 201) return;
    const status = {
      capacity: instanceType.capacity,
      allocatable: rng.chance(this.#parts.faults.small)
        ? smaller(allocatableOf(instanceType))
        : allocatableOf(instanceType),
      conditions: [{ type: 'Ready', status: 'False', reason: 'KubeletNotReady' }],
      nodeInfo: { kubeletVersion: `v${nodeClass.status?.kubernetesVersion ?? KUBERNETES_VERSION}` },
    };
    server.patch('nodes', name, { status }, 'status');
    const readyMs = 500 + (rng.chance(10) ? 35_000 : rng.below(8_000));
    const untaintMs = readyMs + rng.below(5_000);
    const lives = (act: () => void) => () => {
      if (vm.state === 'running') act();
    };
    if (odd.readyMs !== null)
      timeline.after(
        odd.readyMs + readyMs,
        lives(() => this.setReady(name, 'True')),
      );
    if (odd.untaintedMs !== null) timeline.after(odd.untaintedMs + untaintMs, () => this.#untaint(name, startupTaints));
    if (odd.identifiedMs !== null)
      timeline.after(
        odd.identifiedMs,
        lives(() => this.#identify(vm, name)),
      );
  }

  /** How much later than usual each thing about the node comes; null for never. */
  #drawOdd(name: string, startupTaints: ReadonlyArray<Taint>): Odd {
    const { faults, note } = this.#parts;
    const rng = this.#parts.rng.split(`odd ${name}`);
    const late = (): number | null => (rng.chance(50) ? rng.below(ODD_MS) : null);
    const isOdd = !this.#isMended;
    const withoutProviderId = isOdd && rng.chance(faults.withoutProviderId);
    const odd = {
      withoutProviderId,
      identifiedMs: withoutProviderId ? late() : null,
      readyMs: isOdd && rng.chance(faults.neverReady) ? late() : 0,
      untaintedMs: isOdd && startupTaints.length > 0 && rng.chance(faults.keepsTaints) ? late() : 0,
    };
    if (withoutProviderId || odd.readyMs !== 0 || odd.untaintedMs !== 0)
      note(`odd node ${name} ${JSON.stringify(odd)}`);
    if (odd.untaintedMs === null) this.#tainted.set(name, startupTaints);
    return odd;
  }

  /** Who starts nodes works from now on: none that joins is odd any more, and the startup taints that stayed go. */
  mend(): void {
    this.#isMended = true;
    for (const [name, taints] of this.#tainted)
      if (this.#parts.server.get('nodes', name) !== null) this.#untaint(name, taints);
  }

  #identify(vm: Vm, name: string): void {
    const { server } = this.#parts;
    if (server.get('nodes', name) === null) return;
    server.patch('nodes', name, { spec: { providerID: vm.machine.providerId } }, 'object');
    this.#untaint(name, UNINITIALIZED);
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
        annotations: template['metadata']?.annotations ?? {},
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
    // Within one round room only gets less, unless one that was nominated is refused: who is like one that found none
    // need not ask again.
    const refused = new Set<string>();
    for (const pod of waiting) {
      const like = specText(pod);
      const isNominated = placeTaken(pod) !== null;
      const isEven = this.#spreadOf(pod, nodes);
      const fitting =
        !isNominated && refused.has(like) ? [] : nodes.filter((node) => this.#fits(pod, node) && isEven(node));
      const nominated = fitting.find(({ metadata }) => metadata.name === pod.status?.['nominatedNodeName']);
      const chosen = nominated ?? fitting[rng.below(Math.max(1, fitting.length))];
      if (isNominated) refused.clear();
      else if (chosen === undefined) refused.add(like);
      if (chosen === undefined) this.#refuse(pod);
      else this.#bind(pod, chosen.metadata.name);
    }
  }

  /**
   * Of spreads over hosts those that must be kept, and of pods that labels select: as kube-scheduler, with the fewest
   * on any host that it looks at.
   */
  #spreadOf({ metadata, spec }: Stored, nodes: ReadonlyArray<Stored>): (node: Stored) => boolean {
    const constraints: ReadonlyArray<TopologySpreadConstraint> = spec?.['topologySpreadConstraints'] ?? [];
    const hard = constraints.filter(
      ({ topologyKey, whenUnsatisfiable }) => topologyKey === HOST && whenUnsatisfiable === 'DoNotSchedule',
    );
    if (hard.length === 0) return () => true;
    const wanted: Readonly<Record<string, string>> = spec?.['nodeSelector'] ?? {};
    const seen = nodes.filter(({ metadata: { labels = {} } }) =>
      Object.entries(wanted).every(([key, value]) => labels[key] === value),
    );
    const rules = hard.map(({ maxSkew, labelSelector }) => {
      const there = new Map(seen.map((node) => [node.metadata.name, this.#countOn(node, metadata, labelSelector)]));
      return { there, most: maxSkew - 1 + Math.min(...there.values()) };
    });
    return (node) => rules.every(({ there, most }) => (there.get(node.metadata.name) ?? 0) <= most);
  }

  #countOn(node: Stored, { namespace }: Stored['metadata'], selector: LabelSelector | undefined): number {
    const wanted = Object.entries(selector?.matchLabels ?? {});
    const there = [...(this.#occupants.get(node.metadata.name)?.values() ?? [])];
    return there.filter(
      ({ metadata, spec }) =>
        spec?.['nodeName'] === node.metadata.name &&
        metadata.namespace === namespace &&
        metadata.deletionTimestamp === undefined &&
        wanted.every(([key, value]) => metadata.labels?.[key] === value),
    ).length;
  }

  #bind(pod: Stored, node: string): void {
    const { server } = this.#parts;
    // Others that spread may come to a host that has no more than the fewest now.
    if (pod.spec?.['topologySpreadConstraints'] !== undefined) this.#soonSchedule();
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
    const free = this.#freeOn(node);
    const own = this.#occupants.get(node.metadata.name)?.get(except);
    const given = own === undefined ? null : requestsOf(own);
    return requestsOf(pod)
      .entries()
      .every(([resource, amount]) => amount <= (free.get(resource) ?? 0) + (given?.get(resource) ?? 0));
  }

  #freeOn({ metadata: { name }, status }: Stored): Amounts {
    const allocatable: ResourceList = status?.['allocatable'] ?? {};
    const known = this.#free.get(name);
    if (known?.of === allocatable) return known.amounts;
    const amounts = parseAmounts(allocatable, 'down');
    for (const other of this.#occupants.get(name)?.values() ?? []) {
      for (const [resource, amount] of requestsOf(other)) amounts.set(resource, (amounts.get(resource) ?? 0) - amount);
    }
    this.#free.set(name, { of: allocatable, amounts });
    return amounts;
  }
}

/** Is it one of those that a budget has? */
function counts(pod: Stored | null): boolean {
  return pod !== null && isReady(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** The node that the pod is on or nominated to; null for none. */
function placeTaken(pod: Stored | null): string | null {
  return pod?.spec?.['nodeName'] ?? pod?.status?.['nominatedNodeName'] ?? null;
}

/** By spec, which is never changed in place. */
const requests = new WeakMap<object, Amounts>();
const texts = new WeakMap<object, string>();

/** What the scheduler looks at of a pod without a node. */
function specText({ spec }: Stored): string {
  if (spec === undefined) return '';
  const known = texts.get(spec) ?? JSON.stringify(spec);
  texts.set(spec, known);
  return known;
}

export function requestsOf({ spec }: Stored): Amounts {
  const known = spec === undefined ? undefined : requests.get(spec);
  const amounts = known ?? podRequests(spec as unknown as PodSpec);
  if (spec !== undefined) requests.set(spec, amounts);
  return amounts;
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
