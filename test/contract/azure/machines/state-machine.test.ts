import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ArmError } from '../../../../sandbox/azure/arm/arm-error.ts';
import { Cloud } from '../../../../sandbox/azure/state/cloud.ts';
import { evictVm } from '../../../../sandbox/azure/machines/eviction.ts';
import { deleteVm, findVm, putVm } from '../../../../sandbox/azure/machines/machines.ts';
import { deleteNic, putNic } from '../../../../sandbox/azure/machines/network.ts';
import { networkIds } from '../../../../sandbox/azure/state/node-resource-group.ts';
import { azureDefaults, realLatency, type AzureOptions } from '../../../../sandbox/azure/state/options.ts';
import { readSizes } from '../../../../sandbox/azure/catalog/sizes.ts';
import { letSpotVmsDie } from '../../../../sandbox/azure/machines/spot-life.ts';
import { VirtualClock } from '../../../../sandbox/base/clock.ts';
import { rngFrom, type Rng } from '../../../../sandbox/base/rng.ts';
import { sshKey } from '../kit/bodies.ts';

/** The state machine alone, on a clock that moves only when told to. */
const sizes = readSizes(join(import.meta.dirname, '../../../../sandbox/azure/data'), 'westeurope');
const group = azureDefaults.resourceGroup;
const MINUTE = 60_000;

function start(seed: string, overrides: Partial<AzureOptions> = {}): { cloud: Cloud; clock: VirtualClock } {
  const clock = new VirtualClock(Date.UTC(2026, 7, 22));
  const options = { ...azureDefaults, port: 0, clock, rng: rngFrom(seed), latency: realLatency, ...overrides };
  return { cloud: new Cloud(options, sizes), clock };
}

function launch(cloud: Cloud, name: string, spot: boolean): void {
  const { location } = { location: cloud.options.region };
  putNic(
    cloud,
    { group, name },
    {
      location,
      properties: { ipConfigurations: [{ name, properties: { subnet: { id: networkIds(cloud).subnet } } }] },
    },
    null,
  );
  const id = cloud.idOf('Microsoft.Network/networkInterfaces', group, name);
  putVm(
    cloud,
    { group, name },
    {
      location,
      zones: ['1'],
      properties: {
        hardwareProfile: { vmSize: 'Standard_D2s_v5' },
        ...(spot ? { priority: 'Spot', evictionPolicy: 'Delete' } : {}),
        storageProfile: { imageReference: { id: 'image' }, osDisk: { name, deleteOption: 'Delete' } },
        osProfile: {
          adminUsername: 'azureuser',
          linuxConfiguration: { disablePasswordAuthentication: true, ssh: { publicKeys: [sshKey] } },
        },
        networkProfile: { networkInterfaces: [{ id, properties: { deleteOption: 'Delete' } }] },
      },
    },
    { ifNoneMatch: null, ifMatch: null },
  );
}

test('a VM is created, allocated, provisioned and deleted in the time that Azure takes', () => {
  const { cloud, clock } = start('times');
  const seen: Array<string> = [];
  cloud.on(({ kind }) => seen.push(`${kind} ${clock.now() - Date.UTC(2026, 7, 22)}`));
  launch(cloud, 'vm', false);
  expect(findVm(cloud, group, 'vm').provisioningState).toBe('Creating');
  clock.advance(MINUTE);
  expect(findVm(cloud, group, 'vm').provisioningState).toBe('Succeeded');
  const operation = deleteVm(cloud, group, 'vm');
  expect(deleteVm(cloud, group, 'vm')).toBe(operation);
  expect(findVm(cloud, group, 'vm').provisioningState).toBe('Deleting');
  clock.advance(MINUTE);
  expect(cloud.operations.find(operation ?? '')?.status).toBe('Succeeded');
  expect(deleteVm(cloud, group, 'vm')).toBeNull();
  expect(seen.map((line) => line.split(' ')[0])).toEqual(['vm-allocated', 'vm-running', 'vm-gone']);
  const [history] = cloud.ledger.read().vms;
  expect(history?.allocatedAt).toBeGreaterThanOrEqual((history?.firstPutAt ?? 0) + 3_000);
  expect(history?.runningAt).toBeGreaterThanOrEqual((history?.allocatedAt ?? 0) + 12_000);
});

function historyOf(seed: string): unknown {
  const { cloud, clock } = start(seed);
  for (const name of ['a', 'b', 'c']) launch(cloud, name, false);
  clock.advance(MINUTE);
  return cloud.ledger.read();
}

test('the same seed gives the same history', () => {
  expect(historyOf('one')).toEqual(historyOf('one'));
  expect(historyOf('one')).not.toEqual(historyOf('two'));
});

test('a notice comes its full time before the eviction', () => {
  const { cloud, clock } = start('notice');
  launch(cloud, 'vm', true);
  clock.advance(MINUTE);
  const { notBefore } = evictVm(cloud, findVm(cloud, group, 'vm'), 30);
  expect(notBefore - clock.now()).toBe(30_000);
  expect(evictVm(cloud, findVm(cloud, group, 'vm'), 5).notBefore).toBe(notBefore);
  clock.advance(29_999);
  expect(cloud.vms.size).toBe(1);
  clock.advance(1);
  expect(cloud.vms.size).toBe(0);
});

test('spot VMs die when their drawn life ends, and others do not', () => {
  const { cloud, clock } = start('lives', { spotMeanLifeMinutes: 10 });
  letSpotVmsDie(cloud);
  for (let index = 0; index < 20; index += 1) launch(cloud, `spot-${index}`, true);
  launch(cloud, 'kept', false);
  clock.advance(10 * MINUTE);
  expect(cloud.vms.size).toBeGreaterThan(1);
  expect(cloud.vms.size).toBeLessThan(21);
  clock.advance(600 * MINUTE);
  expect([...cloud.vms.values()].map(({ name }) => name)).toEqual(['kept']);
});

test('a VM deleted while it is being made is never allocated', () => {
  const { cloud, clock } = start('preempted');
  const seen: Array<string> = [];
  cloud.on(({ kind }) => seen.push(kind));
  launch(cloud, 'vm', false);
  const creation = findVm(cloud, group, 'vm').operation ?? '';
  deleteVm(cloud, group, 'vm');
  clock.advance(MINUTE);
  expect(cloud.operations.find(creation)).toMatchObject({ status: 'Failed', error: { code: 'OperationPreempted' } });
  expect(seen).toEqual(['vm-gone']);
});

test('a network interface is free again once its reservation has ended', () => {
  const { cloud, clock } = start('reserved');
  launch(cloud, 'vm', false);
  const vm = findVm(cloud, group, 'vm');
  Object.assign(vm, { nics: vm.nics.map(({ nic }) => ({ nic, deleteWithVm: false })) });
  deleteVm(cloud, group, 'vm');
  clock.advance(MINUTE);
  expect(() => deleteNic(cloud, group, 'vm')).toThrow(/reserved for another/);
  clock.advance(azureDefaults.nicReservedSeconds * 1_000);
  expect(deleteNic(cloud, group, 'vm')).not.toBeNull();
});

describe('whatever is asked in whatever order', () => {
  const names = ['a', 'b', 'c'] as const;

  /** One step of a client or of the world, drawn from few names so that steps collide. */
  function step(cloud: Cloud, clock: VirtualClock, rng: Rng): void {
    const name = names[rng.below(names.length)] ?? 'a';
    const vm = [...cloud.vms.values()].find((other) => other.name === name);
    const choices = [
      () => {
        launch(cloud, name, rng.chance(50));
      },
      () => deleteVm(cloud, group, name),
      () => deleteNic(cloud, group, name),
      () => (vm === undefined ? null : evictVm(cloud, vm, rng.below(60))),
      () => {
        cloud.capacity.exhaust({
          size: null,
          zone: '1',
          capacityType: null,
          code: 'AllocationFailed',
          remaining: rng.below(3),
        });
      },
      () => {
        cloud.capacity.restore();
      },
      () => {
        clock.advance(rng.below(20_000));
      },
    ];
    try {
      choices[rng.below(choices.length)]?.();
    } catch (error) {
      if (!(error instanceof ArmError)) throw error;
    }
  }

  test.for(Array.from({ length: 50 }, (_, index) => `sequence-${index}`))('SEED=%s', (seed) => {
    const { cloud, clock } = start(seed, { nicReservedSeconds: 0 });
    const rng = rngFrom(seed).split('steps');
    for (let index = 0; index < 60; index += 1) {
      step(cloud, clock, rng);
      const { vms, creations } = cloud.ledger.read();
      const living = vms.filter(({ goneAt }) => goneAt === null).map(({ name }) => name);
      expect(living.toSorted()).toEqual([...cloud.vms.values()].map(({ name }) => name).toSorted());
      expect(Object.values(creations).reduce((sum, count) => sum + count, 0)).toBe(vms.length);
      const ids = new Set([...cloud.vms.values()].map(({ id }) => id));
      for (const nic of cloud.nics.values()) if (nic.vmId !== null) expect(ids).toContain(nic.vmId);
      for (const disk of cloud.disks.values()) expect(ids).toContain(disk.managedBy);
    }
    clock.advance(5 * MINUTE);
    for (const name of names) deleteVm(cloud, group, name);
    clock.advance(5 * MINUTE);
    for (const name of names) deleteNic(cloud, group, name);
    clock.advance(5 * MINUTE);
    expect([cloud.vms.size, cloud.nics.size, cloud.disks.size, cloud.graph.rows().length]).toEqual([0, 0, 0, 0]);
  });
});
