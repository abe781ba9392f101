import { describe, expect, test } from 'vitest';
import {
  isNotFound,
  orNull,
  readAzureError,
  toRetryable,
} from '../../../../../shared/adapters/azure/calls/azure-error.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { armError } from '../../../../kit/azure/fake-azure.ts';

const withParts = (parts: object): Error =>
  Object.assign(new Error('of the SDK'), { statusCode: 409, code: 'SDK' }, parts);

describe('an error of Azure’s', () => {
  test('is told by its status, code and words, and its pause in seconds', () => {
    expect(readAzureError(armError(429, 'TooManyRequests', 'slow down', { 'retry-after': '7' }))).toEqual({
      status: 429,
      code: 'TooManyRequests',
      message: 'slow down',
      target: '',
      retryAfterMs: 7_000,
    });
  });

  test.for([['0'], ['-3'], ['Sat, 21 Nov 2020 05:41:02 GMT'], ['']])('names no pause with %j', ([header = '']) => {
    expect(readAzureError(armError(429, 'X', 'x', { 'retry-after': header })).retryAfterMs).toBeNull();
  });

  test.for([
    ['its details', { details: { error: { code: 'Exact', message: 'exactly' } } }],
    ['its body', { response: { bodyAsText: '{"error":{"code":"Exact","message":"exactly"}}' } }],
    [
      'its details before its body',
      {
        details: { error: { code: 'Exact', message: 'exactly' } },
        response: { bodyAsText: '{"error":{"code":"Other","message":"other"}}' },
      },
    ],
  ] as const)('is told by %s, which is more exact than the SDK', ([, parts]) => {
    expect(readAzureError(withParts(parts))).toMatchObject({ code: 'Exact', message: 'exactly' });
  });

  test.for([
    ['that is no JSON', { response: { bodyAsText: '<html>' } }],
    ['that is empty', { response: { bodyAsText: '' } }],
    ['that is none', { response: { bodyAsText: null } }],
    ['that says nothing of an error', { response: { bodyAsText: '{}' } }],
    ['whose error says nothing', { details: { error: {} } }],
    ['that is not there', {}],
  ] as const)('is told by the SDK where it has a body %s', ([, parts]) => {
    expect(readAzureError(withParts(parts))).toEqual({
      status: 409,
      code: 'SDK',
      message: 'of the SDK',
      target: '',
      retryAfterMs: null,
    });
  });

  test('is told with the details that name the member which Azure means', () => {
    const details = { error: { code: 'Bad', message: 'Cannot parse.', details: [{ message: 'a is unknown.' }, {}] } };
    expect(readAzureError(Object.assign(new Error('short'), { statusCode: 400, details }))).toMatchObject({
      code: 'Bad',
      message: 'Cannot parse. a is unknown.',
    });
  });

  test('without an answer has no status, and what is no error at all is told by its text', () => {
    expect(readAzureError(new Error('ECONNRESET'))).toEqual({
      status: 0,
      code: '',
      message: 'ECONNRESET',
      target: '',
      retryAfterMs: null,
    });
    expect(readAzureError('odd')).toEqual({ status: 0, code: '', message: 'odd', target: '', retryAfterMs: null });
  });
});

describe('what nobody here can decide', () => {
  test('may work next time, after Azure’s pause, and says what was tried and why it did not work', () => {
    const cause = armError(429, 'TooManyRequests', 'slow down', { 'retry-after': '7' });
    const error = toRetryable('reading VM a', cause);
    expect(error).toBeInstanceOf(RetryableError);
    expect(error).toMatchObject({ message: 'reading VM a: 429 TooManyRequests slow down', retryAfterMs: 7_000, cause });
    expect(toRetryable('x', armError(500, 'Y')).retryAfterMs).toBeNull();
  });

  test.for([
    [429, 'throttled'],
    [403, 'forbidden'],
    [503, null],
    [401, null],
  ] as const)('with status %s is of the kind %s that people should hear of', ([status, because]) => {
    expect(toRetryable('x', armError(status, 'Y')).because).toBe(because);
  });

  test('names the action and the scope of a missing right first', () => {
    const words =
      "The client 'x' with object id 'x' does not have authorization to perform action 'Microsoft.Network/loadBalancers/read' over scope '/subscriptions/s/resourceGroups/g' or the scope is invalid.";
    expect(toRetryable('x', armError(403, 'AuthorizationFailed', words)).message).toBe(
      `x: 403 AuthorizationFailed the app's identity lacks the right Microsoft.Network/loadBalancers/read on /subscriptions/s/resourceGroups/g. ${words}`.slice(
        0,
        500,
      ),
    );
  });

  test('is told in at most 500 letters', () => {
    expect(toRetryable('x', armError(500, 'Y', 'z'.repeat(1_000))).message).toHaveLength(500);
  });
});

test.for([
  ['ResourceNotFound', true],
  ['NotFound', true],
  ['ResourceGroupNotFound', false],
  ['SubscriptionNotFound', false],
  ['InvalidResourceType', false],
  ['', false],
] as const)('404 with the code "%s" says that the thing is gone: %s', ([code, isGone]) => {
  expect(isNotFound(armError(404, code))).toBe(isGone);
});

test('only 404 is "not found", and a read gives null for it alone', async () => {
  expect([404, 403, 410].map((status) => isNotFound(armError(status, 'NotFound')))).toEqual([true, false, false]);
  expect(await orNull('x', Promise.resolve(5))).toBe(5);
  expect(await orNull('x', Promise.reject(armError(404, 'ResourceNotFound')))).toBeNull();
  const failure = await orNull('reading x', Promise.reject(armError(403, 'NotFound'))).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RetryableError);
  expect(failure).toMatchObject({ message: 'reading x: 403 NotFound NotFound' });
});
