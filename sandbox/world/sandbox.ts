import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { startAzure } from '../azure/azure.ts';
import type { Azure } from '../azure/running-azure.ts';
import { type AzureOptions, azureDefaults } from '../azure/state/options.ts';
import { connect, type Connection } from '../kubernetes/client/connection.ts';
import { signalsQueue } from '../../shared/contract/messages/queues.ts';
import { type Cluster, startCluster } from '../kubernetes/cluster.ts';
import { findFreePorts } from '../kubernetes/control-plane/free-ports.ts';
import { playAksComponents } from './aks-components.ts';
import { applyManifests, readManifests } from './apply-manifests.ts';
import { type Child, createChild } from './processes/child.ts';
import { openCuttableLine } from './processes/cuttable-line.ts';
import { createFunctionsHosts, type Hosting, hostCount } from './processes/functions-hosts.ts';
import { isPortFree } from '../base/port-free.ts';
import { networkModeOf } from '../../shared/adapters/azure/network/network-mode.ts';
import type { ClusterNetwork } from '../node/readiness.ts';
import { systemClock } from '../base/clock.ts';
import { type MachinePace, connectMachines } from './machines.ts';
import { nodeSettings, orderedIdentities } from './node-settings.ts';
import { openRelays, type RelayPorts } from './processes/relays.ts';
import { azureDelayMs } from './processes/restart-delay.ts';
import { storageConnection } from './storage-connection.ts';
import { type Rng, rngFrom } from '../base/rng.ts';

/** How to run the whole product on this machine. */
export interface SandboxOptions {
  /** `real` runs the control plane that `assets` holds; `embedded` the double. */
  readonly mode: 'embedded' | 'real';
  readonly assets: string | null;
  /** Where everything keeps what it writes. */
  readonly folder: string;
  /** The repository: where `dist` and `infra` are. */
  readonly root: string;
  /** Where the built app is: `dist`, `host.json` and `package.json`. The repository unless told. */
  readonly appFolder?: string;
  /** Fixes every draw of latency, fault and failure. */
  readonly seed: string;
  readonly pace: MachinePace;
  readonly azure: Partial<AzureOptions>;
  /** Null: a free one. A port that is taken is an error that says so. */
  readonly functionsPort: number | null;
  /** Six fields, as Azure Functions has them. */
  readonly sweepSchedule: string;
  /** Service Bus delivers this share of completed messages once more, in percent. */
  readonly duplicatePercent: number;
  /** What a host that was killed had in its hands comes back after so long at most. As deployed unless told. */
  readonly lockSeconds?: number;
  /** True: a tainted system node is there from the start. */
  readonly systemNode: boolean;
  /**
   * Whether all functions share a process, or run as on Azure: each Service Bus and timer function by itself, some
   * twice.
   */
  readonly hosts: Hosting;
  /** How many relays; at least one. */
  readonly relays: number;
  /** Where blobs are: what is in memory is lost with the process. In memory unless told, which is faster. */
  readonly storage?: 'memory' | 'disk';
  /** True: the relays' connections to the API server can be cut. They are not unless told. */
  readonly cuttable?: boolean;
  /** Further settings of the Functions app; the relays have them too, and take what they know. */
  readonly settings: Readonly<Record<string, string>>;
  /**
   * Lines of every part, with its name; `sandbox` says `NAME is ready` of each part that is, `aks` what AKS's
   * components have done.
   */
  readonly onLine: (from: string, line: string) => void;
}

/** Everything running, and the handles to break it. */
export interface Sandbox {
  readonly cluster: Cluster;
  readonly azure: Azure;
  readonly broker: Child;
  /** Blob storage. */
  readonly storage: Child;
  /** All Functions hosts as one part: what is done to it is done to each. */
  readonly host: Child;
  /** Each Functions host by itself, the one that serves HTTP first. */
  readonly hosts: ReadonlyArray<Child>;
  readonly relay: Child;
  /** All relays, the first among them; one leads. */
  readonly relays: ReadonlyArray<Child>;
  /** Sentences for the user: what this machine does not give. */
  readonly notes: ReadonlyArray<string>;
  /** `http://127.0.0.1:PORT` of the Functions host that serves HTTP. */
  readonly functionsUrl: string;
  /** The same of every Functions host: each counts its own executions. */
  readonly hostUrls: ReadonlyArray<string>;
  /** How Azure's own clients reach Service Bus. */
  readonly serviceBusConnection: string;
  /** How Azure's own clients reach the storage account. */
  readonly storageConnection: string;
  /** `http://127.0.0.1:PORT/queues` has the counts of each queue. */
  readonly brokerAdminUrl: string;
  /**
   * Cuts every connection of the relays to the API server, watches above all. Throws where `cuttable` was not asked
   * for.
   */
  cutWatches(): void;
  /** Applies YAML files and folders. */
  apply(paths: ReadonlyArray<string>): Promise<void>;
  close(): Promise<void>;
}

const CLUSTER = 'sandbox';

/** The Event Grid subscription that is there from the start. */
export const INTERRUPTIONS = 'interruptions';

/** A port found free can be taken before its owner binds it; three times in a row is not chance. */
const STARTS_MAX = 3;

/**
 * Starts cluster, Azure, Service Bus, storage, the Functions host with the app, and the relay; resolves when all are
 * ready.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  mkdirSync(options.folder, { recursive: true });
  const { functionsPort } = options;
  for (let start = 1; ; start++) {
    if (functionsPort !== null && !(await isPortFree(functionsPort))) throw new PortTakenError(functionsPort);
    try {
      return await startParts(options, await pickPorts(options));
    } catch (error) {
      if (start === STARTS_MAX || !isPortTaken(error)) throw error;
      options.onLine('sandbox', 'a port was taken between finding and using it; starting again with others');
    }
  }
}

/** A port that was asked for is in use by another program. */
export class PortTakenError extends Error {
  constructor(port: number) {
    super(`Port ${port} is in use by another program`);
    this.name = 'PortTakenError';
  }
}

function isPortTaken(error: unknown): boolean {
  return /EADDRINUSE|address already in use|port \d+ is (?:already )?(?:taken|in use)/i.test(String(error));
}

async function startParts(options: SandboxOptions, ports: Ports): Promise<Sandbox> {
  const rng = rngFrom(options.seed);
  const storage = startStorage(options, ports.blob);
  const broker = brokerChild(options, ports);
  const stops: Array<() => Promise<unknown>> = [() => storage.stop(), () => broker.stop()];
  // What talks to other parts ends first, so that nobody complains of a part that is gone; then the rest at once.
  const talkers: Array<Child> = [];
  const hides: Array<() => Promise<void>> = [];
  const close = async (): Promise<void> => {
    await Promise.all(hides.splice(0).map((hide) => hide()));
    await Promise.all(talkers.splice(0).map((child) => child.stop().catch(() => undefined)));
    await Promise.all(stops.splice(0).map((stop) => stop().catch(() => undefined)));
  };
  const ready = async <T>(name: string, start: Promise<T>): Promise<T> => {
    const part = await start;
    options.onLine('sandbox', `${name} is ready`);
    return part;
  };
  try {
    const control = startControl(options, rng).then((cluster) => {
      stops.push(() => cluster.close());
      return cluster;
    });
    const cluster = await settled(
      ready('Kubernetes', control),
      ready('Storage', storage.start()),
      ready('Service Bus', broker.start()),
    );
    // The relay last, whose hints want all others.
    // Read once, and not before there is a cluster: a setting may be an identity that has to be made in it.
    const settings = { ...options.settings };
    const environment = hostEnvironment({ ...options, settings }, ports, cluster);
    const { host, hosts } = createFunctionsHosts({ ...options, environment, ports: ports.functions });
    talkers.push(host);
    await settled(installKinds(options, cluster), ready('Functions', host.start()));
    const azure = await ready('Azure', startAzureDouble(options, ports, rng));
    stops.push(() => azure.close());
    // While there is still a broker that answers its client's farewell.
    hides.push(() => azure.unsubscribe(INTERRUPTIONS));
    stops.unshift(playNodes(options, { azure, cluster, network: networkModeOf(settings), rng }));
    const line = await openLine(options, cluster);
    stops.push(() => line.close());
    const relays = await openRelays({
      ...options,
      cluster,
      kubeconfigPath: line.kubeconfigPath,
      environment: { ...settings, ...connections(ports), CLUSTER_NAME: CLUSTER },
      ports: ports.relays,
    });
    hides.push(() => relays.close());
    talkers.push(...relays.children);
    await ready('Relay', relays.start());
    const [functionsUrl = '', ...otherUrls] = ports.functions.map((port) => `http://127.0.0.1:${port}`);
    const [relay] = relays.children;
    if (relay === undefined) throw new Error('relays: at least one is needed');
    return {
      cluster,
      azure,
      broker,
      storage,
      host,
      hosts,
      relay,
      relays: relays.children,
      notes: relays.notes,
      functionsUrl,
      hostUrls: [functionsUrl, ...otherUrls],
      serviceBusConnection: connections(ports).ServiceBus,
      storageConnection: connections(ports).SnapshotStorage,
      brokerAdminUrl: `http://127.0.0.1:${ports.brokerAdmin}/queues`,
      cutWatches: () => line.cut(),
      apply: (paths) => applyManifests(cluster.kubeconfig, readManifests(paths)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Lets VMs become nodes, with what AKS runs on them. The answer ends both. */
function playNodes(
  { pace, onLine }: SandboxOptions,
  { azure, cluster, network, rng }: { azure: Azure; cluster: Cluster; network: ClusterNetwork; rng: Rng },
): () => Promise<void> {
  const machines = { azure, kubelets: cluster.kubelets, network, onLine: (line: string) => onLine('machines', line) };
  const disconnect = connectMachines(machines, rng.split('machines'), pace);
  const { kubeconfig } = cluster;
  const endComponents = playAksComponents({ kubeconfig, network, onLine: (line) => onLine('aks', line) });
  return () => {
    endComponents();
    disconnect();
    return Promise.resolve();
  };
}

/** The relays' way to the API server. */
interface Line {
  readonly kubeconfigPath: string;
  cut(): void;
  close(): Promise<void>;
}

async function openLine({ folder, cuttable = false }: SandboxOptions, cluster: Cluster): Promise<Line> {
  if (!cuttable) {
    const cut = (): never => {
      throw new Error('watches cannot be cut; start the sandbox with cuttable: true');
    };
    return { kubeconfigPath: cluster.kubeconfigPath, cut, close: () => Promise.resolve() };
  }
  const { port } = new URL(cluster.url);
  const line = await openCuttableLine(Number(port));
  const kubeconfigPath = join(folder, 'kubeconfig-of-relays');
  writeFileSync(kubeconfigPath, cluster.kubeconfig.replaceAll(`:${port}`, `:${line.port}`), { mode: 0o600 });
  return { kubeconfigPath, cut: () => line.cut(), close: () => line.close() };
}

/** As `Promise.all`, and waits for all even when one fails, so that what a slow one started can be stopped. */
async function settled<A, B>(first: Promise<A>, ...others: ReadonlyArray<Promise<B>>): Promise<A> {
  await Promise.allSettled([first, ...others]);
  await Promise.all(others);
  return first;
}

/** The custom resources and the namespace of a deployment. */
async function installKinds({ root }: SandboxOptions, { kubeconfig }: Cluster): Promise<void> {
  await applyManifests(kubeconfig, readManifests([join(root, 'infra/chart/definitions')]));
  await untilServed(kubeconfig);
  await applyManifests(kubeconfig, [namespaceManifest]);
}

function startAzureDouble(options: SandboxOptions, ports: Ports, rng: Rng): Promise<Azure> {
  return startAzure({
    ...azureDefaults,
    ...options.azure,
    port: ports.azure,
    clock: systemClock,
    rng: rng.split('azure'),
    clusterName: CLUSTER,
    identities: orderedIdentities(options.settings),
    subscriptions: [{ name: INTERRUPTIONS, schema: 'CloudEvents', destination: signalsOf(ports) }],
  });
}

const CUSTOM_RESOURCES = [
  '/apis/karpenter.sh/v1/nodepools',
  '/apis/karpenter.sh/v1/nodeclaims',
  '/apis/karpenter.sh/v1alpha1/nodeoverlays',
  '/apis/karpenter.azure.com/v1beta1/aksnodeclasses',
  '/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers',
];

/** The API server takes some 100 ms to serve a new kind, longer when the machine is busy. */
const SERVED_LOOKS_MAX = 200;
const SERVED_PAUSE_MS = 50;

/** Resolves once the API server answers for every kind of ours. */
async function untilServed(kubeconfig: string): Promise<void> {
  const connection = connect(kubeconfig);
  try {
    for (const path of CUSTOM_RESOURCES) await untilAnswered(connection, path);
  } finally {
    connection.close();
  }
}

async function untilAnswered(connection: Connection, path: string): Promise<void> {
  for (let look = 0; ; look++) {
    try {
      await connection.get(path);
      return;
    } catch (error) {
      if (look >= SERVED_LOOKS_MAX) throw error;
      await sleep(SERVED_PAUSE_MS);
    }
  }
}

interface Ports {
  readonly azure: number;
  readonly blob: number;
  readonly broker: number;
  readonly brokerAdmin: number;
  /** One for each Functions host. */
  readonly functions: ReadonlyArray<number>;
  readonly relays: ReadonlyArray<RelayPorts>;
}

/** Children are killed and started again on the same ports, so these are chosen once. */
async function pickPorts({ functionsPort, hosts, relays: count }: SandboxOptions): Promise<Ports> {
  const wanted = hostCount(hosts);
  const [azure = 0, blob = 0, broker = 0, brokerAdmin = 0, ...others] = await findFreePorts(4 + wanted + 2 * count);
  const [free = 0, ...functions] = others.splice(0, wanted);
  const rest = others;
  const relays = Array.from({ length: count }, (_, index) => ({
    metrics: rest[2 * index] ?? 0,
    health: rest[2 * index + 1] ?? 0,
  }));
  return { azure, blob, broker, brokerAdmin, functions: [functionsPort ?? free, ...functions], relays };
}

const namespaceManifest = {
  origin: 'the sandbox',
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'nodewright-system' } },
};

function startControl(options: SandboxOptions, rng: Rng): Promise<Cluster> {
  return startCluster({
    mode: options.mode,
    ...(options.assets === null ? {} : { assets: options.assets }),
    folder: join(options.folder, 'cluster'),
    clock: systemClock,
    rng: rng.split('cluster'),
    systemNode: options.systemNode,
    log: (line) => options.onLine('cluster', line),
  });
}

function startStorage(options: SandboxOptions, port: number): Child {
  return createChild({
    name: 'storage',
    args: [
      join(options.root, 'node_modules/azurite/dist/src/blob/main.js'),
      '--blobHost=127.0.0.1',
      `--blobPort=${port}`,
      ...(options.storage === 'disk' ? [`--location=${join(options.folder, 'storage')}`] : ['--inMemoryPersistence']),
      '--skipApiVersionCheck',
      '--disableTelemetry',
      '--silent',
    ],
    environment: {},
    ready: /successfully listens/,
    restartDelayMs: azureDelayMs,
    onLine: (line) => options.onLine('storage', line),
  });
}

function brokerChild(options: SandboxOptions, ports: Ports): Child {
  return createChild({
    name: 'service bus',
    args: [
      join(options.root, 'sandbox/servicebus/main.ts'),
      `--port=${ports.broker}`,
      `--admin-port=${ports.brokerAdmin}`,
      `--data=${join(options.folder, 'servicebus')}`,
      `--seed=${options.seed}`,
      `--duplicate-percent=${options.duplicatePercent}`,
      ...(options.lockSeconds === undefined ? [] : [`--lock-seconds=${options.lockSeconds}`]),
    ],
    environment: {},
    ready: /is ready/,
    restartDelayMs: azureDelayMs,
    onLine: (line) => options.onLine('service bus', line),
  });
}

function connections(ports: Ports): Readonly<Record<'ServiceBus' | 'SnapshotStorage', string>> {
  return {
    ServiceBus: `Endpoint=sb://127.0.0.1:${ports.broker};SharedAccessKeyName=sandbox;SharedAccessKey=sandbox;UseDevelopmentEmulator=true`,
    SnapshotStorage: storageConnection(`http://127.0.0.1:${ports.blob}`),
  };
}

interface Kubeconfig {
  readonly clusters: ReadonlyArray<{ readonly cluster: { readonly 'certificate-authority-data'?: string } }>;
  readonly users: ReadonlyArray<{ readonly user: { readonly token?: string } }>;
}

/** The app's settings, as the environment of its host. */
function hostEnvironment(options: SandboxOptions, ports: Ports, cluster: Cluster): Readonly<Record<string, string>> {
  const azureUrl = `http://127.0.0.1:${ports.azure}`;
  const { clusters, users } = parse(cluster.kubeconfig) as Kubeconfig;
  const ca = clusters[0]?.cluster['certificate-authority-data'];
  const { subscriptionId, resourceGroup, region, clusterId } = { ...azureDefaults, ...options.azure };
  const network = `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}/providers/Microsoft.Network`;
  return {
    ...connections(ports),
    CLUSTER_NAME: CLUSTER,
    CLUSTER_ENDPOINT: cluster.url,
    // Without TLS there is nothing to check, and nodes want some text.
    CLUSTER_CA_DATA: ca ?? Buffer.from('no certificate').toString('base64'),
    AZURE_STATIC_TOKEN: users[0]?.user.token ?? 'sandbox',
    AZURE_SUBSCRIPTION_ID: subscriptionId,
    AZURE_NODE_RESOURCE_GROUP: resourceGroup,
    LOCATION: region,
    MAINTENANCE_CONFIGURATION_ID: `/subscriptions/${subscriptionId}/resourceGroups/${azureDefaults.clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${CLUSTER}/maintenanceConfigurations/aksManagedNodeOSUpgradeSchedule`,
    VNET_SUBNET_ID: `${network}/virtualNetworks/aks-vnet-${clusterId}/subnets/aks-subnet`,
    AZURE_RESOURCE_MANAGER_ENDPOINT: azureUrl,
    RETAIL_PRICES_ENDPOINT: azureUrl,
    ...nodeSettings({ subscriptionId, resourceGroup, clusterName: CLUSTER }),
    SWEEP_SCHEDULE: options.sweepSchedule,
    DISRUPT_SCHEDULE: options.sweepSchedule,
    ...options.settings,
  };
}

/** The queue that Event Grid delivers to, as in a deployment. */
function signalsOf(ports: Ports): { readonly connectionString: string; readonly queue: string } {
  return { connectionString: connections(ports).ServiceBus, queue: signalsQueue.name };
}
