import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { liveMemoryMb } from '../../bench/kit/live-memory.ts';

/** A process whose worker thread holds 50 MB of numbers, and has just thrown as much away. */
const PROGRAM = `
const { Worker } = require('node:worker_threads');
const worker = new Worker(
  "const held = Array.from({ length: 50 }, (_, i) => new Array(131072).fill(i + 0.5));" +
    "globalThis.last = Array.from({ length: 50 }, (_, i) => new Array(131072).fill(i + 0.5));" +
    "globalThis.last = null; globalThis.held = held;" +
    "require('node:worker_threads').parentPort.postMessage('ready'); setInterval(() => {}, 1000);",
  { eval: true },
);
worker.on('message', () => process.stdout.write('ready'));
`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('what a process holds is told without its garbage, its worker threads included', async () => {
  const port = await freePort();
  const child = spawn(process.execPath, [`--inspect-port=${port}`, '-e', PROGRAM], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await once(child.stdout, 'data');
    const live = (await liveMemoryMb(child.pid ?? 0, port)) ?? 0;
    expect(live).toBeGreaterThan(52);
    expect(live).toBeLessThan(80);
  } finally {
    child.kill('SIGKILL');
  }
});

test('a process that is gone is told as such', async () => {
  const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
  await once(child, 'exit');
  expect(await liveMemoryMb(child.pid ?? 0)).toBeNull();
});
