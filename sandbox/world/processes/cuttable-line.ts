import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a local server whose connections can be cut, as a load balancer or a network does. */
export interface CuttableLine {
  /** On loopback. */
  readonly port: number;
  /** Ends every connection now, in the middle of whatever it carries; new ones are let through. */
  cut(): void;
  close(): Promise<void>;
}

/** Leads what comes in at a free port of loopback to `target` there, byte by byte. */
export async function openCuttableLine(target: number): Promise<CuttableLine> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const inner = connect(target, '127.0.0.1');
    const end = (): void => {
      socket.destroy();
      inner.destroy();
    };
    for (const side of [socket, inner]) {
      sockets.add(side);
      side.on('error', end).on('close', () => {
        sockets.delete(side);
        end();
      });
    }
    socket.pipe(inner).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
