import { hasEnded } from '../../../kubernetes/pod-phase.ts';
import { taint } from '../../names.ts';
import { isRecord, list, needed, object, record, text, type Of } from './field.ts';
import {
  decisiveAnnotations,
  ownerReference,
  part,
  podSpec,
  type ReducedOwner,
  type ReducedPodSpec,
} from './reduced-spec.ts';

/** What pods that are alike share. */
export interface ReducedShape {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Only those that a decision reads. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The controller, else the first owner; null for a bare pod. */
  readonly owner: ReducedOwner | null;
  readonly spec: ReducedPodSpec;
}

/** What is a pod's own. Times in milliseconds since the epoch. */
export interface PodFacts {
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  readonly nodeName: string | null;
  readonly nominatedNodeName: string | null;
  /** PodScheduled is False with reason Unschedulable. */
  readonly unschedulable: boolean;
  /** It carries scheduling gates, so no scheduler looks at it yet. */
  readonly gated: boolean;
  readonly deleting: boolean;
  readonly running: boolean;
  readonly ready: boolean;
  /** When the kubelet acknowledged it; null before. Durations of do-not-disrupt count from here. */
  readonly startedAtMs: number | null;
  /** When it is due to be gone, grace period included; null unless it is being deleted. */
  readonly deletionAtMs: number | null;
}

const containerStatuses = list(
  object({
    name: needed(text),
    resources: object({ requests: part.resourceList }),
    allocatedResources: part.resourceList,
  }),
);

const rawPod = object({
  metadata: needed(
    object({
      name: needed(text),
      namespace: needed(text),
      uid: text,
      labels: record(text),
      annotations: decisiveAnnotations,
      creationTimestamp: text,
      deletionTimestamp: text,
      ownerReferences: list(ownerReference),
    }),
  ),
  spec: needed(podSpec),
  status: object({
    phase: text,
    nominatedNodeName: text,
    startTime: text,
    conditions: list(object({ type: needed(text), status: needed(text), reason: text })),
    containerStatuses,
    initContainerStatuses: containerStatuses,
  }),
});
type RawPod = Of<typeof rawPod>;

const placement = object({ nodeName: text, schedulingGates: list(object({ name: text })) });

/** A pod as it comes from the API: what it shares and what is its own; `terminal` when it has run its course. */
export type ReadPod =
  { readonly kind: 'pod'; readonly shape: ReducedShape; readonly facts: PodFacts } | TerminalPod | null;

interface TerminalPod {
  readonly kind: 'terminal';
}

/** Reads a raw pod; null when it is not one. */
export function readPod(raw: unknown): ReadPod {
  const pod = rawPod.read(raw);
  if (pod === undefined || !isRecord(raw)) return null;
  if (hasEnded(pod.status?.phase)) return { kind: 'terminal' };
  const own = placement.read(raw['spec']) ?? {};
  return { kind: 'pod', shape: shapeOf(pod), facts: factsOf(pod, own) };
}

function shapeOf(pod: RawPod): ReducedShape {
  const owners = pod.metadata.ownerReferences ?? [];
  const owner = owners.find((one) => one.controller === true) ?? owners[0] ?? null;
  const spec = withoutPassage(pod.spec);
  return {
    namespace: pod.metadata.namespace,
    labels: pod.metadata.labels ?? {},
    annotations: pod.metadata.annotations ?? {},
    owner,
    spec: withHeld(owner?.kind === 'DaemonSet' ? withoutNodeName(spec) : spec, pod.status ?? {}),
  };
}

type RawStatus = NonNullable<RawPod['status']>;
type ReducedContainers = ReducedPodSpec['containers'];

/**
 * While a pod is resized in place, its node holds what was allocated and what is in use, and the scheduler counts the
 * larger of these and the spec; the spec does not count where the resize cannot be granted. Pods whose status says what
 * their spec says, nearly all, share a shape as before.
 */
function withHeld(spec: ReducedPodSpec, status: RawStatus): ReducedPodSpec {
  const pending = status.conditions?.find(({ type }) => type === 'PodResizePending');
  const infeasible = pending?.status === 'True' && pending.reason === 'Infeasible';
  const containers = heldBy(spec.containers, status.containerStatuses ?? [], infeasible);
  if (spec.initContainers === undefined) return containers === spec.containers ? spec : { ...spec, containers };
  const initContainers = heldBy(spec.initContainers, status.initContainerStatuses ?? [], infeasible);
  const same = containers === spec.containers && initContainers === spec.initContainers;
  return same ? spec : { ...spec, containers, initContainers };
}

function heldBy(
  containers: ReducedContainers,
  statuses: NonNullable<RawStatus['containerStatuses']>,
  infeasible: boolean,
): ReducedContainers {
  let changed = false;
  const all = containers.map((container) => {
    const own = statuses.find(({ name }) => name === container.name);
    const requests = container.resources?.requests ?? {};
    const held = [own?.resources?.requests, own?.allocatedResources]
      .filter((amounts) => amounts !== undefined)
      .filter((amounts) => Object.entries(amounts).some(([name, amount]) => requests[name] !== amount));
    if (held.length === 0) return container;
    changed = true;
    return infeasible
      ? { ...container, resources: { ...container.resources, requests: {}, limits: {} }, held }
      : { ...container, held };
  });
  return changed ? all : containers;
}

/**
 * A daemonset's controller writes the node's name into each of its pods as a match on the field metadata.name. Without
 * it a daemonset has one shape, not one per node; and which node is meant, a decision reads from the daemonset.
 */
function withoutNodeName(spec: ReducedPodSpec): ReducedPodSpec {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (spec.affinity === undefined || required === undefined) return spec;
  const terms = required.nodeSelectorTerms
    .map(({ matchExpressions }) => ({ matchExpressions: matchExpressions ?? [] }))
    .filter(({ matchExpressions }) => matchExpressions.length > 0);
  const { requiredDuringSchedulingIgnoredDuringExecution: _, ...preferences } = spec.affinity.nodeAffinity ?? {};
  const nodeAffinity =
    terms.length === 0
      ? preferences
      : { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms }, ...preferences };
  const { nodeAffinity: __, ...others } = spec.affinity;
  const affinity = Object.keys(nodeAffinity).length === 0 ? others : { nodeAffinity, ...others };
  if (Object.keys(affinity).length > 0) return { ...spec, affinity };
  const { affinity: ___, ...bare } = spec;
  return bare;
}

/** The tolerations that we gave a pod say which node it was planned onto, and nothing that it asks for. */
function withoutPassage(spec: ReducedPodSpec): ReducedPodSpec {
  const { tolerations = [], ...rest } = spec;
  const own = tolerations.filter(({ key }) => key !== taint.dedicated.key);
  if (own.length === tolerations.length) return spec;
  // In its place: pods are told apart by their text.
  return own.length === 0 ? rest : { ...spec, tolerations: own };
}

function factsOf({ metadata, status = {} }: RawPod, own: Of<typeof placement>): PodFacts {
  const conditions = status.conditions ?? [];
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    createdAtMs: timeOf(metadata.creationTimestamp) ?? 0,
    nodeName: nameOf(own.nodeName),
    nominatedNodeName: nameOf(status.nominatedNodeName),
    unschedulable: scheduled?.status === 'False' && scheduled.reason === 'Unschedulable',
    gated: own.schedulingGates !== undefined && own.schedulingGates.length > 0,
    deleting: metadata.deletionTimestamp !== undefined,
    running: status.phase === 'Running',
    ready: conditions.some((one) => one.type === 'Ready' && one.status === 'True'),
    startedAtMs: timeOf(status.startTime),
    deletionAtMs: timeOf(metadata.deletionTimestamp),
  };
}

function nameOf(name: string | undefined): string | null {
  return name === undefined || name === '' ? null : name;
}

/**
 * Milliseconds since the epoch of a time in the API's form (RFC 3339); null when there is none, or none that can be
 * read.
 */
function timeOf(time: string | undefined): number | null {
  const ms = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(ms) ? null : ms;
}

/** True for pods that nobody but their node's kubelet, or a daemonset, ever places. */
export function isPlacedByOwner(owner: ReducedOwner | null): boolean {
  if (owner === null) return false;
  return (
    (owner.kind === 'DaemonSet' && owner.apiVersion === 'apps/v1') ||
    (owner.kind === 'Node' && owner.apiVersion === 'v1')
  );
}

/**
 * True for pods that provisioning plans for: the scheduler found no room, nobody nominated them, no daemonset or node
 * owns them.
 */
export function isProvisionable(
  pod: Pick<PodFacts, 'unschedulable' | 'nodeName' | 'nominatedNodeName'>,
  shape: Pick<ReducedShape, 'owner'>,
): boolean {
  return pod.unschedulable && pod.nodeName === null && pod.nominatedNodeName === null && !isPlacedByOwner(shape.owner);
}
