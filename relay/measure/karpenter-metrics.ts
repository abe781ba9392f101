import { parseGoDuration } from '../../shared/kubernetes/text/go-duration.ts';
import { annotation, label } from '../../shared/contract/names.ts';
import type { ObjectChange, SnapshotBuilder, SnapshotChange } from '../../shared/contract/snapshot/builder.ts';
import type { ReducedObject } from '../../shared/contract/snapshot/reduced/reduced.ts';
import { version } from '../../shared/contract/version.ts';
import { approximateQuantity } from './approximate-quantity.ts';
import { poolNameOf } from '../watch/cluster-index.ts';
import { createFamilies, renderFamily, type Sample } from './metric-family.ts';
import { createPodsByNode } from '../watch/pods-by-node.ts';

type Node = ReducedObject<'nodes'>;
type NodeClaim = ReducedObject<'nodeclaims'>;

/** What Karpenter's dashboards and suites read, under its names and labels (karpenter-core.md §5.4, 1.14). */
export interface KarpenterMetrics {
  /** Counts what a change means. Call for every change, in order. */
  readonly observe: (change: SnapshotChange) => void;
  /** Prometheus text. */
  readonly render: () => string;
}

interface KarpenterMetricsOptions {
  readonly objects: SnapshotBuilder['objects'];
  /** One relay counts and shows at a time, so that sums over replicas are right: the one that publishes. */
  readonly isPublishing: () => boolean;
  readonly isSynced: () => boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const counters = {
  karpenter_nodeclaims_created_total: 'NodeClaims created, by reason, pool and whether minimum values were relaxed.',
  karpenter_nodeclaims_disrupted_total:
    'NodeClaims deleted to be disrupted, or given up, by reason, pool, capacity type, policy and termination mode.',
  karpenter_pods_disruption_initiated_total: 'Pods on them that need another place.',
  karpenter_nodeclaims_terminated_total: 'NodeClaims that are gone, by pool, capacity type and zone.',
  karpenter_nodes_created_total: 'Nodes registered, by pool and zone.',
  karpenter_nodes_terminated_total: 'Nodes of ours that are gone, by pool and zone.',
  karpenter_nodes_drained_total: 'Nodes whose pods have all left, by pool.',
} as const;

/**
 * Makes them, all zero. Only what watches tell is here: durations of scheduling, decisions of disruption and calls to
 * Azure happen in the functions, whose telemetry has them.
 */
export function createKarpenterMetrics({
  objects,
  isPublishing,
  isSynced,
  now,
}: KarpenterMetricsOptions): KarpenterMetrics {
  const families = createFamilies(counters);
  const process = { version, goversion: '', goarch: globalThis.process.arch, commit: '' };

  /** The pods that need another place when their node goes. */
  const movable = createPodsByNode((pod) => !pod.placedByOwner && !pod.deleting);
  /** When somebody who scraped last saw it in sync; when this began, before. */
  let syncedMs = now();

  function observe(change: SnapshotChange): void {
    if (change.kind === 'pod') movable.apply(change);
    if (change.kind !== 'object' || !isPublishing()) return;
    for (const [name, labels] of countsOf(change)) families.add(name, labels);
    if (change.resource === 'nodeclaims') countDisruption(change.before, change.after);
  }

  /** A claim that says why it is removed, and is deleted now. */
  function countDisruption(before: NodeClaim | null, after: NodeClaim | null): void {
    if (after === null || !isDeleted(after) || isDeleted(before)) return;
    const givenUp = givenUpReasonOf(after);
    const reason = givenUp ?? disruptionReasonOf(after);
    if (reason === null) return;
    const labels = { reason, ...labelsOf(after) };
    families.add('karpenter_nodeclaims_disrupted_total', labels);
    // Of one that is given up they are lost, or never came.
    const pods = givenUp === null ? movable.on(after.status?.nodeName ?? '') : 0;
    if (pods > 0) families.add('karpenter_pods_disruption_initiated_total', labels, pods);
  }

  function labelsOf(claim: NodeClaim): Readonly<Record<string, string>> {
    const nodepool = poolNameOf(claim) ?? '';
    const pool = [...objects('nodepools')].find(({ metadata }) => metadata.name === nodepool);
    return {
      nodepool,
      capacity_type: claim.metadata.labels?.[label.capacityType] ?? '',
      consolidation_policy: pool?.spec.disruption?.consolidationPolicy ?? '',
      termination_mode: terminationModeOf(claim),
    };
  }

  function render(): string {
    if (isSynced()) syncedMs = now();
    const always = [
      renderFamily('karpenter_build_info', 'gauge', 'What runs here.', [[process, 1]]),
      renderFamily('karpenter_cluster_state_synced', 'gauge', '1 when everything is listed and watched.', [
        [{}, isSynced() ? 1 : 0],
      ]),
      renderFamily('karpenter_cluster_state_unsynced_time_seconds', 'gauge', 'For how long it has not been so.', [
        [{}, (now() - syncedMs) / 1_000],
      ]),
    ];
    if (!isPublishing()) return always.join('');
    const nodes = [...objects('nodes')];
    return [
      ...always,
      families.render(),
      renderFamily('karpenter_cluster_state_node_count', 'gauge', 'Nodes known.', [[{}, nodes.length]]),
      renderFamily('karpenter_nodepools_limit', 'gauge', 'Limits of pools, in cores, bytes and pieces.', [
        ...limits(objects('nodepools')),
      ]),
      renderFamily('karpenter_nodepools_usage', 'gauge', 'What pools hold, in cores, bytes and pieces.', [
        ...usages(objects('nodepools'), objects('nodeclaims'), nodes),
      ]),
    ].join('');
  }

  return { observe, render };
}

/** Null for what is not disrupted. */
function disruptionReasonOf({ status }: NodeClaim): string | null {
  const found = status?.conditions?.find((one) => one.type === 'DisruptionReason' && one.status === 'True');
  return found?.reason === undefined ? null : toReasonLabel(found.reason);
}

/** As Karpenter writes reasons in labels: `StaticSurplus` as `static_surplus`. */
function toReasonLabel(reason: string): string {
  return reason.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();
}

/**
 * Karpenter's words for claims that are given up, by ours. A machine whose set-up has failed is not waited for to the
 * end of its time: it counts with those that are.
 */
const givenUpReasons: Readonly<Record<string, string>> = {
  InsufficientCapacityError: 'insufficient_capacity',
  NodeClassNotReady: 'nodeclass_not_ready',
  LaunchTimeout: 'launch_timeout',
  RegistrationTimeout: 'registration_timeout',
  NodeBootFailed: 'registration_timeout',
  AsyncProvisioningError: 'async_provisioning',
  InstanceGone: 'garbage_collected',
};

/** Null for what is not given up. */
function givenUpReasonOf({ metadata }: NodeClaim): string | null {
  const reason = metadata.annotations?.[annotation.givenUp];
  return reason === undefined ? null : (givenUpReasons[reason] ?? toReasonLabel(reason));
}

function isDeleted(claim: NodeClaim | null): boolean {
  return claim?.metadata.deletionTimestamp !== undefined;
}

/** Derived from the claim alone, as in Karpenter: without a deadline, with one, with none to lose. */
function terminationModeOf({ spec }: NodeClaim): string {
  const { terminationGracePeriod: period } = spec;
  if (period === undefined) return 'graceful';
  return (parseGoDuration(period) ?? 0) > 0 ? 'eventual' : 'forceful';
}

type Count = readonly [keyof typeof counters, Readonly<Record<string, string>>];

function countsOf(change: ObjectChange): ReadonlyArray<Count> {
  if (change.resource === 'nodeclaims') return claimCounts(change.before, change.after);
  return change.resource === 'nodes' ? nodeCounts(change.before, change.after) : [];
}

function claimCounts(before: NodeClaim | null, after: NodeClaim | null): ReadonlyArray<Count> {
  const nodepool = poolNameOf(after ?? before) ?? '';
  if (before === null) {
    const { [annotation.minValuesRelaxed]: relaxed = 'false', [annotation.createdFor]: createdFor = 'Provisioned' } =
      after?.metadata.annotations ?? {};
    const reason = toReasonLabel(createdFor);
    return [['karpenter_nodeclaims_created_total', { reason, nodepool, min_values_relaxed: relaxed }]];
  }
  if (after === null) {
    const capacityType = before.metadata.labels?.[label.capacityType] ?? '';
    const zone = before.metadata.labels?.[label.zone] ?? '';
    return [['karpenter_nodeclaims_terminated_total', { nodepool, capacity_type: capacityType, zone }]];
  }
  return isDrained(after) && !isDrained(before) ? [['karpenter_nodes_drained_total', { nodepool }]] : [];
}

function isDrained({ status }: NodeClaim): boolean {
  return status?.conditions?.some((one) => one.type === 'Drained' && one.status === 'True') === true;
}

function nodeCounts(before: Node | null, after: Node | null): ReadonlyArray<Count> {
  const labels = { nodepool: poolNameOf(after ?? before) ?? '', zone: zoneOf(after ?? before) };
  if (isRegistered(after) && !isRegistered(before)) return [['karpenter_nodes_created_total', labels]];
  return after === null && isRegistered(before) ? [['karpenter_nodes_terminated_total', labels]] : [];
}

function isRegistered(node: Node | null): boolean {
  return node?.metadata.labels?.[label.registered] === 'true';
}

function zoneOf(node: Node | null): string {
  return node?.metadata.labels?.[label.zone] ?? '';
}

function* limits(pools: Iterable<ReducedObject<'nodepools'>>): Iterable<Sample> {
  for (const { metadata, spec } of pools) {
    for (const [resource, quantity] of Object.entries(spec.limits ?? {}))
      yield sample(metadata.name, resource, quantity);
  }
}

/** As a pool's status counts it: claims that stay, by what their node has, else by what they expect. */
function* usages(
  pools: Iterable<{ readonly metadata: { readonly name: string } }>,
  claims: Iterable<NodeClaim>,
  nodes: ReadonlyArray<Node>,
): Iterable<Sample> {
  const capacityOf = new Map(nodes.map((node) => [node.spec?.providerID?.toLowerCase(), node.status?.capacity]));
  const byPool = Map.groupBy(claims, (claim) => poolNameOf(claim));
  for (const { metadata } of pools) {
    const living = (byPool.get(metadata.name) ?? []).filter((claim) => claim.metadata.deletionTimestamp === undefined);
    const totals = new Map<string, number>();
    for (const { status } of living) {
      const capacity = capacityOf.get(status?.providerID?.toLowerCase()) ?? status?.capacity ?? {};
      for (const [resource, quantity] of Object.entries(capacity)) {
        totals.set(resource, (totals.get(resource) ?? 0) + approximateQuantity(quantity));
      }
    }
    totals.set('nodes', living.filter(({ status }) => status?.providerID !== undefined).length);
    for (const [resource, total] of totals) yield sample(metadata.name, resource, total);
  }
}

/** Karpenter writes `ephemeral-storage` as `ephemeral_storage`. */
function sample(nodepool: string, resource: string, quantity: string | number): Sample {
  return [{ nodepool, resource_type: resource.toLowerCase().replaceAll('-', '_') }, approximateQuantity(quantity)];
}
