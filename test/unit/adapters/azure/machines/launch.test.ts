import type { NetworkInterface } from '@azure/arm-network';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createCloud } from '../../../../../shared/adapters/azure/machines/cloud.ts';
import { readCustomData } from '../../../../../sandbox/node/custom-data.ts';
import type { Sku } from '../../../../../shared/adapters/azure/catalog/sku.ts';
import type { Cloud, LaunchOrder, LaunchOutcome } from '../../../../../shared/ports/cloud.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { armError, fakeAzure, type Answers } from '../../../../kit/azure/fake-azure.ts';
import { order, place, settings, subnet } from '../../../../kit/azure/launch-order.ts';
import { sku } from '../../../../kit/azure/sku.ts';

const HOUR = 3_600_000;
const image = (id: string, ...requirements: ReadonlyArray<readonly [string, string, ...Array<string>]>) => ({
  id,
  requirements: requirements.map(([key, operator, ...values]) => ({ key, operator, values })),
});
const anyImage = image('/CommunityGalleries/g/images/i/versions/1');

function orderWith(images: ReadonlyArray<ReturnType<typeof image>>, parts: Partial<LaunchOrder> = {}): LaunchOrder {
  return { ...order, ...parts, nodeClass: { ...order.nodeClass, status: { images, kubernetesVersion: '1.36.3' } } };
}

const good = orderWith([anyImage]);
const onDemand: LaunchOrder = { ...good, offering: { ...good.offering, capacityType: 'on-demand' } };
const tags = { 'karpenter.azure.com_cluster': settings.CLUSTER_NAME };
const ready: NetworkInterface = { id: '/nics/aks-general-0abc', provisioningState: 'Succeeded', tags };
const throttled = armError(429, 'TooManyRequests', 'slow down', { 'retry-after': '7' });

/** The adapter over clients that answer as the test says; a NIC is ready unless it says otherwise. */
function openCloud(
  answers: Answers,
  parts: {
    readonly sku?: Sku;
    readonly token?: () => Promise<string>;
    readonly problems?: ReadonlyArray<string>;
  } = {},
) {
  const azure = fakeAzure({ nic: () => ready, ...answers });
  const cloud = createCloud({
    settings,
    clients: azure.clients,
    complete: () => Promise.resolve({ settings, problems: parts.problems ?? [] }),
    place: () => Promise.resolve(place),
    sku: () => Promise.resolve(parts.sku ?? null),
    bootstrapToken: (claim) => {
      azure.asked.push(`token for ${claim}`);
      return parts.token?.() ?? Promise.resolve('abcdef.0123456789abcdef');
    },
    revokeTokens: () => Promise.resolve(),
  });
  return { ...azure, cloud };
}

/** The outcome of a VM's PUT that Azure answers so. */
const refusedWith = (error: Error, asked = good, answers: Answers = {}): Promise<LaunchOutcome> =>
  openCloud({ ...answers, vmPut: () => error }).cloud.launch(asked);

afterEach(() => void vi.useRealTimers());

describe('a launch', () => {
  test('makes the NIC, waits until it is there, and makes the VM, once, with it', async () => {
    vi.useFakeTimers();
    const states = [
      { provisioningState: 'Updating', id: ready.id, tags },
      { provisioningState: 'Updating', id: ready.id },
      { provisioningState: 'Succeeded' },
      ready,
    ];
    const { cloud, asked, bodies } = openCloud({ nic: () => (states.shift() ?? ready) as NetworkInterface });
    const launched = cloud.launch(good);
    await vi.runAllTimersAsync();
    expect(await launched).toEqual({
      kind: 'accepted',
      machine: {
        claim: 'general-0abc',
        providerId:
          'azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/mc_g_c_we/providers/Microsoft.Compute/virtualMachines/aks-general-0abc',
        instanceType: 'Standard_D4s_v5',
        zone: 'westeurope-1',
        capacityType: 'spot',
        imageId: anyImage.id,
      },
    });
    const name = 'MC_g_c_we/aks-general-0abc';
    expect(asked).toEqual([
      `nic get ${name}`,
      `nic put ${name}`,
      ...Array.from({ length: 3 }, () => `nic get ${name}`),
      'token for general-0abc',
      `vm put ${name} if-none-match *`,
    ]);
    expect(bodies[0]).toMatchObject({ ipConfigurations: [{ name: 'aks-general-0abc', subnet: { id: subnet } }] });
    expect(bodies[1]).toMatchObject({ networkProfile: { networkInterfaces: [{ id: ready.id }] } });
  });

  test('gives the machine its token and the class’s Kubernetes version', async () => {
    const { cloud, bodies } = openCloud({});
    await cloud.launch(good);
    const { osProfile } = bodies[1] as { readonly osProfile: { readonly customData: string } };
    expect(readCustomData(osProfile.customData)).toMatchObject({
      config: {
        kubernetes_version: '1.36.3',
        bootstrapping_config: { tls_bootstrapping_token: 'abcdef.0123456789abcdef' },
      },
    });
  });

  test('asks Azure for nothing while settings are missing that its node could not do without', async () => {
    const problems = [
      'app setting SSH_PUBLIC_KEY is missing: set it',
      'app setting VNET_GUID is "x": it has to be a GUID',
    ];
    const { cloud, asked } = openCloud({}, { problems });
    expect(await cloud.launch(good)).toEqual({
      kind: 'rejected',
      reason: 'SettingsMissing',
      message: problems.join('; '),
    });
    expect(asked).toEqual([]);
  });

  test('makes no VM when its NIC fails', async () => {
    const { cloud, asked } = openCloud({ nic: () => ({ ...ready, provisioningState: 'Failed' }) });
    await expect(cloud.launch(good)).rejects.toThrow(/network interface aks-general-0abc failed/);
    expect(asked.some((what) => what.startsWith('vm put'))).toBe(false);
  });

  test('makes no VM when its NIC is not ready after sixty looks', async () => {
    vi.useFakeTimers();
    const { cloud, asked } = openCloud({ nic: () => ({ ...ready, provisioningState: 'Updating' }) });
    const failure = cloud.launch(good).catch((error: unknown) => error);
    await vi.runAllTimersAsync();
    expect(await failure).toBeInstanceOf(RetryableError);
    expect(await failure).toMatchObject({ message: expect.stringContaining('9000 ms') });
    expect(asked.filter((what) => what.startsWith('nic get'))).toHaveLength(1 + 60);
    expect(asked.some((what) => what.startsWith('vm put'))).toBe(false);
  });

  test.for([
    ['412 says that it is there', armError(412, 'PreconditionFailed')],
    ['409 says that it is being made', armError(409, 'Conflict')],
    ['its zone cannot be changed', armError(400, 'PropertyChangeNotAllowed')],
  ] as const)('finds the VM of an earlier delivery, as it is, when %s', async ([, error]) => {
    const vm = () => ({
      location: 'westeurope',
      zones: ['3'],
      priority: 'Regular',
      hardwareProfile: { vmSize: 'Standard_E8s_v5' },
      tags,
    });
    expect(await refusedWith(error, good, { vm })).toMatchObject({
      kind: 'exists',
      machine: {
        claim: 'general-0abc',
        instanceType: 'Standard_E8s_v5',
        zone: 'westeurope-3',
        capacityType: 'on-demand',
      },
    });
  });

  test.for([
    ['has no tag of ours', {}],
    ['is another cluster’s', { 'karpenter.azure.com_cluster': 'other' }],
  ] as const)('takes no VM for ours that %s, and says so', async ([, foreign]) => {
    const vm = () => ({ location: 'westeurope', tags: foreign });
    const message = expect.stringContaining('VM aks-general-0abc exists and is not ours') as string;
    expect(await refusedWith(armError(412, 'PreconditionFailed'), good, { vm })).toEqual({
      kind: 'rejected',
      reason: 'NameTaken',
      message,
    });
  });

  test('writes over no network interface that is not ours', async () => {
    const { cloud, asked } = openCloud({ nic: () => ({ id: ready.id ?? '', tags: {} }) });
    expect(await cloud.launch(good)).toMatchObject({ kind: 'rejected', reason: 'NameTaken' });
    expect(asked.filter((what) => what.includes('put'))).toEqual([]);
  });

  test('looks for no VM when the error says nothing of one', async () => {
    const { cloud, asked } = openCloud({ vmPut: () => armError(400, 'InvalidParameter') });
    await cloud.launch(good);
    expect(asked.at(-1)).toContain('vm put');
  });

  test('whose VM is said to be there and is not is tried again', async () => {
    await expect(refusedWith(armError(412, 'PreconditionFailed'))).rejects.toBeInstanceOf(RetryableError);
  });

  test('that cannot see whether the VM is there is tried again', async () => {
    const refused = refusedWith(armError(412, 'PreconditionFailed'), good, { vm: () => throttled });
    await expect(refused).rejects.toMatchObject({ name: 'RetryableError', retryAfterMs: 7_000 });
  });

  test('that a quota refuses, with a 409 like a VM that exists, says so', async () => {
    const quota = armError(409, 'OperationNotAllowed', 'exceeding approved standardDSv5Family Cores quota.');
    expect(await refusedWith(quota)).toEqual({
      kind: 'unavailable',
      scope: 'family',
      retryAfterMs: 600_000,
      reason: 'SubscriptionQuotaReached',
      message: 'exceeding approved standardDSv5Family Cores quota.',
    });
  });

  test.for([
    ['SkuNotAvailable', 'spot', 1],
    ['SkuNotAvailable', 'on-demand', 23],
    ['ZonalAllocationFailed', 'spot', 1],
    ['ZonalAllocationFailed', 'on-demand', 1],
  ] as const)('that %s refuses on %s leaves the offering alone for %s hours', async ([code, capacityType, hours]) => {
    const outcome = await refusedWith(armError(409, code), capacityType === 'spot' ? good : onDemand);
    expect(outcome).toMatchObject({ kind: 'unavailable', retryAfterMs: hours * HOUR, message: code });
  });

  test('that a person has to mend is rejected, in our word and Azure’s', async () => {
    const outcome = await refusedWith(armError(400, 'InsufficientSubnetSize', 'no address left'));
    expect(outcome).toEqual({ kind: 'rejected', reason: 'SubnetIsFull', message: 'no address left' });
  });

  test('is in doubt after an answer 400 that nobody knows: it may be the size, or all of it', async () => {
    expect(await refusedWith(armError(400, 'NewCode', 'new words'))).toEqual({
      kind: 'doubtful',
      reason: 'NewCode',
      message: 'new words',
    });
    expect(await refusedWith(armError(400, '', 'new words'))).toMatchObject({ reason: 'BadRequest' });
  });

  test('is rejected by an answer 400 to its NIC that nobody knows: no size is asked for there', async () => {
    const { cloud } = openCloud({ nicPut: () => armError(400, 'NewCode', 'new words') });
    expect(await cloud.launch(good)).toEqual({ kind: 'rejected', reason: 'NewCode', message: 'new words' });
  });

  test('that is throttled under the code of quotas is not taken for one that has none left', async () => {
    const error = armError(429, 'OperationNotAllowed', 'too many requests: the quota of requests is used up');
    await expect(refusedWith(error)).rejects.toMatchObject({ name: 'RetryableError', because: 'throttled' });
  });

  test.for([403, 404])(
    'is rejected by an answer %s that nobody knows: it will be as wrong next time',
    async (status) => {
      const outcome = await refusedWith(armError(status, 'NewCode', 'new words'));
      expect(outcome).toEqual({ kind: 'rejected', reason: 'NewCode', message: 'new words' });
    },
  );

  test.for([401, 408, 409, 429, 500, 503, 0])('is tried again after an answer %s that nobody knows', async (status) => {
    await expect(refusedWith(armError(status, 'NewCode'))).rejects.toBeInstanceOf(RetryableError);
  });

  test('waits as long as Azure asks', async () => {
    await expect(refusedWith(throttled)).rejects.toMatchObject({
      retryAfterMs: 7_000,
      message: 'launching VM aks-general-0abc: 429 TooManyRequests slow down',
    });
  });

  test('for which no token is to be had passes on why, and makes no VM', async () => {
    const why = new RetryableError('the API server cannot be reached', { retryAfterMs: 3_000 });
    const { cloud, asked } = openCloud({}, { token: () => Promise.reject(why) });
    await expect(cloud.launch(good)).rejects.toBe(why);
    expect(asked.some((what) => what.startsWith('vm put'))).toBe(false);
  });

  test('whose NIC is refused is sorted out as one whose VM is', async () => {
    const { cloud } = openCloud({ nicPut: () => armError(400, 'SubnetIsFull') });
    expect(await cloud.launch(good)).toMatchObject({ kind: 'rejected', reason: 'SubnetIsFull' });
  });
});

describe('of the class’s images a launch takes', () => {
  const arch = 'kubernetes.io/arch';
  const generation = 'karpenter.azure.com/sku-hyperv-generation';
  const withLabels = { instanceType: { ...order.instanceType, labels: { [arch]: ['arm64'], [generation]: ['1'] } } };
  const imageOf = async (images: ReadonlyArray<ReturnType<typeof image>>, size?: Sku): Promise<string> => {
    const outcome = await openCloud({}, size === undefined ? {} : { sku: size }).cloud.launch(
      orderWith(images, withLabels),
    );
    return outcome.kind === 'accepted' ? outcome.machine.imageId : outcome.kind;
  };

  test('the first that the size can run', async () => {
    const images = [image('/x64', [arch, 'In', 'amd64']), image('/a', [arch, 'In', 'arm64']), image('/b')];
    expect(await imageOf(images)).toBe('/a');
  });

  test('one of which it fulfils all requirements', async () => {
    const images = [
      image('/second', [arch, 'In', 'arm64'], [generation, 'In', '2']),
      image('/first', [arch, 'In', 'arm64'], [generation, 'In', '1']),
    ];
    expect(await imageOf(images)).toBe('/first');
  });

  test('by the generations that the catalog names, over what the labels say', async () => {
    const images = [image('/first', [generation, 'In', '1']), image('/second', [generation, 'In', '2'])];
    expect(await imageOf(images, sku('Standard_D4s_v5', { hyperVGenerations: ['2'] }))).toBe('/second');
  });

  test('one whose other requirements say nothing of the size', async () => {
    expect(await imageOf([image('/odd', ['example.com/other', 'In', 'x'], [arch, 'Exists'])])).toBe('/odd');
  });

  test('none that allows no value', async () => {
    const closed = { id: '/closed', requirements: [{ key: arch, operator: 'In' }] };
    expect(await imageOf([closed as unknown as ReturnType<typeof image>])).toBe('unavailable');
  });

  test('none when none fits: the size is left alone for a day, and Azure is asked for nothing', async () => {
    const { cloud, asked } = openCloud({});
    const images = [image('/x64', [arch, 'In', 'amd64'])];
    expect(await cloud.launch(orderWith(images, withLabels))).toEqual({
      kind: 'unavailable',
      scope: 'size',
      retryAfterMs: 23 * HOUR,
      reason: 'ImageNotFound',
      message: 'no image of AKSNodeClass default runs on Standard_D4s_v5',
    });
    expect(await cloud.launch(order)).toMatchObject({ reason: 'ImageNotFound' });
    expect(asked).toEqual([]);
  });
});

test('sixteen launches are under way at once, and the next begins when one of them has ended', async () => {
  const ends: Array<() => void> = [];
  const vmPut = (): Promise<void> => new Promise((resolve) => void ends.push(resolve));
  const cloud: Cloud = openCloud({ vmPut }).cloud;
  const launches = Array.from({ length: 18 }, (_, index) => cloud.launch({ ...good, claim: `c-${index}` }));
  await vi.waitUntil(() => ends.length === 16);
  await new Promise((resolve) => void setImmediate(resolve));
  expect(ends).toHaveLength(16);
  ends[3]?.();
  await vi.waitUntil(() => ends.length === 17);
  ends[0]?.();
  await vi.waitUntil(() => ends.length === 18);
  for (const end of ends) end();
  expect(new Set((await Promise.all(launches)).map(({ kind }) => kind))).toEqual(new Set(['accepted']));
});
