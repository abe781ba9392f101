import { type IncomingMessage, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from './recordings.ts';

/** What is answered to a method on paths that end so, one after the other; the last again and again. */
export type Script = Readonly<Record<string, ReadonlyArray<Answer> | Answer>>;

/** A server on loopback that says what Azure said. */
export interface Replay {
  readonly endpoint: string;
  /** Each request as `METHOD type/name`, in order. */
  readonly asked: Array<string>;
  close(): Promise<void>;
}

/**
 * Serves answers by `METHOD end-of-path`, such as `PUT virtualMachines/*`: the last type in a path, and a star where a
 * name follows. A request that the script does not have is answered with 418, which nothing takes for an answer of
 * Azure's.
 */
export async function replay(script: Script): Promise<Replay> {
  const asked: Array<string> = [];
  const left = new Map(Object.entries(script).map(([key, answers]) => [key, [answers].flat()]));
  const server = createServer((request, response) => {
    const key = keyOf(request);
    asked.push(key);
    const answers = left.get(key) ?? [];
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? { status: 418, body: null };
    request.resume().on('end', () => {
      const own = { 'Content-Type': 'application/json; charset=utf-8', ...answer.headers };
      response.writeHead(answer.status, withoutLength(own));
      response.end(textOf(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function keyOf({ method, url }: IncomingMessage): string {
  const [path = ''] = (url ?? '').split('?');
  const [, ...types] = path.slice(path.lastIndexOf('/providers/') + '/providers/'.length).split('/');
  const isNamed = types.length % 2 === 0;
  return `${method} ${isNamed ? `${types.at(-2) ?? ''}/*` : (types.at(-1) ?? '')}`;
}

/** What is sent is as long as it is. Operation URLs lead to Azure; nobody is to follow them. */
function withoutLength(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-(length|encoding)$/i.test(name)));
}

function textOf(body: unknown): string {
  if (body === null || body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body);
}
