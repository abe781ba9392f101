import { describe, expect, test } from 'vitest';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { ours, type Product, withProduct } from './product.ts';
import type { Script } from './replay.ts';
import { type Answer, PAGE, as, documented, recorded, reportedLater } from './recordings.ts';

const VM = 'GET virtualMachines/*';
const NIC = 'GET networkInterfaces/*';
const goneToCompute = recorded('vm-delete', 1, 3);
const goneToGateway = recorded('vm-delete', 2, 0);
const there = ours(recorded('vm-create', 0, 4));
const noNic = recorded('nic-create-and-delete', 0, 2);
const leaving = recorded('vm-delete', 0, 0);

const observed = (answer: Answer) => withProduct({ [VM]: answer }, ({ cloud }) => cloud.observe('general-0abc'));
const removed = (script: Script) =>
  withProduct(script, async ({ cloud, asked }) => [await cloud.delete('general-0abc'), asked] as const);
const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);

/** Answers 404 that say nothing of the machine. */
const NOT_ABOUT_IT = [
  ['its group', recorded('vm-list', 0, 2), 'ResourceGroupNotFound'],
  [
    'its subscription',
    documented(404, 'SubscriptionNotFound', "The subscription 's' could not be found."),
    'Subscription',
  ],
  ['its type', recorded('error-gateway', 3, 0), 'InvalidResourceType'],
  ['the page of somebody in between', PAGE, '404'],
] as const;

describe('a machine', () => {
  test.for([
    ['Compute', goneToCompute],
    ['the gateway', goneToGateway],
  ] as const)('is gone when %s does not find it', async ([, answer]) => {
    expect(await observed(answer)).toEqual({ kind: 'gone' });
  });

  test.for(NOT_ABOUT_IT)('is not gone when %s is not found: whoever asks comes again', async ([, answer, words]) => {
    const failure = await failureOf(observed(answer));
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: expect.stringContaining(words) });
  });

  test.for([
    ['as it is made', there, 'running'],
    ['with its extension', ours(recorded('vm-get-instance-view', 1, 0)), 'running'],
    ['whose agent is silent', ours(recorded('vm-get-instance-view', 2, 0)), 'running'],
    ['with an ephemeral disk', ours(recorded('vm-get-instance-view', 0, 0)), 'running'],
    ['that is spot', ours(recorded('vm-simulate-eviction', 0, 2)), 'running'],
    ['with an identity', ours(recorded('vm-identity-and-security', 0, 0)), 'running'],
    ['that is trusted', ours(recorded('vm-identity-and-security', 1, 0)), 'running'],
    ['that encrypts at its host', ours(recorded('vm-identity-and-security', 2, 0)), 'running'],
    ['that somebody has stopped', ours(recorded('vm-simulate-eviction', 0, 4)), 'running'],
    ['that is being made', withState(there, 'Creating'), 'creating'],
    ['that goes', withState(there, 'Deleting'), 'deleting'],
  ] as const)('%s is seen as it is', async ([, answer, state]) => {
    expect(await observed(answer)).toMatchObject({ kind: 'present', state });
  });

  test('of spot is known as that', async () => {
    expect(await observed(ours(recorded('vm-simulate-eviction', 0, 2)))).toMatchObject({
      machine: { capacityType: 'spot' },
    });
  });

  test.for([
    ['AllocationFailed', 'zone'],
    ['OverconstrainedZonalAllocationRequest', 'offering'],
    ['OverconstrainedAllocationRequest', 'size'],
    ['ProvisioningState/failed/NetworkingInternalOperationError', null],
  ] as const)('that failed with %s says what it was refused for', async ([reported, scope]) => {
    const { code, message } = reportedLater(reported);
    const outcome = await observed(failedWith(code, message));
    expect(outcome).toMatchObject({ kind: 'failed', reason: code, message });
    expect(outcome).toMatchObject({ refusal: scope === null ? null : { scope } });
  });

  test('whose size was sold out meanwhile, or of which Azure says nothing, failed as well', async () => {
    expect(await observed(failedWith('SkuNotAvailable', 'sold out'))).toMatchObject({
      kind: 'failed',
      refusal: { scope: 'size' },
    });
    expect(await observed(withState(there, 'Failed'))).toMatchObject({ kind: 'failed', reason: 'ProvisioningFailed' });
  });
});

describe('the removal of a machine', () => {
  test('begins, goes on with the NIC, and is over when both are gone', async () => {
    const script = {
      [VM]: [there, goneToCompute],
      'DELETE virtualMachines/*': leaving,
      [NIC]: [ours(recorded('nic-create-and-delete', 0, 1)), noNic],
      'DELETE networkInterfaces/*': recorded('nic-create-and-delete', 0, 6),
    };
    await withProduct(script, async ({ cloud }) => {
      expect([await cloud.delete('a'), await cloud.delete('a'), await cloud.delete('a')]).toEqual([
        'deleting',
        'deleting',
        'gone',
      ]);
    });
  });

  test('takes a NIC’s 202 as its 200, and a NIC that went meanwhile for gone', async () => {
    const nic = { [VM]: goneToCompute, [NIC]: ours(recorded('nic-create-and-delete', 0, 1)) };
    const [first] = await removed({ ...nic, 'DELETE networkInterfaces/*': recorded('nic-delete', 0, 5) });
    const [second] = await removed({ ...nic, 'DELETE networkInterfaces/*': noNic });
    expect([first, second]).toEqual(['deleting', 'gone']);
  });

  test.for(NOT_ABOUT_IT)('is not over when %s is not found: the finalizer stays', async ([, answer, words]) => {
    const scripts: ReadonlyArray<Script> = [
      { [VM]: answer },
      { [VM]: goneToCompute, [NIC]: answer },
      {
        [VM]: goneToCompute,
        [NIC]: ours(recorded('nic-create-and-delete', 0, 1)),
        'DELETE networkInterfaces/*': answer,
      },
      { [VM]: there, 'DELETE virtualMachines/*': answer },
    ];
    const failures = await Promise.all(scripts.map((script) => failureOf(removed(script))));
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(RetryableError);
      expect(failure).toMatchObject({ message: expect.stringContaining(words) });
    }
  });

  test.for([
    ['a lock', documented(409, 'ScopeLocked', 'The scope is locked.')],
    ['a conflict', recorded('error-compute', 1, 0)],
    ['another operation', recorded('error-network', 3, 0)],
    ['an etag', recorded('error-compute', 3, 0)],
    ['a fault', documented(500, 'InternalServerError', 'An error has occurred.')],
    ['a timeout', recorded('error-gateway', 1, 0)],
    ['a gateway', recorded('error-network', 4, 0)],
    ['a token', documented(401, 'InvalidAuthenticationToken', 'The access token is invalid.')],
    ['a right', recorded('error-gateway', 0, 0)],
  ] as const)('that %s keeps back is tried again, in Azure’s words', async ([, answer]) => {
    const { error } = answer.body as { readonly error: { readonly code: string; readonly message: string } };
    const quick = as(answer, { headers: { 'Retry-After': '0' } });
    const failure = await failureOf(removed({ [VM]: there, 'DELETE virtualMachines/*': quick }));
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: expect.stringContaining(`${error.code} `) });
    expect(failure).toMatchObject({ message: expect.stringContaining(error.message.slice(0, 40)) });
  });

  test('of a NIC that is in use yet is tried again', async () => {
    const script = {
      [VM]: goneToCompute,
      [NIC]: ours(recorded('nic-create-and-delete', 0, 1)),
      'DELETE networkInterfaces/*': recorded('nic-delete', 0, 1),
    };
    expect(await failureOf(removed(script))).toMatchObject({
      name: 'RetryableError',
      message: expect.stringContaining('NicInUse'),
    });
  });
});

describe('AKS’s extension', () => {
  const withExtension = (provisioningState: string, forceUpdateTag?: string): Answer => {
    const { properties, ...vm } = there.body as { readonly properties: object };
    const id =
      '/subscriptions/s/resourceGroups/GROUP/providers/Microsoft.Compute/virtualMachines/a/extensions/computeAksLinuxBilling';
    const { error } = recorded('vm-extension', 1, 0).body as { readonly error: { code: string; message: string } };
    const statuses = [{ code: `ProvisioningState/failed/${error.code}`, level: 'Error', message: error.message }];
    const instanceView = { statuses, extensions: [{ name: 'computeAksLinuxBilling', statuses }] };
    const resources = [{ id, location: 'x', properties: { provisioningState, forceUpdateTag } }];
    const isFailed = provisioningState === 'Failed';
    return as(there, {
      body: {
        ...vm,
        resources,
        properties: {
          ...properties,
          provisioningState: isFailed ? 'Failed' : 'Succeeded',
          ...(isFailed ? { instanceView } : {}),
        },
      },
    });
  };
  const equip = (answer: Answer) =>
    withProduct(
      { [VM]: answer, 'PUT extensions/*': recorded('vm-extension', 0, 0) },
      async ({ cloud, asked }: Product) => {
        const ended = await failureOf(cloud.equip('a'));
        return { ended, puts: asked.filter((one) => one.startsWith('PUT')).length };
      },
    );

  test('that failed is none: its VM runs, lacks it, and gets it again', async () => {
    expect(await observed(withExtension('Failed'))).toMatchObject({ state: 'running', isEquipped: false });
    expect(await equip(withExtension('Failed'))).toMatchObject({ ended: undefined, puts: 1 });
    expect(await equip(withExtension('Failed', '2'))).toMatchObject({ puts: 1 });
  });

  test('is tried three times and then left, and what Azure says of it is told', async () => {
    expect(await observed(withExtension('Failed', '3'))).toMatchObject({ state: 'running', isEquipped: true });
    const { ended, puts } = await equip(withExtension('Failed', '3'));
    expect(puts).toBe(0);
    expect(ended).toMatchObject({
      name: 'TerminalError',
      message: expect.stringMatching(/failed 3 times.*extension/i),
    });
  });

  test('that is there, or on its way, is not put on again', async () => {
    for (const state of ['Succeeded', 'Creating', 'Updating']) {
      // One server after the other.
      expect(await equip(withExtension(state))).toMatchObject({ ended: undefined, puts: 0 });
    }
  });
});

function withState(answer: Answer, provisioningState: string): Answer {
  const { properties, ...vm } = answer.body as { readonly properties: object };
  return as(answer, { body: { ...vm, properties: { ...properties, provisioningState } } });
}

function failedWith(code: string, message: string): Answer {
  const failed = withState(there, 'Failed');
  const { properties, ...vm } = failed.body as { readonly properties: object };
  const statuses = [{ code: `ProvisioningState/failed/${code}`, level: 'Error', message }];
  return as(failed, { body: { ...vm, properties: { ...properties, instanceView: { statuses } } } });
}
