import { afterAll, beforeAll, expect, test } from 'vitest';
import { nicBody, nicId, subnetId } from '../kit/bodies.ts';
import { group, promptly, startWithClients } from '../kit/clients.ts';
import { type Case, type Change, expectRefused, putVm, refuse } from '../kit/refused.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;
const NAME = 'aks-strict';

beforeAll(async () => {
  running = await startWithClients({});
  await running.network.networkInterfaces.createOrUpdate(group, NAME, nicBody(NAME), promptly);
});
afterAll(() => running.azure.close());

const os = 'properties.osProfile';
const linux = `${os}.linuxConfiguration`;
const disk = 'properties.storageProfile.osDisk';
const tags = (count: number): Change => ({
  tags: Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, 'v'])),
});

const bodies: ReadonlyArray<Case> = [
  [
    'a foreign member',
    { [`${os}.adminName`]: 'a' },
    refuse(
      400,
      'BadRequest',
      /Could not find member 'adminName' on object of type 'OsProfile'. Path 'properties.osProfile.adminName'/,
      'vm.properties.osProfile.adminName',
    ),
  ],
  [
    'a foreign member of the root',
    { sku: {} },
    refuse(400, 'InvalidRequestContent', /Could not find member 'sku' on object of type 'ResourceDefinition'/),
  ],
  [
    'a number for a text',
    { 'properties.priority': 3 },
    refuse(400, 'BadRequest', /'priority' is no string but 3/, 'vm.properties.priority'),
  ],
  [
    'a text for a truth',
    { [`${linux}.disablePasswordAuthentication`]: 'yes' },
    refuse(400, 'BadRequest', /is no boolean but "yes"/),
  ],
  [
    'a value that an enumeration has not',
    { 'properties.priority': 'Cheap' },
    refuse(400, 'BadRequest', /can be regular, low, spot/),
  ],
  ['tags that are a list', { tags: ['a'] }, refuse(400, 'InvalidRequestContent', /'tags' is no object/)],
  [
    'no way to make the disk',
    { [`${disk}.createOption`]: null },
    refuse(400, 'InvalidParameter', /'storageProfile.osDisk.createOption' is missing/),
  ],
  ['no location', { location: undefined }, refuse(400, 'LocationRequired', /location property is required/)],
];

const places: ReadonlyArray<Case> = [
  [
    'a region that Azure has not',
    { location: 'atlantis' },
    refuse(
      400,
      'LocationNotAvailableForResourceType',
      /'atlantis' is not available for resource type 'Microsoft.Compute\/virtualMachines'.*westeurope/,
    ),
  ],
  [
    'another region than its network interface’s',
    { location: 'northeurope' },
    refuse(400, 'InvalidResourceReference', /aks-strict.*same region/),
  ],
  ['two zones', { zones: ['1', '2'] }, refuse(400, 'InvalidParameter', /one zone/)],
  ['a zone that there is not', { zones: ['4'] }, refuse(409, 'SkuNotAvailable', /or different zone/)],
  [
    'a network interface that there is not',
    { 'properties.networkProfile.networkInterfaces': [{ id: nicId('none') }] },
    refuse(400, 'InvalidResourceReference', /none referenced by/),
  ],
  [
    'no id for its network interface',
    { 'properties.networkProfile.networkInterfaces': [{ id: 'nic' }] },
    refuse(400, 'LinkedInvalidPropertyId', /'nic' at path 'properties.networkProfile.networkInterfaces\[0\].id'/),
  ],
  [
    'a network interface made with it and no version to make it',
    {
      'properties.networkProfile': {
        networkInterfaceConfigurations: [
          { name: 'a', properties: { ipConfigurations: [{ name: 'a', properties: { subnet: { id: subnetId } } }] } },
        ],
      },
    },
    refuse(400, 'InvalidParameter', /networkApiVersion/),
  ],
  ['51 tags', tags(51), refuse(400, 'InvalidTags', /51 tags/)],
  [
    'a slash in a tag’s name',
    { tags: { 'karpenter.sh/nodepool': 'a' } },
    refuse(400, 'InvalidTagNameCharacters', /karpenter.sh\/nodepool/),
  ],
  ['a tag’s name of 513 characters', { tags: { ['n'.repeat(513)]: 'a' } }, refuse(400, 'InvalidTagName', /512/)],
  ['a tag’s value of 257 characters', { tags: { a: 'v'.repeat(257) } }, refuse(400, 'InvalidTagValueLength', /256/)],
];

test.for([...bodies, ...places])('a VM with %s is refused', async ([, change, refusal]) => {
  await expectRefused(putVm(running.azure, NAME, change), refusal);
  expect(running.azure.vms()).toEqual([]);
});

test.for(['_a', 'a-', 'n'.repeat(65)])('a VM cannot be called %s', async (name) => {
  const networkInterfaces = [{ id: nicId(NAME) }];
  const change = {
    'properties.osProfile.computerName': 'a',
    'properties.networkProfile.networkInterfaces': networkInterfaces,
  };
  const refusal = refuse(400, 'InvalidParameter', /'vmName' is invalid/, 'vmName');
  await expectRefused(putVm(running.azure, name, change), refusal);
});
