import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import type { Container, DaemonSet, PodSpec, ResourceList } from '../../../kubernetes/manifest.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { claimNamesOf } from '../devices/device-checks.ts';
import { fatal, subjectOf, type Finding } from '../seen/finding.ts';
import type { FinalNode } from '../seen/final-state.ts';
import { blockingTaint, meetsNodeRules } from '../seen/matching.ts';
import { requestedBy } from '../seen/requested.ts';
import { checkAttachments, volumeFacts, volumeProblem, type VolumeFacts } from './volume-checks.ts';

/** A DaemonSet as the audit sees it. */
export interface AuditedDaemon {
  readonly name: string;
  readonly spec: PodSpec;
  readonly requests: ReadonlyMap<string, number>;
}

/** Requests of each DaemonSet: its newest pod's, else the template's with the namespace's defaults. */
export function auditedDaemons({ cluster, devices }: ProvisioningInput): ReadonlyArray<AuditedDaemon> {
  const counted = cluster.daemonSets.filter(
    ({ spec }) => devices.kind === 'planned' || claimNamesOf(spec.template.spec).length === 0,
  );
  // Stryker disable next-line ConditionalExpression: of none there is nothing to say
  if (counted.length === 0) return [];
  const newest = newestPods(cluster);
  return counted.map((set) => {
    const namespace = set.metadata.namespace ?? 'default';
    const name = `${namespace}/${set.metadata.name}`;
    const running = cluster.shapes[newest.get(name)?.shape ?? -1]?.spec;
    const requests = requestedBy(running ?? defaulted(cluster, namespace, set));
    return { name, spec: set.spec.template.spec, requests };
  });
}

/** Of each DaemonSet that has pods, the newest one; of those equally new that with the last uid. */
function newestPods({ pods, shapes }: Cluster): ReadonlyMap<string, Pod> {
  const makers = shapes.map(daemonOf);
  const newest = new Map<string, Pod>();
  for (const pod of pods) {
    const maker = makers[pod.shape] ?? null;
    if (maker === null) continue;
    const known = newest.get(maker);
    const age = known === undefined ? -1 : known.createdAtMs - pod.createdAtMs;
    if (known === undefined || age < 0 || (age === 0 && pod.uid > known.uid)) newest.set(maker, pod);
  }
  return newest;
}

/** The DaemonSet that pods of the shape are of; null when none made them. */
function daemonOf({ namespace, owner }: PodShape): string | null {
  return owner?.kind === 'DaemonSet' ? `${namespace}/${owner.name}` : null;
}

function defaulted(cluster: Cluster, namespace: string, { spec: { template } }: DaemonSet): PodSpec {
  const defaults: Record<string, string | number> = {};
  const ranges = cluster.limitRanges.filter(({ metadata }) => metadata.namespace === namespace);
  for (const range of ranges.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    for (const { type, default: limits, defaultRequest } of range.spec?.limits ?? []) {
      if (type === 'Container') Object.assign(defaults, limits, defaultRequest);
    }
  }
  const withDefaults = (container: Container): Container => {
    const requests: ResourceList = { ...defaults, ...container.resources?.limits, ...container.resources?.requests };
    return { ...container, resources: { ...container.resources, requests } };
  };
  const { spec } = template;
  return {
    ...spec,
    containers: spec.containers.map(withDefaults),
    initContainers: (spec.initContainers ?? []).map(withDefaults),
  };
}

/** Judges one node by itself: taints, node rules, volumes, resources and host ports. */
export type NodeCheck = (node: FinalNode) => ReadonlyArray<Finding>;

/** What a pod of some spec takes of its node. */
interface PodNeeds {
  readonly requests: ReadonlyMap<string, number>;
  readonly ports: ReadonlyArray<readonly [string, string]>;
}

type NeedsOf = (spec: PodSpec) => PodNeeds;

/** Judges nodes of the cluster. What a pod needs is read once for all pods with that spec. */
export function nodeCheck(cluster: Cluster, daemons: ReadonlyArray<AuditedDaemon>): NodeCheck {
  const volumes = volumeFacts(cluster);
  const known = new Map<PodSpec, PodNeeds>();
  const needsOf = (spec: PodSpec): PodNeeds => {
    const needs = known.get(spec) ?? { requests: requestedBy(spec), ports: portsOf(spec) };
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    known.set(spec, needs);
    return needs;
  };
  return (node) => {
    const planned = [...node.pods.values()].filter((pods) => pods.planned > 0);
    // Stryker disable next-line ConditionalExpression: what is not planned is not judged below either
    if (planned.length === 0) return [];
    const missing = missingDaemons(node, daemons);
    return [
      ...planned.flatMap(({ spec }) => checkAdmission(node, spec, volumes)),
      ...checkResources(node, missing, needsOf),
      ...checkPorts(node, missing, needsOf),
      ...checkAttachments(node, volumes),
    ];
  };
}

/** May pods of the shape be on the node at all? */
function checkAdmission(node: FinalNode, shape: PodShape, volumes: VolumeFacts): ReadonlyArray<Finding> {
  const findings: Array<Finding> = [];
  const say = (rule: string, problem: string): void => {
    const text = `pods of ${shape.namespace}/${shape.owner?.name ?? 'no owner'} on ${node.name}`;
    findings.push(fatal(rule, `${text}: ${problem}`, subjectOf(node)));
  };
  const taint = blockingTaint(node.taints, shape.spec.tolerations);
  if (taint !== null) say('taint', `${taint.key}:${taint.effect} is not tolerated`);
  if (!meetsNodeRules(node.labels, shape.spec, node.name)) say('node-affinity', 'not met');
  const volume = volumeProblem(node, volumes, shape);
  if (volume !== null) say('volume', volume);
  return findings;
}

/** The daemons that will come to the node beside those that are there. */
export function missingDaemons(node: FinalNode, daemons: ReadonlyArray<AuditedDaemon>): ReadonlyArray<AuditedDaemon> {
  // Stryker disable next-line ConditionalExpression: of none there is nothing to say
  if (daemons.length === 0) return [];
  const there = new Set([...node.pods.values()].map(({ spec }) => daemonOf(spec)));
  return daemons.filter(
    ({ name, spec }) =>
      !there.has(name) &&
      blockingTaint(node.taints, spec.tolerations) === null &&
      meetsNodeRules(node.labels, spec, node.name),
  );
}

function checkResources(
  node: FinalNode,
  missing: ReadonlyArray<AuditedDaemon>,
  needsOf: NeedsOf,
): ReadonlyArray<Finding> {
  const used = new Map<string, number>();
  const add = (requests: ReadonlyMap<string, number>, times: number): void => {
    for (const [name, amount] of requests) used.set(name, (used.get(name) ?? 0) + times * amount);
  };
  const wanted = new Set<string>();
  for (const { spec, running, leaving, planned } of node.pods.values()) {
    const { requests } = needsOf(spec.spec);
    add(requests, running + leaving + planned);
    if (planned === 0) continue;
    for (const [name, amount] of requests) if (amount > 0) wanted.add(name);
  }
  for (const { requests } of missing) add(requests, 1);
  return [...wanted]
    .filter((name) => (used.get(name) ?? 0) > (node.allocatable.get(name) ?? 0))
    .map((name) =>
      fatal(
        'resources',
        `${node.name}: ${name} ${used.get(name) ?? 0} of ${node.allocatable.get(name) ?? 0}`,
        subjectOf(node),
      ),
    );
}

function portsOf(spec: PodSpec): ReadonlyArray<readonly [string, string]> {
  const lasting = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...spec.containers, ...lasting]
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort = 0 }) => hostPort > 0)
    .map(({ hostPort, protocol = 'TCP', hostIP = '' }) => [
      `${hostPort}/${protocol}`,
      hostIP === '' || hostIP === '::' ? '0.0.0.0' : hostIP,
    ]);
}

function checkPorts(node: FinalNode, missing: ReadonlyArray<AuditedDaemon>, needsOf: NeedsOf): ReadonlyArray<Finding> {
  const pods: Array<{ readonly ports: ReadonlyArray<readonly [string, string]>; readonly planned: boolean }> = [];
  for (const { spec, running, leaving, planned } of node.pods.values()) {
    const { ports } = needsOf(spec.spec);
    if (ports.length === 0) continue;
    for (let pod = 0; pod < Math.min(2, running + leaving); pod++) pods.push({ ports, planned: false });
    for (let pod = 0; pod < Math.min(2, planned); pod++) pods.push({ ports, planned: true });
  }
  if (node.claim !== null) pods.push(...missing.map(({ spec }) => ({ ports: portsOf(spec), planned: false })));
  // What one pod takes of its own does not keep it off.
  const clash = pods.some((one, at) =>
    pods.some(
      (other, before) =>
        before < at &&
        (one.planned || other.planned) &&
        one.ports.some(([port, ip]) => other.ports.some(([same, its]) => port === same && sameAddress(ip, its))),
    ),
  );
  return clash ? [fatal('host-port', `${node.name}: two pods use one host port`, subjectOf(node))] : [];
}

function sameAddress(a: string, b: string): boolean {
  return a === b || a === '0.0.0.0' || b === '0.0.0.0';
}
