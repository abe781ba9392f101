import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createKubeClient, type KubeClient } from '../../../relay/kube/kube-client.ts';

/** Answers one request of a script. `url` has the query that the client sent. */
export type Answer = (response: ServerResponse, url: URL, request: IncomingMessage) => void;

/** A server that plays an API server in trouble: it gives the answers of a script in their order, then waits. */
export interface ScriptedServer {
  readonly client: KubeClient;
  /** What was asked: `list`, `list <continue>`, `watch <resourceVersion>`, or another path as it is. */
  readonly asked: ReadonlyArray<string>;
  readonly askedAtMs: ReadonlyArray<number>;
  readonly close: () => Promise<void>;
}

/** Starts it. Requests beyond the script are kept open without an answer, as a silent watch is. */
export async function startScriptedServer(script: ReadonlyArray<Answer>): Promise<ScriptedServer> {
  const asked: Array<string> = [];
  const askedAtMs: Array<number> = [];
  const rest = [...script];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://scripted');
    asked.push(describe(url));
    askedAtMs.push(performance.now());
    response.on('error', () => {});
    const answer = rest.shift();
    if (answer === undefined) response.writeHead(200).flushHeaders();
    else answer(response, url, request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = createKubeClient(
    {
      server: new URL(`http://127.0.0.1:${port}`),
      ca: null,
      certificate: null,
      key: null,
      token: () => 'token',
      verifyTls: true,
    },
    'test',
  );
  return {
    client,
    asked,
    askedAtMs,
    close: () =>
      new Promise((resolve) => {
        client.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function describe(url: URL): string {
  if (url.searchParams.has('watch')) return `watch ${url.searchParams.get('resourceVersion')}`;
  if (!url.searchParams.has('limit')) return url.pathname;
  return `list ${url.searchParams.get('continue') ?? ''}`.trim();
}

/** A raw object of the scripts. */
export function item(name: string, resourceVersion = '1'): object {
  return { metadata: { name, resourceVersion } };
}

/** A page of a list. */
export function page(names: ReadonlyArray<string>, resourceVersion: string, next = ''): Answer {
  return (response) =>
    response.end(
      JSON.stringify({ metadata: { resourceVersion, continue: next }, items: names.map((name) => item(name)) }),
    );
}

/** A watch that says `events` and then stays open. */
export function watchOf(...events: ReadonlyArray<readonly [string, object]>): Answer {
  return (response) => {
    response.writeHead(200);
    response.flushHeaders();
    for (const [type, object] of events) response.write(`${JSON.stringify({ type, object })}\n`);
  };
}

/** A status and nothing else. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => response.writeHead(code, headers).end('{}');
}
