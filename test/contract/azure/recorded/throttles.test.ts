import { describe, expect, test } from 'vitest';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { AN_ACCEPTED_LAUNCH, aLaunch, openProduct, ours, withProduct } from './product.ts';
import { type Answer, as, documented, recorded, reported } from './recordings.ts';

/** Far more than requests on loopback take, and half of the shortest wait that is asked for here. */
const AT_ONCE_MS = 3_000;
const PUT = 'PUT virtualMachines/*';

const ofOneVm = documented(
  429,
  'OperationNotAllowed',
  'The server rejected the request because too many requests have been received for this VM.',
  {
    details: [{ code: 'TooManyRequests', target: 'PutVMResource', message: '{"allowedRequestCount":12}' }],
  },
);
const ofAllVms = reported('OperationNotAllowed', 'too many requests');
const ofOneAction = reported('ResourceRequestsThrottled');
const ofSubscription = reported('SubscriptionRequestsThrottled');
const ofNetwork = recorded('error-network', 0, 0);
const after = (answer: Answer, seconds: number): Answer => as(answer, { headers: { 'Retry-After': String(seconds) } });

async function timed<T>(work: Promise<T>): Promise<{ readonly outcome: T | Error; readonly ms: number }> {
  const start = performance.now();
  const outcome = await work.catch((error: Error) => error);
  return { outcome, ms: performance.now() - start };
}

describe('a launch that Azure throttles', () => {
  test.for([
    ['a VM’s own limit', after(ofOneVm, 60), 60_000],
    ['Compute’s limit of a subscription', after(ofAllVms, 60), 60_000],
    ['the limit of an action, in words', ofOneAction, 372_000],
    ['the limit of an action', after(ofOneAction, 372), 372_000],
    ['the limit of a subscription, in words', ofSubscription, 6_000],
    ['a service that is busy', after(as(recorded('error-gateway', 1, 0), { status: 503 }), 15), 15_000],
    ['no time', ofAllVms, null],
  ] as const)('by %s goes back to the queue at once, with Azure’s own pause', async ([, answer, retryAfterMs]) => {
    await withProduct({ ...AN_ACCEPTED_LAUNCH, [PUT]: answer }, async ({ cloud, asked }) => {
      const { outcome, ms } = await timed(cloud.launch(aLaunch));
      expect(outcome).toBeInstanceOf(RetryableError);
      expect(outcome).toMatchObject({ retryAfterMs, because: 'throttled' });
      expect(ms).toBeLessThan(AT_ONCE_MS);
      expect(asked.filter((one) => one === PUT)).toHaveLength(1);
    });
  });

  test('as a NIC, without a pause, goes back to the queue at once', async () => {
    await withProduct({ ...AN_ACCEPTED_LAUNCH, 'PUT networkInterfaces/*': ofNetwork }, async ({ cloud, asked }) => {
      const { outcome, ms } = await timed(cloud.launch(aLaunch));
      expect(outcome).toMatchObject({ because: 'throttled', retryAfterMs: null });
      expect(ms).toBeLessThan(AT_ONCE_MS);
      expect(asked.filter((one) => one.startsWith('PUT'))).toHaveLength(1);
    });
  });

  test('for a second is tried again within the execution', async () => {
    const script = { ...AN_ACCEPTED_LAUNCH, [PUT]: [after(ofOneVm, 1), recorded('vm-create', 0, 2)] };
    await withProduct(script, async ({ cloud }) => {
      expect(await cloud.launch(aLaunch)).toMatchObject({ kind: 'accepted' });
    });
  });

  test('holds up no other: sixteen are throttled for a minute, and the seventeenth is made at once', async () => {
    const throttled = Array.from({ length: 16 }, () => after(ofOneVm, 60));
    await withProduct(
      { ...AN_ACCEPTED_LAUNCH, [PUT]: [...throttled, recorded('vm-create', 0, 2)] },
      async ({ cloud }) => {
        const orders = Array.from({ length: 17 }, (_, index) => ({ ...aLaunch, claim: `general-${index}` }));
        const { outcome, ms } = await timed(Promise.allSettled(orders.map((order) => cloud.launch(order))));
        if (outcome instanceof Error) throw outcome;
        expect(outcome.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(ms).toBeLessThan(AT_ONCE_MS);
      },
    );
  });
});

describe('a limit of all', () => {
  test.for([
    ['Compute’s', after(ofAllVms, 60)],
    ['the resource manager’s', ofSubscription],
    ['an action’s', ofOneAction],
  ] as const)(
    'of %s is remembered: the next launches do not ask for a VM, and come again when it ends',
    async ([, answer]) => {
      const product = await openProduct({ ...AN_ACCEPTED_LAUNCH, [PUT]: answer });
      try {
        const first = await timed(product.cloud.launch(aLaunch));
        const second = await timed(product.cloud.launch({ ...aLaunch, claim: 'general-1' }));
        const [one, other] = [first.outcome as RetryableError, second.outcome as RetryableError];
        expect(product.asked.filter((asked) => asked === PUT)).toHaveLength(1);
        expect(other).toMatchObject({ because: 'throttled', message: expect.stringContaining('429') });
        expect(other.retryAfterMs).toBeLessThanOrEqual(one.retryAfterMs ?? 0);
        expect(other.retryAfterMs).toBeGreaterThan((one.retryAfterMs ?? 0) - 5_000);
      } finally {
        await product.close();
      }
    },
  );

  test('of one VM is not one: the next launch asks', async () => {
    await withProduct(
      { ...AN_ACCEPTED_LAUNCH, [PUT]: [after(ofOneVm, 60), recorded('vm-create', 0, 2)] },
      async ({ cloud }) => {
        await timed(cloud.launch(aLaunch));
        expect(await cloud.launch({ ...aLaunch, claim: 'general-1' })).toMatchObject({ kind: 'accepted' });
      },
    );
  });

  test('of VMs to be made keeps nobody from looking at one, or removing it', async () => {
    const script = {
      ...AN_ACCEPTED_LAUNCH,
      [PUT]: after(ofAllVms, 60),
      'GET virtualMachines/*': ours(recorded('vm-create', 0, 4)),
      'DELETE virtualMachines/*': recorded('vm-delete', 0, 0),
    };
    await withProduct(script, async ({ cloud }) => {
      await timed(cloud.launch(aLaunch));
      expect(await cloud.observe('a')).toMatchObject({ kind: 'present' });
      expect(await cloud.delete('a')).toBe('deleting');
    });
  });
});

test('a look at a machine that Azure throttles goes back to the queue as well', async () => {
  await withProduct({ 'GET virtualMachines/*': after(ofAllVms, 12) }, async ({ cloud }) => {
    const { outcome, ms } = await timed(cloud.observe('a'));
    expect(outcome).toMatchObject({ name: 'RetryableError', retryAfterMs: 12_000 });
    expect(ms).toBeLessThan(AT_ONCE_MS);
  });
});
