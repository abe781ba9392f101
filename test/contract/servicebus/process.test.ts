import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceBusClient } from '@azure/service-bus';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

/** The sandbox's broker as its own process. These rules are about our double only; nobody kills Azure to test it. */
interface BrokerProcess {
  readonly child: ChildProcess;
  readonly port: number;
  readonly connectionString: string;
  readonly countsUrl: string;
}

interface Exit {
  readonly code: number | null;
  readonly output: string;
}

const PATIENT = { maxWaitTimeInMs: 10_000 };

let folder: string;
const children = new Set<ChildProcess>();
const clients = new Set<ServiceBusClient>();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'servicebus-'));
});

afterEach(async () => {
  await Promise.all([...clients].map((client) => client.close().catch(() => undefined)));
  for (const child of children) child.kill('SIGKILL');
  clients.clear();
  children.clear();
  await rm(folder, { recursive: true, force: true });
});

function run(...options: ReadonlyArray<string>): ChildProcess {
  const child = spawn(process.execPath, ['sandbox/servicebus/main.ts', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  return child;
}

/** Resolves when the process says it is ready; rejects with its output when it ends instead. */
function start(port: number, ...options: ReadonlyArray<string>): Promise<BrokerProcess> {
  const child = run('--port', String(port), '--admin-port', '0', '--data', folder, ...options);
  return new Promise((resolve, reject) => {
    let output = '';
    child.stderr?.on('data', (data: Buffer) => (output += data.toString()));
    child.stdout?.on('data', (data: Buffer) => {
      output += data.toString();
      const match = /ready: (Endpoint=sb:\/\/localhost:(\d+);\S+), counts on (\S+)\n/.exec(output);
      if (match === null) return;
      const [, connectionString = '', foundPort = '', countsUrl = ''] = match;
      resolve({ child, port: Number(foundPort), connectionString, countsUrl });
    });
    child.once('exit', () => {
      reject(new Error(`the broker ended: ${output}`));
    });
  });
}

function exit(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data: Buffer) => (output += data.toString()));
    child.once('exit', (code) => {
      resolve({ code, output });
    });
  });
}

async function kill(broker: BrokerProcess): Promise<void> {
  const gone = exit(broker.child);
  broker.child.kill('SIGKILL');
  await gone;
}

function clientOf(broker: BrokerProcess, timeoutInMs = 10_000): ServiceBusClient {
  const client = new ServiceBusClient(broker.connectionString, {
    retryOptions: { maxRetries: 0, timeoutInMs },
  });
  clients.add(client);
  return client;
}

async function counts(broker: BrokerProcess): Promise<Readonly<Record<string, Readonly<Record<string, number>>>>> {
  // The expectations look at what is in it.
  return (await (await fetch(broker.countsUrl)).json()) as Readonly<Record<string, Readonly<Record<string, number>>>>;
}

describe('a broker that is killed and started again on its folder', () => {
  test('keeps messages, completions, session state, schedules, dead letters, deferrals, delivery counts and known ids', async () => {
    const first = await start(0);
    const before = clientOf(first);
    const signals = before.createSender('signals');
    const receiver = before.createReceiver('signals');
    await signals.sendMessages(
      ['done', 'dead', 'aside', 'tried', 'fresh'].map((messageId) => ({ messageId, body: messageId })),
    );
    const messages = await receiver.receiveMessages(4, PATIENT);
    const [done, dead, aside, tried] = messages;
    if (done === undefined || dead === undefined || aside === undefined || tried === undefined)
      throw new Error('expected 4');
    await receiver.completeMessage(done);
    await receiver.deadLetterMessage(dead, { deadLetterReason: 'bad', deadLetterErrorDescription: 'worse' });
    await receiver.deferMessage(aside);
    await receiver.abandonMessage(tried, { note: 'kept' });
    const soon = new Date(Date.now() + 1_500);
    await signals.scheduleMessages({ body: 'scheduled', messageId: 'scheduled' }, soon);
    await signals.scheduleMessages({ body: 'tomorrow', messageId: 'tomorrow' }, new Date(Date.now() + 86_400_000));
    await before.createSender('pods').sendMessages({ body: 'hint', sessionId: 'blue' });
    const session = await before.acceptSession('pods', 'blue');
    await session.setSessionState({ generation: 3 });
    await kill(first);

    const second = await start(first.port);
    const after = clientOf(second);
    const { active = 0, scheduled = 0, ...others } = (await counts(second))['signals'] ?? {};
    // Two were never scheduled, one may have fallen due meanwhile, one is for tomorrow.
    expect(active + scheduled).toBe(4);
    expect(scheduled).toBeGreaterThanOrEqual(1);
    expect(others).toEqual({ locked: 0, deferred: 1, deadLettered: 1, lockedSessions: 0 });
    const again = after.createReceiver('signals');
    const [retried, fresh] = await again.receiveMessages(2, PATIENT);
    expect(retried).toMatchObject({ body: 'tried', deliveryCount: 1, applicationProperties: { note: 'kept' } });
    expect(fresh).toMatchObject({ body: 'fresh', deliveryCount: 0 });
    if (aside.sequenceNumber === undefined) throw new Error('a received message has a sequence number');
    expect(await again.receiveDeferredMessages(aside.sequenceNumber)).toMatchObject([{ body: 'aside' }]);
    const deadLetters = after.createReceiver('signals', { subQueueType: 'deadLetter' });
    expect(await deadLetters.receiveMessages(1, PATIENT)).toMatchObject([{ body: 'dead', deadLetterReason: 'bad' }]);
    await after.createSender('signals').sendMessages({ body: 'repeated', messageId: 'done' });
    const reopened = await after.acceptSession('pods', 'blue');
    expect(await reopened.getSessionState()).toEqual({ generation: 3 });
    expect(await reopened.receiveMessages(1, PATIENT)).toMatchObject([{ body: 'hint' }]);
    // The repeated message was dropped, so the next one is the scheduled one.
    expect(await again.receiveMessages(1, PATIENT)).toMatchObject([{ body: 'scheduled' }]);
    expect(Date.now()).toBeGreaterThanOrEqual(soon.getTime());
  });
});

describe('a broker that is killed while clients work', () => {
  test('has every message whose sending was confirmed, wherever the blow fell, and none that was completed', async () => {
    let broker = await start(0);
    const confirmed = new Set<string>();
    const attempted = new Set<string>();
    const completed = new Set<string>();
    let number = 0;
    for (let round = 0; round < 4; round++) {
      // Short, because what is cut off waits for an answer that will never come.
      const client = clientOf(broker, 500);
      const sender = client.createSender('signals');
      const { child } = broker;
      const sendUntilCut = async (): Promise<void> => {
        while (child.exitCode === null && child.signalCode === null) {
          const messageId = `m${number++}`;
          const sent = sender.sendMessages({ body: messageId, messageId });
          await sent.then(() => confirmed.add(messageId)).catch(() => undefined);
        }
      };
      const senders = Array.from({ length: 4 }, sendUntilCut);
      const receiver = client.createReceiver('signals');
      const work = receiver
        .receiveMessages(20, PATIENT)
        .then((messages) =>
          Promise.all(
            messages.map(async (message) => {
              attempted.add(String(message.messageId));
              await receiver.completeMessage(message);
              completed.add(String(message.messageId));
            }),
          ),
        )
        .catch(() => undefined);
      const enough = confirmed.size + 100 + round * 37;
      while (confirmed.size < enough) await new Promise((resolve) => setTimeout(resolve, 1));
      await kill(broker);
      await Promise.all(senders);
      await Promise.race([work, client.close()]);
      broker = await start(broker.port);
    }
    const left = new Set<string>();
    const receiver = clientOf(broker).createReceiver('signals', { receiveMode: 'receiveAndDelete' });
    const { active = 0 } = (await counts(broker))['signals'] ?? {};
    while (left.size < active) {
      for (const { messageId } of await receiver.receiveMessages(1_000, { maxWaitTimeInMs: 200 }))
        left.add(String(messageId));
    }
    const lost = [...confirmed].filter((id) => !left.has(id) && !attempted.has(id));
    expect(lost, 'what was confirmed and never settled is there').toEqual([]);
    expect(
      [...completed].filter((id) => left.has(id)),
      'a confirmed completion holds',
    ).toEqual([]);
  });
});

describe('the process', () => {
  test('ends with status 0 when asked to stop', async () => {
    const broker = await start(0);
    const ended = exit(broker.child);
    broker.child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  });

  test('says that the port is taken, and ends with an error', async () => {
    const broker = await start(0);
    const { code, output } = await exit(run('--port', String(broker.port)));
    expect(code).toBe(1);
    expect(output).toContain(`Port ${broker.port} is taken`);
  });

  test('says what is wrong with an option', async () => {
    const wrongValue = exit(run('--port', 'amqp'));
    const unknown = exit(run('--prot', '1'));
    expect(await wrongValue).toMatchObject({
      code: 1,
      output: expect.stringContaining('--port must be a whole number') as unknown,
    });
    expect(await unknown).toMatchObject({ code: 1, output: expect.stringContaining('Usage:') as unknown });
  });

  test('survives what is not AMQP and clients that vanish', async () => {
    const broker = await start(0);
    for (const noise of [
      'GET / HTTP/1.1\r\n\r\n',
      '\0\0\0\0\0\0\0\0',
      'AMQP\0\x01\0\0\xff\xff\xff\xff',
      'AMQP\x03\x01\0\0garbage',
    ]) {
      await new Promise<void>((resolve) => {
        const socket = connect(broker.port, '127.0.0.1', () =>
          socket.write(noise, 'latin1', () => socket.destroySoon()),
        );
        socket.on('error', () => undefined);
        socket.on('close', () => {
          resolve();
        });
        setTimeout(() => socket.destroy(), 200);
      });
    }
    await clientOf(broker).createSender('signals').sendMessages({ body: 'still here' });
    expect((await counts(broker))['signals']).toMatchObject({ active: 1 });
  });
});
