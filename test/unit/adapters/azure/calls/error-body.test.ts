import { describe, expect, test } from 'vitest';
import { parseErrorBody } from '../../../../../shared/adapters/azure/calls/error-body.ts';

const body = (error: unknown): string => JSON.stringify({ error });

describe('the body of a refusal', () => {
  test('is read as Azure writes it', () => {
    const details = [{ code: 'TooManyRequests', message: 'm', target: 'PutVMResource' }];
    expect(parseErrorBody(body({ code: 'C', message: 'M', target: 'vmSize', details, innererror: {} }))).toEqual({
      code: 'C',
      message: 'M',
      target: 'vmSize',
      details,
    });
  });

  test.each<readonly [string, unknown, object]>([
    ['details that are no list', { code: 'C', details: {} }, { code: 'C', details: [] }],
    ['details that are text', { code: 'C', details: 'see below' }, { code: 'C', details: [] }],
    ['details of nothing', { code: 'C', details: [null, 3, { code: 'D' }] }, { code: 'C', details: [{ code: 'D' }] }],
    ['a target that is a number', { code: 'C', target: 5 }, { code: 'C', details: [] }],
    ['a code that is none', { code: null, message: 'M' }, { message: 'M', details: [] }],
  ])('with %s says the rest', (_, error, wanted) => {
    expect(parseErrorBody(body(error))).toEqual(wanted);
  });

  test.each([null, '', '<html></html>', 'null', '{}', body(null), body([]), body('no')])(
    'that is %j says nothing',
    (text) => {
      expect(parseErrorBody(text)).toBeUndefined();
    },
  );
});
