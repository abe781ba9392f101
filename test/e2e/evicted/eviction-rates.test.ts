import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type World, startWorld } from '../kit/world.ts';

/** Four cores for $0.0377 and $0.0384 an hour as spot VMs: two percent apart. */
const [CHEAP, DEARER] = ['Standard_D4ls_v6', 'Standard_D4as_v5'];

const requirements = [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [CHEAP, DEARER] }];

describe('what Azure says of evictions, from Resource Graph to the node', () => {
  let world: World;

  beforeAll(async () => {
    const evictionRates = { [CHEAP]: '20+', [DEARER]: '0-5', Standard_D2s_v5: 'rarely' };
    world = await startWorld('embedded', { azure: { evictionRates } });
    await world.apply(nodeClass);
    await world.until('a sweep has read the rates, and says which words it does not know', () =>
      world.lines.some((line) => line.includes('eviction-rates-unreadable') && line.includes('rarely')),
    );
  });
  afterAll(async () => {
    await world?.close();
  });
  afterEach(async () => {
    await removeAll(world);
  });

  const sizesFor = async (pool: object): Promise<ReadonlyArray<string>> => {
    await world.apply(pool, deployment('inflate', 1, { cpu: '3' }));
    const { vms } = await expectConsistent(world, { pods: 1 });
    return vms.map(({ size }) => size);
  };

  it('a spot size that Azure takes back often is passed over for one that costs a little more', async () => {
    expect(await sizesFor(nodePool('spot', { capacityTypes: ['spot'], requirements }))).toEqual([DEARER]);
  });

  it('a pool whose evictions cost nothing takes the cheapest', async () => {
    const annotations = { 'nodewright.dev/eviction-cost': '0s' };
    const pool = nodePool('spot', { capacityTypes: ['spot'], requirements });
    expect(await sizesFor({ ...pool, metadata: { name: 'spot', annotations } })).toEqual([CHEAP]);
  });
});
