import { createServer } from 'node:http';
import { renderErrorMessage } from '../error-message.ts';
import type { Log } from '../log.ts';
import { emptyResponse, readRequest, writeResponse, type HostRequest, type HostResponse } from './exchange.ts';

/** Answers one request; what it throws becomes a 500. */
export type Answer = (request: HostRequest) => Promise<HostResponse>;

/** The host's HTTP server. */
export interface HttpFront {
  readonly port: number;
  /** Takes requests from now on; until then they are answered with 503, as by a host that starts. */
  serve(answer: Answer): void;
  /** Takes no new connection; the answer resolves when all are closed. */
  stopTaking(): Promise<void>;
  /** Cuts what is still open. */
  closeConnections(): void;
}

const notStarted: Answer = async () => emptyResponse(503);

/** Listens on 127.0.0.1; port 0 picks a free one. Throws when the port is taken. */
export async function openHttpFront(port: number, log: Log): Promise<HttpFront> {
  let answer = notStarted;
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  const boundPort = typeof address === 'object' && address !== null ? address.port : port;
  server.on('request', (incoming, outgoing) => {
    void (async () => {
      try {
        const request = await readRequest(incoming, boundPort);
        writeResponse(outgoing, request === null ? emptyResponse(413) : await answer(request));
      } catch (error) {
        log.host('error', `A request could not be answered: ${renderErrorMessage(error)}`);
        writeResponse(outgoing, emptyResponse(500));
      }
    })();
  });
  return {
    port: boundPort,
    serve: (next) => {
      answer = next;
    },
    stopTaking: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      await closed;
    },
    closeConnections: () => server.closeAllConnections(),
  };
}
