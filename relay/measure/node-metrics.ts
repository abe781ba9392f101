import { annotation, label } from '../../shared/contract/names.ts';
import type { SeenPod, SnapshotBuilder } from '../../shared/contract/snapshot/builder.ts';
import type { ReducedObject } from '../../shared/contract/snapshot/reduced/reduced.ts';
import type { ReducedPodSpec } from '../../shared/contract/snapshot/reduced/reduced-spec.ts';
import { approximateQuantity } from './approximate-quantity.ts';
import { poolNameOf } from '../watch/cluster-index.ts';
import { renderFamily, type Sample } from './metric-family.ts';

type Node = ReducedObject<'nodes'>;
type Labels = Readonly<Record<string, string>>;

/**
 * With more pods `karpenter_pods_state` is left out as a whole: each is a series, and a part of them would be a wrong
 * sum.
 */
const PODS_SHOWN_MAX = 5_000;

interface NodeMetricsOptions {
  readonly objects: SnapshotBuilder['objects'];
  readonly eachPod: SnapshotBuilder['eachPod'];
  readonly podCount: () => number;
  readonly isPublishing: () => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * What Karpenter's capacity dashboard reads of single nodes and pods, and what they cost (karpenter-core.md §5.4). Read
 * again by each scrape.
 */
export function createNodeMetrics(options: NodeMetricsOptions): { readonly render: () => string } {
  const { objects, eachPod, podCount, isPublishing, now } = options;
  return {
    render() {
      if (!isPublishing()) return '';
      const nodes = Array.from(objects('nodes'), (node): Seen => ({ node, labels: labelsOf(node) }));
      const requested = requestsByNode(eachPod);
      const pods = podCount() > PODS_SHOWN_MAX ? null : podStates(eachPod, nodes);
      return [
        perResource(nodes, 'karpenter_nodes_allocatable', 'What pods may use of a node.', ({ status }) =>
          amountsOf(status?.allocatable),
        ),
        perResource(nodes, 'karpenter_nodes_system_overhead', 'What a node keeps for itself.', overheadOf),
        perResource(nodes, 'karpenter_nodes_total_pod_requests', 'Requests of the pods on a node.', (node) =>
          onNode(requested, node, 'pods'),
        ),
        perResource(nodes, 'karpenter_nodes_total_daemon_requests', 'Of these, of DaemonSets.', (node) =>
          onNode(requested, node, 'daemons'),
        ),
        renderFamily(
          'karpenter_nodes_current_lifetime_seconds',
          'gauge',
          'How long a node has existed.',
          nodes.map(({ node, labels }): Sample => [labels, ageSeconds(node, now())]),
        ),
        renderFamily(
          'karpenter_nodepools_cost_total',
          'gauge',
          'List prices of the nodes of a pool together, per hour.',
          [...costs(nodes)],
        ),
        renderFamily(
          'karpenter_cloudprovider_instance_type_offering_price_estimate',
          'gauge',
          'List price per hour, of offerings that a node has now.',
          [...prices(nodes)],
        ),
        ...(pods === null ? [] : [renderFamily('karpenter_pods_state', 'gauge', 'Each pod, as 1.', pods)]),
      ].join('');
    },
  };
}

type Amounts = ReadonlyMap<string, number>;

function amountsOf(list: Readonly<Record<string, string | number>> | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, quantity]) => [name, approximateQuantity(quantity)]));
}

function overheadOf({ status }: Node): Amounts {
  const allocatable = amountsOf(status?.allocatable);
  return new Map(
    [...amountsOf(status?.capacity)].map(([name, amount]) => [name, amount - (allocatable.get(name) ?? amount)]),
  );
}

function perResource(nodes: ReadonlyArray<Seen>, name: string, help: string, of: (node: Node) => Amounts): string {
  const samples = nodes.flatMap(({ node, labels }) => {
    return [...of(node)].map(([resource, amount]): Sample => {
      return [{ ...labels, resource_type: resource.toLowerCase().replaceAll('-', '_') }, amount];
    });
  });
  return renderFamily(name, 'gauge', help, samples);
}

/** A node, and what all of its series are labelled with. */
interface Seen {
  readonly node: Node;
  readonly labels: Labels;
}

/** Karpenter's well-known labels in snake case, as far as dashboards filter by them. */
function labelsOf(node: Node): Labels {
  const { name, labels = {}, deletionTimestamp } = node.metadata;
  return {
    node_name: name,
    nodepool: poolNameOf(node) ?? '',
    arch: labels[label.arch] ?? '',
    capacity_type: labels[label.capacityType] ?? '',
    instance_type: labels[label.instanceType] ?? '',
    os: labels[label.os] ?? '',
    region: labels[label.region] ?? '',
    zone: labels[label.zone] ?? '',
    phase: deletionTimestamp === undefined ? 'Running' : 'Terminating',
    managed: String(poolNameOf(node) !== null),
  };
}

interface Requested {
  readonly pods: Map<string, number>;
  readonly daemons: Map<string, number>;
}

/** Of what runs or is about to, by node. */
function requestsByNode(eachPod: SnapshotBuilder['eachPod']): ReadonlyMap<string, Requested> {
  const byNode = new Map<string, Requested>();
  const known = new Map<SeenPod['shape'], Amounts>();
  eachPod(({ nodeName, shape, placedByOwner }) => {
    if (nodeName === null) return;
    const own = byNode.get(nodeName) ?? { pods: new Map(), daemons: new Map() };
    byNode.set(nodeName, own);
    const requests = known.get(shape) ?? requestsOf(shape.spec);
    known.set(shape, requests);
    for (const total of placedByOwner ? [own.pods, own.daemons] : [own.pods]) {
      for (const [name, amount] of requests) total.set(name, (total.get(name) ?? 0) + amount);
    }
  });
  return byNode;
}

/** As kube-scheduler counts it, near enough to be shown: containers together, or the largest that runs before them. */
function requestsOf({ containers, initContainers = [], overhead }: ReducedPodSpec): Amounts {
  const total = new Map<string, number>([['pods', 1]]);
  const add = (amounts: Amounts): void => {
    for (const [name, amount] of amounts) total.set(name, (total.get(name) ?? 0) + amount);
  };
  for (const { resources } of containers) add(amountsOf(resources?.requests));
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
  for (const { resources } of sidecars) add(amountsOf(resources?.requests));
  for (const { resources } of initContainers) {
    for (const [name, amount] of amountsOf(resources?.requests))
      total.set(name, Math.max(total.get(name) ?? 0, amount));
  }
  add(amountsOf(overhead));
  return total;
}

function onNode(requested: ReadonlyMap<string, Requested>, { metadata }: Node, whose: keyof Requested): Amounts {
  return requested.get(metadata.name)?.[whose] ?? new Map<string, number>();
}

function ageSeconds({ metadata }: Node, nowMs: number): number {
  const bornMs = Date.parse(metadata.creationTimestamp ?? '');
  return Number.isNaN(bornMs) ? 0 : Math.max(0, nowMs - bornMs) / 1_000;
}

/** Per hour, in the currency of the app; null of a node that says none. */
function priceOf({ metadata: { annotations = {} } }: Node): number | null {
  const price = Number.parseFloat(annotations[annotation.pricePerHour] ?? '');
  return Number.isNaN(price) ? null : price;
}

function* costs(nodes: ReadonlyArray<Seen>): Iterable<Sample> {
  for (const [nodepool, own] of Map.groupBy(nodes, ({ node }) => poolNameOf(node))) {
    if (nodepool !== null) yield [{ nodepool }, own.reduce((sum, { node }) => sum + (priceOf(node) ?? 0), 0)];
  }
}

function* prices(nodes: ReadonlyArray<Seen>): Iterable<Sample> {
  const shown = new Set<string>();
  for (const { node, labels } of nodes) {
    const price = priceOf(node);
    const { instance_type = '', zone = '', capacity_type = '' } = labels;
    const key = [instance_type, zone, capacity_type].join('/');
    if (price === null || shown.has(key)) continue;
    shown.add(key);
    yield [{ instance_type, capacity_type, zone }, price];
  }
}

function podStates(eachPod: SnapshotBuilder['eachPod'], nodes: ReadonlyArray<Seen>): ReadonlyArray<Sample> {
  const byName = new Map(nodes.map(({ node, labels }) => [node.metadata.name, labels]));
  const samples: Array<Sample> = [];
  eachPod(({ namespace, name, nodeName, running, ready, shape }) => {
    const of: Labels = byName.get(nodeName ?? '') ?? {};
    const { nodepool = '', zone = '', arch = '', capacity_type = '', instance_type = '', managed = 'false' } = of;
    const own = {
      name,
      namespace,
      owner: shape.owner === null ? '' : `${shape.owner.kind}/${shape.owner.name}`,
      node: nodeName ?? '',
      nodepool,
      zone,
      arch,
      capacity_type,
      instance_type,
      phase: running ? 'Running' : 'Pending',
      ready: String(ready),
      scheduled: String(nodeName !== null),
      managed,
    };
    samples.push([own, 1]);
  });
  return samples;
}
