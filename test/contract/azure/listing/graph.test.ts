import { expect, test } from 'vitest';
import { objectAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';
import { nicBody, vmBody } from '../kit/bodies.ts';
import { group, promptly, startWithClients, subscriptionId } from '../kit/clients.ts';

type Running = Awaited<ReturnType<typeof startWithClients>>;

async function launch({ network, compute }: Running, name: string): Promise<void> {
  await network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  await compute.virtualMachines.createOrUpdate(group, name, vmBody(name), promptly);
}

async function query({ azure }: Running, text: string, options = {}, scope = {}): Promise<JsonObject> {
  const answer = await fetch(`${azure.endpoint}/providers/Microsoft.ResourceGraph/resources?api-version=2024-04-01`, {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: JSON.stringify({ ...scope, query: text, options: { resultFormat: 'objectArray', ...options } }),
  });
  return objectAt(await answer.json(), '');
}

const karpenters = (type: string): string => `Resources
  | where type == "${type}"
  | where resourceGroup == "${group.toLowerCase()}"
  | where tags has_cs "karpenter.sh_nodepool"
  | where not(tags has_cs "karpenter.azure.com_aksmachine_nodeclaim")`;

test('Resource Graph lists the VMs and interfaces that carry a tag', async () => {
  const running = await startWithClients({});
  await launch(running, 'aks-g1');
  await launch(running, 'aks-g2');
  const { data } = await query(running, karpenters('microsoft.compute/virtualmachines'));
  expect(data).toMatchObject([{ name: 'aks-g1', tags: {} }, { name: 'aks-g2' }]);
  expect((await query(running, karpenters('microsoft.network/networkinterfaces')))['data']).toHaveLength(2);
  const none = await query(running, "resources | where tags['karpenter.sh_nodepool'] =~ 'other'");
  expect(none['data']).toEqual([]);
  await running.azure.close();
});

test('Resource Graph gives its rows in pages', async () => {
  const running = await startWithClients({});
  for (const name of ['aks-p1', 'aks-p2', 'aks-p3'])
    await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  const nics = "resources | where type =~ 'microsoft.network/networkinterfaces'";
  const text = `${nics} | project name, pool = tags["karpenter.sh_nodepool"] | order by name asc`;
  const first = await query(running, text, { $top: 2 });
  expect(first).toMatchObject({ count: 2, totalRecords: 3, data: [{ name: 'aks-p1', pool: 'default' }, {}] });
  const rest = await query(running, text, { $top: 2, $skipToken: first['$skipToken'] });
  expect(rest).toMatchObject({ count: 1, data: [{ name: 'aks-p3' }] });
  expect(rest).not.toHaveProperty('$skipToken');
  await running.azure.close();
});

test('Resource Graph knows the managed cluster by the group of its machines', async () => {
  const running = await startWithClients({});
  const find = (name: string) =>
    query(
      running,
      `resources | where type =~ 'microsoft.containerservice/managedclusters' | where properties.nodeResourceGroup =~ '${name}' | project name, tenant = tenantId, dns = properties.networkProfile.dnsServiceIP`,
      {},
    );
  expect(await find(group.toUpperCase())).toMatchObject({ count: 1, data: [{ dns: '10.0.0.10' }] });
  expect(await find('other')).toMatchObject({ count: 0 });
  await running.azure.close();
});

test('Resource Graph names no next page where an answer was limited, or has nothing but objects', async () => {
  const running = await startWithClients({});
  const limited = await query(running, 'spotresources | take 20', { $top: 10 });
  expect(limited).toMatchObject({ count: 10, totalRecords: 20, resultTruncated: 'true' });
  expect(limited).not.toHaveProperty('$skipToken');
  expect(await query(running, 'spotresources | project sku', { $top: 10 })).toMatchObject({ resultTruncated: 'true' });
  await running.azure.close();
});

test('the spot tables are of the tenant: a query for one subscription finds nothing, for a stranger nothing at all', async () => {
  const running = await startWithClients({});
  const subscribed = await query(running, 'spotresources', {}, { subscriptions: [subscriptionId] });
  expect(subscribed).toMatchObject({ totalRecords: 0 });
  const strange = await query(
    running,
    'spotresources',
    {},
    { subscriptions: ['00000000-0000-0000-0000-000000000001'] },
  );
  expect(strange).toMatchObject({ error: { code: 'AccessDenied' } });
  await running.azure.close();
});

test('Resource Graph may lag behind: a VM that it does not show may exist', async () => {
  const running = await startWithClients({ graphLagMs: 600_000 });
  await launch(running, 'aks-lag');
  expect((await query(running, karpenters('microsoft.compute/virtualmachines')))['data']).toEqual([]);
  expect((await running.compute.virtualMachines.get(group, 'aks-lag')).name).toBe('aks-lag');
  await running.azure.close();
});

test('Resource Graph knows the eviction rate of every size that can be spot', async () => {
  const running = await startWithClients({ evictionRates: { Standard_D2s_v5: '10-15' } });
  const { data } = await query(
    running,
    "spotresources | where type =~ 'microsoft.compute/skuspotevictionrate/location' and sku.name in~ ('Standard_D2s_v5', 'Standard_B1s') | project name = tostring(sku.name), rate = tostring(properties.evictionRate)",
  );
  expect(data).toEqual([{ name: 'standard_d2s_v5', rate: '10-15' }]);
  await running.azure.close();
});

test.for(['resources | summarize count()', 'secrets | take 1', "resources | where type ~~ 'x'", 'resources | where ('])(
  'a query that the double does not understand is refused, not guessed: %s',
  async (text) => {
    const running = await startWithClients({});
    expect(await query(running, text)).toMatchObject({ error: { code: 'BadRequest' } });
    await running.azure.close();
  },
);
