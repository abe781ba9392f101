import { expect, test } from 'vitest';
import {
  type LaunchVerdict,
  classifyLaunchError,
} from '../../../../../shared/adapters/azure/machines/classify-launch-error.ts';

const quota = 'Operation could not be completed as it results in exceeding approved';

const DAY = 23 * 60;

function classify(code: string, message: string, target = ''): LaunchVerdict | null {
  return classifyLaunchError({ code, target, message });
}

test.for([
  ['OperationNotAllowed', `${quota} LowPriorityCores quota.`, 'spot', 60, 'SubscriptionQuotaReached'],
  [
    'OperationNotAllowed',
    `${quota} standardDSv5Family Cores quota. Current Limit: 0`,
    'family',
    60,
    'SubscriptionQuotaReached',
  ],
  [
    'OperationNotAllowed',
    `${quota} standardDSv5Family Cores quota. Current Limit: 10`,
    'family',
    10,
    'SubscriptionQuotaReached',
  ],
  ['OperationNotAllowed', `${quota} Total Regional Cores quota.`, 'region', 3, 'RegionalQuotaReached'],
  [
    'OperationNotAllowed',
    `${quota} Total Regional Cores quota. Current Limit: 0, Current Usage: 0`,
    'region',
    3,
    'RegionalQuotaReached',
  ],
  [
    'OperationNotAllowed',
    'Operation results in exceeding quota limits of Core. Maximum allowed: 20',
    'region',
    3,
    'RegionalQuotaReached',
  ],
  ['OperationNotAllowed', 'Some other quota is used up.', 'family', 10, 'SubscriptionQuotaReached'],
  ['SkuNotAvailable', 'The requested VM size is currently not available.', 'size', 60, 'SKUNotAvailable'],
  ['ZonalAllocationFailed', 'Allocation failed.', 'zone', 60, 'ZonalAllocationFailure'],
  ['AllocationFailed', 'Allocation failed.', 'zone', 60, 'AllocationFailure'],
  ['OverconstrainedZonalAllocationRequest', '', 'offering', 60, 'OverconstrainedZonalAllocationFailure'],
  ['OverconstrainedAllocationRequest', '', 'size', 60, 'OverconstrainedAllocationFailure'],
  ['VMSizeNotSupported', '', 'size', DAY, 'SKUNotAvailable'],
  ['BadRequest', 'The size is not supported for subscription s', 'size', DAY, 'SKUNotAvailable'],
  ['NotAvailableForSubscription', '', 'size', DAY, 'SKUNotAvailable'],
  ['AzureSpotIsNotSupportedForThisVMSize', '', 'size', DAY, 'SpotNotSupported'],
  ['AzureSpotFeatureNotEnabledForSubscription', '', 'spot', 60, 'SpotNotEnabled'],
  ['VMSizeIsNotPermittedToEnableAcceleratedNetworking', '', 'size', DAY, 'VMSizeRefused'],
  ['BadRequest', "The selected VM size 'x' cannot boot Hypervisor Generation '1'.", 'size', DAY, 'VMSizeRefused'],
  ['InvalidParameter', 'The value B1ls provided for the VM size is not valid.', 'size', DAY, 'VMSizeRefused'],
  ['QuotaExceeded', '', 'family', 10, 'SubscriptionQuotaReached'],
  ['OSProvisioningTimedOut', '', 'offering', 3, 'OSProvisioningTimedOut'],
  ['OSProvisioningInternalError', '', 'offering', 3, 'OSProvisioningInternalError'],
] as const)('%s (%s) rules out the %s for %s minutes: %s', ([code, message, scope, minutes, reason]) => {
  expect(classify(code, message)).toEqual({
    kind: 'unavailable',
    scope,
    retryAfterMs: minutes * 60_000,
    reason,
  });
});

test('the words of a message count in any case', () => {
  expect(classify('OperationNotAllowed', 'TOTAL REGIONAL cores')).toMatchObject({ scope: 'region' });
});

test.for([
  ['SubnetIsFull', 'SubnetIsFull'],
  ['InsufficientSubnetSize', 'SubnetIsFull'],
  ['RequestDisallowedByPolicy', 'RequestDisallowedByPolicy'],
  ['InvalidTemplateDeployment', 'InvalidTemplateDeployment'],
  ['ReadOnlyDisabledSubscription', 'SubscriptionDisabled'],
  ['AuthorizationFailed', 'AuthorizationFailed'],
  ['LinkedAuthorizationFailed', 'AuthorizationFailed'],
] as const)('%s is for a person to mend, as %s: no other offering is tried', ([code, reason]) => {
  expect(classify(code, 'any')).toEqual({ kind: 'rejected', reason });
});

test('a disk that the size has no room for is a matter of the size; one that is smaller than its image, of the class', () => {
  expect(classify('NotSupported', 'OS disk of Ephemeral VM with size greater than 50 GB')).toMatchObject({
    kind: 'unavailable',
    scope: 'size',
    reason: 'EphemeralOSDiskNotSupported',
  });
  expect(classify('OperationNotAllowed', 'The specified disk size 30 GB is smaller')).toEqual({
    kind: 'rejected',
    reason: 'OSDiskTooSmall',
  });
});

test('an error that says nothing about the offering is left to its HTTP status', () => {
  expect(classify('OperationNotAllowed', 'The VM is being deleted.')).toBeNull();
  expect(classify('TooManyRequests', '')).toBeNull();
  expect(classify('BadRequest', 'The name is too long.')).toBeNull();
  expect(classify('Conflict', `${quota} Total Regional Cores quota.`)).toBeNull();
});

test.for(['vmSize', 'VMSize', 'properties.hardwareProfile.vmSize'])(
  'a refusal whose target is %s is one of the size, whatever it says',
  (target) => {
    expect(classify('InvalidParameter', 'In words that nobody knows.', target)).toMatchObject({
      kind: 'unavailable',
      scope: 'size',
    });
  },
);

test('a refusal of another member is none of the size, though it speaks of one', () => {
  expect(classify('InvalidParameter', 'The name is too long for the VM size.', 'computerName')).toBeNull();
});
