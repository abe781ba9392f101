import { annotation, label } from '../../contract/names.ts';
import { poolsByProvider } from '../../contract/own-class.ts';
import { isDedicated, dedicationIn } from '../../kubernetes/dedicated-taint.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { judgeSiblings } from '../../contract/snapshot/siblings.ts';
import { NO_TEMPLATES, type DeviceTemplates } from '../../core/model/device-templates.ts';
import { cordoned } from '../../core/disruption/second-look/begun.ts';
import type { Catalog } from '../../core/model/catalog.ts';
import type { PodReference } from '../../core/model/plan.ts';
import { namesRegional, zonalOnly } from '../../core/rules/placement-scope.ts';
import type { Node, NodeClaim, NodePool } from '../../kubernetes/manifest.ts';
import {
  DEFAULT_WORK,
  DEVICES_IGNORED,
  type DeviceSupport,
  type InFlightClaim,
  type ProvisioningInput,
} from '../../core/model/provisioning-input.ts';
import type { NodeClass } from '../../ports/kubernetes.ts';
import type { Decision, LedgerState } from '../../ports/store.ts';
import { usableOverlays } from '../facts/api-rules.ts';
import { conditionOf, isTrue } from '../facts/conditions.ts';
import { WRITE_DENIED, isDeniedStill } from '../tell/denied-condition.ts';
import { crowdsOf, goneSoon, replacingSome } from './crowds.ts';
import { evictionCosts } from './eviction-costs.ts';
import { withoutEvicted } from './without-evicted.ts';
import { heirsOf } from './movers/heirs.ts';
import { moversOf, plannedIn } from './movers/planned.ts';
import { knownDevices } from './known-devices.ts';
import { knownDecision } from './known-decision.ts';
import { isShut, shutNodes, withGivenUp } from './shut-nodes.ts';
import { podsOfDedication, type SharingClaim, sharedPlaces } from './dedications.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Ports } from '../ports/ports.ts';
import { readSnapshot } from './read-snapshot.ts';
import { roomLeft } from './room-left.ts';

/**
 * How long after its registration a claim's planned pods stay with it. The scheduler binds them within seconds; until
 * the snapshot shows it, planning them again could open a claim for pods that have one. Karpenter holds nominations for
 * 20 s.
 */
export const SETTLING_MS = 20_000;

/** One consistent view to decide from. */
export interface Gathered {
  readonly snapshot: Snapshot;
  readonly input: ProvisioningInput;
  readonly ledger: LedgerState;
  /** What nodes publish, where that is not what was last remembered of them; null where it is. */
  readonly newDevices: DeviceTemplates | null;
  /**
   * Claims whose nodes are kept for pods that have moved, with the successors that wait: they are still to be let in.
   */
  readonly heirs: ReadonlyMap<string, ReadonlyArray<string>>;
  /**
   * Nodes in use that are kept so, by name, where everybody that they are kept for is known: what plans find free there
   * is.
   */
  readonly kept: ReadonlyMap<string, KeptNode>;
  /**
   * Claims in flight that were made for pods which had no node, and for nobody else: for each all pods that may come to
   * its node. Where several share a dedication these are everybody's of them, as whichever node is ready first is
   * taken, and one array.
   */
  readonly madeFor: ReadonlyMap<string, ReadonlyArray<PodReference>>;
}

/** A node that is kept for some, of whom each is there. */
export interface KeptNode {
  readonly claim: NodeClaim;
  /** The value of its taint. */
  readonly value: string;
}

/** Null when there is nothing to look at: no relay publishes, and `mayList` forbids listing. */
export async function gather(ports: Ports, ledger: LedgerState, mayList: boolean): Promise<Gathered | null> {
  const published = await readSnapshot(ports, mayList);
  return published === null ? null : gatherFrom(ports, ledger, published);
}

/** The same, from a snapshot that has just been read. */
export async function gatherFrom(ports: Ports, ledger: LedgerState, published: Snapshot): Promise<Gathered> {
  const newest = judgeSiblings(await withNewestClaims(ports, published, ledger));
  const snapshot = withGivenUp(newest, ports.now());
  const { inFlight, crowds, shut, ...known } = await inFlightClaims(ports, snapshot);
  const { own, foreign: foreignPools } = poolsByProvider(snapshot.nodePools);
  const nodePools = own.map((pool) => unlessDenied(ports, pool));
  const nodes = shut.size === 0 ? snapshot.nodes : cordoned(snapshot.nodes, shut);
  const cluster = { ...snapshot, nodes, nodePools, nodeOverlays: usableOverlays(snapshot.nodeOverlays) };
  const catalog = withoutEvicted(await readCatalog(ports, cluster), snapshot, ports.now());
  const { devices, newDevices } = await deviceSupport(ports, snapshot);
  const evictionCostMs = evictionCosts(nodePools);
  const rules = { policy: ports.policy, work: DEFAULT_WORK, devices, evictionCostMs, held: [] };
  const all = { cluster, foreignPools, catalog, inFlight, ...rules };
  return { snapshot, input: crowds.size === 0 ? all : { ...all, crowds }, ledger, newDevices, ...known };
}

/**
 * A pool whose NodeClaims a policy denies is none to plan with until they are tried again: its pods may have another.
 */
function unlessDenied(ports: Ports, pool: NodePool): NodePool {
  if (!isDeniedStill(ports, 'NodePool', pool)) return pool;
  const conditions = pool.status?.conditions ?? [];
  const message = conditionOf(conditions, WRITE_DENIED)?.message ?? 'its NodeClaims are denied, as its events say';
  const ready = { type: 'Ready', status: 'False', reason: WRITE_DENIED, message };
  const others = conditions.filter(({ type }) => type !== 'Ready');
  return { ...pool, status: { ...pool.status, conditions: [...others, ready] } };
}

/** Without a device class no claim can be met, so that nothing need be loaded that reads selectors, or remembers. */
async function deviceSupport(
  ports: Ports,
  snapshot: Snapshot,
): Promise<{ readonly devices: DeviceSupport } & Pick<Gathered, 'newDevices'>> {
  const { deviceSelectors, deviceMemory } = ports;
  if (deviceSelectors === null) return { devices: DEVICES_IGNORED, newDevices: null };
  if (snapshot.deviceClasses.length === 0) {
    const compile = (): { readonly error: string } => ({ error: 'there is no device class' });
    return { devices: { kind: 'planned', compile, templates: NO_TEMPLATES }, newDevices: null };
  }
  const { templates, learned } = knownDevices(snapshot, await deviceMemory.read());
  return { devices: { kind: 'planned', compile: await deviceSelectors(), templates }, newDevices: learned };
}

/**
 * The relay may not have seen the claims of the last decision yet; deciding without them would launch twice. Resource
 * versions of one kind grow with time, which tells whether it has. When it has not, the claims are read from the
 * source; and before the first decision, as there may have been others whose Lease somebody has deleted.
 */
async function withNewestClaims(ports: Ports, snapshot: Snapshot, ledger: LedgerState): Promise<Snapshot> {
  const { claimsResourceVersion: decided } = ledger;
  const seen = snapshot.resourceVersions['nodeclaims'];
  // Stryker disable next-line ConditionalExpression: what is no number is not new enough either
  if (seen !== undefined && decided !== null && isAtLeast(seen, decided)) return snapshot;
  const nodeClaims = await ports.kubernetes.list('NodeClaim');
  return { ...snapshot, nodeClaims };
}

function isAtLeast(version: string, other: string): boolean {
  try {
    return BigInt(version) >= BigInt(other);
    // Stryker disable next-line BlockStatement: nothing is no yes
  } catch {
    return false;
  }
}

interface InFlight extends Pick<Gathered, 'heirs' | 'kept' | 'madeFor'> {
  readonly inFlight: ReadonlyMap<string, InFlightClaim>;
  /** As of `ProvisioningInput`: what nodes hold back that go soon, or have just gone. */
  readonly crowds: ReadonlyMap<number, number>;
  /** Nodes, by name, that nobody can be let in to: nothing is planned there. */
  readonly shut: ReadonlySet<string>;
}

/** Claims whose planned pods are still theirs, with those pods, and with the successors of those that have moved. */
async function inFlightClaims(ports: Ports, snapshot: Snapshot): Promise<InFlight> {
  const heirs = new Map<string, ReadonlyArray<string>>();
  const kept = new Map<string, KeptNode>();
  const madeFor = new Map<string, ReadonlyArray<PodReference>>();
  const nodes = new Map(snapshot.nodes.map((node) => [node.metadata.name, node]));
  const shut = shutNodes(snapshot, nodes, ports.now());
  const unsettled = snapshot.nodeClaims.filter(
    (claim) => !isSettled(claim, nodes, ports.now()) && !shut.has(nodeNameOf(claim)),
  );
  const decisions = await readDecisions(ports, unsettled, annotation.decision);
  const leaving = await readDecisions(ports, goneSoon(snapshot, ports.now()), annotation.disruption);
  const replacing = await readDecisions(ports, replacingSome(snapshot, ports.now()), annotation.decision);
  const taken = new Set([...decisions.values()].flatMap(plannedIn));
  const sharing: Array<SharingClaim> = [];
  const comersOf = rememberingComers();
  const found = unsettled.flatMap((claim) => {
    const decision = decisions.get(claim.metadata.annotations?.[annotation.decision] ?? '');
    // Stryker disable next-line UnaryOperator: without a decision no claim is found below, whatever its number
    const index = decision?.claimNames.indexOf(claim.metadata.name) ?? -1;
    const planned = decision?.plan.claims[index];
    // Stryker disable next-line ConditionalExpression: a claim is planned by a decision
    if (decision === undefined || planned === undefined) return [];
    const { instanceType, zone, capacityType } = planned.offering;
    const own = moversOf(decision, claim.metadata.name);
    const comers = heirsOf(own, nodeNameOf(claim), snapshot, taken);
    const successors = comers.waiting.map(({ uid }) => uid);
    const node = nodes.get(nodeNameOf(claim)) ?? null;
    if (successors.length > 0 && isDedicated(node)) heirs.set(claim.metadata.name, successors);
    if (comers.unborn === 0) noteKept(kept, node, { claim, movers: own.length });
    const bufferPods = bufferPodsOn(decision, index);
    const pods = [...[...planned.pods, ...bufferPods].map(({ uid }) => uid), ...successors];
    const inFlight = { pods, instanceType, zone, capacityType };
    const dedication = decision.reservations?.[index] ?? claim.metadata.name;
    const others = own.length + bufferPods.length;
    noteMadeFor(madeFor, claim, { others, pods: comersOf(decision, dedication, planned.pods) });
    if (dedication !== claim.metadata.name) {
      const { name } = claim.metadata;
      const places = planned.pods.length;
      sharing.push({ name, node: nodeNameOf(claim), dedication, places, claim: inFlight, decision });
    }
    return [[claim.metadata.name, inFlight] as const];
  });
  const roomOn = roomLeft(snapshot, new Set(sharing.map(({ node }) => node)));
  const crowds = crowdsOf(snapshot, [...replacing.values(), ...leaving.values()]);
  const inFlight = new Map([...found, ...sharedPlaces(snapshot, sharing, roomOn)]);
  return { inFlight, heirs, kept, madeFor, crowds, shut };
}

/**
 * Where the node is in use, and kept for pods that move; or cannot be opened, as a policy does not let it be written.
 */
function noteKept(
  kept: Map<string, KeptNode>,
  node: Node | null,
  { claim, movers }: { readonly claim: NodeClaim; readonly movers: number },
): void {
  const value = dedicationIn(node);
  if (node === null || value === null) return;
  const isForMovers = node.metadata.labels?.[label.initialized] === 'true' && movers > 0;
  if (isForMovers || isShut(claim)) kept.set(node.metadata.name, { claim, value });
}

/**
 * All pods that may come to a claim of this dedication: `own` where none shares it. Once for all that do, as there may
 * be thousands of claims and of pods.
 */
function rememberingComers(): (
  decision: Decision,
  dedication: string,
  own: ReadonlyArray<PodReference>,
) => ReadonlyArray<PodReference> {
  const known = new Map<string, ReadonlyArray<PodReference>>();
  return (decision, dedication, own) => {
    const found = known.get(dedication) ?? podsOfDedication(decision, dedication);
    known.set(dedication, found);
    return found.length === 0 ? own : found;
  };
}

/** `others`: how many pods that run, or stand for the room of a buffer, the claim was made for. */
function noteMadeFor(
  madeFor: Map<string, ReadonlyArray<PodReference>>,
  { metadata: { name } }: NodeClaim,
  { pods, others }: { readonly pods: ReadonlyArray<PodReference>; readonly others: number },
): void {
  if (pods.length > 0 && others === 0) madeFor.set(name, pods);
}

/** What stands for the room of buffers on a claim of the decision. Records made before there were buffers have none. */
function bufferPodsOn({ plan }: Decision, index: number): ReadonlyArray<PodReference> {
  const buffers: Decision['plan']['buffers'] | undefined = plan.buffers;
  return (buffers ?? []).flatMap(({ claims }) => claims.flatMap(({ claim, pods }) => (claim === index ? pods : [])));
}

function isSettled(claim: NodeClaim, nodes: ReadonlyMap<string, Node>, now: number): boolean {
  // Who is given up may stay, where a policy denies its deletion: nobody comes to it.
  const { annotations = {}, deletionTimestamp } = claim.metadata;
  if (deletionTimestamp !== undefined || annotation.givenUp in annotations) return true;
  const registered = conditionOf(claim.status?.conditions, 'Registered');
  const node = nodes.get(nodeNameOf(claim));
  if (registered?.status !== 'True' || node === undefined || isDedicated(node)) return false;
  return now - (Date.parse(registered.lastTransitionTime ?? '') || 0) > SETTLING_MS;
}

async function readDecisions(
  ports: Ports,
  claims: ReadonlyArray<NodeClaim>,
  by: string,
): Promise<ReadonlyMap<string, Decision>> {
  const names = [...new Set(claims.flatMap(({ metadata }) => metadata.annotations?.[by] ?? []))];
  const decisions = await Promise.all(names.map((name) => knownDecision(ports, name)));
  return new Map(decisions.flatMap((decision) => (decision === null ? [] : [[decision.name, decision] as const])));
}

/** The snapshot keeps a class's spec as it is and does not look into it. */
export function toNodeClass(reduced: Snapshot['nodeClasses'][number]): NodeClass {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the API server has validated it against our CRD
  return reduced as NodeClass;
}

/**
 * Instance types per pool. Pools that share a node class share the list; a pool whose class is not ready is left out.
 */
async function readCatalog(
  ports: Ports,
  { nodePools, nodeClasses }: Pick<Snapshot, 'nodePools' | 'nodeClasses'>,
): Promise<Catalog> {
  // A claim of any other class would be removed before it is launched.
  const ready = nodeClasses.filter(
    ({ metadata, status }) => metadata.deletionTimestamp === undefined && isTrue(status?.conditions, 'Ready'),
  );
  const classes = new Map(ready.map((nodeClass) => [nodeClass.metadata.name, toNodeClass(nodeClass)]));
  const wanted = new Set(nodePools.map(({ spec }) => spec.template.spec.nodeClassRef.name));
  const lists = new Map(
    await Promise.all(
      [...wanted].map(async (name) => {
        const nodeClass = classes.get(name);
        return [name, nodeClass === undefined ? null : await ports.catalogs.instanceTypes(nodeClass)] as const;
      }),
    ),
  );
  const zonal = new Map([...lists].map(([name, types]) => [name, types === null ? null : zonalOnly(types)]));
  return new Map(
    nodePools.flatMap((pool) => {
      const { name } = pool.spec.template.spec.nodeClassRef;
      const types = (namesRegional(pool) ? lists : zonal).get(name) ?? null;
      return types === null ? [] : [[pool.metadata.name, types] as const];
    }),
  );
}
