import type { Cluster, Pod } from '../../model/cluster.ts';
import { attach, attachedVolumes, canAttach, type AttachedVolumes } from '../../rules/attachments.ts';
import { eachShapeOn, type PodCounts } from '../../present/bound-pods.ts';
import type { Need, CompiledShape } from './compile-shape.ts';
import type { ExistingCapacity } from '../../present/existing-capacity.ts';
import { hostPortsOf, portsConflict, type HostPort } from '../../rules/host-ports.ts';
import { isMetByAny } from '../../rules/label-rule.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { addVector, fits, toVector, type Dimensions } from '../../quantity/resource-table.ts';
import { untolerated } from '../../rules/taints.ts';
import { allowsDomain, allowsHost, type Guard } from './topology-guard.ts';

/** Existing capacity while a plan fills it. */
export interface ExistingNode {
  readonly capacity: ExistingCapacity;
  readonly free: Float64Array;
  readonly ports: Array<HostPort>;
  readonly pods: Array<Pod>;
  readonly attached: AttachedVolumes;
}

/** One node per piece of existing capacity, in the same order. */
export function existingNodesOf(
  existing: ReadonlyArray<ExistingCapacity>,
  cluster: Cluster,
  bound: PodCounts,
  dimensions: Dimensions,
): ReadonlyArray<ExistingNode> {
  const ports = portsByNode(cluster, bound);
  const attached = attachedVolumes(cluster);
  return existing.map((capacity) => ({
    capacity,
    free: toVector(dimensions, capacity.free),
    ports: [...(ports.get(capacity.name) ?? []), ...capacity.daemonPorts],
    pods: [],
    attached: attached.get(capacity.name) ?? { limits: new Map(), volumes: new Map() },
  }));
}

/** Do taints, labels and volumes let the pods onto the node? */
export function meetsNeed({ capacity }: ExistingNode, { shape, constraints }: Need): boolean {
  if (untolerated(shape.tolerations, capacity.taints, constraints.avoidsSoftTaints) !== null) return false;
  if (!isMetByAny(constraints.alternatives, capacity.labels)) return false;
  const { volumes } = shape;
  return volumes.kind === 'rules' && isMetByAny(volumes.alternatives, capacity.labels);
}

/** Do the topology rules let the pod onto the node? */
export function allowsNode(guard: Guard, { capacity: { labels } }: ExistingNode): boolean {
  if (!allowsHost(guard, labels[labelKey.hostname] ?? '')) return false;
  return guard.rules.keys.every((key) => allowsDomain(guard, key, labels[key]));
}

/** Is there room for one more pod of the shape? */
export function hasRoom({ free, ports, attached }: ExistingNode, shape: CompiledShape): boolean {
  if (!fits(free, shape.requests)) return false;
  return !portsConflict(ports, shape.ports) && canAttach(attached, shape.attachments);
}

/** Puts the pod there. */
export function fill(node: ExistingNode, shape: CompiledShape, pod: Pod): void {
  addVector(node.free, shape.requests, -1);
  node.ports.push(...shape.ports);
  node.pods.push(pod);
  attach(node.attached, shape.attachments, pod);
}

/** Takes the pod off again. What it had attached stays counted, which at worst costs the node a volume in this plan. */
export function takeOff(node: ExistingNode, shape: CompiledShape, pod: Pod): void {
  addVector(node.free, shape.requests, 1);
  for (const port of shape.ports) node.ports.splice(node.ports.indexOf(port), 1);
  node.pods.splice(node.pods.indexOf(pod), 1);
}

/** Host ports that pods take, by the node's name. */
function portsByNode({ shapes }: Cluster, bound: PodCounts): ReadonlyMap<string, ReadonlyArray<HostPort>> {
  const byShape = shapes.map(({ spec }) => hostPortsOf(spec));
  const taken = new Map<string, Array<HostPort>>();
  if (byShape.every((ports) => ports.length === 0)) return taken;
  for (const node of bound.nodes.keys()) {
    const there: Array<HostPort> = [];
    eachShapeOn(bound, node, (shape) => there.push(...(byShape[shape] ?? [])));
    taken.set(node, there);
  }
  return taken;
}
