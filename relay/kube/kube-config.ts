import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';

/** How to reach and convince an API server. */
export interface KubeConnection {
  readonly server: URL;
  /** PEM; null for the system's own trust. */
  readonly ca: string | null;
  readonly certificate: string | null;
  readonly key: string | null;
  /** The bearer token as it is now; tokens of service accounts are replaced while we run. */
  readonly token: () => string | null;
  readonly verifyTls: boolean;
}

/** Where Kubernetes puts a service account's token and the CA in every pod. */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How long a token read from a file is used before the file is read again. Kubelets replace it well before its end. */
const TOKEN_AGE_MS = 60_000;

/** The connection of a pod to its own cluster. Throws when this is not a pod. */
export function inClusterConnection(env: Readonly<Record<string, string | undefined>>): KubeConnection {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined || host === '') {
    throw new TypeError(
      'KUBECONFIG is not set and this is not a pod (KUBERNETES_SERVICE_HOST is missing): set KUBECONFIG',
    );
  }
  const address = host.includes(':') ? `[${host}]` : host;
  return {
    server: new URL(`https://${address}:${port}`),
    ca: readFileSync(`${serviceAccountFolder}/ca.crt`, 'utf8'),
    certificate: null,
    key: null,
    token: fileToken(`${serviceAccountFolder}/token`),
    verifyTls: true,
  };
}

function fileToken(path: string): () => string {
  let token = '';
  let readAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (Date.now() - readAtMs > TOKEN_AGE_MS) {
      token = readFileSync(path, 'utf8').trim();
      readAtMs = Date.now();
    }
    return token;
  };
}

type Yaml = Readonly<Record<string, unknown>>;

function isYaml(value: unknown): value is Yaml {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(part: Yaml, name: string): string | null {
  const value = part[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

/**
 * The connection that a kubeconfig file's current context names. Throws TypeError naming what is missing in the file.
 */
export function kubeconfigConnection(path: string): KubeConnection {
  const file: unknown = parse(readFileSync(path, 'utf8'));
  if (!isYaml(file)) throw new TypeError(`KUBECONFIG ${path}: not a kubeconfig`);
  const context = entryOf(file, path, 'contexts', 'context', textOf(file, 'current-context'));
  const cluster = entryOf(file, path, 'clusters', 'cluster', textOf(context, 'cluster'));
  const user = entryOf(file, path, 'users', 'user', textOf(context, 'user'));
  const server = textOf(cluster, 'server');
  if (server === null || !URL.canParse(server))
    throw new TypeError(`KUBECONFIG ${path}: the cluster has no server URL`);
  if (user['exec'] !== undefined || user['auth-provider'] !== undefined) {
    throw new TypeError(`KUBECONFIG ${path}: plugins are not supported, use a token or a client certificate`);
  }
  const folder = dirname(path);
  const tokenFile = textOf(user, 'tokenFile');
  const token = textOf(user, 'token');
  return {
    server: new URL(server),
    ca: pemOf(cluster, 'certificate-authority', folder),
    certificate: pemOf(user, 'client-certificate', folder),
    key: pemOf(user, 'client-key', folder),
    token: tokenFile === null ? () => token : fileToken(resolve(folder, tokenFile)),
    verifyTls: cluster['insecure-skip-tls-verify'] !== true,
  };
}

function entryOf(file: Yaml, path: string, listName: string, entryName: string, name: string | null): Yaml {
  const list = file[listName];
  const found = Array.isArray(list) ? list.find((entry) => isYaml(entry) && entry['name'] === name) : undefined;
  const entry: unknown = isYaml(found) ? found[entryName] : undefined;
  if (!isYaml(entry))
    throw new TypeError(`KUBECONFIG ${path}: ${listName} has no entry named ${name ?? '(none given)'}`);
  return entry;
}

/** A PEM given in the file as base64, or by the path of another file. */
function pemOf(part: Yaml, name: string, folder: string): string | null {
  const data = textOf(part, `${name}-data`);
  if (data !== null) return Buffer.from(data, 'base64').toString('utf8');
  const path = textOf(part, name);
  return path === null ? null : readFileSync(resolve(folder, path), 'utf8');
}
