import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { afterEach, expect, test, vi } from 'vitest';
import { EventGrid } from '../../../../sandbox/azure/events/event-grid.ts';
import { listAt, textAt } from '../../../../sandbox/azure/arm/json.ts';
import { noFaults } from '../../../../sandbox/azure/state/options.ts';
import type { AzureEvent } from '../../../../sandbox/azure/arm/resources.ts';
import { VirtualClock } from '../../../../sandbox/base/clock.ts';
import { nicBody, vmBody } from '../kit/bodies.ts';
import { group, patient, promptly, startWithClients } from '../kit/clients.ts';

type Running = Awaited<ReturnType<typeof startWithClients>>;

const open: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function start(overrides: Parameters<typeof startWithClients>[0]): Promise<Running> {
  const running = await startWithClients(overrides);
  open.push(() => running.azure.close());
  return running;
}

async function launchSpot(running: Running, name: string, change: Parameters<typeof vmBody>[1] = {}): Promise<void> {
  await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  const body = vmBody(name, { spot: true, ...change });
  await running.compute.virtualMachines.createOrUpdate(group, name, body, promptly);
}

interface Webhook {
  readonly url: string;
  readonly bodies: Array<{ readonly headers: IncomingMessage['headers']; readonly json: unknown }>;
  /** What it answers to notifications. */
  status: number;
}

/** A subscriber that shakes hands in both schemas and keeps what it gets. */
async function webhook(shakesHands: boolean): Promise<Webhook> {
  const kept: Webhook = { url: '', bodies: [], status: 200 };
  const server: Server = createServer((request, response) => {
    void answer(kept, { request, response, shakesHands });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  open.push(
    () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  );
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : address;
  return Object.assign(kept, { url: `http://127.0.0.1:${port}/` });
}

async function answer(
  kept: Webhook,
  { request, response, shakesHands }: { request: IncomingMessage; response: ServerResponse; shakesHands: boolean },
): Promise<void> {
  request.setEncoding('utf8');
  let text = '';
  for await (const chunk of request) text += String(chunk);
  if (request.method === 'OPTIONS') {
    const origin = String(request.headers['webhook-request-origin']);
    response.writeHead(200, shakesHands ? { 'WebHook-Allowed-Origin': origin } : {}).end();
    return;
  }
  const json: unknown = JSON.parse(text);
  if (request.headers['aeg-event-type'] === 'SubscriptionValidation') {
    const validationResponse = textAt(listAt(json, '')[0], 'data.validationCode');
    response.end(JSON.stringify(shakesHands ? { validationResponse } : {}));
    return;
  }
  kept.bodies.push({ headers: request.headers, json });
  response.writeHead(kept.status).end();
}

test('an evicted spot VM has its notice first, then it is gone with all that was its own', async () => {
  const running = await start({});
  const events: Array<AzureEvent> = [];
  running.azure.on((event) => events.push(event));
  await launchSpot(running, 'aks-spot');
  const before = Date.now();
  running.azure.evict('aks-spot', { noticeSeconds: 0.05 });
  await vi.waitFor(() => {
    expect(events.map(({ kind }) => kind)).toEqual(['vm-allocated', 'vm-running', 'vm-preempt-notice', 'vm-gone']);
  }, patient);
  const notice = events[2];
  expect(notice?.kind === 'vm-preempt-notice' && notice.notBefore - before).toBeGreaterThanOrEqual(50);
  expect(events[3]).toMatchObject({ name: 'aks-spot', reason: 'evicted' });
  await expect(running.network.networkInterfaces.get(group, 'aks-spot')).rejects.toMatchObject({ statusCode: 404 });
  expect(running.azure.counters()).toMatchObject({ evictions: 1, deletions: 0 });
});

test('a spot VM with the policy Deallocate stays, deallocated', async () => {
  const running = await start({ evictionNoticeSeconds: 0 });
  await launchSpot(running, 'aks-kept', { evictionPolicy: 'Deallocate' });
  await running.compute.virtualMachines.simulateEviction(group, 'aks-kept');
  await vi.waitFor(async () => {
    const view = await running.compute.virtualMachines.instanceView(group, 'aks-kept');
    expect(view.statuses?.map(({ code }) => code)).toContain('PowerState/deallocated');
  }, patient);
});

test('a regular VM is not evicted', async () => {
  const running = await start({});
  await launchSpot(running, 'aks-regular', { spot: false });
  const refused = running.compute.virtualMachines.simulateEviction(group, 'aks-regular');
  await expect(refused).rejects.toMatchObject({ statusCode: 409 });
});

test.for(['EventGrid', 'CloudEvents'] as const)('a preemption reaches a webhook in the %s schema', async (schema) => {
  const running = await start({ healthEventDelayMs: 0, scheduledEventDelayMs: 0 });
  const hook = await webhook(true);
  await running.azure.subscribe({ name: 'interrupt', destination: hook.url, schema });
  await launchSpot(running, 'aks-watched', { scheduledEvents: true });
  running.azure.evict('aks-watched', { noticeSeconds: 0.02 });
  await vi.waitFor(() => {
    expect(hook.bodies).toHaveLength(3);
  }, patient);
  const text = JSON.stringify(hook.bodies.map(({ json }) => json));
  expect(text).toContain('"annotationName":"VirtualMachinePreempted"');
  expect(text).toContain('"EventType":"Preempt"');
  expect(text).toContain('"availabilityState":"Unavailable"');
  const type = schema === 'EventGrid' ? '[0].eventType' : '.type';
  expect(text).toContain('Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated');
  expect(hook.bodies[0]?.headers['aeg-event-type']).toBe('Notification');
  expect(Array.isArray(hook.bodies[0]?.json)).toBe(type.startsWith('['));
});

test('a VM that did not opt in has no scheduled event', async () => {
  const running = await start({ healthEventDelayMs: 0, scheduledEventDelayMs: 0 });
  const hook = await webhook(true);
  await running.azure.subscribe({ name: 'interrupt', destination: hook.url, schema: 'EventGrid' });
  await launchSpot(running, 'aks-quiet');
  running.azure.evict('aks-quiet', { noticeSeconds: 0.02 });
  await vi.waitFor(() => {
    expect(hook.bodies).toHaveLength(2);
  }, patient);
  expect(JSON.stringify(hook.bodies.map(({ json }) => json))).not.toContain('ScheduledEventEmitted');
});

test.for(['EventGrid', 'CloudEvents'] as const)('an endpoint that does not shake hands gets no %s', async (schema) => {
  const running = await start({});
  const hook = await webhook(false);
  await expect(running.azure.subscribe({ name: 'deaf', destination: hook.url, schema })).rejects.toThrow(
    "subscription 'deaf'",
  );
});

test('an endpoint that forbids is not asked again, one that fails is', async () => {
  const running = await start({ healthEventDelayMs: 0 });
  const [forbids, fails] = [await webhook(true), await webhook(true)];
  Object.assign(forbids, { status: 403 });
  Object.assign(fails, { status: 500 });
  await running.azure.subscribe({ name: 'forbids', destination: forbids.url, schema: 'EventGrid' });
  await running.azure.subscribe({ name: 'fails', destination: fails.url, schema: 'EventGrid' });
  await launchSpot(running, 'aks-refused');
  running.azure.evict('aks-refused', { noticeSeconds: 0 });
  await vi.waitFor(() => {
    const states = running.azure.deliveries().filter(({ attempts }) => attempts === 1);
    expect(states.filter(({ subscription }) => subscription === 'forbids').map(({ state }) => state)).toEqual([
      'dead-lettered',
      'dead-lettered',
    ]);
    expect(states.filter(({ subscription }) => subscription === 'fails').map(({ state }) => state)).toEqual([
      'pending',
      'pending',
    ]);
  }, patient);
});

test('maintenance is announced to the world, and to Event Grid for VMs that opted in', async () => {
  const running = await start({ scheduledEventDelayMs: 0 });
  const hook = await webhook(true);
  const events: Array<AzureEvent> = [];
  running.azure.on((event) => events.push(event));
  await running.azure.subscribe({ name: 'interrupt', destination: hook.url, schema: 'CloudEvents' });
  await launchSpot(running, 'aks-mended', { spot: false, scheduledEvents: true });
  running.azure.schedule('aks-mended', 'Redeploy', { noticeSeconds: 600 });
  expect(events.at(-1)).toMatchObject({ kind: 'vm-scheduled-event', eventType: 'Redeploy' });
  await vi.waitFor(() => {
    expect(hook.bodies[0]?.json).toMatchObject({
      specversion: '1.0',
      data: {
        resourceInfo: { properties: { EventType: 'Redeploy', EventStatus: 'Scheduled', Resources: ['aks-mended'] } },
      },
    });
  }, patient);
});

test('a crashed host leaves the VM in ARM, stopped and unavailable', async () => {
  const running = await start({ healthEventDelayMs: 0 });
  const hook = await webhook(true);
  await running.azure.subscribe({ name: 'interrupt', destination: hook.url, schema: 'EventGrid' });
  await launchSpot(running, 'aks-crashed', { spot: false });
  running.azure.crash('aks-crashed');
  const view = await running.compute.virtualMachines.instanceView(group, 'aks-crashed');
  expect(view.statuses?.map(({ code }) => code)).toContain('PowerState/stopped');
  await vi.waitFor(() => {
    expect(hook.bodies.map(({ json }) => textAt(listAt(json, '')[0], 'eventType'))).toEqual(
      expect.arrayContaining(['Microsoft.ResourceNotifications.HealthResources.AvailabilityStatusChanged']),
    );
  }, patient);
});

test('a VM that somebody deletes is told of, with who asked for what', async () => {
  const running = await start({ deletionEventDelayMs: 0 });
  const hook = await webhook(true);
  await running.azure.subscribe({ name: 'interrupt', destination: hook.url, schema: 'CloudEvents' });
  await launchSpot(running, 'aks-deleted', { spot: false });
  await running.compute.virtualMachines.delete(group, 'aks-deleted', promptly);
  await vi.waitFor(() => {
    expect(hook.bodies.map(({ json }) => json)).toMatchObject([
      {
        type: 'Microsoft.Resources.ResourceDeleteSuccess',
        subject: expect.stringMatching(/aks-deleted$/),
        data: { operationName: 'Microsoft.Compute/virtualMachines/delete', status: 'Succeeded', resourceGroup: group },
      },
    ]);
  }, patient);
});

test('an event may come twice, under the same id', async () => {
  const running = await start({ healthEventDelayMs: 0, faults: { ...noFaults, duplicateEventPercent: 100 } });
  const hook = await webhook(true);
  await running.azure.subscribe({ name: 'interrupt', destination: hook.url, schema: 'EventGrid' });
  await launchSpot(running, 'aks-echo');
  running.azure.evict('aks-echo', { noticeSeconds: 0 });
  await vi.waitFor(() => {
    expect(hook.bodies).toHaveLength(4);
  }, patient);
  expect(new Set(hook.bodies.map(({ json }) => textAt(listAt(json, '')[0], 'id'))).size).toBe(2);
});

test('a destination that is no webhook hears every event as well', async () => {
  const running = await start({ healthEventDelayMs: 0 });
  const heard: Array<string> = [];
  const end = running.azure.onGridEvent(({ type }) => heard.push(type));
  await launchSpot(running, 'aks-queue');
  running.azure.evict('aks-queue', { noticeSeconds: 0 });
  const health = 'Microsoft.ResourceNotifications.HealthResources';
  await vi.waitFor(() => {
    expect(heard).toEqual([`${health}.ResourceAnnotated`, `${health}.AvailabilityStatusChanged`]);
  }, patient);
  end();
});

test('a failing endpoint is asked again after 10 and 30 seconds, until it accepts', async () => {
  const clock = new VirtualClock();
  const grid = new EventGrid(clock, '/subscriptions/x', () => false);
  const hook = await webhook(true);
  Object.assign(hook, { status: 503 });
  await grid.subscribe({ name: 'slow', destination: hook.url, schema: 'EventGrid' });
  grid.publish({ id: '1', type: 'Test', source: '/subscriptions/x', subject: 'vm', at: 0, data: {} });
  const tried = (attempts: number): Promise<void> =>
    vi.waitFor(() => {
      expect(grid.deliveries()[0]?.attempts).toBe(attempts);
    }, patient);
  await tried(1);
  clock.advance(9_999);
  expect(hook.bodies).toHaveLength(1);
  clock.advance(1);
  await tried(2);
  Object.assign(hook, { status: 200 });
  clock.advance(30_000);
  await tried(3);
  expect(grid.deliveries()[0]?.state).toBe('delivered');
});
