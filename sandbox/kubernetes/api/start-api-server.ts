import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { createCustomKinds } from './custom/custom-kinds.ts';
import { startControllers } from './controllers/start-controllers.ts';
import { answerPath } from './http/answer-path.ts';
import type { ApiReply, TextReply } from './request/api-reply.ts';
import { readApiRequest } from './request/api-request.ts';
import { createRegistry } from './registry/resources.ts';
import { createSchemas } from './schema/schemas.ts';
import type { ApiState } from './state.ts';
import { StatusError } from './status-error.ts';
import { createStore } from './store/store.ts';
import { createOpenWatches } from './verbs/watch-objects.ts';

/** How the double is started. */
export interface ApiServerOptions {
  /** 0 lets the system choose. */
  readonly port: number;
  readonly clock: Clock;
  /** Kept for the launcher of the real control plane, which has the same options; this server stores nothing. */
  readonly dataFolder?: string | null;
  readonly log?: (line: string) => void;
  /** Changes that a watch can go back per resource; default 20,000. */
  readonly historyLimit?: number;
}

/** A running double. */
export interface ApiServer {
  readonly url: string;
  readonly port: number;
  /** YAML text; plain http, any token. */
  readonly kubeconfig: string;
  /** Ends open watches of a plural ('' for all), with a 410 before when `expire`; answers how many. For tests. */
  dropWatches(plural: string, expire: boolean): number;
  /** Forgets the history, so that older resource versions and continue tokens get 410. For tests. */
  compact(): void;
  close(): Promise<void>;
}

const DEFAULT_HISTORY = 20_000;

function renderKubeconfig(url: string): string {
  return [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    `  - { name: sandbox, cluster: { server: "${url}", insecure-skip-tls-verify: true } }`,
    'users:',
    '  - { name: sandbox, user: { token: sandbox } }',
    'contexts:',
    '  - { name: sandbox, context: { cluster: sandbox, user: sandbox } }',
    'current-context: sandbox',
    '',
  ].join('\n');
}

function toErrorReply(error: unknown, log: (line: string) => void): TextReply {
  if (error instanceof StatusError) {
    const text = JSON.stringify(error.toStatus());
    return { status: error.code, contentType: 'application/json', text, headers: error.headers };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log(`internal error: ${message}`);
  const status = new StatusError(500, 'InternalError', `Internal error occurred: ${message.split('\n')[0]}`);
  return { status: 500, contentType: 'application/json', text: JSON.stringify(status.toStatus()) };
}

function send(response: ServerResponse, reply: ApiReply, method: string): void {
  if ('stream' in reply) {
    reply.stream(response);
    return;
  }
  const body = Buffer.isBuffer(reply.text) ? reply.text : Buffer.from(reply.text);
  const warnings = (reply.warnings ?? []).map((text) => `299 - ${JSON.stringify(text)}`);
  response.writeHead(reply.status, {
    'Content-Type': reply.contentType,
    'Content-Length': body.length,
    'Cache-Control': 'no-cache, private',
    ...(warnings.length > 0 ? { Warning: warnings } : {}),
    ...reply.headers,
  });
  response.end(method === 'HEAD' ? undefined : body);
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function createState({ clock, log, historyLimit }: ApiServerOptions): ApiState {
  const registry = createRegistry();
  const schemas = createSchemas();
  return {
    clock,
    registry,
    schemas,
    store: createStore(historyLimit ?? DEFAULT_HISTORY),
    customKinds: createCustomKinds(registry, schemas),
    log: log ?? (() => {}),
  };
}

/**
 * Starts the double of the Kubernetes API server on loopback: the resource API of a 1.36 cluster with its state in
 * memory, garbage collection and namespace lifecycle; no scheduler, kubelet or workload controllers. Kept honest by
 * test/contract/kubernetes, which runs the same cases on this and on the real binaries.
 */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const state = createState(options);
  const watches = createOpenWatches();
  const stopControllers = startControllers(state);
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const method = incoming.method ?? 'GET';
    try {
      const request = await readApiRequest(incoming);
      send(response, answerPath(state, request, watches), method);
    } catch (error) {
      if (!response.headersSent) send(response, toErrorReply(error, state.log), method);
      else response.destroy();
    }
    state.log(`${method} ${incoming.url ?? ''} ${response.statusCode}`);
  };
  const server = createServer((incoming, response) => {
    void answer(incoming, response);
  });
  server.keepAliveTimeout = 60_000;
  const port = await listen(server, options.port);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    kubeconfig: renderKubeconfig(url),
    dropWatches: (plural, expire) => watches.drop(plural, expire),
    compact: () => {
      state.store.compact();
    },
    close: () =>
      new Promise((resolve) => {
        stopControllers();
        watches.drop('', false);
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
