import { expect, test } from 'vitest';
import { isEmpty, mostAtOnce, numbered, sessionOf, sizesOf, startBus } from './bus-under-test.ts';
import { copyApp, startTestHost, until } from './host-under-test.ts';

test('messages that wait arrive as one batch of texts, with metadata at the same index, and are completed', async () => {
  const bus = await startBus('textBatch', {
    waiting: {
      plain: [
        { body: { n: 1 }, messageId: 'first', subject: 's1', applicationProperties: { Kind: 'a' } },
        { body: 'no json', messageId: 'second', subject: 's2', correlationId: 'c' },
      ],
    },
  });
  await until(
    'the batch was completed',
    () => isEmpty(bus, 'plain') && bus.host.executions()['textBatch']?.succeeded === 1,
  );
  const [only] = bus.began();
  expect(only?.messages).toEqual([{ n: 1 }, 'no json']);
  expect(only?.metadata).toMatchObject({
    messageIdArray: ['first', 'second'],
    subjectArray: ['s1', 's2'],
    labelArray: ['s1', 's2'],
    deliveryCountArray: [1, 1],
    sequenceNumberArray: [expect.any(Number), expect.any(Number)],
    applicationPropertiesArray: [{ kind: 'a' }, {}],
    userPropertiesArray: [{ kind: 'a' }, {}],
    enqueuedTimeArray: [expect.stringMatching(/\+00:00$/), expect.any(String)],
    enqueuedTimeUtcArray: [expect.stringMatching(/T[\d:.]+$/), expect.any(String)],
  });
  // As on Azure, an entry that is empty is left out: this array says nothing about which message it belongs to.
  expect(only?.metadata).toMatchObject({ correlationIdArray: ['c'], sessionIdArray: [] });
});

test('a batch that is not asked for as text is objects, and one message that is no JSON fails all before the function is called', async () => {
  const waiting = { plain: [{ body: { n: 1 } }, { body: 'no json' }, { body: '' }] };
  const bus = await startBus('batch', { waiting });
  await until('all are dead-lettered', () => bus.broker.stats('plain').deadLettered === 3);
  expect(bus.began()).toEqual([]);
  expect(bus.host.executions()['batch']).toEqual({ started: 3, succeeded: 0, failed: 3 });
  const said = bus.entries.map(({ message }) => message).join('\n');
  expect(said).toContain('uses Json.NET serialization');
});

test('of a batch of objects an empty message is null, and of one of texts it is left out', async () => {
  const waiting = { plain: [{ body: { n: 1 } }, { body: '' }] };
  const objects = await startBus('batch', { waiting });
  await until('the objects were received', () => objects.began().length > 0);
  expect(objects.began()[0]?.messages).toEqual([{ n: 1 }, null]);
  const texts = await startBus('textBatch', { waiting });
  await until('the texts were completed', () => isEmpty(texts, 'plain') && texts.began().length > 0);
  expect(texts.began()[0]?.messages).toEqual([{ n: 1 }]);
});

test('a body that is neither bytes nor text fails before the function is called', async () => {
  const bus = await startBus('single');
  await bus.sendValue('plain', 5);
  await until('it is dead-lettered', () => bus.broker.stats('plain').deadLettered === 1);
  expect(bus.began()).toEqual([]);
});

test('what the body of a single message says stands in its metadata, over names that stand there', async () => {
  const body = { n: 1, subject: 'its own', nested: { a: 1 }, list: [1], isSo: true };
  const bus = await startBus('single', { waiting: { plain: [{ body, subject: 'the message’s', messageId: 'm' }] } });
  await until('it was completed', () => isEmpty(bus, 'plain') && bus.began().length > 0);
  const { metadata } = bus.began()[0] ?? {};
  expect(metadata).toMatchObject({ messageId: 'm', n: 1, nested: { a: 1 }, isSo: 'True', subject: 'its own' });
  expect(metadata).not.toHaveProperty('list');
  expect(metadata).not.toHaveProperty('sys');
});

test('a batch holds at most maxMessageBatchSize messages, and batches of a function never overlap', async () => {
  const waiting = { plain: numbered(10).map((message) => ({ ...message, body: { n: 0, waitMs: 5 } })) };
  const bus = await startBus('batch', { waiting, serviceBus: { maxMessageBatchSize: 4 } });
  await until('all were completed', () => isEmpty(bus, 'plain'));
  const sizes = sizesOf(bus.began());
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(10);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(4);
  const events = bus.said().map(({ event }) => event);
  expect(events).toEqual(sizes.flatMap(() => ['began', 'ended']));
});

test('a throw abandons the whole batch, which comes back at once with its delivery count raised', async () => {
  const waiting = { plain: [{ body: { n: 0 } }, { body: { n: 1, failOnce: 'whole batch' } }, { body: { n: 2 } }] };
  const bus = await startBus('batch', { waiting });
  await until('the batch succeeded the second time', () => bus.said().some(({ event }) => event === 'ended'));
  await until('all were completed', () => isEmpty(bus, 'plain'));
  const last = bus.began().at(-1);
  expect(last?.metadata['deliveryCountArray']).toEqual(last?.messages.map(() => 2));
  expect(bus.entries.map(({ message }) => message).join('\n')).toMatch(/Executed 'Functions\.batch' \(Failed, Id=/);
});

test('a message that always fails takes its batch to the dead-letter queue after the last delivery', async () => {
  const bus = await startBus('batch', {
    waiting: { plain: [{ body: { n: 0, failAlways: true } }, { body: { n: 1 } }] },
  });
  await until('both are dead-lettered', () => bus.broker.stats('plain').deadLettered === 2);
  expect(bus.host.executions()['batch']).toMatchObject({ succeeded: 0 });
});

test('with a minimum batch size, messages wait for company until the window closes', async () => {
  const serviceBus = { minMessageBatchSize: 3, maxBatchWaitTime: '00:00:20' };
  const bus = await startBus('batch', { serviceBus });
  await bus.send('plain', ...numbered(2));
  await until('the two are held', () => bus.broker.stats('plain').locked === 2);
  expect(bus.host.executions()['batch']?.started).toBe(0);
  await bus.send('plain', { body: { n: 2 } });
  await until('the three were completed', () => isEmpty(bus, 'plain'));
  expect(sizesOf(bus.began())).toEqual([3]);
});

test('when the window of a minimum batch size closes, what is there is delivered', async () => {
  const bus = await startBus('batch', { serviceBus: { minMessageBatchSize: 50, maxBatchWaitTime: '00:00:00.2' } });
  await bus.send('plain', ...numbered(2));
  await until('the two were completed', () => isEmpty(bus, 'plain') && bus.host.executions()['batch']?.succeeded === 1);
});

test('an instance listens for its own group of functions only, as on Flex Consumption', async () => {
  const waiting = { plain: numbered(2), sessions: numbered(2, { sessionId: 'a' }) };
  const bus = await startBus('single,sessionBatch', { waiting, group: 'function:sessionBatch' });
  await until('its own were completed', () => isEmpty(bus, 'sessions'));
  expect(bus.host.executions()['single']).toEqual({ started: 0, succeeded: 0, failed: 0 });
  expect(bus.broker.stats('plain').active).toBe(2);
});

test('sessions are taken one at a time, each until it is drained, and no batch mixes two', async () => {
  const waiting = {
    sessions: [...numbered(3, { sessionId: 'a' }), ...numbered(3, { sessionId: 'b' })],
  };
  const bus = await startBus('sessionBatch', { waiting, serviceBus: { maxMessageBatchSize: 2 } });
  await until('all were completed', () => isEmpty(bus, 'sessions'));
  for (const { metadata } of bus.began()) expect(new Set([metadata['sessionIdArray']].flat()).size).toBe(1);
  const order = bus.began().map(sessionOf);
  expect(order.filter((id, index) => id !== order[index - 1])).toHaveLength(2);
  const ofA = bus.began().filter((invocation) => sessionOf(invocation) === 'a');
  expect(ofA.flatMap(({ messages }) => messages.map(({ n }) => n))).toEqual([0, 1, 2]);
});

test('a message for a session that is let go wakes the listener again', async () => {
  const bus = await startBus('sessionBatch');
  await bus.send('sessions', ...numbered(1, { sessionId: 'a' }));
  await until('the first was completed', () => isEmpty(bus, 'sessions') && bus.began().length === 1);
  await bus.send('sessions', ...numbered(1, { sessionId: 'b' }));
  await until('the second was completed', () => isEmpty(bus, 'sessions') && bus.began().length === 2);
});

test('single messages run at once up to maxConcurrentCalls, and each is settled by itself', async () => {
  const waiting = {
    plain: [1, 2, 3, 4].map((n) => ({ body: { n, waitMs: 150, ...(n === 4 && { failOnce: 'one' }) } })),
  };
  const bus = await startBus('single', { waiting, serviceBus: { maxConcurrentCalls: 2 } });
  await until('all were completed', () => isEmpty(bus, 'plain') && bus.host.executions()['single']?.succeeded === 4);
  expect(mostAtOnce(bus)).toBe(2);
  expect(bus.host.executions()['single']).toEqual({ started: 5, succeeded: 4, failed: 1 });
  const again = bus.began().filter(({ metadata }) => metadata['deliveryCount'] === 2);
  expect(again.map(({ messages }) => messages)).toEqual([[expect.objectContaining({ n: 4 })]]);
});

test('single messages of different sessions run at once, those of one session in order', async () => {
  const waiting = {
    sessions: ['a', 'b'].flatMap((sessionId) => [0, 1].map((n) => ({ sessionId, body: { n, waitMs: 100 } }))),
  };
  const bus = await startBus('sessionSingle', { waiting });
  await until('all were completed', () => isEmpty(bus, 'sessions'));
  const events = bus.began().map((invocation) => [sessionOf(invocation), invocation.messages[0]?.n]);
  for (const id of ['a', 'b'])
    expect(events.filter(([of]) => of === id)).toEqual([
      [id, 0],
      [id, 1],
    ]);
  expect(new Set(events.slice(0, 2).map(([of]) => of)).size).toBe(2);
});

test('no more than maxConcurrentSessions sessions run at once, and every one gets its turn', async () => {
  const ids = Array.from({ length: 12 }, (_, index) => `session-${index}`);
  const waiting = { sessions: ids.map((sessionId) => ({ sessionId, body: { n: 0, waitMs: 40 } })) };
  const serviceBus = { maxConcurrentSessions: 6, sessionIdleTimeout: '00:00:00.05' };
  const bus = await startBus('sessionSingle', { waiting, serviceBus });
  await until('all were completed', () => isEmpty(bus, 'sessions') && bus.began().length === 12);
  const most = mostAtOnce(bus);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(6);
  expect(new Set(bus.began().map(sessionOf))).toEqual(new Set(ids));
});

test('a throw in a session brings its batch back before anything that came later', async () => {
  const bus = await startBus('sessionBatch', {
    waiting: { sessions: [{ sessionId: 'a', body: { n: 0, failOnce: 's' } }] },
  });
  await until('it failed', () => bus.host.executions()['sessionBatch']?.failed === 1);
  await bus.send('sessions', { sessionId: 'a', body: { n: 1 } });
  await until('all were completed', () => isEmpty(bus, 'sessions') && bus.said().length > 2);
  const seen = bus.began().flatMap(({ messages }) => messages.map(({ n }) => n));
  expect(seen).toEqual([0, 0, 1]);
});

test('without autoComplete a success settles nothing: the messages stay locked', async () => {
  const bus = await startBus('unsettled', { waiting: { plain: numbered(2) } });
  await until('the batch ran', () => bus.host.executions()['unsettled']?.succeeded === 1);
  expect(bus.broker.stats('plain')).toMatchObject({ locked: 2 });
});

test('deliverTwice invokes a batch that succeeded once more before its messages are completed', async () => {
  const bus = await startBus('sessionBatch', {
    waiting: { sessions: numbered(2, { sessionId: 'a' }) },
    deliverTwice: true,
  });
  await until('the batch was completed', () => isEmpty(bus, 'sessions'));
  const batches = bus.began().map(({ messages }) => JSON.stringify(messages));
  expect(batches).toHaveLength(2);
  expect(batches[0]).toBe(batches[1]);
});

test('a function that outlives the timeout counts as failed and its messages come back', async () => {
  const waiting = { plain: [{ body: { n: 0, waitMs: 1500 } }] };
  const bus = await startBus('batch', { waiting, host: { functionTimeout: '00:00:00.2' } });
  await until('the message is dead-lettered', () => bus.broker.stats('plain').deadLettered === 1);
  expect(bus.host.executions()['batch']).toEqual({ started: 3, succeeded: 0, failed: 3 });
  expect(bus.entries.map(({ message }) => message).join('\n')).toContain('Timeout value of 200 ms exceeded');
});

test('a function that outlives the timeout takes the worker along, and all that runs in it: another is there for what comes again', async () => {
  const bus = await startBus('single', { host: { functionTimeout: '00:00:01' } });
  // It would end by itself if its worker ran on; a loaded machine ends a worker late, but not by so much.
  await bus.send('plain', { body: { n: 0, waitMs: 10_000 } });
  await until('the one that takes too long runs', () => bus.began().length === 1);
  await bus.send('plain', { body: { n: 1, hangsAt: 1 } });
  await until('that one is dead-lettered', () => bus.broker.stats('plain').deadLettered === 1);
  await until(
    'the other was completed',
    () => bus.broker.stats('plain').active === 0 && bus.said().some(({ event }) => event === 'ended'),
  );
  const said = bus.entries.map(({ message }) => message).join('\n');
  expect(said).toMatch(/Timeout value of 1000 ms exceeded by function 'Functions\.single' .*The worker is replaced/);
  expect(said).toContain('The worker ended while the function ran');
  expect(bus.said().flatMap(({ event, messages }) => (event === 'ended' ? [messages] : []))).toEqual([
    [{ n: 1, hangsAt: 1 }],
  ]);
});

test('an exception that nobody catches ends the worker: its batch comes again, to another', async () => {
  const bus = await startBus('batch', { waiting: { plain: [{ body: { n: 0, crashAt: 1 } }] } });
  await until('it was completed', () => isEmpty(bus, 'plain') && bus.said().some(({ event }) => event === 'ended'));
  expect(bus.host.executions()['batch']).toEqual({ started: 2, succeeded: 1, failed: 1 });
  const said = bus.entries.map(({ message }) => message).join('\n');
  expect(said).toContain('an exception that nobody caught: nobody caught this. Another takes its place.');
});

test('closing waits for the running batch, completes its messages and takes no more', async () => {
  const bus = await startBus('batch', { waiting: { plain: [{ body: { n: 0, waitMs: 300 } }] } });
  await until('the batch runs', () => bus.began().length === 1);
  await bus.send('plain', { body: { n: 1 } });
  await bus.host.close();
  expect(bus.host.executions()['batch']).toEqual({ started: 1, succeeded: 1, failed: 0 });
  expect(bus.broker.stats('plain').active).toBe(1);
});

test('closing between the two deliveries of deliverTwice waits for the second', async () => {
  const bus = await startBus('batch', { waiting: { plain: [{ body: { n: 0, waitMs: 200 } }] }, deliverTwice: true });
  await until('the batch runs', () => bus.began().length === 1);
  await bus.host.close();
  expect(bus.host.executions()['batch']).toEqual({ started: 2, succeeded: 2, failed: 0 });
  expect(isEmpty(bus, 'plain')).toBe(true);
});

test('messages of a session that is lost while they are received are not delivered: they come again', async () => {
  const bus = await startBus('sessionBatch', {
    waiting: { sessions: numbered(3, { sessionId: 'a' }) },
    slowDrains: 1,
  });
  await until('all were completed', () => isEmpty(bus, 'sessions'));
  expect(bus.began().flatMap(({ messages }) => messages.map(({ n }) => n))).toEqual([0, 1, 2]);
});

test('a cut connection is survived: the next message is delivered', async () => {
  const bus = await startBus('batch,sessionBatch');
  await bus.send('plain', ...numbered(1));
  await bus.send('sessions', ...numbered(1, { sessionId: 'a' }));
  await until(
    'both were completed',
    () => isEmpty(bus, 'plain') && isEmpty(bus, 'sessions') && bus.began().length === 2,
  );
  bus.broker.dropConnections();
  await bus.send('plain', ...numbered(1));
  await bus.send('sessions', ...numbered(1, { sessionId: 'a' }));
  await until('both were delivered again', () => bus.began().length >= 4);
});

test('a missing setting stops its function only, and is named together with the function', async () => {
  const environment = {
    BUS_FUNCTIONS: 'lost',
    Bus: 'Endpoint=sb://localhost/;',
    Managed__fullyQualifiedNamespace: 'n',
  };
  const { host, url } = await startTestHost(await copyApp('bus'), { environment });
  expect(await (await fetch(`${url}/api/alive`)).text()).toBe('alive');
  expect(host.mistakes).toEqual([
    expect.stringMatching(/'lostQueue': queueName is '%NOWHERE%', but the setting 'NOWHERE' is not set/),
    expect.stringMatching(/'lostConnection': the setting 'Unset' is not set/),
    expect.stringMatching(/'identity': 'Managed__fullyQualifiedNamespace' asks for a managed identity/),
  ]);
});

test('a Service Bus that was away is listened to again within seconds', async () => {
  const bus = await startBus('single', { waiting: { plain: [{ body: { n: 1 } }] } });
  await until('the first came', () => bus.began().length === 1);
  const bringBack = await bus.takeAway();
  await until('the host has noticed', () => bus.entries.some(({ message }) => message.includes('ECONNREFUSED')));
  await bringBack();
  const backMs = performance.now();
  await bus.send('plain', { body: { n: 2 } });
  await until('the second came', () => bus.began().length === 2);
  // The .NET client tries again after 0.8 s; the JavaScript client, left alone, after half a minute.
  expect(performance.now() - backMs).toBeLessThan(15_000);
});
