import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CapacityError } from '../../../../sandbox/azure/state/capacity.ts';
import { listAt, textAt, valueAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';
import { nicBody, vmBody } from '../kit/bodies.ts';
import { computeClient, group, promptly, startWithClients } from '../kit/clients.ts';
import { readReported } from './recorded-exchanges.ts';
import type { Exchange } from '../kit/watch-answers.ts';

/**
 * What people pasted of Azure's refusals into issues (test/fixtures/azure-recordings, error-vm-and-nic-reported):
 * whatever the double refuses for the same reason, it refuses in the same words. Throttling is held by
 * throttling.test.ts.
 */
const reported = readReported();

/** The words of the report whose message has a part, without names and numbers. */
function wordsOf(list: 'synchronous' | 'asynchronous', part: string): string {
  const found = listAt(reported, list).find((one) => messageOf(one).includes(part));
  if (found === undefined) throw new Error(`Nobody has reported '${part}'.`);
  return plain(messageOf(found));
}

function messageOf(one: unknown): string {
  return textAt(one, 'body.error.message') ?? textAt(one, 'message') ?? '';
}

/** Sizes, families, regions and numbers are each report's own, and a report may end before Azure did. */
function plain(text: string): string {
  return text
    .replaceAll(/Standard_\w+/g, '(size)')
    .replaceAll(/standard\w+Family/g, '(family)')
    .replace(/(value )\w+( provided)/, '$1(size)$2')
    .replaceAll(/location '\w+'|Location: \w+/g, '(region)')
    .replaceAll(/\d+/g, '#')
    .replace(/(required|Required: #)\)?\. .*$/s, '$1.')
    .replace(/( are: \(size\)).*$/s, '$1');
}

let running: Awaited<ReturnType<typeof startWithClients>>;
beforeAll(async () => {
  running = await startWithClients({});
});
afterAll(() => running.azure.close());

/** The error of a VM's PUT, with its status. */
async function refusalOf(
  change: Parameters<typeof vmBody>[1],
): Promise<{ readonly status: number; readonly error: JsonObject }> {
  const seen: Array<Exchange> = [];
  const client = computeClient(running.azure.endpoint, (exchange) => seen.push(exchange));
  await running.network.networkInterfaces.createOrUpdate(group, 'aks-r', nicBody('aks-r'), promptly);
  await expect(
    client.virtualMachines.createOrUpdate(group, 'aks-r', vmBody('aks-r', change), promptly),
  ).rejects.toThrow();
  const last = seen.at(-1);
  const { error } = JSON.parse(last?.text ?? '{}') as { readonly error: JsonObject };
  return { status: last?.status ?? 0, error };
}

describe('what Azure refuses at once, the double refuses in its words', () => {
  const quota = {
    totalRegionalCores: 100,
    lowPriorityCores: 100,
    virtualMachines: 100,
    familyCores: 100,
    families: {},
  };

  test.for([
    ['quota of a family', { familyCores: 1 }, 'standardDASv5Family'],
    ['quota of the region', { totalRegionalCores: 1 }, 'Location: centralus'],
  ] as const)('%s', async ([, limits, part]) => {
    running.azure.setQuota({ ...quota, ...limits });
    const { status, error } = await refusalOf({});
    running.azure.setQuota(quota);
    expect([status, error['code']]).toEqual([409, 'OperationNotAllowed']);
    const wanted = wordsOf('synchronous', part).replace(/ …$/, '');
    expect(plain(String(error['message']))).toBe(wanted);
  });

  test('a size that is sold out', async () => {
    running.azure.exhaust({ size: null, zone: null, capacityType: null, code: 'SkuNotAvailable', remaining: 0 });
    const { status, error } = await refusalOf({});
    running.azure.heal();
    expect([status, error['code']]).toEqual([409, 'SkuNotAvailable']);
    expect(plain(String(error['message']))).toBe(wordsOf('synchronous', 'Capacity Restrictions'));
  });

  test('a size that cannot boot the image', async () => {
    running.azure.setImageDiskControllers(['SCSI']);
    const { status, error } = await refusalOf({ size: 'Standard_D2ads_v6', zone: '2' });
    running.azure.setImageDiskControllers(['SCSI', 'NVMe']);
    expect([status, error['code'], error['target']]).toEqual([400, 'InvalidParameter', 'vmSize']);
    expect(plain(String(error['message']))).toBe(wordsOf('synchronous', 'cannot boot with OS image'));
  });

  test('a size that there is not', async () => {
    const { status, error } = await refusalOf({ size: 'B1ls' });
    expect([status, error['code']]).toEqual([400, 'InvalidParameter']);
    expect(plain(String(error['message']))).toBe(wordsOf('synchronous', 'provided for the VM size'));
  });

  test.for([['Standard_B1s', 'AzureSpotIsNotSupportedForThisVMSize', { spot: true }]] as const)(
    'spot of %s is refused with one of Azure’s codes of spot',
    async ([size, code, change]) => {
      const { error } = await refusalOf({ size, ...change });
      expect(error['code']).toBe(code);
      expect(valueAt(reported, 'spotCodes.codes')).toContain(code);
    },
  );
});

describe('what Azure’s allocator refuses later, the double refuses in its words', () => {
  const codes: ReadonlyArray<readonly [CapacityError, string]> = [
    ['OverconstrainedZonalAllocationRequest', '  - Availability Zone\n  - VM Size'],
    ['AllocationFailed', 'sufficient capacity for the requested VM size in this region'],
  ];

  test.for(codes)('%s', async ([code, part]) => {
    running.azure.exhaust({ size: null, zone: null, capacityType: null, code, remaining: 0 });
    await running.network.networkInterfaces.createOrUpdate(group, 'aks-a', nicBody('aks-a'), promptly);
    const put = running.compute.virtualMachines.createOrUpdate(group, 'aks-a', vmBody('aks-a'), promptly);
    await expect(put).rejects.toThrow(code);
    running.azure.heal();
    const view = await running.compute.virtualMachines.instanceView(group, 'aks-a');
    expect(view.statuses).toHaveLength(1);
    expect(view.statuses?.[0]).toMatchObject({
      code: `ProvisioningState/failed/${code}`,
      level: 'Error',
      displayStatus: 'Provisioning failed',
    });
    expect(plain(view.statuses?.[0]?.message ?? '')).toBe(wordsOf('asynchronous', part));
    await running.compute.virtualMachines.delete(group, 'aks-a', promptly);
  });
});
