import type { Cluster } from '../../model/cluster.ts';
import type { Container, DaemonSet, PodSpec, ResourceList } from '../../model/manifest.ts';
import type { ProvisioningInput } from '../../scheduling/provisioning-input.ts';
import { claimNamesOf } from './device-checks.ts';
import { fatal, type Finding } from './finding.ts';
import type { FinalNode } from './final-state.ts';
import { blockingTaint, meetsNodeRules } from './matching.ts';
import { requestedBy } from './requested.ts';
import { checkAttachments, volumeProblem } from './volume-checks.ts';

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
  return counted.map((set) => {
    const namespace = set.metadata.namespace ?? 'default';
    const [newest] = cluster.pods
      .filter(({ shape }) => isDaemonOf(cluster.shapes[shape], namespace, set.metadata.name))
      .toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.uid < b.uid ? 1 : -1));
    const running = newest === undefined ? undefined : cluster.shapes[newest.shape]?.spec;
    return {
      name: `${namespace}/${set.metadata.name}`,
      spec: set.spec.template.spec,
      requests: requestedBy(running ?? defaulted(cluster, namespace, set)),
    };
  });
}

function isDaemonOf(shape: Cluster['shapes'][number] | undefined, namespace: string, name: string): boolean {
  return shape?.namespace === namespace && shape.owner?.kind === 'DaemonSet' && shape.owner.name === name;
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

/** Taints, node rules, volumes, resources and host ports of one node. */
export function checkNode(
  node: FinalNode,
  cluster: Cluster,
  daemons: ReadonlyArray<AuditedDaemon>,
): ReadonlyArray<Finding> {
  const planned = [...node.pods.values()].filter((pods) => pods.planned > 0);
  if (planned.length === 0) return [];
  const findings: Array<Finding> = [];
  for (const { spec } of planned) {
    const text = `pods of ${spec.namespace}/${spec.owner?.name ?? 'no owner'} on ${node.name}`;
    const taint = blockingTaint(node.taints, spec.spec.tolerations);
    if (taint !== null) findings.push(fatal('taint', `${text}: ${taint.key}:${taint.effect} is not tolerated`));
    if (!meetsNodeRules(node.labels, spec.spec, node.name)) findings.push(fatal('node-affinity', `${text}: not met`));
    const volume = volumeProblem(node, cluster, spec);
    if (volume !== null) findings.push(fatal('volume', `${text}: ${volume}`));
  }
  return [
    ...findings,
    ...checkResources(node, daemons),
    ...checkPorts(node, daemons),
    ...checkAttachments(node, cluster),
  ];
}

function missingDaemons(node: FinalNode, daemons: ReadonlyArray<AuditedDaemon>): ReadonlyArray<AuditedDaemon> {
  const there = new Set(
    [...node.pods.values()]
      .filter(({ spec }) => spec.owner?.kind === 'DaemonSet')
      .map(({ spec }) => `${spec.namespace}/${spec.owner?.name ?? ''}`),
  );
  return daemons.filter(
    ({ name, spec }) =>
      !there.has(name) &&
      blockingTaint(node.taints, spec.tolerations) === null &&
      meetsNodeRules(node.labels, spec, node.name),
  );
}

function checkResources(node: FinalNode, daemons: ReadonlyArray<AuditedDaemon>): ReadonlyArray<Finding> {
  const used = new Map<string, number>();
  const add = (requests: ReadonlyMap<string, number>, times: number): void => {
    for (const [name, amount] of requests) used.set(name, (used.get(name) ?? 0) + times * amount);
  };
  const wanted = new Set<string>();
  for (const { spec, running, leaving, planned } of node.pods.values()) {
    const requests = requestedBy(spec.spec);
    add(requests, running + leaving + planned);
    const asked = planned > 0 ? [...requests].filter(([, amount]) => amount > 0) : [];
    asked.forEach(([name]) => wanted.add(name));
  }
  for (const { requests } of missingDaemons(node, daemons)) add(requests, 1);
  return [...wanted]
    .filter((name) => (used.get(name) ?? 0) > (node.allocatable.get(name) ?? 0))
    .map((name) =>
      fatal('resources', `${node.name}: ${name} ${used.get(name) ?? 0} of ${node.allocatable.get(name) ?? 0}`),
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

function checkPorts(node: FinalNode, daemons: ReadonlyArray<AuditedDaemon>): ReadonlyArray<Finding> {
  const taken: Array<{ readonly port: string; readonly ip: string; readonly planned: boolean }> = [];
  for (const { spec, running, leaving, planned } of node.pods.values()) {
    for (const [port, ip] of portsOf(spec.spec)) {
      for (let pod = 0; pod < Math.min(2, running + leaving); pod++) taken.push({ port, ip, planned: false });
      for (let pod = 0; pod < Math.min(2, planned); pod++) taken.push({ port, ip, planned: true });
    }
  }
  if (node.claim !== null) {
    for (const { spec } of missingDaemons(node, daemons)) {
      for (const [port, ip] of portsOf(spec)) taken.push({ port, ip, planned: false });
    }
  }
  const clash = taken.some((a, at) =>
    taken.some((b, other) => other < at && (a.planned || b.planned) && a.port === b.port && sameAddress(a.ip, b.ip)),
  );
  return clash ? [fatal('host-port', `${node.name}: two pods use one host port`)] : [];
}

function sameAddress(a: string, b: string): boolean {
  return a === b || a === '0.0.0.0' || b === '0.0.0.0';
}
