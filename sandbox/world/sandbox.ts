import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { type Azure, startAzure } from '../azure/azure.ts';
import { type AzureOptions, azureDefaults } from '../azure/options.ts';
import { connect } from '../kubernetes/client/connection.ts';
import { type Cluster, startCluster } from '../kubernetes/cluster.ts';
import { findFreePorts } from '../kubernetes/control-plane/free-ports.ts';
import { applyManifests, readManifests } from './apply-manifests.ts';
import { type Child, createChild } from './child.ts';
import { systemClock } from './clock.ts';
import { type MachinePace, connectMachines } from './machines.ts';
import { rngFrom } from './rng.ts';

/** How to run the whole product on this machine. */
export interface SandboxOptions {
  /** `real` runs the control plane that `assets` holds; `embedded` the double. */
  readonly mode: 'embedded' | 'real';
  readonly assets: string | null;
  /** Where everything keeps what it writes. */
  readonly folder: string;
  /** The repository: where `dist` and `infra` are. */
  readonly root: string;
  /** Fixes every draw of latency, fault and failure. */
  readonly seed: string;
  readonly pace: MachinePace;
  readonly azure: Partial<AzureOptions>;
  /** Null: a free one. */
  readonly functionsPort: number | null;
  /** Six fields, as Azure Functions has them. */
  readonly sweepSchedule: string;
  /** Service Bus delivers this share of completed messages once more, in percent. */
  readonly duplicatePercent: number;
  /** True: a tainted system node is there from the start. */
  readonly systemNode: boolean;
  /** Further settings of the Functions app. */
  readonly settings: Readonly<Record<string, string>>;
  /** Lines of every part, with its name. */
  readonly onLine: (from: string, line: string) => void;
}

/** Everything running, and the handles to break it. */
export interface Sandbox {
  readonly cluster: Cluster;
  readonly azure: Azure;
  readonly broker: Child;
  readonly host: Child;
  readonly relay: Child;
  /** `http://127.0.0.1:PORT` of the Functions host. */
  readonly functionsUrl: string;
  /** `http://127.0.0.1:PORT` of the relay's metrics. */
  readonly relayMetricsUrl: string;
  /** `http://127.0.0.1:PORT/queues` has the counts of each queue. */
  readonly brokerAdminUrl: string;
  /** Applies YAML files and folders. */
  apply(paths: ReadonlyArray<string>): Promise<void>;
  close(): Promise<void>;
}

const CLUSTER = 'sandbox';

/** Azurite's published development account. */
const ACCOUNT = 'devstoreaccount1';
const ACCOUNT_KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** Starts cluster, Azure, Service Bus, storage, the Functions host with the app, and the relay; resolves when all are ready. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  mkdirSync(options.folder, { recursive: true });
  const rng = rngFrom(options.seed);
  const ports = await pickPorts(options.functionsPort);
  const storage = startStorage(options, ports.blob);
  const broker = brokerChild(options, ports);
  const parts: Array<() => Promise<unknown>> = [() => storage.stop(), () => broker.stop()];
  const close = async (): Promise<void> => {
    for (const stop of parts.splice(0).toReversed()) await stop().catch(() => undefined);
  };
  try {
    const [cluster] = await Promise.all([startControl(options, rng), storage.start(), broker.start()]);
    parts.push(() => cluster.close());
    await applyManifests(cluster.kubeconfig, readManifests([join(options.root, 'infra/crds')]));
    await untilServed(cluster.kubeconfig);
    await applyManifests(cluster.kubeconfig, [namespaceManifest]);
    // The host before Azure, whose Event Grid asks a new webhook to prove itself; the relay last, whose hints want both.
    const host = hostChild(options, ports, cluster);
    parts.push(() => host.stop());
    await host.start();
    const azure = await startAzure({
      ...azureDefaults,
      ...options.azure,
      port: ports.azure,
      clock: systemClock,
      rng: rng.split('azure'),
      clusterName: CLUSTER,
      subscriptions: [{ name: 'interruptions', url: eventGridUrl(ports.functions), schema: 'CloudEvents' }],
    });
    parts.push(() => azure.close());
    const disconnect = connectMachines(azure, cluster.kubelets, rng.split('machines'), options.pace);
    parts.push(() => Promise.resolve(disconnect()));
    const relay = relayChild(options, ports, cluster);
    parts.push(() => relay.stop());
    await relay.start();
    return {
      cluster,
      azure,
      broker,
      host,
      relay,
      functionsUrl: `http://127.0.0.1:${ports.functions}`,
      relayMetricsUrl: `http://127.0.0.1:${ports.metrics}`,
      brokerAdminUrl: `http://127.0.0.1:${ports.brokerAdmin}/queues`,
      apply: (paths) => applyManifests(cluster.kubeconfig, readManifests(paths)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const CUSTOM_RESOURCES = [
  '/apis/karpenter.sh/v1/nodepools',
  '/apis/karpenter.sh/v1/nodeclaims',
  '/apis/karpenter.sh/v1alpha1/nodeoverlays',
  '/apis/karpenter.azure.com/v1beta1/aksnodeclasses',
];

/** The API server takes some 100 ms to serve a new kind, longer when the machine is busy. */
const SERVED_LOOKS_MAX = 200;
const SERVED_PAUSE_MS = 50;

/** Resolves once the API server answers for every kind of ours. */
async function untilServed(kubeconfig: string): Promise<void> {
  const connection = connect(kubeconfig);
  try {
    for (const path of CUSTOM_RESOURCES) {
      for (let look = 0; ; look++) {
        try {
          await connection.get(path);
          break;
        } catch (error) {
          if (look >= SERVED_LOOKS_MAX) throw error;
          await sleep(SERVED_PAUSE_MS);
        }
      }
    }
  } finally {
    connection.close();
  }
}

interface Ports {
  readonly azure: number;
  readonly blob: number;
  readonly broker: number;
  readonly brokerAdmin: number;
  readonly functions: number;
  readonly metrics: number;
  readonly health: number;
}

/** Children are killed and started again on the same ports, so these are chosen once. */
async function pickPorts(functionsPort: number | null): Promise<Ports> {
  const [azure = 0, blob = 0, broker = 0, brokerAdmin = 0, free = 0, metrics = 0, health = 0] = await findFreePorts(7);
  return { azure, blob, broker, brokerAdmin, functions: functionsPort ?? free, metrics, health };
}

const namespaceManifest = {
  origin: 'the sandbox',
  object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'nodewright-system' } },
};

function startControl(options: SandboxOptions, rng: ReturnType<typeof rngFrom>): Promise<Cluster> {
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
      ...['--blobHost', '127.0.0.1', '--blobPort', String(port)],
      ...['--inMemoryPersistence', '--skipApiVersionCheck', '--disableTelemetry', '--silent'],
    ],
    environment: {},
    ready: /successfully listens/,
    onLine: (line) => options.onLine('storage', line),
  });
}

function brokerChild(options: SandboxOptions, ports: Ports): Child {
  return createChild({
    name: 'service bus',
    args: [
      join(options.root, 'sandbox/servicebus/main.ts'),
      ...['--port', String(ports.broker), '--admin-port', String(ports.brokerAdmin)],
      ...['--data', join(options.folder, 'servicebus'), '--seed', options.seed],
      ...['--duplicate-percent', String(options.duplicatePercent)],
    ],
    environment: {},
    ready: /is ready/,
    onLine: (line) => options.onLine('service bus', line),
  });
}

function connections(ports: Ports): Readonly<Record<string, string>> {
  return {
    ServiceBus: `Endpoint=sb://127.0.0.1:${ports.broker};SharedAccessKeyName=sandbox;SharedAccessKey=sandbox;UseDevelopmentEmulator=true`,
    SnapshotStorage: `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${ACCOUNT_KEY};BlobEndpoint=http://127.0.0.1:${ports.blob}/${ACCOUNT};`,
  };
}

interface Kubeconfig {
  readonly clusters: ReadonlyArray<{ readonly cluster: { readonly 'certificate-authority-data'?: string } }>;
  readonly users: ReadonlyArray<{ readonly user: { readonly token?: string } }>;
}

function hostChild(options: SandboxOptions, ports: Ports, cluster: Cluster): Child {
  const azureUrl = `http://127.0.0.1:${ports.azure}`;
  const { clusters, users } = parse(cluster.kubeconfig) as Kubeconfig;
  const ca = clusters[0]?.cluster['certificate-authority-data'];
  const { subscriptionId, resourceGroup, region, clusterId } = { ...azureDefaults, ...options.azure };
  const network = `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}/providers/Microsoft.Network`;
  return createChild({
    name: 'functions host',
    args: [
      join(options.root, 'sandbox/functions-host/main.ts'),
      ...['--app', options.root, '--port', String(ports.functions)],
      ...['--timer-state', join(options.folder, 'timers.json')],
    ],
    environment: {
      ...connections(ports),
      CLUSTER_NAME: CLUSTER,
      CLUSTER_ENDPOINT: cluster.url,
      ...(ca === undefined ? {} : { CLUSTER_CA_DATA: ca }),
      AZURE_STATIC_TOKEN: users[0]?.user.token ?? 'sandbox',
      AZURE_SUBSCRIPTION_ID: subscriptionId,
      AZURE_NODE_RESOURCE_GROUP: resourceGroup,
      LOCATION: region,
      VNET_SUBNET_ID: `${network}/virtualNetworks/aks-vnet-${clusterId}/subnets/aks-subnet`,
      AZURE_RESOURCE_MANAGER_ENDPOINT: azureUrl,
      RETAIL_PRICES_ENDPOINT: azureUrl,
      SWEEP_SCHEDULE: options.sweepSchedule,
      ...options.settings,
    },
    ready: /Host started/,
    onLine: (line) => options.onLine('functions', line),
  });
}

function relayChild(options: SandboxOptions, ports: Ports, cluster: Cluster): Child {
  return createChild({
    name: 'relay',
    args: [join(options.root, 'dist/relay/main.js')],
    environment: {
      ...connections(ports),
      CLUSTER_NAME: CLUSTER,
      NODEWRIGHT_CLUSTER: CLUSTER,
      KUBECONFIG: cluster.kubeconfigPath,
      POD_NAME: 'nodewright-relay',
      METRICS_PORT: String(ports.metrics),
      HEALTH_PORT: String(ports.health),
      BIND_ADDRESS: '127.0.0.1',
    },
    ready: null,
    onLine: (line) => options.onLine('relay', line),
  });
}

function eventGridUrl(port: number): string {
  return `http://127.0.0.1:${port}/runtime/webhooks/EventGrid?functionName=interruptEventGrid`;
}
