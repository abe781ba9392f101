import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer to a GET. */
export interface PageAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const notFound: PageAnswer = { status: 404, contentType: 'text/plain', body: 'not found\n' };
const failed: PageAnswer = { status: 500, contentType: 'text/plain', body: 'failed\n' };

/** A listening server and the port it listens on. */
export interface PageServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** Serves GET requests for fixed paths. Port 0 lets the system choose. A page that fails is answered with 500. */
export async function servePages(
  host: string,
  port: number,
  pages: Readonly<Record<string, () => PageAnswer | Promise<PageAnswer>>>,
): Promise<PageServer> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    const send = (answer: PageAnswer): void => {
      response.writeHead(answer.status, { 'content-type': answer.contentType });
      response.end(answer.body);
    };
    const answered = async (): Promise<PageAnswer> => page?.() ?? notFound;
    answered().then(send, () => send(failed));
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
