import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_DISRUPTION } from '../../../shared/core/model/disruption-input.ts';
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createDecisions } from '../../../shared/adapters/storage/decisions.ts';
import { fromKubeconfig } from '../../../shared/adapters/kubernetes/kubeconfig.ts';
import { createDefinitions } from '../../../shared/adapters/kubernetes/definitions.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import { createLedger } from '../../../shared/adapters/kubernetes/ledger.ts';
import { listSnapshot } from '../../../shared/adapters/kubernetes/list-snapshot.ts';
import { createTransport } from '../../../shared/adapters/kubernetes/transport.ts';
import { letMatesInEarly } from '../../../shared/app/gather/planned-pods.ts';
import { follow } from '../../../shared/app/follow/follow.ts';
import { SETTLING_MS } from '../../../shared/app/gather/gather.ts';
import { nodeNameOf } from '../../../shared/app/facts/node-name.ts';
import { createTurns } from '../../../shared/app/ports/turns.ts';
import { createRecentPlaces } from '../../../shared/app/ports/recent-places.ts';
import { createUnwantedSince } from '../../../shared/app/ports/unwanted-since.ts';
import { createRecentReports } from '../../../shared/app/ports/recent-reports.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { provision } from '../../../shared/app/provision/provision.ts';
import { taint } from '../../../shared/contract/names.ts';
import type { Condition, Node, NodeClaim } from '../../../shared/kubernetes/manifest.ts';
import { KARPENTER_POLICY } from '../../../shared/core/model/provisioning-input.ts';
import { parseAmounts } from '../../../shared/kubernetes/text/quantity.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import type { Blob } from '../../../shared/ports/blobs.ts';
import type { Decision } from '../../../shared/ports/store.ts';
import { connect, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import { startControlPlane } from '../../../sandbox/kubernetes/control-plane/control-plane.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import { nodeFor, sizes } from './holds.ts';

/**
 * A real API server and scheduler, and our use cases on them. Machines are Nodes that appear, and there is no Azure.
 */
export interface HoldsPlane {
  /** Creates the pods and waits until the scheduler has refused each. */
  create(pods: ReadonlyArray<object>): Promise<void>;
  /** Plans for all pods that wait, as in production; null when none does. */
  plan(): Promise<Decision | null>;
  /** The decision's nodes join one after the other, in random order, and are registered by the product. */
  join(decision: Decision, rng: Rng, betweenMs: number): Promise<void>;
  /** By name of pod the node it is bound to, null while it waits; read when the scheduler has come to rest. */
  bindings(): Promise<ReadonlyMap<string, string | null>>;
  /** When the last pod was bound, milliseconds since the epoch; the API tells whole seconds. */
  lastBoundMs(): Promise<number>;
  /** How many nodes hold pods that request more CPU than the node has. */
  overcommitted(): Promise<number>;
  /** For who carries decisions out himself. */
  readonly parts: PlaneParts;
  /** Everything gone. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** What a plane consists of. */
export interface PlaneParts {
  readonly connection: Connection;
  readonly ports: Ports;
  /** By how much the product's clock is ahead: what only time ends is not waited for. */
  readonly clock: { aheadMs: number };
}

/** How the product lets planned pods onto new nodes: it keeps the nodes for them, or nominates them and no more. */
export type Care = 'reserve' | 'nominate';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');

const POLL_MS = 100;
/**
 * Polls without a binding after which the scheduler is at rest: its longest back-off for a pod just refused is shorter.
 */
const QUIET_POLLS = 120;
/** A node that is kept for its planned pods is looked at once a second for a quarter of a minute. */
const LOOKS_MAX = 60;
/** Two minutes of polls: a hundred times what an idle machine takes. */
const POLLS_MAX = 1_200;

const pods = '/api/v1/namespaces/default/pods';
const replicaSets = '/apis/apps/v1/namespaces/default/replicasets';
const nodes = '/api/v1/nodes';
const nodeClaims = '/apis/karpenter.sh/v1/nodeclaims';

interface Listed {
  readonly items: ReadonlyArray<{
    readonly metadata: { readonly name: string };
    readonly spec: {
      readonly nodeName?: string;
      readonly containers: ReadonlyArray<{ readonly resources: { readonly requests: { readonly cpu: string } } }>;
    };
    readonly status?: { readonly conditions?: ReadonlyArray<Condition> };
  }>;
}

export async function startHoldsPlane(assets: string, folder: string, care: () => Care): Promise<HoldsPlane> {
  const controlPlane = await startControlPlane({ assets, folder, with: ['kube-scheduler'] });
  const connection = connect(controlPlane.kubeconfig);
  const kubectl = (...args: ReadonlyArray<string>) =>
    run(join(assets, 'kubectl'), ['--kubeconfig', controlPlane.kubeconfigPath, ...args]);
  await kubectl('apply', '--server-side', '-f', join(root, 'infra/chart/definitions'));
  await kubectl('wait', '--for=condition=Established', 'crds', '--all', '--timeout=60s');
  await createPool(connection);
  // Planning again counts on nodes that have settled; this clock need not wait for that.
  const clock = { aheadMs: 0 };
  const now = () => Date.now() + clock.aheadMs;
  const shared = await createPorts(controlPlane.kubeconfigPath, now);
  const ports = (): Ports => ({ ...shared, dedicatesNodes: care() === 'reserve' });
  await until('the pool is ready', () =>
    follow(shared, { kind: 'NodePool', name: 'default' }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof RetryableError) return false;
        throw error;
      },
    ),
  );
  return {
    create: async (drawn) => {
      await Promise.all(drawn.map((pod) => connection.create(pods, pod)));
      await until('the scheduler has refused every pod', async () => {
        const { items } = await connection.get<Listed>(pods);
        return items.every(
          ({ status }) => status?.conditions?.some(({ reason }) => reason === 'Unschedulable') === true,
        );
      });
    },
    plan: () => planOnce(shared, clock),
    join: (decision, rng, betweenMs) => joinAll(ports(), decision, { rng, betweenMs }),
    bindings: () => settledBindings(connection),
    lastBoundMs: () => lastBoundMs(connection),
    overcommitted: () => overcommitted(connection),
    parts: { connection, ports: published(shared), clock },
    clear: () => clear(connection),
    close: async () => {
      connection.close();
      await controlPlane.close();
    },
  };
}

/** As if a relay published at each look. */
function published(ports: Ports): Ports {
  return { ...ports, snapshots: { ...ports.snapshots, latest: ports.snapshots.list } };
}

async function createPool(connection: Connection): Promise<void> {
  const metadata = { name: 'default' };
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
  await connection.create('/api/v1/namespaces', { metadata: { name: 'nodewright-system' } });
  const classes = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses';
  await connection.create(classes, {
    apiVersion: 'karpenter.azure.com/v1beta1',
    kind: 'AKSNodeClass',
    metadata,
    spec: {},
  });
  const condition = { status: 'True', reason: 'Ready', message: '', lastTransitionTime: new Date().toISOString() };
  await connection.patch(`${classes}/default/status`, 'merge', {
    status: { conditions: [{ type: 'Ready', ...condition }] },
  });
  await connection.create('/apis/karpenter.sh/v1/nodepools', {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata,
    spec: { template: { spec: { nodeClassRef, requirements: [], expireAfter: 'Never' } } },
  });
}

async function createPorts(kubeconfigPath: string, now: () => number): Promise<Ports> {
  const transport = createTransport(await fromKubeconfig(kubeconfigPath));
  const kubernetes = createKubernetes(transport);
  const blobs = new Map<string, Blob>();
  const nowhere = (): Promise<never> => Promise.reject(new Error('there is no Azure here'));
  return {
    cluster: 'holds',
    now,
    sleep: (ms) => sleep(ms),
    policy: KARPENTER_POLICY,
    disruption: { isOn: true, policy: DEFAULT_DISRUPTION },
    planner: planProvisioning,
    disruptionPlanner: planDisruption,
    dedicatesNodes: true,
    kubernetes,
    definitions: createDefinitions(kubernetes, now),
    turns: createTurns(),
    told: createRecentReports(),
    places: createRecentPlaces(),
    unwanted: createUnwantedSince(),
    cloud: {
      launch: nowhere,
      observe: () => Promise.resolve({ kind: 'gone' }),
      // Of nodes that have joined, whose machines nobody made.
      equip: () => Promise.resolve(),
      diagnose: nowhere,
      revokeTokens: () => Promise.resolve(),
      delete: () => Promise.resolve('gone'),
      inventory: nowhere,
    },
    nodeClassFacts: {
      subnet: nowhere,
      deployment: nowhere,
      kubeletIdentity: () => Promise.resolve(null),
      images: nowhere,
      maintenance: nowhere,
    },
    catalogs: {
      currency: 'USD',
      instanceTypes: () => Promise.resolve(sizes),
      instanceTypeNames: () => Promise.resolve(new Set(sizes.map(({ name }) => name))),
      evicted: () => Promise.resolve([]),
      refuse: nowhere,
      refresh: nowhere,
      refreshQuotas: nowhere,
      refreshEvictionRates: nowhere,
      nextRetryMs: () => Promise.resolve(null),
    },
    // No relay publishes here, so the use case lists, as the sweep does for a relay that is silent.
    snapshots: {
      latest: () => Promise.resolve(null),
      heartbeatMs: () => Promise.resolve(null),
      heldMs: () => Promise.resolve(null),
      list: () => listSnapshot(transport, 'holds', now(), { buffers: false }),
    },
    deviceSelectors: null,
    deviceMemory: { read: () => Promise.resolve(new Map()), write: () => Promise.resolve() },
    decisions: createDecisions(
      {
        read: (name) => Promise.resolve(blobs.get(name) ?? null),
        write: (name, bytes) => {
          blobs.set(name, { bytes, etag: '' });
          return Promise.resolve(true);
        },
      },
      'holds',
    ),
    figuresLog: { add: () => Promise.resolve('added'), addLook: () => Promise.resolve('added') },
    ledger: createLedger(kubernetes, 'nodewright-system', now),
    hints: { send: () => Promise.resolve() },
    log: () => undefined,
  };
}

async function planOnce(ports: Ports, clock: { aheadMs: number }): Promise<Decision | null> {
  clock.aheadMs += 2 * SETTLING_MS;
  const outcome = await provision(ports, { mayList: true });
  if (outcome.kind === 'idle' || outcome.kind === 'nothing-to-launch') return null;
  if (outcome.kind !== 'provisioned') throw new Error(`planning ended as ${outcome.kind}`);
  return ports.decisions.get(outcome.decision);
}

interface Arrivals {
  readonly rng: Rng;
  readonly betweenMs: number;
}

async function joinAll(ports: Ports, decision: Decision, { rng, betweenMs }: Arrivals): Promise<void> {
  const order = decision.claimNames
    .map((name) => ({ name, at: rng.below(2 ** 31) }))
    .toSorted((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1));
  await Promise.all(
    order.map(async ({ name }, index) => {
      await sleep(index * betweenMs);
      const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
      if (claim !== null) await joinOne(ports, claim);
    }),
  );
}

/**
 * As a kubelet and the node lifecycle controller do it: the node comes, is ready, and loses the taint that says it is
 * not.
 */
async function joinOne(ports: Ports, claim: NodeClaim): Promise<void> {
  const key = { name: nodeNameOf(claim), namespace: null };
  const { node, status } = nodeFor(claim, key.name);
  await letMatesInEarly(ports, claim);
  const launched = { type: 'Launched', status: 'True', reason: 'Launched', message: '' };
  const conditions = [{ ...launched, lastTransitionTime: new Date().toISOString() }];
  await ports.kubernetes.patchStatus(
    'NodeClaim',
    { name: claim.metadata.name, namespace: null },
    { status: { providerID: `azure:///${key.name}`, conditions } },
  );
  await ports.kubernetes.create('Node', node);
  await ports.kubernetes.patchStatus('Node', key, { status });
  await ports.kubernetes.patch('Node', key, { spec: { taints: [taint.unregistered] } });
  await followToItsEnd(ports, claim.metadata.name);
}

/** Looks as often as the product asks for, until it asks for no further look. */
async function followToItsEnd(ports: Ports, name: string): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    // Each look depends on the one before.
    const step = await follow(ports, { kind: 'NodeClaim', name });
    if (step.kind === 'ended') throw new Error(`${name} has ended: ${step.why}`);
    if (step.kind === 'next' || step.lookAgainMs === null) return;
    await sleep(Math.max(0, step.lookAgainMs - ports.now()));
  }
  throw new Error(`${name} was looked at ${LOOKS_MAX} times and is not at rest`);
}

async function settledBindings(connection: Connection): Promise<ReadonlyMap<string, string | null>> {
  let [bound, quiet] = [-1, 0];
  let found = new Map<string, string | null>();
  await until('the scheduler is at rest', async () => {
    const { items } = await connection.get<Listed>(pods);
    found = new Map(items.map(({ metadata, spec }) => [metadata.name, spec.nodeName ?? null]));
    const now = [...found.values()].filter((node) => node !== null).length;
    quiet = now === bound ? quiet + 1 : 0;
    bound = now;
    return now === found.size || quiet >= QUIET_POLLS;
  });
  return found;
}

async function lastBoundMs(connection: Connection): Promise<number> {
  const { items } = await connection.get<Listed>(pods);
  const bound = items
    .flatMap(({ status }) => status?.conditions ?? [])
    .filter(({ type, status }) => type === 'PodScheduled' && status === 'True');
  return Math.max(0, ...bound.map(({ lastTransitionTime }) => Date.parse(lastTransitionTime ?? '')));
}

async function overcommitted(connection: Connection): Promise<number> {
  const { items } = await connection.get<Listed>(pods);
  const used = new Map<string, number>();
  for (const { spec } of items) {
    const cpu = spec.containers.reduce(
      (sum, one) => sum + (parseAmounts(one.resources.requests, 'up').get('cpu') ?? 0),
      0,
    );
    if (spec.nodeName !== undefined) used.set(spec.nodeName, (used.get(spec.nodeName) ?? 0) + cpu);
  }
  const { items: all } = await connection.get<{ readonly items: ReadonlyArray<Node> }>(nodes);
  return all.filter(
    ({ metadata, status }) =>
      (used.get(metadata.name) ?? 0) > (parseAmounts(status?.allocatable, 'down').get('cpu') ?? 0),
  ).length;
}

async function clear(connection: Connection): Promise<void> {
  await connection.remove(pods, { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 });
  await connection.remove(replicaSets);
  for (const path of [nodes, nodeClaims]) {
    const { items } = await connection.get<Listed>(path);
    await Promise.all(
      items.map(async ({ metadata }) => {
        await connection.patch(`${path}/${metadata.name}`, 'merge', { metadata: { finalizers: null } });
        await connection.remove(`${path}/${metadata.name}`);
      }),
    );
  }
  await until('all is gone', async () => {
    const lists = await Promise.all([pods, nodes, nodeClaims].map((path) => connection.get<Listed>(path)));
    return lists.every(({ items }) => items.length === 0);
  });
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  for (let poll = 0; poll < POLLS_MAX; poll++) {
    // Each look depends on what happened since the last.
    if (await done()) return;
    await sleep(POLL_MS);
  }
  throw new Error(`waited in vain until ${what}`);
}
