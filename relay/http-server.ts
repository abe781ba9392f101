import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer to a GET. */
export interface PageAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** A listening server and the port it listens on. */
export interface PageServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Serves GET requests for fixed paths. Port 0 lets the system choose. */
export async function servePages(
  host: string,
  port: number,
  pages: Readonly<Record<string, () => PageAnswer>>,
): Promise<PageServer> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    const answer = page?.() ?? { status: 404, contentType: 'text/plain', body: 'not found\n' };
    response.writeHead(answer.status, { 'content-type': answer.contentType });
    response.end(answer.body);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
