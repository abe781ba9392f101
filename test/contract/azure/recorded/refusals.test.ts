import { describe, expect, test } from 'vitest';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { AN_ACCEPTED_LAUNCH, aLaunch, withProduct } from './product.ts';
import { type Answer, PAGE, as, documented, recorded, reported } from './recordings.ts';

const MINUTE = 60_000;
const DAY = 23 * 60;

/** What a launch comes to whose VM, or NIC, is answered so. */
function outcomeOf(answer: Answer, key = 'PUT virtualMachines/*') {
  const script = { ...AN_ACCEPTED_LAUNCH, [key]: answer, 'GET virtualMachines/*': recorded('vm-delete', 1, 3) };
  return withProduct(script, ({ cloud }) => cloud.launch(aLaunch));
}

const NIC = 'PUT networkInterfaces/*';
const spotSize = documented(409, 'AzureSpotIsNotSupportedForThisVMSize', 'The size x cannot be deployed as a Spot VM.');
const spotSubscription = documented(
  409,
  'AzureSpotFeatureNotEnabledForSubscription',
  'Azure Spot is not enabled for this subscription.',
);
const regionalZero = documented(
  409,
  'OperationNotAllowed',
  'Operation could not be completed as it results in exceeding approved Total Regional Cores quota. Additional details - Deployment Model: Resource Manager, Location: eastus, Current Limit: 0, Current Usage: 0, Additional Required: 2.',
);
const spotQuota = documented(
  409,
  'OperationNotAllowed',
  'Operation could not be completed as it results in exceeding approved LowPriorityCores quota. Additional details - Deployment Model: Resource Manager, Location: eastus, Current Limit: 3.',
);
const generation = documented(
  400,
  'BadRequest',
  "The selected VM size 'Standard_M8ms' cannot boot Hypervisor Generation '2'.",
);
const accelerated = documented(
  400,
  'VMSizeIsNotPermittedToEnableAcceleratedNetworking',
  "The VM size 'x' is not allowed to enable accelerated networking on network interface(s).",
);

describe('a VM that Azure refuses at once', () => {
  test.for([
    ['the quota of a family', reported('OperationNotAllowed', 'Family'), 'family', 10, 'SubscriptionQuotaReached'],
    ['the quota of the region', reported('OperationNotAllowed', 'KoreaSouth'), 'region', 3, 'RegionalQuotaReached'],
    ['it, in another region', reported('OperationNotAllowed', 'centralus'), 'region', 3, 'RegionalQuotaReached'],
    ['it, of which there is none', regionalZero, 'region', 3, 'RegionalQuotaReached'],
    [
      'it, in the words of 2016',
      reported('OperationNotAllowed', 'limits of Core'),
      'region',
      3,
      'RegionalQuotaReached',
    ],
    ['the quota of spot', spotQuota, 'spot', 60, 'SubscriptionQuotaReached'],
    ['a size that is sold out', reported('SkuNotAvailable', 'Standard_B2s'), 'size', 60, 'SKUNotAvailable'],
    ['a spot size that is sold out', reported('SkuNotAvailable', 'Standard_F2'), 'size', 60, 'SKUNotAvailable'],
    ['the disk controller', reported('InvalidParameter', 'cannot boot with OS image'), 'size', DAY, 'VMSizeRefused'],
    ['a size that is not there', reported('InvalidParameter', 'current region. The'), 'size', DAY, 'VMSizeRefused'],
    ['a size that is none', reported('InvalidParameter', 'B1ls'), 'size', DAY, 'VMSizeRefused'],
    ['the image’s generation', generation, 'size', DAY, 'VMSizeRefused'],
    ['accelerated networking', accelerated, 'size', DAY, 'VMSizeRefused'],
    ['spot of the size', spotSize, 'size', DAY, 'SpotNotSupported'],
    ['spot of the size, as a 400', as(spotSize, { status: 400 }), 'size', DAY, 'SpotNotSupported'],
    ['spot of the subscription', spotSubscription, 'spot', 60, 'SpotNotEnabled'],
    ['it, as a 400', as(spotSubscription, { status: 400 }), 'spot', 60, 'SpotNotEnabled'],
  ] as const)('for %s is tried elsewhere', async ([, answer, scope, minutes, reason]) => {
    expect(await outcomeOf(answer)).toMatchObject({
      kind: 'unavailable',
      scope,
      retryAfterMs: minutes * MINUTE,
      reason,
    });
  });

  test.for([
    ['a right', recorded('error-gateway', 0, 0), 'AuthorizationFailed', /lacks the right \S+ on \S+/],
    ['a policy', documented(403, 'RequestDisallowedByPolicy', 'by policy p'), 'RequestDisallowedByPolicy', /policy p/],
    ['a group', recorded('vm-list', 0, 2), 'ResourceGroupNotFound', /could not be found/],
  ] as const)('for %s is for a person to mend, in Azure’s words', async ([, answer, reason, words]) => {
    const outcome = await outcomeOf(answer);
    expect(outcome).toMatchObject({ kind: 'rejected', reason, message: expect.stringMatching(words) });
  });

  test.for([
    ['an identity', recorded('error-gateway', 2, 0), 'FailedIdentityOperation'],
    ['another member', recorded('error-compute', 0, 0), 'InvalidParameter'],
    ['something new', documented(400, 'NeverSeen', 'In new words.', { target: 'zones' }), 'NeverSeen'],
  ] as const)('for %s leaves a doubt whether it is the size', async ([, answer, reason]) => {
    expect(await outcomeOf(answer)).toMatchObject({ kind: 'doubtful', reason });
  });

  test.for([
    ['a conflict', recorded('error-compute', 1, 0), 'Conflict'],
    ['another operation', recorded('error-network', 3, 0), 'AnotherOperationInProgress'],
    ['nothing that is there', recorded('error-compute', 3, 0), 'PreconditionFailed'],
    ['want of time', as(recorded('error-gateway', 1, 0), { headers: { 'Retry-After': '0' } }), 'ServerTimeout'],
    [
      'a token',
      documented(401, 'ExpiredAuthenticationToken', 'The access token expiry.'),
      'ExpiredAuthenticationToken',
    ],
  ] as const)('for %s is tried again', async ([, answer, code]) => {
    const failure = await outcomeOf(answer).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message: expect.stringContaining(code) });
  });
});

describe('a NIC that Azure refuses', () => {
  test.for([
    ['addresses', reported('SubnetIsFull'), 'SubnetIsFull', /Subnet one/],
    [
      'a right on the subnet',
      reported('LinkedAuthorizationFailed'),
      'AuthorizationFailed',
      /lacks the right \S*join\/action/,
    ],
    ['its subnet', recorded('error-network', 2, 0), 'InvalidResourceReference', /not found/],
  ] as const)('for want of %s is for a person to mend', async ([, answer, reason, words]) => {
    const outcome = await outcomeOf(answer, NIC);
    expect(outcome).toMatchObject({ kind: 'rejected', reason, message: expect.stringMatching(words) });
  });

  test('because something else is under way is tried again, and says what, though the SDK drops it', async () => {
    const failure = await outcomeOf(recorded('error-network', 0, 0), NIC).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'RetryableError',
      because: 'throttled',
      retryAfterMs: null,
      message: expect.stringMatching(/subnets\/.* Updating/),
    });
  });
});

describe('a right that is missing before the NIC', () => {
  const denied = recorded('error-gateway', 0, 0);

  test.for(['GET loadBalancers', 'GET networkSecurityGroups', NIC, 'PUT virtualMachines/*'])(
    'is told in the same way, with its action and scope, at %s',
    async (key) => {
      expect(await outcomeOf(denied, key)).toMatchObject({
        kind: 'rejected',
        reason: 'AuthorizationFailed',
        message: expect.stringMatching(/^the app's identity lacks the right [\w./]+ on \//),
      });
    },
  );

  test.for(['GET loadBalancers', 'GET networkSecurityGroups', NIC, 'PUT virtualMachines/*'])(
    'and a group that is not there, are told alike, at %s',
    async (key) => {
      const outcome = await outcomeOf(recorded('load-balancer-list', 0, 1), key);
      expect(outcome).toMatchObject({ kind: 'rejected', reason: 'ResourceGroupNotFound' });
    },
  );

  test.for(['GET loadBalancers', NIC, 'PUT virtualMachines/*'])(
    'is not what a page of somebody in between tells, at %s',
    async (key) => {
      expect(await outcomeOf(PAGE, key).catch((error: unknown) => error)).toBeInstanceOf(RetryableError);
    },
  );

  test('is asked for anew, so that the launch goes on by itself once it is there', async () => {
    const script = { ...AN_ACCEPTED_LAUNCH, 'GET loadBalancers': [denied, recorded('load-balancer-list', 0, 0)] };
    await withProduct(script, async ({ cloud }) => {
      expect((await cloud.launch(aLaunch)).kind).toBe('rejected');
      expect((await cloud.launch(aLaunch)).kind).toBe('accepted');
    });
  });
});
