import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import type { SignalHint } from '../../../shared/contract/messages/messages.ts';
import { DEFAULT_DISRUPTION } from '../../../shared/core/model/disruption-input.ts';
import { ApiServer, type Fields, type Reply } from '../../simulation/world/api-server.ts';
import { actOf, answer } from '../../simulation/world/api-transport.ts';
import { MemoryBlobs } from '../../simulation/world/memory-blobs.ts';
import { VirtualClock } from '../../../sandbox/base/clock.ts';
import { createDefinitions } from '../../../shared/adapters/kubernetes/definitions.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import { createLedger } from '../../../shared/adapters/kubernetes/ledger.ts';
import { listSnapshot } from '../../../shared/adapters/kubernetes/list-snapshot.ts';
import type { ApiRequest, Transport } from '../../../shared/adapters/kubernetes/transport.ts';
import { createDecisions } from '../../../shared/adapters/storage/decisions.ts';
import { createDeviceMemory } from '../../../shared/adapters/storage/device-memory.ts';
import { createFiguresLog } from '../../../shared/adapters/storage/figures-log.ts';
import { createTurns } from '../../../shared/app/ports/turns.ts';
import { createRecentPlaces } from '../../../shared/app/ports/recent-places.ts';
import { createUnwantedSince } from '../../../shared/app/ports/unwanted-since.ts';
import { createRecentReports } from '../../../shared/app/ports/recent-reports.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { PodReference } from '../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import { KARPENTER_POLICY } from '../../../shared/core/model/provisioning-input.ts';
import type { SpotStorm } from '../../../shared/core/offerings/spot-storms.ts';
import type {
  EvictedMachine,
  InventoryItem,
  LaunchOrder,
  LaunchOutcome,
  Machine,
  NodeImage,
  ObservedMachine,
  RefusedOffering,
  ClassVerdict,
} from '../../../shared/ports/cloud.ts';
import type { Maintenance } from '../../../shared/ports/maintenance.ts';
import type { Hint, Hints } from '../../../shared/ports/hints.ts';
import { DECISION_VERSION, type Decision } from '../../../shared/ports/store.ts';
import { onDemand, plannedClaim, size, zones } from '../core/build.ts';

/** When the clock of a small cluster begins: later than everything that fixtures are from. */
export const START = Date.UTC(2026, 11, 1);

/** Of a node on demand of the pool `general`, and of its claim. */
export const NODE_LABELS = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/capacity-type': 'on-demand',
  'node.kubernetes.io/instance-type': 'Standard_D2_v5',
  'topology.kubernetes.io/zone': 'westeurope-1',
} as const;

const CLUSTER = 'small';
const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };

/** A hint as the use cases sent it. */
export type Sent = Parameters<Hints['send']>[0][number];

/** What a test decides about the outside, whenever it likes. */
export interface Outside {
  types: ReadonlyArray<InstanceType>;
  /** Before a request is answered; may throw, and may change the cluster. */
  onRequest: (request: ApiRequest) => void;
  /** What a policy answers in place of the API server; null lets the request be. */
  deny: (request: ApiRequest) => Reply | null;
  /** Before a hint counts as sent; may throw. */
  onSend: (sent: Sent) => void;
  /** What Azure says. */
  launch: (order: LaunchOrder) => LaunchOutcome;
  /** What Azure says of a machine that is there. */
  observe: (machine: Machine) => ObservedMachine;
  /** What Azure says when a machine is to be removed; may throw. `gone`: it is away from then on. */
  remove: (claim: string) => 'gone' | 'deleting';
  /** What Azure lists, given the machines that are there; may throw. */
  inventory: (machines: ReadonlyArray<InventoryItem>) => ReadonlyArray<InventoryItem>;
  subnet: ClassVerdict;
  deployment: ClassVerdict;
  kubeletIdentity: string | null;
  images: ReadonlyArray<NodeImage>;
  /** The storms that a machine is part of that is taken back. */
  storms: ReadonlyArray<SpotStorm>;
  maintenance: Maintenance;
}

/** A ready machine of this claim; its providerID is `azure://` and `id`. */
export function machine(claim: string, id = claim): Machine {
  const [zone] = zones;
  return {
    claim,
    providerId: `azure://${id}`,
    instanceType: 'Standard_D2_v5',
    zone,
    capacityType: 'on-demand',
    imageId: 'image',
  };
}

/** A machine that is there, in this state, with all that it should have. */
export function present(
  state: 'creating' | 'running' | 'deleting',
  further: Partial<Pick<Extract<ObservedMachine, { kind: 'present' }>, 'isEquipped' | 'failedBoot'>> = {},
): (found: Machine) => ObservedMachine {
  return (found) => ({ kind: 'present', state, machine: found, isEquipped: true, failedBoot: null, ...further });
}

/** A VM as Azure lists it. */
export function vmItem(claim: string, createdAtMs: number | null = START): InventoryItem {
  return { kind: 'vm', claim, createdAtMs, lacksEquipment: false };
}

/** A network interface as Azure lists it. */
export function nicItem(claim: string): InventoryItem {
  return { kind: 'nic', claim, createdAtMs: null, lacksEquipment: false };
}

/**
 * A cluster in memory with its ports: the product's adapters over the simulated API server, an Azure that does as it is
 * told, and a relay that has always just published. `trace` has requests and hints in the order in which they came.
 */
export function smallCluster() {
  const outside: Outside = {
    types: [size('Standard_D2_v5', 2, 8, 100_000)],
    onRequest: () => undefined,
    deny: () => null,
    onSend: () => undefined,
    launch: ({ claim }) => ({ kind: 'accepted', machine: machine(claim) }),
    observe: present('running'),
    remove: () => 'gone',
    inventory: (machines) => machines,
    subnet: { kind: 'ready' },
    deployment: { kind: 'ready' },
    kubeletIdentity: null,
    images: [{ id: 'image', requirements: [] }],
    storms: [],
    maintenance: { kind: 'any-time' },
  };
  const clock = new VirtualClock(START);
  const server = new ApiServer(clock);
  const trace: Array<string> = [];
  const sent: Array<Sent> = [];
  const now = (): number => clock.now();
  const transport: Transport = (request) => {
    trace.push(actOf(request));
    // As the real one: what goes wrong is a promise that is rejected.
    return Promise.resolve().then(() => {
      outside.onRequest(request);
      return outside.deny(request) ?? answer(server, request);
    });
  };
  const hints: Hints = {
    send: async (all) => {
      await Promise.resolve();
      for (const one of all) {
        outside.onSend(one);
        trace.push(`send ${one.hint.kind} ${namesIn(one.hint).length}`);
        sent.push(one);
      }
    },
  };
  const blobs = new MemoryBlobs();
  const kubernetes = createKubernetes(transport);
  const image = (): ReturnType<Ports['snapshots']['list']> =>
    listSnapshot((request) => Promise.resolve(answer(server, request)), CLUSTER, now(), { buffers: false });
  const azure = smallAzure(outside);
  const ports = {
    cluster: CLUSTER,
    policy: KARPENTER_POLICY,
    // Two or three nodes are looked through with less than what a cluster of thousands takes.
    disruption: { isOn: true, policy: { ...DEFAULT_DISRUPTION, searchSteps: 100_000 } },
    planner: planProvisioning,
    disruptionPlanner: planDisruption,
    dedicatesNodes: true,
    now,
    // Whoever waits does so until the test says otherwise.
    sleep: () => new Promise<void>(() => undefined),
    kubernetes,
    definitions: createDefinitions(kubernetes, now),
    ...azure.ports,
    deviceSelectors: null,
    snapshots: {
      latest: image,
      list: image,
      heartbeatMs: () => Promise.resolve(now()),
      heldMs: () => Promise.resolve(null),
    },
    decisions: createDecisions(blobs, CLUSTER),
    deviceMemory: createDeviceMemory(blobs, CLUSTER),
    figuresLog: createFiguresLog(blobs, CLUSTER),
    ledger: createLedger(kubernetes, 'nodewright-system', now),
    hints,
    turns: createTurns(),
    told: createRecentReports(),
    places: createRecentPlaces(),
    unwanted: createUnwantedSince(),
    log: () => undefined,
  } as unknown as Ports;
  return { outside, clock, server, trace, sent, azure, blobs, ports, ...creating(server) };
}

/** An Azure of machines by claim. What it was asked for, in order, is there to be read. */
function smallAzure(outside: Outside) {
  const orders: Array<LaunchOrder> = [];
  const deleted: Array<string> = [];
  /** What else was asked for, in this order. */
  const asked: Array<string> = [];
  const refused: Array<RefusedOffering> = [];
  const evicted: Array<EvictedMachine> = [];
  const machines = new Map<string, Machine>();
  return {
    orders,
    deleted,
    asked,
    refused,
    evicted,
    machines,
    ports: {
      cloud: {
        launch: async (order: LaunchOrder) => {
          await Promise.resolve();
          orders.push(order);
          const outcome = outside.launch(order);
          if (outcome.kind === 'accepted') machines.set(order.claim, outcome.machine);
          return outcome;
        },
        observe: (claim: string) => {
          const found = machines.get(claim);
          return Promise.resolve(found === undefined ? { kind: 'gone' } : outside.observe(found));
        },
        equip: (claim: string) => Promise.resolve(void asked.push(`equip ${claim}`)),
        diagnose: (claim: string) => Promise.resolve(void asked.push(`diagnose ${claim}`)),
        revokeTokens: (claim: string, areSeveral: boolean) =>
          Promise.resolve(void asked.push(`revoke ${areSeveral ? 'all tokens' : 'the token'} of ${claim}`)),
        delete: async (claim: string) => {
          await Promise.resolve();
          deleted.push(claim);
          const state = outside.remove(claim);
          if (state === 'gone') machines.delete(claim);
          return state;
        },
        inventory: async () => {
          await Promise.resolve();
          return outside.inventory([...machines.keys()].map((claim) => vmItem(claim)));
        },
      },
      nodeClassFacts: {
        subnet: () => Promise.resolve(outside.subnet),
        deployment: () => Promise.resolve(outside.deployment),
        kubeletIdentity: () => Promise.resolve(outside.kubeletIdentity),
        images: () => Promise.resolve(outside.images),
        maintenance: () => Promise.resolve(outside.maintenance),
      },
      catalogs: {
        currency: 'EUR',
        instanceTypes: () => Promise.resolve(outside.types),
        instanceTypeNames: () => Promise.resolve(new Set(outside.types.map(({ name }) => name))),
        refuse: (all: ReadonlyArray<RefusedOffering>) => Promise.resolve(void refused.push(...all)),
        evicted: (all: ReadonlyArray<EvictedMachine>) => {
          evicted.push(...all);
          return Promise.resolve(outside.storms);
        },
        nextRetryMs: () => Promise.resolve(null),
        refreshQuotas: () => Promise.resolve({ kind: 'read', inUse: [] }),
        refreshEvictionRates: () => Promise.resolve({ kind: 'recent' }),
      },
    },
  };
}

/** Puts objects into the cluster, each with its status in a second write, as an API server wants it. */
function creating(server: ApiServer) {
  const create = (resource: string, body: Fields, status: Fields): void => {
    server.create(resource, body);
    const { namespace, name } = body['metadata'] as { readonly namespace?: string; readonly name: string };
    server.patch(resource, namespace === undefined ? name : `${namespace}/${name}`, { status }, 'status');
  };
  return {
    /** `ready`: what its condition Ready says; null for none. */
    addClass: (ready: string | null, name = 'default') =>
      create('aksnodeclasses', { metadata: { name }, spec: {} }, readiness(ready)),
    addPool: (name = 'general', nodeClass = 'default', ready: string | null = 'True') =>
      create(
        'nodepools',
        {
          metadata: { name },
          spec: {
            template: { spec: { nodeClassRef: { ...nodeClassRef, name: nodeClass }, requirements: [onDemand] } },
          },
        },
        readiness(ready),
      ),
    /** A pod that waits; what a plan or a decision calls it. */
    addPod: (name: string, cpu = '1'): PodReference => {
      const resources = { requests: { cpu, memory: '1Gi' } };
      const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
      create(
        'pods',
        { metadata: { name, namespace: 'default' }, spec: { containers: [{ resources }] } },
        { phase: 'Pending', conditions: [unschedulable] },
      );
      return { name: `default/${name}`, uid: server.get('pods', `default/${name}`)?.metadata.uid ?? '' };
    },
    addClaim: (
      name: string,
      given: {
        readonly annotations?: Fields;
        readonly labels?: Fields;
        readonly finalizers?: ReadonlyArray<string>;
        readonly spec?: Fields;
        readonly status?: Fields;
      } = {},
    ) =>
      create(
        'nodeclaims',
        {
          metadata: {
            name,
            finalizers: given.finalizers ?? ['karpenter.sh/termination'],
            labels: given.labels ?? {},
            annotations: given.annotations ?? {},
          },
          spec: { nodeClassRef, requirements: [], ...given.spec },
        },
        given.status ?? {},
      ),
    /** The Node of a claim; `id` as in `machine`, `ready` as its kubelet says. */
    addNode: (
      claim: string,
      given: {
        readonly id?: string;
        readonly taints?: ReadonlyArray<Fields>;
        readonly labels?: Fields;
        readonly finalizers?: ReadonlyArray<string>;
        readonly ready?: string;
        readonly status?: Fields;
      } = {},
    ) =>
      create(
        'nodes',
        {
          metadata: { name: `aks-${claim}`, labels: given.labels ?? {}, finalizers: given.finalizers ?? [] },
          spec: { providerID: `azure://${given.id ?? claim}`, taints: given.taints ?? [] },
        },
        { conditions: [{ type: 'Ready', status: given.ready ?? 'True' }], ...given.status },
      ),
    /** A pod that runs on the node of a claim. */
    addRunning: (
      name: string,
      claim: string,
      given: { readonly metadata?: Fields; readonly spec?: Fields } = {},
    ): PodReference => {
      const resources = { requests: { cpu: '1', memory: '1Gi' } };
      create(
        'pods',
        {
          metadata: { name, namespace: 'default', ...given.metadata },
          spec: { nodeName: `aks-${claim}`, containers: [{ resources }], ...given.spec },
        },
        { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      );
      return { name: `default/${name}`, uid: server.get('pods', `default/${name}`)?.metadata.uid ?? '' };
    },
    /** The condition of a claim, or of an object of another resource; undefined when it has none. */
    conditionOf: (name: string, type: string, resource = 'nodeclaims'): Fields | undefined => {
      const conditions = (server.get(resource, name)?.status?.['conditions'] ?? []) as ReadonlyArray<Fields>;
      return conditions.find((one) => one['type'] === type);
    },
    /** Is it there, on its way out, or gone? */
    stateOf: (claim: string): 'there' | 'leaving' | 'gone' => {
      const found = server.get('nodeclaims', claim);
      if (found === null) return 'gone';
      return found.metadata.deletionTimestamp === undefined ? 'there' : 'leaving';
    },
  };
}

function readiness(ready: string | null): Fields {
  return ready === null ? {} : { conditions: [{ type: 'Ready', status: ready, message: 'as the test says' }] };
}

/** A condition that has held since `atMs`. */
export function since(atMs: number, type: string, status = 'True'): Fields {
  return { type, status, reason: type, message: '', lastTransitionTime: new Date(atMs).toISOString() };
}

/** The name of the policy that denies things here. */
export const POLICY = 'nobody-does-this';

/**
 * A policy in the cluster that denies requests of this method whose path ends so. It answers as kube-apiserver 1.36
 * does.
 */
export function denying(method: ApiRequest['method'], end: string): (request: ApiRequest) => Reply | null {
  return (request) => {
    const path = request.path.split('?')[0] ?? '';
    const name = (request.body as Fields | undefined)?.['metadata']?.name as string | undefined;
    const isMeant = path.endsWith(end) || (method === 'POST' && `${path}/${name}`.endsWith(end));
    if (request.method !== method || !isMeant) return null;
    const words = `ValidatingAdmissionPolicy '${POLICY}' with binding 'all' denied request: not this one`;
    const message = `things "${name ?? end}" is forbidden: ${words}`;
    return { status: 422, body: { kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422, message } };
  };
}

/** The names of the objects that a hint is about. */
export function namesIn(hint: Hint): ReadonlyArray<string> {
  return 'objects' in hint ? hint.objects.map(({ name }) => name) : [];
}

/** A decision of so many claims of pool `general`; the first is for `pods`. */
export function decisionOf(
  claimNames: ReadonlyArray<string>,
  pods: ReadonlyArray<PodReference> = [],
  poolOf: (claim: string) => string = () => 'general',
): Decision {
  const none = microUsdPerHour(0);
  const [zone] = zones;
  const offering = { instanceType: 'Standard_D2_v5', zone, capacityType: 'on-demand', price: none } as const;
  const claims = claimNames.map((name, index) =>
    plannedClaim(offering, { nodePool: poolOf(name), pods: index === 0 ? pods : [] }),
  );
  return {
    version: DECISION_VERSION,
    name: '000000001-d',
    generation: 1,
    cause: 'test',
    snapshotVersion: '1',
    atMs: START,
    claimNames,
    plan: {
      claims,
      nominations: [],
      left: [],
      buffers: [],
      devices: [],
      cost: none,
      lowerBound: none,
      weighed: { cost: none, lowerBound: none },
    },
  };
}

/** Azure's notice that it takes the machine back in a minute. */
export function preemptionOf(vmId: string, changes: Partial<SignalHint> = {}): SignalHint {
  return {
    kind: 'signal',
    version: 1,
    cluster: 'small',
    vmId,
    nodeName: null,
    event: 'preempt',
    notBeforeMs: START + 60_000,
    eventId: null,
    source: 'event-grid',
    ...changes,
  };
}
