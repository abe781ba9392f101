import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { realLatency } from '../../../../sandbox/azure/state/options.ts';
import { VirtualClock } from '../../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../../sandbox/base/rng.ts';
import { billing, nicBody, nicId, vmBody } from '../kit/bodies.ts';
import { group, promptly, startWithClients, subscriptionId } from '../kit/clients.ts';

type Running = Awaited<ReturnType<typeof startWithClients>>;
const prefix = `/subscriptions/${subscriptionId}/resourceGroups/${group}/providers`;
const vmPath = (name: string): string => `${prefix}/Microsoft.Compute/virtualMachines/${name}`;

async function ask({ azure }: Running, method: string, path: string, body?: object): Promise<Response> {
  const version = path.includes('/Microsoft.Network/') ? '2026-01-01' : '2026-04-01';
  return fetch(`${azure.endpoint}${path}?api-version=${path.includes('/disks') ? '2026-03-02' : version}`, {
    method,
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function launch({ network, compute }: Running, name: string): Promise<void> {
  await network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  await compute.virtualMachines.createOrUpdate(group, name, vmBody(name), promptly);
}

describe('a 404', () => {
  let running: Running;
  beforeAll(async () => {
    running = await startWithClients({});
    await launch(running, 'aks-was');
    await running.compute.virtualMachines.delete(group, 'aks-was', promptly);
    await launch(running, 'aks-is');
  });
  afterAll(() => running.azure.close());

  test.for([
    [vmPath('aks-was'), 'NotFound', 'The entity was not found in this Azure location.'],
    [`${vmPath('aks-was')}/instanceView`, 'NotFound', 'The entity was not found in this Azure location.'],
    [`${prefix}/Microsoft.Compute/disks/aks-was`, 'NotFound', 'Disk aks-was is not found.'],
    [
      vmPath('aks-never'),
      'ResourceNotFound',
      "The Resource 'Microsoft.Compute/virtualMachines/aks-never' under resource",
    ],
    [nicId('aks-was'), 'ResourceNotFound', "The Resource 'Microsoft.Network/networkInterfaces/aks-was' under resource"],
    [
      `${vmPath('aks-is')}/extensions/none`,
      'ResourceNotFound',
      "The Resource 'Microsoft.Compute/virtualMachines/aks-is/extensions/none' under resource",
    ],
    [
      `${prefix}/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/none`,
      'NotFound',
      `Resource ${prefix}/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/none not found.`,
    ],
  ] as const)('for %s is %s, as whoever knows of it says it', async ([path, code, words]) => {
    const answer = await ask(running, 'GET', path);
    expect(answer.status).toBe(404);
    const { error } = (await answer.json()) as { readonly error: { readonly code: string; readonly message: string } };
    expect(error.code).toBe(code);
    expect(error.message).toContain(words);
    expect(answer.headers.get('x-ms-failure-cause')).toBe(code === 'ResourceNotFound' ? 'gateway' : null);
    if (code === 'ResourceNotFound') expect(error.message).toContain('https://aka.ms/ARMResourceNotFoundFix');
  });

  test('in words of the network provider has details, in those of others none', async () => {
    const [subnet, vm] = await Promise.all([
      ask(running, 'GET', `${prefix}/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/none`),
      ask(running, 'GET', vmPath('aks-was')),
    ]);
    expect(await subnet.json()).toMatchObject({ error: { details: [] } });
    expect(await vm.json()).not.toHaveProperty('error.details');
  });
});

describe('a network interface', () => {
  test.for([
    [0, 'Succeeded', false],
    [100, 'Updating', true],
  ] as const)(
    'of which %s percent take their time is %s when its PUT is answered',
    async ([percent, state, follows]) => {
      const running = await startWithClients({ nicUpdatingPercent: percent });
      const answer = await ask(running, 'PUT', nicId('aks-n'), {
        location: 'westeurope',
        properties: { ipConfigurations: [{ name: 'a', properties: { subnet: { id: subnetOf() } } }] },
      });
      expect(await answer.json()).toMatchObject({ properties: { provisioningState: state } });
      expect(answer.headers.has('azure-asyncoperation')).toBe(follows);
      await running.azure.close();
    },
  );

  test.for([
    [0, 202, 404, 200],
    [100, 200, 404, 404],
  ] as const)('that is gone at once in %s percent answers its DELETE with %s', async ([percent, status, , next]) => {
    const running = await startWithClients({
      nicGonePercent: percent,
      clock: new VirtualClock(Date.UTC(2026, 7, 22)),
      latency: { ...realLatency, request: { minMs: 0, maxMs: 0 } },
      nicUpdatingPercent: 0,
    });
    await ask(running, 'PUT', nicId('aks-n'), {
      location: 'westeurope',
      properties: { ipConfigurations: [{ name: 'a', properties: { subnet: { id: subnetOf() } } }] },
    });
    const answer = await ask(running, 'DELETE', nicId('aks-n'));
    expect(answer.status).toBe(status);
    expect(answer.headers.get('azure-asyncoperation')).toContain('/operations/');
    expect(answer.headers.get('retry-after')).toBe(status === 202 ? '4' : null);
    expect((await ask(running, 'GET', nicId('aks-n'))).status).toBe(next);
    await running.azure.close();
  });
});

function subnetOf(): string {
  return `${prefix}/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet`;
}

test.for([
  [1, 10, 30, 61],
  [0.1, 1, 3, 7],
  [0, 0, 0, 0],
] as const)('waits are %s of Azure’s: %s s for a VM, then %s to %s', async ([share, first, least, most]) => {
  const clock = new VirtualClock(Date.UTC(2026, 7, 22));
  const latency = { ...realLatency, request: { minMs: 0, maxMs: 0 }, retryAfterShare: share };
  const running = await startWithClients({ clock, latency, nicUpdatingPercent: 0 });
  await running.network.networkInterfaces.createOrUpdate(group, 'aks-w', nicBody('aks-w')).submitted();
  await running.compute.virtualMachines.createOrUpdate(group, 'aks-w', vmBody('aks-w')).submitted();
  const accepted = await ask(running, 'DELETE', vmPath('aks-w'));
  expect(accepted.headers.get('retry-after')).toBe(String(first));
  const url = accepted.headers.get('azure-asyncoperation') ?? '';
  const poll = await fetch(url, { headers: { authorization: 'Bearer x' } });
  expect(Number(poll.headers.get('retry-after'))).toBeGreaterThanOrEqual(least);
  expect(Number(poll.headers.get('retry-after'))).toBeLessThanOrEqual(most);
  await running.azure.close();
});

describe('a list', () => {
  async function groupsOf(seed: string): Promise<ReadonlyArray<string>> {
    const running = await startWithClients({ rng: rngFrom(seed), upperCaseGroupPercent: 50 });
    const names = Array.from({ length: 8 }, (_, index) => `aks-l${index}`);
    for (const name of names)
      await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
    const listed = await Array.fromAsync(running.network.networkInterfaces.list(group));
    const again = await Array.fromAsync(running.network.networkInterfaces.list(group));
    expect(again.map(({ id }) => id)).toEqual(listed.map(({ id }) => id));
    const single = await running.network.networkInterfaces.get(group, 'aks-l0');
    expect(single.id).toBe(nicId('aks-l0'));
    await running.azure.close();
    return listed.map(({ id = '' }) => /resourceGroups\/([^/]+)/.exec(id)?.[1] ?? '');
  }

  test('has some groups in upper case, the same ones each time and with each run of a seed', async () => {
    const [one, two, other] = [await groupsOf('one'), await groupsOf('one'), await groupsOf('other')];
    expect(new Set(one)).toEqual(new Set([group, group.toUpperCase()]));
    expect(two).toEqual(one);
    expect(other).not.toEqual(one);
  });

  test('of VMs has of extensions the ids alone', async () => {
    const running = await startWithClients({});
    await launch(running, 'aks-x');
    await running.compute.virtualMachineExtensions.createOrUpdate(group, 'aks-x', billing.name, billing.body, promptly);
    const answer = await ask(running, 'GET', `${prefix}/Microsoft.Compute/virtualMachines`);
    const { value } = (await answer.json()) as { readonly value: ReadonlyArray<{ readonly resources: unknown }> };
    const id = expect.stringContaining(`/extensions/${billing.name}`) as string;
    expect(value.map(({ resources }) => resources)).toEqual([[{ id }]]);
    await running.azure.close();
  });
});
