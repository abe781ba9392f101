import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { openCuttableLine } from '../../../sandbox/world/processes/cuttable-line.ts';

test('a line carries bytes both ways; when it is cut both ends hear of it, and the next connection is let through', async () => {
  let ended = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined).on('close', () => ended++);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const line = await openCuttableLine((server.address() as AddressInfo).port);
  const echo = async (): Promise<ReturnType<typeof connect>> => {
    const client = connect(line.port, '127.0.0.1').on('error', () => undefined);
    client.write('hello');
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(answer.toString()).toBe('hello');
    return client;
  };
  const first = await echo();
  const closed = once(first, 'close');
  line.cut();
  await closed;
  const second = await echo();
  expect(ended).toBe(1);
  const gone = once(second, 'close');
  await line.close();
  await gone;
  server.close();
});
