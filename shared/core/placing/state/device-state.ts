import { allocate, type Allocation } from '../../devices/allocate.ts';
import { templateSlices } from '../../model/device-templates.ts';
import { poolsOf, reachable, reachableFrom, reaches, reachOfSelector, templatePools } from '../../devices/devices.ts';
import type { Device, DevicePool, Reach } from '../../devices/devices.ts';
import { createMatcher, type Matcher } from '../../devices/selectors.ts';
import { giveBack, take, unused, type DeviceUse, type HeldDevice } from '../../devices/use.ts';
import { toAmount } from '../../devices/amount.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { ResourceClaim } from '../../../kubernetes/device-manifest.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { ExistingNode } from './existing-nodes.ts';
import { createClaimReader, hasDeviceClaims, type ClaimReader, type PodClaim } from '../../devices/device-claims.ts';
import type { ExistingCapacity } from '../../present/existing-capacity.ts';
import type { OpenClaim } from './open-claim.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import type { DeviceSupport, ProvisioningInput } from '../../model/provisioning-input.ts';

/** What a claim holds: since before this plan, or through it. */
export interface Holding {
  /** In the cluster, through this plan. Empty for what was allocated before. */
  readonly devices: ReadonlyArray<HeldDevice>;
  /** Who can use what was allocated before. */
  readonly reach: Reach;
  /** Where its devices are when they are a node's own. */
  readonly place: ExistingNode | OpenClaim | null;
  /** Uids of the pods of this plan that use it. */
  readonly pods: Set<string>;
  readonly isPlanned: boolean;
}

/** By key of claim: the devices that it would hold. */
export type Allotment = ReadonlyMap<string, ReadonlyArray<HeldDevice>>;

/** What the nodes of a pool will see of devices, by type and offering. */
export interface DeviceViews {
  /** Offerings of one variant see the same devices. */
  readonly variantOf: (type: number, bit: number) => string;
  readonly poolsOf: (type: number, bit: number) => ReadonlyArray<DevicePool>;
}

/** Devices while a plan gives them away. */
export interface DeviceState {
  readonly reader: ClaimReader;
  readonly matcher: Matcher;
  readonly support: Extract<DeviceSupport, { readonly kind: 'planned' }>;
  /** What slices of the cluster describe. */
  readonly pools: ReadonlyArray<DevicePool>;
  readonly use: DeviceUse;
  /** By key of claim. */
  readonly holdings: Map<string, Holding>;
  readonly devicePools: Map<ExistingNode, ReadonlyArray<DevicePool>>;
  /** On claims of this plan: per variant of its node, what pods there hold. */
  readonly variants: Map<OpenClaim, ReadonlyMap<string, Allotment>>;
  /** What new nodes will publish, by `NodePool/instance type`; found on demand. */
  readonly templates: Map<string, ReadonlyArray<DevicePool>>;
  readonly views: Map<PoolState, DeviceViews>;
  /** Offerings by type that pods with devices were narrowed to, by their text. */
  readonly masks: Map<string, Int32Array>;
}

/** Null when no pod to place has a resource claim, or such pods are not planned for. */
export function deviceStateFor(
  { cluster, devices: support }: ProvisioningInput,
  pods: ReadonlyArray<Pod>,
  existing: ReadonlyArray<ExistingCapacity>,
): DeviceState | null {
  const asking = pods.some(({ shape }) => hasDeviceClaims(cluster.shapes[shape]?.spec ?? { containers: [] }));
  if (support.kind === 'ignored' || !asking) return null;
  const pools = poolsOf(cluster.resourceSlices);
  const devices = new Map(pools.flatMap((pool) => pool.devices.map((device) => [device.id, device] as const)));
  const state: DeviceState = {
    reader: createClaimReader(cluster, support.compile),
    matcher: createMatcher(support.compile),
    support,
    pools,
    use: unused(),
    holdings: new Map(),
    devicePools: new Map(),
    variants: new Map(),
    templates: new Map(),
    views: new Map(),
    masks: new Map(),
  };
  const isFree = freeAgain(cluster, pods, existing);
  for (const claim of cluster.resourceClaims) {
    const { allocation } = claim.status ?? {};
    if (allocation === undefined || isFree(claim)) continue;
    for (const held of heldBefore(claim, devices)) take(state.use, held);
    const key = `${claim.metadata.namespace ?? 'default'}/${claim.metadata.name}`;
    const reach = reachOfAllocation(claim);
    state.holdings.set(key, { devices: [], reach, place: null, pods: new Set(), isPlanned: false });
  }
  return state;
}

/**
 * Will Kubernetes release the allocation before the claim's pods are placed? Its users are gone or going; or all of
 * them wait, and no node that it allows is there any more.
 */
function freeAgain(
  { pods }: Cluster,
  placed: ReadonlyArray<Pod>,
  existing: ReadonlyArray<ExistingCapacity>,
): (claim: ResourceClaim) => boolean {
  const present = new Map(pods.map((pod) => [pod.uid, pod]));
  const waiting = new Set(placed.map(({ uid }) => uid));
  const isGoing = (uid: string): boolean => {
    const pod = present.get(uid);
    return pod === undefined || pod.deleting || (pod.nodeName !== null && waiting.has(uid));
  };
  return (claim) => {
    const users = claim.status?.reservedFor ?? [];
    if (users.some(({ resource }) => resource !== 'pods')) return false;
    if (users.length > 0 && users.every(({ uid }) => isGoing(uid))) return true;
    if (!users.every(({ uid }) => isGoing(uid) || waiting.has(uid))) return false;
    return !existing.some(({ labels }) => reaches(reachOfAllocation(claim), labels));
  };
}

function reachOfAllocation({ status }: ResourceClaim): Reach {
  const selector = status?.allocation?.nodeSelector;
  return selector === undefined ? { kind: 'everywhere' } : reachOfSelector(selector.nodeSelectorTerms);
}

/** What the claim holds of devices that slices still describe. */
function heldBefore({ status }: ResourceClaim, devices: ReadonlyMap<string, Device>): ReadonlyArray<HeldDevice> {
  return (status?.allocation?.devices?.results ?? []).flatMap((result) => {
    const device = devices.get(`${result.driver}/${result.pool}/${result.device}`);
    if (device === undefined) return [];
    const { shareID, consumedCapacity, request } = result;
    const consumed =
      shareID === undefined && consumedCapacity === undefined
        ? null
        : new Map(Object.entries(consumedCapacity ?? {}).map(([name, text]) => [name, toAmount(text, 'up')]));
    return [{ device, request, admin: result.adminAccess === true, consumed }];
  });
}

/** What new nodes of the instance type publish in the NodePool; nothing when that is not known. */
export function templatesOf(state: DeviceState, nodePool: string, instanceType: string): ReadonlyArray<DevicePool> {
  const key = `${nodePool}/${instanceType}`;
  const known =
    state.templates.get(key) ?? templatePools(templateSlices(state.support.templates, nodePool, instanceType), 'new');
  state.templates.set(key, known);
  return known;
}

/** The devices that the pod's claims would hold on the node; null when there are none for it. */
export function allotOnNode(state: DeviceState, node: ExistingNode, pod: Pod): Allotment | null {
  const asked = state.reader.claimsOf(pod);
  if (asked.kind === 'problem') return null;
  const open: Array<PodClaim> = [];
  for (const claim of asked.claims) {
    const holding = state.holdings.get(claim.key);
    if (holding === undefined) open.push(claim);
    else if (!isUsableOn(holding, node)) return null;
  }
  return toAllotment(open, allocateFor(state, open, { pools: poolsOn(state, node), use: state.use }));
}

/** Looks for devices for claims that hold none. */
export function allocateFor(
  state: DeviceState,
  claims: ReadonlyArray<PodClaim>,
  place: Parameters<typeof allocate>[1],
): Allocation {
  return allocate(
    claims.map(({ terms }) => terms),
    place,
    state.matcher,
  );
}

/** The allocation by key of claim; null when it failed. */
export function toAllotment(claims: ReadonlyArray<PodClaim>, allocation: Allocation): Allotment | null {
  if (allocation.kind !== 'allocated') return null;
  return new Map(claims.map(({ key }, index) => [key, allocation.claims[index] ?? []]));
}

function isUsableOn({ place, reach, devices }: Holding, node: ExistingNode): boolean {
  if (place !== null) return place === node;
  const { labels } = node.capacity;
  return reaches(reach, labels) && devices.every(({ device }) => reaches(device.reach, labels));
}

/**
 * A node that is not initialized has what its kind publishes: what its drivers have published so far may not be all.
 */
function poolsOn(state: DeviceState, node: ExistingNode): ReadonlyArray<DevicePool> {
  const known = state.devicePools.get(node);
  if (known !== undefined) return known;
  const { labels, initialized, name } = node.capacity;
  const instanceType = labels[labelKey.instanceType] ?? '';
  const expected = templateSlices(state.support.templates, node.capacity.nodePool ?? '', instanceType);
  const pools = initialized
    ? reachableFrom(state.pools, labels)
    : [
        ...reachable(state.pools, (reach) => reach.kind !== 'node' && reaches(reach, labels)),
        ...templatePools(expected, name),
      ];
  state.devicePools.set(node, pools);
  return pools;
}

/** Gives the devices to the pod's claims on the node. */
export function bookOnNode(state: DeviceState, node: ExistingNode, pod: Pod, allotment: Allotment): void {
  for (const [key, devices] of allotment) {
    for (const held of devices) take(state.use, held);
    const isLocal = devices.some(({ device }) => device.reach.kind === 'node' || device.reach.kind === 'itself');
    const place = isLocal ? node : null;
    state.holdings.set(key, { devices, reach: EVERYWHERE, place, pods: new Set(), isPlanned: true });
  }
  joinHoldings(state, pod);
}

const EVERYWHERE: Reach = { kind: 'everywhere' };

/** Notes that the pod uses its claims. */
export function joinHoldings(state: DeviceState, pod: Pod): void {
  const asked = state.reader.claimsOf(pod);
  if (asked.kind === 'problem') return;
  for (const { key } of asked.claims) state.holdings.get(key)?.pods.add(pod.uid);
}

/** Takes the pod off its claims again; a claim that this plan gave devices and that nobody uses gives them back. */
export function leaveHoldings(state: DeviceState, pod: Pod): void {
  const asked = state.reader.claimsOf(pod);
  if (asked.kind === 'problem') return;
  for (const { key } of asked.claims) {
    const holding = state.holdings.get(key);
    if (holding === undefined) continue;
    holding.pods.delete(pod.uid);
    if (!holding.isPlanned || holding.pods.size > 0) continue;
    for (const held of holding.devices) giveBack(state.use, held);
    state.holdings.delete(key);
  }
}
