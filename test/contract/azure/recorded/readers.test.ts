import { describe, expect, test } from 'vitest';
import { createNetworkPlaces } from '../../../../shared/adapters/azure/machines/network-place.ts';
import { readEvictionRates } from '../../../../shared/adapters/azure/catalog/eviction-rates.ts';
import { quotasInUse, readQuotas } from '../../../../shared/adapters/azure/catalog/quotas.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { settings } from '../../../kit/azure/launch-order.ts';
import { type Product, withProduct } from './product.ts';
import { type Answer, PAGE, as, documented, recorded } from './recordings.ts';

const nodeClass = { metadata: { name: 'default' }, spec: {} };
const denied = recorded('error-gateway', 0, 0);
const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

describe('quotas', () => {
  test('are read as recorded: 139 rows, of the region, of spot, and of families', async () => {
    await withProduct({ 'GET usages': recorded('usages-list', 0, 0) }, async ({ clients }) => {
      const quotas = await readQuotas(clients, 'westus');
      expect(quotas.size).toBe(139);
      expect(quotas.get('cores')).toEqual({ limit: 100, used: 5 });
      expect(quotas.get('lowprioritycores')).toEqual({ limit: 100, used: 0 });
      expect(quotasInUse(quotas)).toContainEqual({ name: 'cores', used: 5, limit: 100 });
    });
  });
});

describe('a subnet', () => {
  const judged = (answer: Answer) => withProduct({ 'GET subnets/*': answer }, ({ facts }) => facts.subnet(nodeClass));

  test('that is there is one to use', async () => {
    expect(await judged(recorded('subnet-and-vnet', 0, 0))).toEqual({ kind: 'ready' });
  });

  test.for([
    ['itself', recorded('subnet-and-vnet', 0, 2)],
    ['with its network', recorded('nic-create-and-delete', 0, 2)],
    ['with its group', recorded('load-balancer-list', 0, 1)],
  ] as const)('that is not there, %s, is told', async ([, answer]) => {
    expect(await judged(answer)).toMatchObject({ kind: 'refused', reason: 'SubnetNotFound' });
  });

  test('that nobody lets us see, or that a page hides, is not taken for one that is not there', async () => {
    expect(await failureOf(judged(denied))).toMatchObject({
      name: 'RetryableError',
      because: 'forbidden',
      message: expect.stringMatching(/lacks the right \S+ on \S+/),
    });
    expect(await failureOf(judged(PAGE))).toBeInstanceOf(RetryableError);
  });
});

describe('versions of a community image', () => {
  const versions = recorded('community-gallery-versions', 0, 4);
  const [first] = (versions.body as { readonly value: ReadonlyArray<{ readonly properties: object }> }).value;
  const version = (name: string, publishedDate: string, excludeFromLatest: boolean): object => ({
    ...first,
    name,
    properties: { ...first?.properties, publishedDate, excludeFromLatest },
  });
  const images = (answer: Answer) =>
    withProduct({ 'GET versions': answer }, ({ facts }) => facts.images(nodeClass, '1.36.3'));

  test('are read as recorded', async () => {
    const found = await images(versions);
    expect(found.length).toBeGreaterThan(0);
    for (const { id } of found) expect(id).toMatch(/\/versions\/1\.1\.2$/);
  });

  test('are chosen from by date, without those that are not to be the latest', async () => {
    const value = [
      version('1.0.0', '2026-01-01T00:00:00Z', false),
      version('1.2.0', '2026-03-01T00:00:00Z', true),
      version('1.1.0', '2026-02-01T00:00:00Z', false),
    ];
    for (const { id } of await images(as(versions, { body: { value } }))) expect(id).toMatch(/\/versions\/1\.1\.0$/);
    expect(await images(as(versions, { body: { value: value.slice(1, 2) } }))).toEqual([]);
  });

  test('of an image that is not in the region are none, and those that a page hides are not', async () => {
    expect(await images(documented(404, 'GalleryImageNotFound', 'The image cannot be found.'))).toEqual([]);
    expect(await failureOf(images(PAGE))).toBeInstanceOf(RetryableError);
    expect(await failureOf(images(documented(404, 'SubscriptionNotFound', 'No.')))).toBeInstanceOf(RetryableError);
  });

  test('that nobody lets us see say which right is missing, though the SDK drops it for lists', async () => {
    expect(await failureOf(images(denied))).toMatchObject({
      because: 'forbidden',
      message: expect.stringMatching(/lacks the right \S+ on \S+/),
    });
  });
});

describe('load balancers and security groups', () => {
  const place = ({ clients }: Product) => createNetworkPlaces(() => clients.network(), settings, Date.now)(nodeClass);
  const lists = {
    'GET loadBalancers': recorded('load-balancer-list', 0, 0),
    'GET networkSecurityGroups': recorded('security-group-list', 0, 0),
  };

  test('are read as recorded', async () => {
    expect(await withProduct(lists, place)).toMatchObject({ backendPoolIds: [], securityGroupId: null });
  });

  test('of a group that is not there are told in Azure’s words, which the SDK drops for lists', async () => {
    const script = { ...lists, 'GET loadBalancers': recorded('load-balancer-list', 0, 1) };
    expect(await failureOf(withProduct(script, place))).toMatchObject({
      name: 'RetryableError',
      message: expect.stringContaining("404 ResourceGroupNotFound Resource group 'group2' could not be found."),
    });
  });
});

describe('the list of machines', () => {
  const named = (answer: Answer, name: string, more: object = {}): Answer => {
    const [row] = (answer.body as { readonly value: ReadonlyArray<{ readonly properties?: object }> }).value;
    const tags = { 'karpenter.azure.com_cluster': settings.CLUSTER_NAME };
    const properties = { ...row?.properties, ...more };
    return as(answer, { body: { value: [{ ...row, name, tags, properties }, row] } });
  };
  const nics = recorded('nic-create-and-delete', 0, 4);
  const listed = (vms: Answer) =>
    withProduct({ 'GET virtualMachines': vms, 'GET networkInterfaces': named(nics, 'AKS-A') }, ({ cloud }) =>
      cloud.inventory(),
    );

  test('has those of the cluster, whatever the case of their names and groups', async () => {
    expect(await listed(named(recorded('vm-list', 1, 0), 'AKS-A'))).toEqual([
      { kind: 'vm', claim: 'a', createdAtMs: expect.any(Number), lacksEquipment: expect.any(Boolean) },
      { kind: 'nic', claim: 'a', createdAtMs: null, lacksEquipment: false },
    ]);
  });

  test('tells of one that looks failed that it may lack its extension: lists do not say which failed', async () => {
    const [vm] = await listed(named(recorded('vm-list', 0, 1), 'aks-a', { provisioningState: 'Failed' }));
    expect(vm).toMatchObject({ lacksEquipment: true });
  });

  test('of a group that is not there is no empty list', async () => {
    expect(await failureOf(listed(recorded('vm-list', 0, 2)))).toMatchObject({
      name: 'RetryableError',
      message: expect.stringContaining('ResourceGroupNotFound'),
    });
  });
});

test('Resource Graph’s refusal of a query is told with its details', async () => {
  await withProduct({ 'POST resources': recorded('resource-graph', 2, 0) }, async ({ clients }) => {
    const reading = await readEvictionRates(clients, { subscription: 's', location: 'westeurope' });
    expect(reading).toMatchObject({ kind: 'unknown', fix: null, why: expect.stringMatching(/400 BadRequest/) });
  });
});
