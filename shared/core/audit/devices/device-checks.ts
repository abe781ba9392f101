import type { Pod } from '../../model/cluster.ts';
import type { ResourceClaim } from '../../../kubernetes/device-manifest.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { PodSpec } from '../../../kubernetes/manifest.ts';
import type { DeviceAssignment, Plan } from '../../model/plan.ts';
import { checkAllocated, shareOf, type AllocatedDevice } from './device-claim-checks.ts';
import { checkUses, type DeviceUses } from './device-uses.ts';
import { claimFinder, type ClaimFinder, type AuditedClaim } from './audited-claims.ts';
import { fatal, type Finding, type Subject } from '../seen/finding.ts';
import type { AuditedInput } from '../seen/audited-sizes.ts';
import type { FinalNode } from '../seen/final-state.ts';
import {
  certain,
  devicesInCluster,
  devicesToCome,
  isReachedFrom,
  onlyNodeOf,
  selects,
  thousandths,
} from './published-devices.ts';
import type { AuditedDevice } from './published-devices.ts';

/** The names under which a pod lists or uses resource claims. */
export function claimNamesOf(spec: PodSpec): ReadonlyArray<string> {
  const used = [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ resources }) => resources?.claims ?? []);
  return [...new Set([...(spec.resourceClaims ?? []), ...used].map(({ name }) => name))];
}

/** One machine that a pod may end up on: a node, or one offering of a planned claim. */
interface Site {
  readonly name: string;
  readonly instanceType: string;
  readonly node: FinalNode;
  /** Are the devices that the node publishes itself those that it will have? */
  readonly publishes: boolean;
  readonly toCome: ReadonlyMap<string, AuditedDevice>;
  /** All devices that pods there can use. */
  readonly reached: ReadonlyArray<AuditedDevice>;
}

/** Do all claims of the placed pods get, together, devices that they may have where the pods go? */
export function checkDevices(
  plan: Plan,
  input: AuditedInput,
  state: ReadonlyMap<string, FinalNode>,
): ReadonlyArray<Finding> {
  const asks = input.cluster.shapes.map(({ spec }) => claimNamesOf(spec).length > 0);
  if (!asks.includes(true)) return [];
  const placed = placesOf(plan);
  const asking = input.cluster.pods.filter(({ uid, shape }) => asks[shape] === true && placed.has(uid));
  if (asking.length === 0) return [];
  const names = asking.map(({ name }) => name).join(', ');
  const about = asking.map(({ uid }): Subject => ({ kind: 'pod', uid }));
  if (input.devices.kind === 'ignored')
    return [fatal('devices', `claims are ignored, and ${names} have a place`, ...about)];
  const context = contextOf(plan, input);
  const { uses } = context;
  const early = recordHeld(context, stayingNodes(input, state), placed);
  const sites = new Map<string, ReadonlyArray<Site>>();
  const findings = asking.flatMap((pod) => {
    const key = placed.get(pod.uid) ?? '';
    const node = state.get(key);
    if (node === undefined) return [];
    const own = sites.get(key) ?? sitesOf(context, key, node);
    sites.set(key, own);
    return own.flatMap((site) => checkPod(pod, site, context));
  });
  // Which of the pods takes too much of a device nobody can say.
  const shared = [...early, ...checkUses(uses)].map((finding) => ({ ...finding, about }));
  return [...shared, ...findings];
}

/** Plan and input as they are asked, and what is noted on the way. */
interface Context {
  readonly input: AuditedInput;
  readonly inCluster: ReadonlyMap<string, AuditedDevice>;
  /** The same by the node that alone reaches them; null: what other nodes may reach. */
  readonly byNode: ReadonlyMap<string | null, ReadonlyArray<AuditedDevice>>;
  readonly uses: DeviceUses;
  readonly assignments: ReadonlyMap<string, ReadonlyArray<DeviceAssignment>>;
  readonly left: ReadonlySet<string>;
  readonly findClaim: ClaimFinder;
}

function contextOf(plan: Plan, input: AuditedInput): Context {
  const inCluster = devicesInCluster(input);
  return {
    input,
    inCluster,
    byNode: Map.groupBy(inCluster.values(), onlyNodeOf),
    uses: new Map(),
    assignments: Map.groupBy(plan.devices, ({ claim }) => claim),
    left: new Set(plan.left.map(({ pod }) => pod.uid)),
    findClaim: claimFinder(input.cluster),
  };
}

/** Without those that are going. */
function stayingNodes({ cluster }: AuditedInput, state: ReadonlyMap<string, FinalNode>): ReadonlyArray<FinalNode> {
  const going = cluster.nodeClaims
    .filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp !== undefined ||
        status?.conditions?.some((one) => one.type === 'InstanceTerminating' && one.status === 'True') === true,
    )
    .flatMap(({ metadata, status }) => [metadata.name, status?.nodeName]);
  const deleted = cluster.nodes.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const gone = new Set([...going, ...deleted.map(({ metadata }) => metadata.name)]);
  return [...state.values()].filter(
    ({ claim, name, presentTaints }) =>
      claim === null && !gone.has(name) && presentTaints.every(({ key }) => key !== 'karpenter.sh/disrupted'),
  );
}

function placesOf(plan: Plan): ReadonlyMap<string, string> {
  const placed = new Map<string, string>();
  plan.claims.forEach(({ pods }, index) => {
    for (const { uid } of pods) placed.set(uid, `planned/${index}`);
  });
  for (const { target, pods } of plan.nominations) {
    for (const { uid } of pods) placed.set(uid, `${target.kind}/${target.name}`);
  }
  return placed;
}

function sitesOf(context: Context, key: string, node: FinalNode): ReadonlyArray<Site> {
  const { input } = context;
  const { claim } = node;
  const toSite = (site: Omit<Site, 'reached'>): Site => ({ ...site, reached: reachedFrom(context, site) });
  if (claim === null) {
    const instanceType = node.labels.get(labelKey.instanceType)?.[0] ?? '';
    const publishes = isReady(input, key, node.name);
    const toCome = publishes ? new Map() : devicesToCome(input, { nodePool: node.nodePool, instanceType }, key);
    return [toSite({ name: key, instanceType, node, publishes, toCome })];
  }
  const pool = input.cluster.nodePools.find(({ metadata }) => metadata.name === claim.nodePool);
  return [claim.offering, ...claim.fallbacks].map((offering) => {
    const { instanceType, zone, capacityType } = offering;
    const labels = new Map([
      ...(pool === undefined ? [] : input.sizes.nodeOf(pool, offering).labels),
      ...certain(claim.labels),
    ]);
    const name = `${key} as ${instanceType} ${zone} ${capacityType}`;
    const toCome = devicesToCome(input, { nodePool: claim.nodePool, instanceType }, name);
    return toSite({ name, instanceType, node: { ...node, labels }, publishes: false, toCome });
  });
}

/** A node that is not ours is as ready as it will ever be. */
function isReady({ cluster }: AuditedInput, key: string, name: string): boolean {
  const node = cluster.nodes.find(({ metadata }) => metadata.name === name);
  if (node === undefined || !key.startsWith('node/')) return false;
  const labels = node.metadata.labels ?? {};
  const claimed = cluster.nodeClaims.some(({ metadata, status }) => {
    const sameMachine = status?.providerID !== undefined && status.providerID === node.spec?.providerID;
    return sameMachine || (status?.nodeName ?? metadata.name) === name;
  });
  const managed = claimed || labels[labelKey.nodePool] !== undefined;
  return !managed || labels[labelKey.initialized] === 'true';
}

function reachedFrom(
  { byNode }: Context,
  { node, publishes, toCome }: Omit<Site, 'reached'>,
): ReadonlyArray<AuditedDevice> {
  const possible = [...(byNode.get(null) ?? []), ...(byNode.get(node.name) ?? [])];
  return [...possible.filter((one) => isReachedFrom(one, node, publishes)), ...toCome.values()];
}

function checkPod(pod: Pod, site: Site, context: Context): ReadonlyArray<Finding> {
  const shape = context.input.cluster.shapes[pod.shape];
  if (shape === undefined) return [];
  const about: Subject = { kind: 'pod', uid: pod.uid };
  return claimNamesOf(shape.spec).flatMap((name) => {
    const claim = context.findClaim(pod, shape, name);
    if (claim === null) return [fatal('devices', `the claim ${name} of pod ${pod.name} does not exist`, about)];
    return checkClaim(claim, pod, site, context).map((text) =>
      fatal('devices', `claim ${claim.key} of pod ${pod.name} on ${site.name}: ${text}`, about),
    );
  });
}

function checkClaim(claim: AuditedClaim, pod: Pod, site: Site, context: Context): ReadonlyArray<string> {
  const { input, inCluster, uses } = context;
  const assigned = (context.assignments.get(claim.key) ?? []).filter(
    ({ instanceTypes }) => instanceTypes === null || instanceTypes.includes(site.instanceType),
  );
  const allocation = claim.manifest?.status?.allocation;
  if (assigned.length === 0 && allocation !== undefined) {
    const { nodeSelector } = allocation;
    const isThere = nodeSelector === undefined || selects(nodeSelector, site.node.labels, site.node.name);
    return isThere ? [] : ['its devices are not reached from there'];
  }
  const [assignment] = assigned;
  if (assignment === undefined || !assignment.pods.includes(pod.uid)) return ['it is given no devices'];
  const given = assignment.devices.map((one) => findDevice(one, site, inCluster));
  if (given.some((one) => one === null)) return ['it is given a device that is not reached from there'];
  const found = given.filter((one) => one !== null);
  for (const one of found) recordGiven(one, claim, uses);
  return checkAllocated(claim.spec, found, site.reached, input);
}

function findDevice(
  { request, driver, pool, device }: DeviceAssignment['devices'][number],
  { node, publishes, toCome }: Site,
  inCluster: ReadonlyMap<string, AuditedDevice>,
): AllocatedDevice | null {
  const id = `${driver}/${pool}/${device}`;
  const known = inCluster.get(id);
  if (known !== undefined && isReachedFrom(known, node, publishes)) return { request, device: known };
  const own = [...toCome.values()].find((one) => one.id.endsWith(`: ${id}`));
  return own === undefined ? null : { request, device: own };
}

function recordGiven({ request, device }: AllocatedDevice, claim: AuditedClaim, uses: DeviceUses): void {
  const [name, alternative] = request.split('/');
  const asked = (claim.spec.devices?.requests ?? []).find((one) => one.name === name);
  const exact = asked?.exactly ?? asked?.firstAvailable?.find((one) => one.name === alternative);
  if (exact === undefined || exact.adminAccess === true) return;
  const share = device.published.allowMultipleAllocations === true ? shareOf(device, exact) : null;
  const use = uses.get(device.id) ?? { device, isPlanned: true, holders: new Map() };
  use.isPlanned = true;
  use.holders.set(`${claim.key} ${request}`, share);
  uses.set(device.id, use);
}

/** Notes what claims hold that Kubernetes does not release; says which of them the plan gives devices all the same. */
function recordHeld(
  { input, inCluster, uses, assignments, left }: Context,
  existing: ReadonlyArray<FinalNode>,
  placed: ReadonlyMap<string, string>,
): ReadonlyArray<Finding> {
  const users = new Set(input.cluster.resourceClaims.flatMap(({ status }) => status?.reservedFor ?? []).map(uidOf));
  const pods = new Map(input.cluster.pods.filter(({ uid }) => users.has(uid)).map((pod) => [pod.uid, pod]));
  const fateOf = ({ uid, resource }: ClaimUser): UserFate => {
    const pod = pods.get(uid);
    const isPlanned = placed.has(uid) || left.has(uid);
    if (resource !== 'pods') return 'stays';
    if (pod === undefined || pod.deleting || (isPlanned && pod.nodeName !== null)) return 'goes';
    return isPlanned ? 'waits' : 'stays';
  };
  return input.cluster.resourceClaims
    .filter((claim) => claim.status?.allocation !== undefined && isKept(claim, fateOf, existing))
    .flatMap((claim) => {
      const key = `${claim.metadata.namespace ?? 'default'}/${claim.metadata.name}`;
      for (const { driver, pool, device, request, ...one } of claim.status?.allocation?.devices?.results ?? []) {
        const found = inCluster.get(`${driver}/${pool}/${device}`);
        if (found === undefined || one.adminAccess === true) continue;
        const isShare = one.shareID !== undefined || one.consumedCapacity !== undefined;
        const consumed = Object.entries(one.consumedCapacity ?? {}).map(
          ([name, text]) => [name, thousandths(text, 'up')] as const,
        );
        const use = uses.get(found.id) ?? { device: found, isPlanned: false, holders: new Map() };
        use.holders.set(`${key} ${request} held`, isShare ? new Map(consumed) : null);
        uses.set(found.id, use);
      }
      return assignments.has(key) ? [fatal('devices', `claim ${key} holds devices already`)] : [];
    });
}

type ClaimUser = NonNullable<NonNullable<ResourceClaim['status']>['reservedFor']>[number];

type UserFate = 'stays' | 'goes' | 'waits';

function uidOf({ uid }: ClaimUser): string {
  return uid;
}

/** An allocation ends when all users are gone or going, or when they wait and no node is left that it allows. */
function isKept(
  { status }: ResourceClaim,
  fateOf: (user: ClaimUser) => UserFate,
  existing: ReadonlyArray<FinalNode>,
): boolean {
  const fates = (status?.reservedFor ?? []).map(fateOf);
  const nodeSelector = status?.allocation?.nodeSelector;
  if (fates.includes('stays')) return true;
  if (fates.length > 0 && fates.every((one) => one === 'goes')) return false;
  return nodeSelector === undefined || existing.some(({ labels, name }) => selects(nodeSelector, labels, name));
}
