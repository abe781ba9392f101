import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostAddresses } from '../../../sandbox/world/processes/host-addresses.ts';
import { openPodPort } from '../../../sandbox/world/processes/pod-port.ts';

const [address = ''] = hostAddresses();

let target: Server;
const targetPort = (): number => (target.address() as AddressInfo).port;

beforeAll(async () => {
  target = createServer((_, response) => response.end('metrics'));
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
});
afterAll(() => {
  target.close();
  target.closeAllConnections();
});

function read(host: string, port: number, localAddress?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host, port, agent: false, ...(localAddress === undefined ? {} : { localAddress }) };
    get(options, (response: IncomingMessage) => void text(response).then(resolve, reject)).on('error', reject);
  });
}

test('a machine that has no address but loopback shows the program’s own port', async () => {
  const port = await openPodPort(8080, targetPort(), []);
  expect([port.address, port.port]).toEqual(['127.0.0.1', targetPort()]);
  await port.close();
});

describe.skipIf(address === '')('the port of a pod, at an address of this machine', () => {
  test('leads to the program on loopback', async () => {
    const port = await openPodPort(0, targetPort());
    expect(port.address).toBe(address);
    expect(await read(port.address, port.port)).toBe('metrics');
    await port.close();
  });

  test('is another where the wished one is taken at every address', async () => {
    const first = await openPodPort(0, targetPort(), [address]);
    const second = await openPodPort(first.port, targetPort(), [address]);
    expect(second.port).not.toBe(first.port);
    expect(await read(second.address, second.port)).toBe('metrics');
    await Promise.all([first.close(), second.close()]);
  });

  test('is shut to whoever comes from another address', async () => {
    const port = await openPodPort(0, targetPort());
    await expect(read(port.address, port.port, '127.0.0.1')).rejects.toThrow(/hang up|ECONNRESET/);
    await port.close();
  });
});
