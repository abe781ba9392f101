import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/**
 * Finds `count` different loopback ports that are free now. Another program may still take one before it is used: the
 * caller starts again with new ports when its child says so.
 */
export async function findFreePorts(count: number): Promise<ReadonlyArray<number>> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  const ports: Array<number> = [];
  for (const server of servers) {
    if (!server.listening) await once(server, 'listening');
    ports.push((server.address() as AddressInfo).port);
  }
  for (const server of servers) {
    server.close();
    await once(server, 'close');
  }
  return ports;
}
