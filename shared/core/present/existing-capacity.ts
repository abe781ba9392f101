import type { Cluster } from '../model/cluster.ts';
import type { Node, NodeClaim, Taint } from '../../kubernetes/manifest.ts';
import { labelKey, NODE_NAME_FIELD, normalizeKey } from '../../kubernetes/labels.ts';
import { markKey } from '../../kubernetes/marks.ts';
import { parseAmounts, type Amounts } from '../../kubernetes/text/quantity.ts';
import { eachShapeOn, type PodCounts } from './bound-pods.ts';
import { admitsLabels, byCodeUnit, onlyValue, toRules } from '../rules/label-rule.ts';
import { daemonOwner, type Daemon } from '../rules/daemons.ts';
import { hostPortsOf, type HostPort } from '../rules/host-ports.ts';
import { podRequests } from '../rules/pod-requests.ts';
import type { HeldMachine, ProvisioningInput } from '../model/provisioning-input.ts';
import { addVector, toVector } from '../quantity/resource-table.ts';
import { EPHEMERAL_TAINTS, untolerated } from '../rules/taints.ts';

/** A node, or a claim whose node is not there yet, with what is free on it. */
export interface ExistingCapacity {
  readonly kind: 'node' | 'claim';
  readonly name: string;
  /** The claim behind it, null for a node that is not ours. */
  readonly claim: string | null;
  readonly nodePool: string | null;
  readonly initialized: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: ReadonlyArray<Taint>;
  /** Its taints as they are now, those that go by themselves included. */
  readonly presentTaints: ReadonlyArray<Taint>;
  readonly capacity: Amounts;
  readonly free: Amounts;
  /** Host ports of daemons that will run there and do not yet. */
  readonly daemonPorts: ReadonlyArray<HostPort>;
}

/** A node with the claim behind it; one of the two may not be there. */
export interface Machine {
  readonly node: Node | null;
  readonly claim: NodeClaim | null;
}

/**
 * All capacity that pods can use, initialized first, of that what is open to all first, then by name. What is being
 * deleted is left out. Who fits an open node leaves the room of one that is kept to those that it is kept for.
 */
export function existingCapacity(
  input: ProvisioningInput,
  daemons: ReadonlyArray<Daemon>,
  bound: PodCounts,
): ReadonlyArray<ExistingCapacity> {
  const usage = usageOf(input.cluster, bound);
  return machinesOf(input.cluster)
    .filter((machine) => !isLeaving(machine))
    .map((machine) => toCapacity(machine, input, daemons, usage))
    .filter((capacity) => capacity !== null)
    .toSorted(
      (a, b) =>
        Number(b.initialized) - Number(a.initialized) ||
        Number(isKept(a)) - Number(isKept(b)) ||
        byCodeUnit(a.name, b.name),
    );
}

function isKept({ initialized, presentTaints }: ExistingCapacity): boolean {
  return initialized && presentTaints.some(({ key }) => key === DEDICATED);
}

/** Nodes joined with their claims, and the claims without a node. A claim and its node share provider id or name. */
export function machinesOf(cluster: Pick<Cluster, 'nodes' | 'nodeClaims'>): ReadonlyArray<Machine> {
  const byProvider = new Map<string, NodeClaim>();
  const byNode = new Map<string, NodeClaim>();
  for (const claim of cluster.nodeClaims) {
    byNode.set(claim.status?.nodeName ?? claim.metadata.name, claim);
    if (claim.status?.providerID !== undefined) byProvider.set(claim.status.providerID, claim);
  }
  const joined = new Set<NodeClaim>();
  const machines = cluster.nodes.map((node): Machine => {
    const claim = byProvider.get(node.spec?.providerID ?? '') ?? byNode.get(node.metadata.name) ?? null;
    if (claim !== null) joined.add(claim);
    return { node, claim };
  });
  const alone = cluster.nodeClaims.filter((claim) => !joined.has(claim)).map((claim) => ({ node: null, claim }));
  return [...machines, ...alone];
}

/** Is the machine being deleted, or about to be by a decision already taken? */
export function isLeaving({ node, claim }: Machine): boolean {
  if (node?.metadata.deletionTimestamp !== undefined || claim?.metadata.deletionTimestamp !== undefined) return true;
  if ((node?.spec?.taints ?? []).some(({ key }) => key === 'karpenter.sh/disrupted')) return true;
  // Who gives a claim up says so before it is deleted, which a policy may deny.
  if (claim?.metadata.annotations?.[markKey.givenUp] !== undefined) return true;
  return (claim?.status?.conditions ?? []).some(
    ({ type, status }) => type === 'InstanceTerminating' && status === 'True',
  );
}

/**
 * The machines that are marked to go and may stay all the same, as nothing of them is being deleted; of those called
 * `names`, too, whether they are marked or not. Nothing is planned onto them, and limits count them until they go.
 */
export function heldMachines(
  input: ProvisioningInput,
  names: ReadonlySet<string> = new Set(),
): ReadonlyArray<HeldMachine> {
  return machinesOf(input.cluster).flatMap((machine): ReadonlyArray<HeldMachine> => {
    const isHeld = isLeaving(machine) ? mayStay(machine) : names.has(nameOf(machine));
    const labels = (machine.node ?? machine.claim)?.metadata.labels ?? {};
    const nodePool = labels[labelKey.nodePool];
    if (!isHeld || nodePool === undefined) return [];
    const capacity = amountsOf(machine, input, 'capacity', isInitialized(machine, labels)) ?? new Map<string, number>();
    return [{ nodePool, capacity }];
  });
}

/** Of a machine that is leaving: may its mark come off? */
function mayStay({ node, claim }: Machine): boolean {
  if (claim === null || claim.metadata.annotations?.[markKey.interruption] !== undefined) return false;
  const isDeleted = [node, claim].some((one) => one?.metadata.deletionTimestamp !== undefined);
  const conditions = claim.status?.conditions ?? [];
  return !isDeleted && !conditions.some(({ type, status }) => type === 'InstanceTerminating' && status === 'True');
}

/** Labels and present taints of every node, those that are leaving included, by the node's name. */
export function machineLabels(
  input: ProvisioningInput,
  existing: ReadonlyArray<ExistingCapacity>,
): ReadonlyMap<string, Pick<ExistingCapacity, 'labels' | 'taints'>> {
  const known = existing.filter(({ kind }) => kind === 'node');
  const labels = new Map(known.map((one) => [one.name, { labels: one.labels, taints: one.presentTaints }]));
  for (const machine of machinesOf(input.cluster)) {
    const name = machine.node?.metadata.name;
    if (name === undefined || labels.has(name)) continue;
    labels.set(name, { labels: labelsOf(machine, input), taints: presentTaintsOf(machine) });
  }
  return labels;
}

/** What pods take of nodes, and which daemons are among them. */
interface Usage {
  readonly bound: PodCounts;
  /** Resources that some pod asks for. */
  readonly names: ReadonlyArray<string>;
  /** By shape, in the order of `names`. */
  readonly requests: ReadonlyArray<Float64Array>;
  /** By shape: the daemon that owns its pods, or null. */
  readonly owners: ReadonlyArray<string | null>;
}

function usageOf({ shapes }: Cluster, bound: PodCounts): Usage {
  const running = new Set(bound.shapes);
  const amounts = shapes.map(({ spec }, index) => (running.has(index) ? podRequests(spec) : NO_AMOUNTS));
  const names = [...new Set(amounts.flatMap((one) => [...one.keys()]))];
  return {
    bound,
    names,
    requests: amounts.map((one) => toVector({ names }, one)),
    owners: shapes.map((shape) => daemonOwner(shape)),
  };
}

const NO_AMOUNTS: Amounts = new Map();

/** What the pods on a node take, in the order of `names`, and the daemons among them. */
function usedOn(
  { bound, names, requests, owners }: Usage,
  node: string,
): { readonly taken: Float64Array; readonly daemons: ReadonlySet<string> } {
  const taken = new Float64Array(names.length);
  const daemons = new Set<string>();
  eachShapeOn(bound, node, (shape, count) => {
    const own = requests[shape];
    const owner = owners[shape] ?? null;
    if (own !== undefined) addVector(taken, own, count);
    if (owner !== null) daemons.add(owner);
  });
  return { taken, daemons };
}

function toCapacity(
  machine: Machine,
  input: ProvisioningInput,
  daemons: ReadonlyArray<Daemon>,
  usage: Usage,
): ExistingCapacity | null {
  const { node, claim } = machine;
  const labels = labelsOf(machine, input);
  const initialized = isInitialized(machine, labels);
  const allocatable = amountsOf(machine, input, 'allocatable', initialized);
  if (allocatable === null) return null;
  const name = nameOf(machine);
  const presentTaints = presentTaintsOf(machine);
  const taints = initialized
    ? presentTaints.filter(({ key }) => key !== DEDICATED)
    : withoutStarting(presentTaints, machine, input.cluster);
  const used = usedOn(usage, name);
  const free = new Map(allocatable);
  const take = (resource: string, amount: number): void => {
    if (amount > 0) free.set(resource, (free.get(resource) ?? 0) - amount);
  };
  usage.names.forEach((resource, index) => take(resource, used.taken[index] ?? 0));
  const coming = daemons.filter((daemon) => !used.daemons.has(daemon.name) && runsThere(daemon, labels, taints));
  for (const { requests } of coming) for (const [resource, amount] of requests) take(resource, amount);
  return {
    kind: node === null ? 'claim' : 'node',
    name,
    claim: claim?.metadata.name ?? null,
    nodePool: labels[labelKey.nodePool] ?? null,
    initialized,
    labels,
    taints,
    presentTaints,
    capacity: amountsOf(machine, input, 'capacity', initialized) ?? new Map(),
    free,
    daemonPorts: coming.flatMap(({ spec }) => hostPortsOf(spec)),
  };
}

/** A replacement is in use before the successors of those that move have come: it goes by itself there too. */
const DEDICATED = 'nodewright.dev/reserved';

function nameOf({ node, claim }: Machine): string {
  return (node ?? claim)?.metadata.name ?? '';
}

/** A node that is not ours has nothing to wait for. */
function isInitialized({ node, claim }: Machine, labels: Readonly<Record<string, string>>): boolean {
  if (node === null) return false;
  const managed = claim !== null || labels[labelKey.nodePool] !== undefined;
  return !managed || node.metadata.labels?.[labelKey.initialized] === 'true';
}

function runsThere(daemon: Daemon, labels: Readonly<Record<string, string>>, taints: ReadonlyArray<Taint>): boolean {
  if (untolerated(daemon.tolerations, taints, false) !== null) return false;
  return daemon.alternatives.some((rules) => admitsLabels(rules, labels));
}

/** The node's labels; before it is registered the claim's, completed by what was planned or is certain to come. */
function labelsOf({ node, claim }: Machine, input: ProvisioningInput): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  const add = (more: Readonly<Record<string, string>> | undefined): void => {
    for (const [key, value] of Object.entries(more ?? {})) labels[normalizeKey(key)] = value;
  };
  const registered = node?.metadata.labels?.[labelKey.registered] === 'true';
  if (claim !== null && !registered) add(plannedLabels(claim, input));
  if (claim !== null && !registered) add(claim.metadata.labels);
  add(node?.metadata.labels);
  const name = nameOf({ node, claim });
  return { [labelKey.hostname]: name, ...labels, [NODE_NAME_FIELD]: name };
}

function plannedLabels(claim: NodeClaim, input: ProvisioningInput): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  const planned = input.inFlight.get(claim.metadata.name);
  const type = planned === undefined ? undefined : typeOf(claim, input);
  for (const [key, values] of Object.entries(type?.labels ?? {})) {
    if (values.length === 1 && values[0] !== undefined) labels[key] = values[0];
  }
  for (const [key, rule] of toRules(claim.spec.requirements)) {
    const value = onlyValue(rule);
    if (value !== null) labels[key] = value;
  }
  if (planned !== undefined) {
    labels[labelKey.instanceType] = planned.instanceType;
    labels[labelKey.zone] = planned.zone;
    labels[labelKey.capacityType] = planned.capacityType;
  }
  return { ...labels, [labelKey.registered]: 'true', [labelKey.initialized]: 'true' };
}

function typeOf(claim: NodeClaim, input: ProvisioningInput) {
  const pool = claim.metadata.labels?.[labelKey.nodePool] ?? '';
  const name = input.inFlight.get(claim.metadata.name)?.instanceType ?? claim.metadata.labels?.[labelKey.instanceType];
  return input.catalog.get(pool)?.find((type) => type.name === name);
}

/**
 * A starting node reports no extended resources yet, or zero: what the claim promises counts until it is initialized.
 */
function amountsOf(
  { node, claim }: Machine,
  input: ProvisioningInput,
  which: 'allocatable' | 'capacity',
  initialized: boolean,
): Map<string, number> | null {
  const amounts = parseAmounts(node?.status?.[which], 'down');
  if (initialized || claim === null) return amounts;
  const stated = parseAmounts(claim.status?.[which], 'down');
  const promised = stated.size === 0 && amounts.size === 0 ? amountsOfType(claim, input, which) : stated;
  for (const [name, amount] of promised) if ((amounts.get(name) ?? 0) === 0) amounts.set(name, amount);
  return amounts.size === 0 ? null : amounts;
}

/** What the size that a claim was planned to be has; nothing when that is not known. */
function amountsOfType(
  claim: NodeClaim,
  input: ProvisioningInput,
  which: 'allocatable' | 'capacity',
): Map<string, number> {
  const type = typeOf(claim, input);
  const amounts = parseAmounts(type?.capacity, 'down');
  if (which === 'capacity') return amounts;
  for (const [name, amount] of parseAmounts(type?.overhead, 'up')) {
    amounts.set(name, Math.max(0, (amounts.get(name) ?? 0) - amount));
  }
  return amounts;
}

function presentTaintsOf({ node, claim }: Machine): ReadonlyArray<Taint> {
  const registered = claim === null || node?.metadata.labels?.[labelKey.registered] === 'true';
  const own = node?.spec?.taints ?? [];
  const taints = registered ? own : [...own, ...(claim.spec.taints ?? [])];
  const cordoned = node?.spec?.unschedulable === true;
  return cordoned ? [...taints, { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] : taints;
}

const UNREGISTERED = 'karpenter.sh/unregistered';

function withoutStarting(
  taints: ReadonlyArray<Taint>,
  { node, claim }: Machine,
  cluster: Cluster,
): ReadonlyArray<Taint> {
  const pool = (node ?? claim)?.metadata.labels?.[labelKey.nodePool];
  const template = cluster.nodePools.find(({ metadata }) => metadata.name === pool)?.spec.template.spec;
  const startup = claim?.spec.startupTaints ?? template?.startupTaints ?? [];
  // Without a claim that is known to be its own nobody registers it.
  const goes = ({ key }: Taint): boolean => EPHEMERAL_TAINTS.has(key) && (claim !== null || key !== UNREGISTERED);
  return taints.filter(
    (taint) => !goes(taint) && !startup.some(({ key, effect }) => key === taint.key && effect === taint.effect),
  );
}
