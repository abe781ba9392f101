import { randomUUID } from 'node:crypto';
import { readFeatureGates } from '../shared/contract/settings/feature-gates.ts';
import { logLevels, type LogLevel } from './process/log.ts';
import { inClusterConnection, kubeconfigConnection } from './kube/kube-config.ts';
import type { RelayConfig } from './relay.ts';
import { createWorkloadIdentity, type WorkloadIdentity } from './azure/workload-identity.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What `--help` prints. */
export const helpText = `nodewright relay: watches a cluster, publishes its image, and says when to look.

usage: node relay.js [--help]

Settings are environment variables:
  CLUSTER_NAME              the cluster's id, as the functions know it (required)
  ServiceBus                connection string of the Service Bus namespace, or
  ServiceBus__fullyQualifiedNamespace
                            its host name; the pod's workload identity sends
  SnapshotStorage           connection string with a shared access signature, or
  SnapshotStorage__blobServiceUri
                            its blob URI; the pod's workload identity writes
  FEATURE_GATES             as the functions have it; of its gates only CapacityBuffer
                            changes what is watched
  KUBECONFIG                a kubeconfig; without it, the pod's service account
  POD_NAMESPACE             namespace of the Lease (default kube-system)
  POD_NAME                  first part of the Lease's holder (default the host's name)
  METRICS_PORT              default 8080
  HEALTH_PORT               default 8081
  BIND_ADDRESS              address to listen on (default 0.0.0.0)
  LOG_LEVEL                 info, warn or error: the least that is logged (default info)

It needs list and watch on what it watches, and its own Lease; nothing else.
`;

/** The settings in `env`. Throws an Error naming the variable that is wrong, and what it should be. */
export function parseSettings(env: Environment, hostName: string): Omit<RelayConfig, 'log' | 'timing'> {
  return {
    cluster: clusterOf(env),
    buffers: readFeatureGates(env['FEATURE_GATES'] ?? '').CapacityBuffer,
    identity: `${env['POD_NAME'] || hostName}_${randomUUID()}`,
    pod: env['POD_NAME'] || null,
    namespace: namespaceOf(env),
    kubernetes: env['KUBECONFIG'] ? kubeconfigConnection(env['KUBECONFIG']) : inClusterConnection(env),
    serviceBus: serviceBusOf(env),
    storage: storageOf(env),
    host: env['BIND_ADDRESS'] || '0.0.0.0',
    metricsPort: portOf(env, 'METRICS_PORT', 8080),
    healthPort: portOf(env, 'HEALTH_PORT', 8081),
  };
}

/** The least level that is logged. Throws an Error naming what LOG_LEVEL may be. */
export function parseLogLevel(env: Environment): LogLevel {
  const given = env['LOG_LEVEL'] || 'info';
  const level = logLevels.find((one) => one === given);
  if (level === undefined) throw new TypeError(`LOG_LEVEL is ${given}; it may be ${logLevels.join(', ')}`);
  return level;
}

function clusterOf(env: Environment): string {
  const cluster = env['CLUSTER_NAME'] ?? '';
  if (cluster === '')
    throw new TypeError('CLUSTER_NAME is not set: give the id of the cluster, as the functions know it');
  if (cluster.length > 260) throw new TypeError('CLUSTER_NAME is longer than 260 characters');
  return cluster;
}

function namespaceOf(env: Environment): string {
  const namespace = env['POD_NAMESPACE'] || 'kube-system';
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw new TypeError(`POD_NAMESPACE is no name of a namespace: ${namespace}`);
  }
  return namespace;
}

function serviceBusOf(env: Environment): RelayConfig['serviceBus'] {
  const connectionString = env['ServiceBus'];
  if (connectionString) {
    if (!/(^|;)\s*Endpoint=sb:\/\//i.test(connectionString)) {
      throw new TypeError('ServiceBus is no connection string: it has no Endpoint=sb://…');
    }
    return { kind: 'connectionString', connectionString };
  }
  const fullyQualifiedNamespace = env['ServiceBus__fullyQualifiedNamespace'];
  if (!fullyQualifiedNamespace) {
    throw new TypeError('neither ServiceBus nor ServiceBus__fullyQualifiedNamespace is set: give one');
  }
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(fullyQualifiedNamespace)) {
    throw new TypeError(`ServiceBus__fullyQualifiedNamespace is no host name: ${fullyQualifiedNamespace}`);
  }
  return {
    kind: 'identity',
    fullyQualifiedNamespace,
    identity: identityOf(env, 'ServiceBus__fullyQualifiedNamespace'),
  };
}

function storageOf(env: Environment): RelayConfig['storage'] {
  const connectionString = env['SnapshotStorage'];
  if (connectionString) {
    if (!/(^|;)\s*BlobEndpoint=/i.test(connectionString) || !/(^|;)\s*SharedAccessSignature=/i.test(connectionString)) {
      throw new TypeError('SnapshotStorage is no connection string with BlobEndpoint and SharedAccessSignature');
    }
    return { kind: 'connectionString', connectionString };
  }
  const blobServiceUri = env['SnapshotStorage__blobServiceUri'];
  if (!blobServiceUri)
    throw new TypeError('neither SnapshotStorage nor SnapshotStorage__blobServiceUri is set: give one');
  if (!URL.canParse(blobServiceUri) || new URL(blobServiceUri).protocol !== 'https:') {
    throw new TypeError(`SnapshotStorage__blobServiceUri is no https URL: ${blobServiceUri}`);
  }
  return { kind: 'identity', blobServiceUri, identity: identityOf(env, 'SnapshotStorage__blobServiceUri') };
}

/** The identity that the webhook of workload identity gives to pods that ask for it. */
function identityOf(env: Environment, because: string): WorkloadIdentity {
  const of = (name: string): string => {
    const value = env[name];
    if (value) return value;
    throw new TypeError(
      `${name} is not set, and ${because} needs workload identity: label the pod azure.workload.identity/use=true and annotate its service account`,
    );
  };
  return createWorkloadIdentity({
    clientId: of('AZURE_CLIENT_ID'),
    tenantId: of('AZURE_TENANT_ID'),
    tokenFile: of('AZURE_FEDERATED_TOKEN_FILE'),
    authority: env['AZURE_AUTHORITY_HOST'] || 'https://login.microsoftonline.com/',
  });
}

function portOf(env: Environment, name: string, otherwise: number): number {
  const given = env[name];
  if (given === undefined || given === '') return otherwise;
  const port = Number(given);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new TypeError(`${name} is no port: ${given}`);
  return port;
}
