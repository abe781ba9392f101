import type { World } from './world.ts';

/** What Azure keeps of a kind in the node resource group, by name. */
export async function readAzureNames(
  world: World,
  type: 'networkInterfaces' | 'disks',
): Promise<ReadonlyArray<string>> {
  return (await readAzure(world, type)).map(({ name }) => name);
}

/** Names of the VMs whose OS disk is on the machine itself: they have no managed one. */
export async function readVmsWithLocalDisk(world: World): Promise<ReadonlyArray<string>> {
  const vms = await readAzure(world, 'virtualMachines');
  return vms.flatMap(({ name, properties }) =>
    properties?.storageProfile?.osDisk?.diffDiskSettings === undefined ? [] : [name],
  );
}

interface Resource {
  readonly name: string;
  readonly properties?: { readonly storageProfile?: { readonly osDisk?: { readonly diffDiskSettings?: object } } };
}

async function readAzure(world: World, type: keyof typeof SOURCES): Promise<ReadonlyArray<Resource>> {
  const { provider, version } = SOURCES[type];
  const id = world.sandbox.azure.vms()[0]?.id;
  const group = id === undefined ? GROUP : id.slice(0, id.indexOf('/providers/'));
  const url = `${world.sandbox.azure.endpoint}${group}/providers/${provider}/${type}?api-version=${version}`;
  // A test may have told Azure to fail now and then, or not to answer.
  let said = '';
  for (let attempt = 1; attempt <= READS_MAX; attempt++) {
    said = await fetch(url, { headers: { authorization: 'Bearer test' } })
      .then((answer) => answer.text())
      .catch(String);
    const listed = listIn(said);
    if (listed !== null) return listed;
  }
  throw new Error(`${type}: ${said}`);
}

const SOURCES = {
  networkInterfaces: { provider: 'Microsoft.Network', version: '2024-05-01' },
  disks: { provider: 'Microsoft.Compute', version: '2024-03-02' },
  virtualMachines: { provider: 'Microsoft.Compute', version: '2024-07-01' },
} as const;

const READS_MAX = 20;

/** Null for an answer that is no list. */
function listIn(text: string): ReadonlyArray<Resource> | null {
  try {
    return (JSON.parse(text) as { readonly value?: ReadonlyArray<Resource> }).value ?? null;
  } catch {
    return null;
  }
}

const GROUP = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/MC_nodewright_sandbox_westeurope';
