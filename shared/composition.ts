import { setTimeout as sleep } from 'node:timers/promises';
import { planDisruption } from './core/disruption/plan-disruption.ts';
import { planProvisioning } from './core/plan-provisioning.ts';
import { AKS_REPAIRS, DEFAULT_DISRUPTION } from './core/model/disruption-input.ts';
import { readDisruption } from './contract/settings/disruption-settings.ts';
import type { ServiceBusClient } from '@azure/service-bus';
import type { TokenCredential } from '@azure/identity';
import type { ContainerClient } from '@azure/storage-blob';
import { once } from './adapters/once.ts';
import { createHints } from './adapters/servicebus/hints.ts';
import { createPoison } from './adapters/servicebus/poison.ts';
import { createBlobs } from './adapters/storage/blobs.ts';
import { createDecisions } from './adapters/storage/decisions.ts';
import { createDeviceMemory } from './adapters/storage/device-memory.ts';
import { createFiguresLog } from './adapters/storage/figures-log.ts';
import { createSnapshots } from './adapters/storage/snapshots.ts';
import { createDefinitions } from './adapters/kubernetes/definitions.ts';
import { createKubernetes } from './adapters/kubernetes/kubernetes.ts';
import { createLedger } from './adapters/kubernetes/ledger.ts';
import { listSnapshot } from './adapters/kubernetes/list-snapshot.ts';
import { type Transport, createTransport } from './adapters/kubernetes/transport.ts';
import type { Log, Ports } from './app/ports/ports.ts';
import { createTurns } from './app/ports/turns.ts';
import { createRecentPlaces } from './app/ports/recent-places.ts';
import { createUnwantedSince } from './app/ports/unwanted-since.ts';
import { createRecentReports } from './app/ports/recent-reports.ts';
import { withLostEvents } from './app/ports/with-lost-events.ts';
import { RetryableError } from './ports/errors.ts';
import type { Hints } from './ports/hints.ts';
import { container } from './contract/names.ts';
import { readPriceCurrency } from './contract/settings/price-currency.ts';
import { ignoresDevices, readPolicy, dedicatesNodes } from './contract/settings/scheduling-settings.ts';
import { type Connection, type Settings, readConnection, readSettings } from './contract/settings/settings.ts';

/** The app as the functions see it: the use cases' ports, and where messages go that nobody can use. */
export interface App {
  readonly cluster: string;
  readonly ports: (log: Log) => Promise<Ports>;
  /** There even when the cluster or Azure cannot be reached. */
  readonly hints: Hints;
  readonly poison: (message: unknown, reason: string, from: string) => Promise<void>;
}

/** AKS's own application in Entra ID: the audience of tokens for the API server. The same in every tenant. */
const AKS_SCOPE = '6dae42f8-4368-4678-94ff-3960e28e3630/.default';

let instance: App | undefined;

/** Built on first use, once per worker: a throw while an entry file loads would take every function down. */
export function theApp(): App {
  return (instance ??= appFrom(process.env));
}

/**
 * The name of a cluster that nobody has told us: it is in ids of messages only, and what is put off finds its cluster
 * by the ports.
 */
const UNNAMED = 'unnamed';

/**
 * The app of these settings. Where some are missing or wrong it can do nothing but put hints off, which Service Bus
 * alone is needed for, and without which no trigger listens: a delivery that failed would be given back, come at once,
 * and be dead-lettered within a second. Azure restarts the app when a setting changes. Throws where Service Bus is not
 * among the settings.
 */
export function appFrom(environment: Readonly<Record<string, string | undefined>>): App {
  try {
    return compose(readSettings(environment));
  } catch (cause) {
    const settings = readConnection(environment);
    if (settings === null) throw cause;
    const serviceBus = once(() =>
      connectServiceBus(
        settings,
        once(() => createCredential(settings)),
      ),
    );
    const why = cause instanceof Error ? cause.message : String(cause);
    return {
      cluster: environment['CLUSTER_NAME'] ?? UNNAMED,
      hints: createHints(serviceBus),
      ports: () => Promise.reject(new RetryableError(why, { cause })),
      poison: createPoison(serviceBus),
    };
  }
}

function compose(settings: Settings): App {
  const cluster = settings.CLUSTER_NAME;
  const policy = readPolicy(settings);
  const ignored = ignoresDevices(settings);
  const reserves = dedicatesNodes(settings);
  const { isOn, spotToSpot, nodeRepair } = readDisruption(settings);
  const currency = readPriceCurrency(settings);
  const repairs = nodeRepair ? AKS_REPAIRS : [];
  const credential = once(() => createCredential(settings));
  const serviceBus = once(() => connectServiceBus(settings, credential));
  const hints = createHints(serviceBus);
  const blobs = (name: string): ReturnType<typeof createBlobs> =>
    createBlobs(() => connectContainer(settings, name, credential));
  const transport = once(() => connectKubernetes(settings, credential));
  const shared = once(async (): Promise<Omit<Ports, 'log'>> => {
    const call: Transport = await transport();
    const kubernetes = createKubernetes(call);
    const { createAzure } = await import('./adapters/azure/azure.ts');
    const azure = createAzure({
      settings,
      currency,
      credential: await credential(),
      blobs: blobs(container.catalog),
      kubernetes,
      now: Date.now,
    });
    return {
      cluster,
      policy,
      disruption: { isOn, policy: { ...DEFAULT_DISRUPTION, spotToSpot, repairs } },
      planner: planProvisioning,
      disruptionPlanner: planDisruption,
      dedicatesNodes: reserves,
      now: Date.now,
      sleep: (ms) => sleep(ms, undefined, { ref: false }),
      kubernetes,
      definitions: createDefinitions(kubernetes, Date.now),
      ...azure,
      snapshots: createSnapshots(blobs(container.snapshots), cluster, () =>
        listSnapshot(call, cluster, Date.now(), { buffers: policy.gates.capacityBuffer }),
      ),
      decisions: createDecisions(blobs(container.decisions), cluster),
      deviceMemory: createDeviceMemory(blobs(container.catalog), cluster),
      figuresLog: createFiguresLog(blobs(container.snapshots), cluster),
      ledger: createLedger(kubernetes, settings.NODEWRIGHT_NAMESPACE ?? 'nodewright-system', Date.now),
      hints,
      turns: createTurns(),
      told: createRecentReports(),
      places: createRecentPlaces(),
      unwanted: createUnwantedSince(),
      deviceSelectors: ignored ? null : deviceSelectors,
    };
  });
  const ports = async (log: Log): Promise<Ports> => {
    const own = await shared();
    return { ...own, log, kubernetes: withLostEvents(own.kubernetes, { ...own, log }) };
  };
  return { cluster, hints, ports, poison: createPoison(serviceBus) };
}

/** A good part of a cold start is parsing code: the CEL library is loaded where a cluster has device classes. */
const deviceSelectors = once(async () => {
  const { createDeviceSelectors } = await import('./adapters/cel/device-selectors.ts');
  return createDeviceSelectors();
});

async function createCredential(settings: Connection): Promise<TokenCredential> {
  const token = settings.AZURE_STATIC_TOKEN;
  if (token !== undefined) {
    return { getToken: () => Promise.resolve({ token, expiresOnTimestamp: Date.now() + 3_600_000 }) };
  }
  const { DefaultAzureCredential, ManagedIdentityCredential } = await import('@azure/identity');
  const clientId = settings.AZURE_CLIENT_ID;
  return clientId === undefined ? new DefaultAzureCredential() : new ManagedIdentityCredential({ clientId });
}

async function connectServiceBus(
  settings: Connection,
  credential: () => Promise<TokenCredential>,
): Promise<ServiceBusClient> {
  const { ServiceBusClient } = await import('./adapters/servicebus/client.ts');
  if (settings.ServiceBus !== undefined) return new ServiceBusClient(settings.ServiceBus);
  return new ServiceBusClient(settings.ServiceBus__fullyQualifiedNamespace ?? '', await credential());
}

async function connectContainer(
  settings: Settings,
  name: string,
  credential: () => Promise<TokenCredential>,
): Promise<ContainerClient> {
  const { BlobServiceClient } = await import('@azure/storage-blob');
  const service =
    settings.SnapshotStorage === undefined
      ? new BlobServiceClient(settings.SnapshotStorage__blobServiceUri ?? '', await credential())
      : BlobServiceClient.fromConnectionString(settings.SnapshotStorage);
  return service.getContainerClient(name);
}

/**
 * With a kubeconfig where one is named; else as AKS with Entra ID wants it: our identity's token for AKS's audience.
 */
async function connectKubernetes(settings: Settings, credential: () => Promise<TokenCredential>): Promise<Transport> {
  if (settings.KUBECONFIG !== undefined) {
    const { fromKubeconfig } = await import('./adapters/kubernetes/kubeconfig.ts');
    return createTransport(await fromKubeconfig(settings.KUBECONFIG));
  }
  const ca = settings.CLUSTER_CA_DATA;
  return createTransport({
    url: settings.CLUSTER_ENDPOINT,
    tls: ca === undefined ? {} : { ca: Buffer.from(ca, 'base64') },
    headers: async () => {
      const token = await (await credential()).getToken(AKS_SCOPE);
      return { authorization: `Bearer ${token?.token ?? ''}` };
    },
  });
}
