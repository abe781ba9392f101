import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCatalogs } from '../../../../shared/adapters/azure/catalog/catalogs.ts';
import type { Offering } from '../../../../shared/core/model/catalog.ts';
import type { NodeClass } from '../../../../shared/ports/kubernetes.ts';
import type { Azure } from '../../../../sandbox/azure/running-azure.ts';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';
import { MemoryBlobs } from '../../../simulation/world/memory-blobs.ts';
import { clientsOf, startWithClients, subscriptionId } from '../kit/clients.ts';

const families = { standardDSv5Family: 0, standardESv5Family: 40 };
const settings = {
  location: 'westeurope',
  nodeResourceGroup: 'group',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  memoryOverhead: 0.075,
};
const nodeClass: NodeClass = { metadata: { name: 'default' }, spec: {} };

let azure: Azure;
let nowMs = 0;

beforeAll(async () => {
  const quota = { ...azureDefaults.quota, lowPriorityCores: 3, families };
  ({ azure } = await startWithClients({ quota }));
});
afterAll(async () => {
  await azure.close();
});

function catalogsAt(endpoint: string, blobs: MemoryBlobs): ReturnType<typeof createCatalogs> {
  return createCatalogs({
    cluster: 'c',
    subscription: subscriptionId,
    clients: clientsOf(endpoint),
    blobs,
    settings,
    pricesEndpoint: azure.endpoint,
    currency: 'USD',
    now: () => nowMs,
  });
}

async function offeringsOf(
  catalogs: ReturnType<typeof createCatalogs>,
  size: string,
): Promise<ReadonlyArray<Offering>> {
  const types = await catalogs.instanceTypes(nodeClass);
  return types.find(({ name }) => name === size)?.offerings ?? [];
}

function isAvailable(offerings: ReadonlyArray<Offering>, capacityType: string): boolean {
  return offerings.some((one) => one.capacityType === capacityType && one.available);
}

test('a size that a quota allows not even once is not available, and others say what is left', async () => {
  const blobs = new MemoryBlobs();
  const catalogs = catalogsAt(azure.endpoint, blobs);
  expect(isAvailable(await offeringsOf(catalogs, 'Standard_D4s_v5'), 'on-demand')).toBe(true);

  expect(await catalogs.refreshQuotas()).toMatchObject({ kind: 'read' });
  nowMs += 60_000;
  const barred = await offeringsOf(catalogs, 'Standard_D4s_v5');
  expect(isAvailable(barred, 'on-demand')).toBe(false);
  expect(isAvailable(barred, 'spot')).toBe(false);
  expect(isAvailable(await offeringsOf(catalogs, 'Standard_E4s_v5'), 'on-demand')).toBe(true);
  const offerings = await offeringsOf(catalogs, 'Standard_E4s_v5');
  const counted = offerings.find((one) => one.capacityType === 'on-demand');
  expect(counted?.quota).toEqual({
    cores: 4,
    of: [
      { name: 'standardesv5family', left: 40 },
      { name: 'cores', left: azureDefaults.quota.totalRegionalCores },
    ],
  });

  const another = catalogsAt(azure.endpoint, blobs);
  expect(isAvailable(await offeringsOf(another, 'Standard_D4s_v5'), 'on-demand')).toBe(false);
});

test('what was not read for long is forgotten, and what cannot be read is said', async () => {
  const blobs = new MemoryBlobs();
  const catalogs = catalogsAt(azure.endpoint, blobs);
  await catalogs.refreshQuotas();
  nowMs += 11 * 60_000;
  expect(isAvailable(await offeringsOf(catalogs, 'Standard_D4s_v5'), 'on-demand')).toBe(true);
  const nowhere = catalogsAt('http://127.0.0.1:9', blobs);
  expect(await nowhere.refreshQuotas()).toMatchObject({ kind: 'unknown' });
});
