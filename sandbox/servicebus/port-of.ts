import type { Server } from 'node:net';

/** The port a server listens on. Throws when it does not listen on one. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
  return address.port;
}
