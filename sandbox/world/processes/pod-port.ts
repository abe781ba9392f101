import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { hostAddresses } from './host-addresses.ts';

/** Where a pod's port is reached from the API server. */
export interface PodPort {
  /** An address of this machine; loopback when it has no other, which the API server's proxy refuses. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Opens `wished` at an address of this machine, or another port where every address has it taken, and leads what comes
 * in to the program at `target` on loopback. Only this machine is let in: the sandbox serves nobody on the network.
 */
export async function openPodPort(
  wished: number,
  target: number,
  addresses: ReadonlyArray<string> = hostAddresses(),
): Promise<PodPort> {
  const [first] = addresses;
  if (first === undefined) return { address: '127.0.0.1', port: target, close: () => Promise.resolve() };
  for (const [address, port] of [...addresses.map((one) => [one, wished] as const), [first, 0] as const]) {
    const server = await listen(address, port, target);
    if (server !== null) return portOf(server);
  }
  throw new Error(`no port of ${first} is free`);
}

function portOf(server: Server): PodPort {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  const { address, port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    for (const socket of open) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { address, port, close };
}

/** Null when the port is taken there, or the address has just gone. */
async function listen(address: string, port: number, target: number): Promise<Server | null> {
  const server = createServer((socket) => lead(socket, target));
  server.listen(port, address);
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES'].includes(code)) return null;
    throw error;
  }
}

/** A connection from this machine to one of its own addresses comes from that same address. */
function lead(socket: Socket, target: number): void {
  if (socket.remoteAddress !== socket.localAddress) {
    socket.destroy();
    return;
  }
  const inner = connect(target, '127.0.0.1');
  const end = (): void => {
    socket.destroy();
    inner.destroy();
  };
  for (const side of [socket, inner]) side.on('error', end).on('close', end);
  socket.pipe(inner).pipe(socket);
}
