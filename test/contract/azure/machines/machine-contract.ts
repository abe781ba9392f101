import { restorePoller, type ComputeManagementClient, type VirtualMachine } from '@azure/arm-compute';
import type { NetworkManagementClient } from '@azure/arm-network';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nicBody, vmBody, type Place } from '../kit/bodies.ts';

/** Where the contract is held: the double, or a resource group of a real subscription. */
export interface Subject {
  readonly compute: ComputeManagementClient;
  readonly network: NetworkManagementClient;
  /** A second client that has seen nothing yet. */
  readonly otherCompute: () => ComputeManagementClient;
  readonly group: string;
  readonly place: Place;
  /** Begins every name, so that runs in one subscription do not meet. */
  readonly prefix: string;
  readonly poll: { readonly updateIntervalInMs: number };
  readonly close: () => Promise<void>;
}

/**
 * What VMs and network interfaces do in Azure, as far as Nodewright relies on it: one suite for the double and the real
 * thing.
 */
export function holdMachineContract(start: () => Promise<Subject>): void {
  let subject: Subject;
  beforeAll(async () => {
    subject = await start();
  });
  afterAll(() => subject.close());
  testCreationAndDeletion(() => subject);
  testChanges(() => subject);
}

function named(subject: Subject, name: string): string {
  return `${subject.prefix}${name}`;
}

function putNic({ network, group, place, poll }: Subject, name: string): PromiseLike<unknown> {
  return network.networkInterfaces.createOrUpdate(group, name, nicBody(name, place), poll);
}

function putVm(
  { compute, group, place, poll }: Subject,
  name: string,
  change: Parameters<typeof vmBody>[1],
): PromiseLike<VirtualMachine> {
  return compute.virtualMachines.createOrUpdate(group, name, vmBody(name, change, place), poll);
}

function testCreationAndDeletion(at: () => Subject): void {
  test('a VM that is awaited has succeeded and runs', async () => {
    const name = named(at(), 'awaited');
    await putNic(at(), name);
    const vm = await putVm(at(), name, {});
    expect(vm.provisioningState).toBe('Succeeded');
    expect(vm.zones).toEqual(['1']);
    const view = await at().compute.virtualMachines.get(at().group, name, { expand: 'instanceView' });
    expect(view.instanceView?.statuses?.map(({ code }) => code)).toContain('PowerState/running');
    expect(view.timeCreated).toBeInstanceOf(Date);
  });

  test('a VM never shows its custom data again', async () => {
    const name = named(at(), 'secret');
    await putNic(at(), name);
    await putVm(at(), name, {});
    const vm = await at().compute.virtualMachines.get(at().group, name);
    expect(vm.osProfile?.computerName).toBe(name);
    expect(vm.osProfile?.customData).toBeUndefined();
  });

  test('deleting a VM deletes its network interface and its disk', async () => {
    const name = named(at(), 'cascade');
    const { compute, network, group, poll } = at();
    await putNic(at(), name);
    await putVm(at(), name, {});
    expect((await compute.disks.get(group, name)).managedBy?.toLowerCase()).toContain(name);
    await compute.virtualMachines.delete(group, name, { forceDeletion: true, ...poll });
    // Compute's own for a while, the gateway's when that has forgotten it: both were recorded of a VM that had gone.
    const gone = { code: expect.stringMatching(/^(?:Resource)?NotFound$/) as string, statusCode: 404 };
    await expect(compute.virtualMachines.get(group, name)).rejects.toMatchObject(gone);
    await expect(network.networkInterfaces.get(group, name)).rejects.toMatchObject(gone);
    await expect(compute.disks.get(group, name)).rejects.toMatchObject(gone);
  });

  test('deleting what is not there is done at once', async () => {
    await at().compute.virtualMachines.delete(at().group, named(at(), 'never'), at().poll);
    await at().network.networkInterfaces.delete(at().group, named(at(), 'never'), at().poll);
  });

  test('an identical PUT makes no second VM', async () => {
    const name = named(at(), 'twice');
    await putNic(at(), name);
    const first = await putVm(at(), name, {});
    const second = await putVm(at(), name, {});
    expect(second.vmId).toBe(first.vmId);
  });

  test('two PUTs of one VM at the same time make one VM', async () => {
    const name = named(at(), 'race');
    await putNic(at(), name);
    const [one, two] = await Promise.all([putVm(at(), name, {}), putVm(at(), name, {})]);
    expect(one.vmId).toBe(two.vmId);
  });

  test('If-None-Match creates once', async () => {
    const name = named(at(), 'once');
    await putNic(at(), name);
    await putVm(at(), name, {});
    const again = at().compute.virtualMachines.createOrUpdate(at().group, name, vmBody(name, {}, at().place), {
      ...at().poll,
      ifNoneMatch: '*',
    });
    await expect(again).rejects.toMatchObject({ statusCode: 412 });
  });
}

function testChanges(at: () => Subject): void {
  test.for([
    ['zone', { zone: '2' }],
    ['priority', { spot: true }],
    ['customdata', { customData: 'b3RoZXI=' }],
  ] as const)('a PUT that changes the %s of a VM is refused', async ([what, change]) => {
    const name = named(at(), `fixed-${what}`);
    await putNic(at(), name);
    await putVm(at(), name, {});
    await expect(putVm(at(), name, change)).rejects.toMatchObject({
      code: 'PropertyChangeNotAllowed',
      statusCode: 409,
    });
  });

  test('a poller can be given up and taken on by another client', async () => {
    const name = named(at(), 'handover');
    await putNic(at(), name);
    const { virtualMachines } = at().compute;
    const state = await virtualMachines
      .createOrUpdate(at().group, name, vmBody(name, {}, at().place), at().poll)
      .serialize();
    const other = at().otherCompute();
    const vm = await restorePoller(other, state, other.virtualMachines.createOrUpdate, at().poll);
    expect(vm.provisioningState).toBe('Succeeded');
  });

  test('tags are changed without touching the VM', async () => {
    const name = named(at(), 'tags');
    const { compute, network, group, poll } = at();
    await putNic(at(), name);
    const { vmId } = await putVm(at(), name, {});
    const tags = { 'karpenter.sh_nodepool': 'other' };
    await compute.virtualMachines.update(group, name, { tags }, poll);
    await network.networkInterfaces.updateTags(group, name, { tags });
    expect(await compute.virtualMachines.get(group, name)).toMatchObject({ tags, vmId });
    expect((await network.networkInterfaces.get(group, name)).tags).toEqual(tags);
  });

  test('a network interface in use cannot be deleted', async () => {
    const name = named(at(), 'used');
    await putNic(at(), name);
    await putVm(at(), name, {});
    const refused = at().network.networkInterfaces.delete(at().group, name, at().poll);
    await expect(refused).rejects.toMatchObject({ code: 'NicInUse' });
  });
}
