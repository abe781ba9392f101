import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch } from '../../../../cli/launch/launch-from-files.ts';
import { toLaunchDocument } from '../../../../cli/launch/launch-document.ts';
import { listsOf } from '../../../../cli/launch/offline-cluster.ts';
import { recordingAzure } from '../../../../cli/launch/recording-azure.ts';
import { orderFor, settingsOf, skus } from '../../../kit/azure/orders.ts';
import { type Launch, launches } from '../../../kit/azure/read.ts';

/**
 * One launch for each body of the provider's: 54 of VMs, 6 of network interfaces, 2 of extensions are in 1,200 rows.
 */
const distinct = [
  ...new Map(launches().map((row) => [JSON.stringify([row.vm, row.nic, row.extension]), row])).values(),
];

type Azure = Awaited<ReturnType<typeof recordingAzure>>;
const clouds = new Map<string, Azure>();

beforeAll(async () => {
  for (const network of new Set(distinct.map((row) => row.network)))
    clouds.set(network, await recordingAzure(listsOf(settingsOf(network), '12345678')));
});

afterAll(() => {
  for (const azure of clouds.values()) azure.close();
});

/** What the product's adapter sends over the wire, by Azure's own clients, for the same node. */
async function sentFor(row: Launch): Promise<ReturnType<typeof toLaunchDocument>> {
  const azure = clouds.get(row.network);
  if (azure === undefined) throw new Error(`no ${row.network}`);
  const before = azure.sent.length;
  const settings = { ...settingsOf(row.network), AZURE_RESOURCE_MANAGER_ENDPOINT: azure.endpoint };
  // One claim of this name at a time: what was there before would be found.
  await launch(orderFor(row), settings, skus);
  const document = toLaunchDocument(azure.sent.slice(before));
  azure.forget();
  return document;
}

/** The rows have a word in place of ids that Azure gives, and of the image that a launch finds. */
function alike(body: object): unknown {
  const text = JSON.stringify(body)
    .replaceAll(/"\/CommunityGalleries\/[^"]+"/g, '"IMAGE"')
    .replaceAll(/"[^"]*\/networkInterfaces\/[^"]+"|"NIC-ID"/g, '"NIC"')
    .replaceAll(/"[^"]*\/networkSecurityGroups\/[^"]+"|"NSG-ID"/g, '"NSG"')
    .replaceAll(/"[^"]*\/backendAddressPools\/[^"]+"|"POOL-\d"/g, '"POOL"');
  return JSON.parse(text);
}

/** The rows put every machine into zone 1 whatever its size has; so do we then. */
describe('a machine as it goes over the wire', () => {
  test(`is the provider's, in ${distinct.length} launches that cover every body`, async () => {
    expect(distinct.length).toBeGreaterThan(50);
    for (const row of distinct) {
      const where = `${row.network} ${row.nodeClass} ${row.size} ${row.capacityType}`;
      // One after the other, as they share an Azure.
      const { vm, nic, extension } = await sentFor(row);
      expect(alike(vm), where).toEqual(alike(row.vm));
      expect(alike(nic), where).toEqual(alike(row.nic));
      expect(alike(extension), where).toEqual(alike(row.extension));
    }
  });
});
