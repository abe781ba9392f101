import { expect, test } from 'vitest';
import { classifyLaunchError } from '../../../../shared/adapters/azure/classify-launch-error.ts';

const quota = 'Operation could not be completed as it results in exceeding approved';

test.for([
  ['OperationNotAllowed', `${quota} LowPriorityCores quota.`, 'spot', 60],
  ['OperationNotAllowed', `${quota} standardDSv5Family Cores quota. Current Limit: 0`, 'family', 60],
  ['OperationNotAllowed', `${quota} standardDSv5Family Cores quota. Current Limit: 10`, 'family', 10],
  ['OperationNotAllowed', `${quota} Total Regional Cores quota.`, 'region', 3],
  ['SkuNotAvailable', 'The requested VM size is currently not available.', 'size', 60],
  ['ZonalAllocationFailed', 'Allocation failed.', 'zone', 60],
  ['AllocationFailed', 'Allocation failed.', 'zone', 60],
  ['OverconstrainedZonalAllocationRequest', '', 'offering', 60],
  ['OverconstrainedAllocationRequest', '', 'size', 60],
] as const)('%s (%s) rules out the %s for %s minutes', ([code, message, scope, minutes]) => {
  expect(classifyLaunchError(code, message)).toMatchObject({
    kind: 'unavailable',
    scope,
    retryAfterMs: minutes * 60_000,
  });
});

test('the words of a message count in any case', () => {
  expect(classifyLaunchError('OperationNotAllowed', 'TOTAL REGIONAL cores')).toMatchObject({ scope: 'region' });
});

test.for(['SubnetIsFull', 'RequestDisallowedByPolicy', 'AuthorizationFailed', 'ReadOnlyDisabledSubscription'])(
  '%s is for a person to mend: no other offering is tried',
  (code) => {
    expect(classifyLaunchError(code, 'any')?.kind).toBe('rejected');
  },
);

test('an error that says nothing about the offering is left to its HTTP status', () => {
  expect(classifyLaunchError('OperationNotAllowed', 'The VM is being deleted.')).toBeNull();
  expect(classifyLaunchError('TooManyRequests', '')).toBeNull();
});
