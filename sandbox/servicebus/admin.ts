import { createServer } from 'node:http';
import type { Broker } from './broker.ts';
import { portOf } from './port-of.ts';

/** The broker's page for other processes. */
export interface BrokerAdmin {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `GET /queues`: the counts of every queue as JSON, by queue name. On 127.0.0.1; port 0 picks a free one.
 * Rejects when the port is taken.
 */
export function startAdmin(broker: Broker, port: number): Promise<BrokerAdmin> {
  const server = createServer((request, response) => {
    const isKnown = request.method === 'GET' && request.url === '/queues';
    const answer = isKnown
      ? Object.fromEntries(broker.queueNames.map((name) => [name, broker.stats(name)]))
      : { error: 'ask for GET /queues' };
    response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify(answer)}\n`);
  });
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      resolve({ port: portOf(server), close });
    });
  });
}
