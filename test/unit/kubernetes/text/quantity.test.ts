import { expect, test } from 'vitest';
import { parseAmounts, parseQuantity, renderAmounts } from '../../../../shared/kubernetes/text/quantity.ts';

test.each([
  ['100m', 1000, 100],
  ['1', 1000, 1000],
  ['0.1', 1000, 100],
  ['1.5Gi', 1, 1_610_612_736],
  ['128Mi', 1, 134_217_728],
  ['1e3', 1, 1000],
  ['12E', 1, Number.MAX_SAFE_INTEGER],
  ['2k', 1, 2000],
  [4, 1000, 4000],
  ['.5', 1000, 500],
  ['-1', 1, 0],
] as const)('%s in units of 1/%i is %i, exactly', (text, perUnit, amount) => {
  expect(parseQuantity(text, perUnit, 'up')).toBe(amount);
  expect(parseQuantity(text, perUnit, 'down')).toBe(amount);
});

test('what is asked for rounds up and what is offered rounds down', () => {
  expect(parseQuantity('1u', 1000, 'up')).toBe(1);
  expect(parseQuantity('1u', 1000, 'down')).toBe(0);
  expect(parseQuantity('1500m', 1, 'up')).toBe(2);
  expect(parseQuantity('1500m', 1, 'down')).toBe(1);
});

test.each(['', 'x', '1 Gi', '1Gi2', '--1', 'NaN', '1e9999'])('%j is no quantity', (text) => {
  expect(parseQuantity(text, 1, 'up')).toBe(null);
});

test('a request that cannot be read can be served by nothing, and such a capacity serves nothing', () => {
  expect(parseAmounts({ cpu: 'much' }, 'up').get('cpu')).toBe(Number.MAX_SAFE_INTEGER);
  expect(parseAmounts({ cpu: 'much' }, 'down').get('cpu')).toBe(0);
});

test('amounts are written as Kubernetes writes them, sorted by name', () => {
  expect(
    renderAmounts(
      new Map([
        ['memory', 1024],
        ['cpu', 250],
        ['pods', 3],
      ]),
    ),
  ).toEqual({ cpu: '250m', memory: '1Ki', pods: '3' });
  expect(renderAmounts(new Map([['cpu', 2000]]))).toEqual({ cpu: '2' });
});
