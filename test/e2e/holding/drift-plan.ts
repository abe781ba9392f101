import { setTimeout as sleep } from 'node:timers/promises';
import { nodeNameOf } from '../../../shared/app/facts/node-name.ts';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import { follow } from '../../../shared/app/follow/follow.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { provision } from '../../../shared/app/provision/provision.ts';
import { annotation, finalizer, label } from '../../../shared/contract/names.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import type { Condition, NodeClaim } from '../../../shared/kubernetes/manifest.ts';
import type { Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import type { App, DriftCase } from './drift-cases.ts';
import { nodeFor } from './holds.ts';
import type { PlaneParts } from './holds-plane.ts';

/** What came of nodes that have drifted. */
export interface Drifted {
  readonly name: string;
  readonly pods: number;
  /** Nodes that drifted, and what was made in their place. */
  readonly before: number;
  readonly made: number;
  /** Old nodes that are there still. */
  readonly left: number;
  readonly waiting: number;
  /** Pods on nodes that no decision to replace sent them to. */
  readonly elsewhere: number;
  /** Claims that were made for another reason. */
  readonly bought: number;
  /** What the log says of plans and removals that went wrong. */
  readonly refused: ReadonlyArray<string>;
  readonly tookMs: number;
}

const PODS = '/api/v1/namespaces/default/pods';
const NODES = '/api/v1/nodes';
const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const REPLICA_SETS = '/apis/apps/v1/namespaces/default/replicasets';
const POOL = '/apis/karpenter.sh/v1/nodepools/default';

/** A quarter of a second between two looks: a drift takes a dozen of them. */
const PAUSE_MS = 250;
const LOOKS_MAX = 160;
/** Polls until the scheduler has tried every pod. */
const POLLS_MAX = 100;

/** As much as a removal waits after its mark, so that nobody has to. */
const QUIET_MS = 6_000;

/** Log lines that say that something was planned that does not hold. */
const WRONG: ReadonlySet<string> = new Set([
  'plan-refused',
  'disruption-plan-refused',
  'removal-refused',
  'disruption-taken-back',
]);

interface Listed<T> {
  readonly items: ReadonlyArray<T>;
}

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly deletionTimestamp?: string;
    readonly labels: { readonly app: string };
  };
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> };
}

/**
 * Makes the cluster, has its nodes drift, and carries the product's decisions out as production does, in their order:
 * replacements join, what is marked is judged again, claims are deleted, pods evicted and made anew by their owners,
 * machines removed. Where pods go is the scheduler's.
 */
export async function driftPlan({ connection, ports: given, clock }: PlaneParts, one: DriftCase): Promise<Drifted> {
  const refused: Array<string> = [];
  const ports: Ports = {
    ...given,
    log: (event, facts) => void (WRONG.has(event) && refused.push(`${event} ${JSON.stringify(facts)}`)),
  };
  const owners = new Map(
    await inTurn(one.apps, async (app) => [app.name, await createOwner(connection, app)] as const),
  );
  const old = await createNodes(connection, one);
  const pods = await createPods(connection, one, owners);
  const drifting = old.slice(0, one.drifting ?? old.length);
  await inTurn(drifting, (name) => addCondition(connection, name, 'Drifted', 'NodePoolDrifted'));
  const startedMs = Date.now();
  let [left, waiting] = [drifting.length, 0];
  for (let look = 0; look < LOOKS_MAX && (left > 0 || waiting > 0); look++) {
    await step(ports, connection, old);
    await recreate(connection, one.apps, owners, pods);
    clock.aheadMs += QUIET_MS / 4;
    await sleep(PAUSE_MS);
    const [claims, there] = [await claimsOf(connection), await podsOf(connection)];
    left = claims.filter(({ metadata }) => drifting.includes(metadata.name)).length;
    waiting = there.filter(({ spec }) => spec.nodeName === undefined).length;
  }
  const fresh = (await claimsOf(connection)).filter(({ metadata }) => !old.includes(metadata.name));
  const replacing = fresh.filter(({ metadata }) => metadata.annotations?.[annotation.createdFor] === 'Drifted');
  const homes = new Set([...replacing.map(nodeNameOf), ...old.filter((name) => !drifting.includes(name)).map(toNode)]);
  const there = await podsOf(connection);
  return {
    name: one.name,
    pods: there.length,
    before: drifting.length,
    made: fresh.length,
    left,
    waiting,
    elsewhere: there.filter(({ spec }) => spec.nodeName !== undefined && !homes.has(spec.nodeName)).length,
    bought: fresh.length - replacing.length,
    refused,
    tookMs: Date.now() - startedMs,
  };
}

/** One line about it. */
export function renderDrifted({ name, refused, ...found }: Drifted): string {
  return (
    `${name}: ${found.pods} pods, ${found.before} nodes became ${found.made} in ${(found.tookMs / 1000).toFixed(1)} s; left ${found.left}, ` +
    `waiting ${found.waiting}, elsewhere ${found.elsewhere}, bought beside ${found.bought}, refused ${refused.length}`
  );
}

/** What timers and hints have the product do. */
async function step(ports: Ports, connection: Connection, old: ReadonlyArray<string>): Promise<void> {
  await orLater(() => follow(ports, { kind: 'NodePool', name: 'default' }));
  await orLater(() => disrupt(ports));
  for (const claim of await claimsOf(connection)) {
    const isNew = !old.includes(claim.metadata.name);
    // One at a time: what the scheduler sees comes in an order that can be told.
    if (isNew && claim.status?.conditions === undefined) await join(connection, claim);
    if (isNew || claim.metadata.deletionTimestamp !== undefined) {
      await orLater(() => follow(ports, { kind: 'NodeClaim', name: claim.metadata.name }));
    }
  }
  await orLater(() => provision(ports, { mayList: true }));
}

/** What loses a race is done by the next look. */
async function orLater(look: () => Promise<unknown>): Promise<void> {
  try {
    await look();
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
  }
}

/** A machine of the claim boots, and its kubelet makes its Node. */
async function join(connection: Connection, claim: NodeClaim): Promise<void> {
  const name = nodeNameOf(claim);
  const { node, status } = nodeFor(claim, name);
  const launched = conditionNow('Launched', 'Launched');
  const providerID = `azure:///${name}`;
  await connection.patch(`${CLAIMS}/${claim.metadata.name}/status`, 'merge', {
    status: { providerID, conditions: [launched] },
  });
  await connection.create(NODES, node);
  await connection.patch(`${NODES}/${name}/status`, 'merge', { status });
  // The life cycle's controller, which is not here, takes its own taint off.
  const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
  await connection.patch(`${NODES}/${name}`, 'merge', { spec: { taints: [unregistered] } });
}

function toNode(claim: string): string {
  return `aks-${claim}`;
}

async function createNodes(connection: Connection, { nodes, taints = [] }: DriftCase): Promise<ReadonlyArray<string>> {
  const disruption = {
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: 'Never',
    budgets: [{ nodes: '100%' }],
  };
  await connection.patch(POOL, 'merge', { spec: { disruption, template: { spec: { taints } } } });
  return inTurn(nodes, async ({ size, zone }, index) => {
    const name = `old-${index}`;
    const labels = {
      'karpenter.sh/nodepool': 'default',
      'karpenter.sh/registered': 'true',
      'karpenter.sh/initialized': 'true',
      'karpenter.sh/capacity-type': 'on-demand',
      'node.kubernetes.io/instance-type': size,
      'topology.kubernetes.io/zone': zone,
    };
    const claim = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: {
        name,
        labels,
        annotations: { [annotation.plannedOffering]: `${size}/${zone}/on-demand` },
        finalizers: [finalizer],
      },
      spec: {
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requirements: [{ key: label.instanceType, operator: 'In', values: [size] }],
        expireAfter: 'Never',
        ...(taints.length === 0 ? {} : { taints }),
      },
    };
    const created = await connection.create<NodeClaim>(CLAIMS, claim);
    const { node, status } = nodeFor(created, toNode(name));
    const { metadata, spec } = node as { readonly metadata: { readonly labels: object }; readonly spec: object };
    const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => conditionNow(type, type));
    const { capacity, allocatable } = status as { readonly capacity: object; readonly allocatable: object };
    await connection.patch(`${CLAIMS}/${name}/status`, 'merge', {
      status: { providerID: `azure:///${toNode(name)}`, nodeName: toNode(name), conditions, capacity, allocatable },
    });
    await connection.create(NODES, {
      ...node,
      metadata: { ...metadata, labels: { ...metadata.labels, ...labels }, finalizers: [finalizer] },
      spec: { ...spec, taints },
    });
    await connection.patch(`${NODES}/${toNode(name)}/status`, 'merge', { status });
    await connection.patch(`${NODES}/${toNode(name)}`, 'merge', { spec: { taints } });
    return name;
  });
}

async function addCondition(connection: Connection, claim: string, type: string, reason: string): Promise<void> {
  const path = `${CLAIMS}/${claim}`;
  const { status } = await connection.get<NodeClaim>(path);
  const conditions = [...(status?.conditions ?? []), conditionNow(type, reason)];
  await connection.patch(`${path}/status`, 'merge', { status: { conditions } });
}

function conditionNow(type: string, reason: string): Condition {
  return { type, status: 'True', reason, message: '', lastTransitionTime: new Date().toISOString() };
}

/** No controller runs: what it would make of it is made here. */
async function createOwner(connection: Connection, { name, replicas }: App): Promise<string> {
  const labels = { app: name };
  const created = await connection.create<{ readonly metadata: { readonly uid: string } }>(REPLICA_SETS, {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'pause' }] } },
    },
  });
  return created.metadata.uid;
}

/** By app: how many of its pods there are to be, and how many have been made. */
type Counts = Map<string, { wanted: number; made: number }>;

/** Makes all pods; those for which the scheduler finds no room are taken back. */
async function createPods(
  connection: Connection,
  { apps }: DriftCase,
  owners: ReadonlyMap<string, string>,
): Promise<Counts> {
  const counts: Counts = new Map(apps.map(({ name }) => [name, { wanted: 0, made: 0 }]));
  for (const app of apps) {
    for (let index = 0; index < app.replicas; index++) {
      // In one order, as the scheduler's choices depend on it.
      await createPod(connection, app, owners, counts);
    }
  }
  for (let poll = 0; poll < POLLS_MAX; poll++) {
    const all = await podsOf(connection);
    const isTried = ({ spec, status }: Pod): boolean =>
      spec.nodeName !== undefined || status?.conditions?.some(({ reason }) => reason === 'Unschedulable') === true;
    if (all.every(isTried)) break;
    await sleep(PAUSE_MS / 2);
  }
  for (const { metadata, spec } of await podsOf(connection)) {
    const count = counts.get(metadata.labels.app);
    if (spec.nodeName !== undefined && count !== undefined) count.wanted += 1;
    if (spec.nodeName === undefined) await connection.remove(`${PODS}/${metadata.name}`);
  }
  await inTurn([...counts], ([name, { wanted }]) =>
    connection.patch(`${REPLICA_SETS}/${name}`, 'merge', { spec: { replicas: wanted } }),
  );
  return counts;
}

async function createPod(
  connection: Connection,
  { name, cpu, memory, rules }: App,
  owners: ReadonlyMap<string, string>,
  counts: Counts,
): Promise<void> {
  const count = counts.get(name);
  if (count === undefined) return;
  count.made += 1;
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: owners.get(name), controller: true };
  await connection.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-${count.made}`, labels: { app: name }, ownerReferences: [owner] },
    spec: {
      ...rules,
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: 'main', image: 'pause', resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } } },
      ],
    },
  });
}

/** As the controller of ReplicaSets: a pod for each that is gone. */
async function recreate(
  connection: Connection,
  apps: ReadonlyArray<App>,
  owners: ReadonlyMap<string, string>,
  counts: Counts,
): Promise<void> {
  const there = Map.groupBy(await podsOf(connection), ({ metadata }) => metadata.labels.app);
  for (const app of apps) {
    const missing = (counts.get(app.name)?.wanted ?? 0) - (there.get(app.name)?.length ?? 0);
    for (let index = 0; index < missing; index++) {
      await createPod(connection, app, owners, counts);
    }
  }
}

async function claimsOf(connection: Connection): Promise<ReadonlyArray<NodeClaim>> {
  return (await connection.get<Listed<NodeClaim>>(CLAIMS)).items;
}

async function podsOf(connection: Connection): Promise<ReadonlyArray<Pod>> {
  const { items } = await connection.get<Listed<Pod>>(PODS);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** One after the other, so that every run is in the same order. */
async function inTurn<Item, Answer>(
  items: ReadonlyArray<Item>,
  task: (item: Item, index: number) => Promise<Answer>,
): Promise<ReadonlyArray<Answer>> {
  const answers: Array<Answer> = [];
  for (const [index, item] of items.entries()) {
    answers.push(await task(item, index));
  }
  return answers;
}
