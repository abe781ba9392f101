import type { World } from './world.ts';

/** What Azure keeps of a kind in the node resource group, by name. */
export async function readAzureNames(
  world: World,
  type: 'networkInterfaces' | 'disks',
): Promise<ReadonlyArray<string>> {
  const provider = type === 'disks' ? 'Microsoft.Compute' : 'Microsoft.Network';
  const id = world.sandbox.azure.vms()[0]?.id;
  const group = id === undefined ? GROUP : id.slice(0, id.indexOf('/providers/'));
  const version = type === 'disks' ? '2024-03-02' : '2024-05-01';
  const url = `${world.sandbox.azure.endpoint}${group}/providers/${provider}/${type}?api-version=${version}`;
  // A test may have told Azure to fail now and then, or not to answer.
  let said = '';
  for (let attempt = 1; attempt <= READS_MAX; attempt++) {
    said = await fetch(url, { headers: { authorization: 'Bearer test' } })
      .then((answer) => answer.text())
      .catch(String);
    const names = namesIn(said);
    if (names !== null) return names;
  }
  throw new Error(`${type}: ${said}`);
}

const READS_MAX = 20;

/** Null for an answer that is no list. */
function namesIn(text: string): ReadonlyArray<string> | null {
  try {
    const { value } = JSON.parse(text) as { readonly value?: ReadonlyArray<{ readonly name: string }> };
    return value?.map(({ name }) => name) ?? null;
  } catch {
    return null;
  }
}

const GROUP = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/MC_nodewright_sandbox_westeurope';
