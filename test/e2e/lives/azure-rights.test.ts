import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantedActions } from '../../kit/infra/bicep/check-roles.ts';
import { parseAll, readTexts } from '../../kit/infra/bicep/parse.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type World, startWorld } from '../kit/world.ts';

const METHODS: Readonly<Record<string, ReadonlyArray<string>>> = {
  read: ['GET'],
  write: ['PUT'],
  delete: ['DELETE'],
};

/** What these tests themselves ask: whether the double is there, and whether a disk is left. */
const OURS: ReadonlySet<string> = new Set(['GET ', 'GET disks']);

/**
 * A NIC is removed by itself only where it outlived its VM, this cluster has no disk encryption set, and windows of
 * maintenance are asked for when there is a newer image.
 */
const SELDOM: ReadonlySet<string> = new Set([
  'DELETE networkInterfaces',
  'GET diskEncryptionSets',
  'GET maintenanceConfigurations',
]);

/** Requests that the roles allow, as the double counts them: the method, and the last type of the path. */
function allowedRequests(): ReadonlyArray<string> {
  const actions = new Set([...grantedActions(parseAll(readTexts())).values()].flat());
  return [...actions].flatMap((action) => {
    const [verb = '', type = ''] = action.split('/').toReversed();
    if (action.startsWith('Microsoft.ResourceGraph/')) return [`POST ${type}`];
    // What a body names is not asked for by a request of its own.
    return verb === 'action' ? [] : (METHODS[verb] ?? []).map((method) => `${method} ${type}`);
  });
}

describe('what the whole app asks of Azure, from a pod that waits to a machine that is gone', () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld('embedded');
    await world.apply(nodeClass);
  });
  afterAll(async () => {
    await world?.close();
  });

  it('is what the roles of infra/modules/access allow, and all of that', async () => {
    await world.apply(nodePool('general'), deployment('inflate', 3));
    await expectConsistent(world, { pods: 3 });
    await removeAll(world);
    const asked = (): ReadonlyArray<string> =>
      Object.keys(world.sandbox.azure.counters().requests).filter((kind) => !kind.includes('/') && !OURS.has(kind));
    const missing = (): ReadonlyArray<string> => allowedRequests().filter((kind) => !asked().includes(kind));
    await world.until('everything has been asked for', () => missing().every((kind) => SELDOM.has(kind)));
    expect(asked().filter((kind) => !allowedRequests().includes(kind))).toEqual([]);
  });
});
