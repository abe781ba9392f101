import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { startApiServer } from '../../../../sandbox/kubernetes/api/start-api-server.ts';
import { startControlPlane } from '../../../../sandbox/kubernetes/control-plane/control-plane.ts';
import { systemClock } from '../../../../sandbox/base/clock.ts';

/** An answer with its body parsed, or as text where it is no JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // eslint-disable-next-line typescript/no-explicit-any -- cases reach into bodies of many kinds
  readonly body: any;
  readonly text: string;
}

/** What a request carries beside its path. */
export interface Sent {
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An API server that the cases run on: the double or the real one. */
export interface ApiUnderTest {
  readonly kubeconfigPath: string;
  readonly kubeConfig: KubeConfig;
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  /** Creates a namespace that no other case uses, and answers its name. */
  namespace(): Promise<string>;
  /** Makes old resource versions expire; null where the server cannot be asked to. */
  readonly compact: (() => void) | null;
  readonly dropWatches: ((plural: string, expire: boolean) => number) | null;
  close(): Promise<void>;
}

interface Address {
  readonly url: string;
  readonly token: string;
  readonly ca: string | null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function sender(address: Address): ApiUnderTest['send'] {
  return (method, path, sent = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(path, address.url);
      const body =
        sent.body === undefined ? null : typeof sent.body === 'string' ? sent.body : JSON.stringify(sent.body);
      const options = {
        method,
        headers: {
          authorization: `Bearer ${address.token}`,
          accept: sent.accept ?? 'application/json',
          ...(body === null
            ? {}
            : { 'content-type': sent.type ?? 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...sent.headers,
        },
        ...(address.ca === null ? {} : { ca: address.ca }),
      };
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options, (response) => {
        const chunks: Array<Buffer> = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const headers = Object.fromEntries(
            Object.entries(response.headers).map(([key, value]) => [key, String(value)]),
          );
          resolve({ status: response.statusCode ?? 0, headers, body: parsed(text), text });
        });
      });
      request.on('error', reject);
      request.end(body ?? undefined);
    });
}

function underTest(
  address: Address,
  kubeconfig: { readonly text: string; readonly folder: string },
  rest: Pick<ApiUnderTest, 'close' | 'compact' | 'dropWatches'>,
): ApiUnderTest {
  const kubeconfigPath = join(kubeconfig.folder, 'kubeconfig.yaml');
  writeFileSync(kubeconfigPath, kubeconfig.text, { mode: 0o600 });
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(kubeconfig.text);
  const send = sender(address);
  let serial = 0;
  return {
    kubeconfigPath,
    kubeConfig,
    send,
    compact: rest.compact,
    dropWatches: rest.dropWatches,
    async namespace() {
      serial += 1;
      const name = `case-${serial}-${Date.now().toString(36)}`;
      const answer = await send('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
      if (answer.status !== 201) throw new Error(`cannot create namespace ${name}: ${answer.text}`);
      return name;
    },
    close: rest.close,
  };
}

/** Starts the double. */
export async function startDouble(): Promise<ApiUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-api-'));
  const server = await startApiServer({ port: 0, clock: systemClock });
  const address = { url: server.url, token: 'any', ca: null };
  return underTest(
    address,
    { text: server.kubeconfig, folder },
    {
      compact: () => {
        server.compact();
      },
      dropWatches: (plural, expire) => server.dropWatches(plural, expire),
      async close() {
        await server.close();
        rmSync(folder, { recursive: true, force: true });
      },
    },
  );
}

/**
 * Starts etcd and kube-apiserver from KUBEBUILDER_ASSETS; with kube-controller-manager when the cases need its loops.
 */
export async function startReal(assets: string, withControllers: boolean): Promise<ApiUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-real-'));
  const plane = await startControlPlane({ assets, folder, with: withControllers ? ['kube-controller-manager'] : [] });
  const ca = Buffer.from(plane.caData, 'base64').toString('utf8');
  const address = { url: plane.url, token: plane.token, ca };
  return underTest(
    address,
    { text: plane.kubeconfig, folder },
    {
      compact: null,
      dropWatches: null,
      async close() {
        await plane.close();
        rmSync(folder, { recursive: true, force: true });
      },
    },
  );
}

/** How long a case waits for something that happens by itself; far more than either server needs. */
const WAIT_MS = 60_000;

/** Asks until `accept` is satisfied with the answer. Throws with the last answer after a minute. */
export async function eventually<Value>(ask: () => Promise<Value>, accept: (value: Value) => boolean): Promise<Value> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const value = await ask();
    if (accept(value)) return value;
    if (Date.now() > deadline) throw new Error(`still waiting: ${JSON.stringify(value).slice(0, 2000)}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}
