import { describe, expect, test } from 'vitest';
import type { LabelSelector, Toleration } from '../../../../../shared/kubernetes/manifest.ts';
import { blockingTaint, meets, meetsTerm, selected } from '../../../../../shared/core/audit/seen/matching.ts';
import { requirement } from '../../../../kit/core/build.ts';

describe('a label that may have several values', () => {
  const several = new Map([['size', ['4', '8']]]);

  test.each([
    ['In', ['4']],
    ['NotIn', ['4']],
    ['Exists', []],
    ['Gt', ['4']],
    ['Gte', ['8']],
    ['Lt', ['8']],
    ['Lte', ['4']],
  ])('meets %s %s, as one of them does', (operator, values) => {
    expect(meets(several, requirement('size', operator, ...values))).toBe(true);
  });

  test.each([
    ['In', ['5']],
    ['NotIn', ['4', '8']],
    ['DoesNotExist', []],
    ['Gt', ['8']],
    ['Lt', ['4']],
    ['Gt', ['']],
    ['Gte', ['']],
    ['Gt', []],
    ['Gt', ['0.5']],
    ['Like', ['4']],
  ])('does not meet %s %s', (operator, values) => {
    expect(meets(several, requirement('size', operator, ...values))).toBe(false);
  });

  test.each(['In', 'Exists', 'Gt', 'Gte', 'Lt', 'Lte'])('that is missing does not meet %s', (operator) => {
    expect(meets(new Map(), requirement('size', operator, '4'))).toBe(false);
  });

  test.each(['NotIn', 'DoesNotExist'])('that is missing meets %s', (operator) => {
    expect(meets(new Map(), requirement('size', operator, '4'))).toBe(true);
  });
});

test('a term with expressions and fields is met where both are, one without any is met nowhere', () => {
  const labels = new Map([['size', ['4']]]);
  const term = (size: string, name: string) => ({
    matchExpressions: [requirement('size', 'In', size)],
    matchFields: [requirement('metadata.name', 'In', name)],
  });
  expect(meetsTerm(labels, term('4', 'n'), 'n')).toBe(true);
  expect(meetsTerm(labels, term('4', 'm'), 'n')).toBe(false);
  expect(meetsTerm(labels, term('5', 'n'), 'n')).toBe(false);
  expect(meetsTerm(labels, {}, 'n')).toBe(false);
});

describe('a selector', () => {
  const labels = { app: 'web' };
  const by = (operator: string, key: string, ...values: ReadonlyArray<string>): LabelSelector => ({
    matchExpressions: [{ key, operator, values }],
  });

  test.each<readonly [string, LabelSelector]>([
    ['without rules', {}],
    ['In', by('In', 'app', 'db', 'web')],
    ['NotIn of another value', by('NotIn', 'app', 'db')],
    ['NotIn of a label that is missing', by('NotIn', 'tier', 'db')],
    ['Exists', by('Exists', 'app')],
    ['DoesNotExist', by('DoesNotExist', 'tier')],
  ])('%s selects', (_, selector) => {
    expect(selected(selector, labels)).toBe(true);
  });

  test.each<readonly [string, LabelSelector | null | undefined]>([
    ['that is missing', undefined],
    ['that is null', null],
    ['with another label', { matchLabels: { app: 'web', tier: 'x' } }],
    ['In of a label that is missing', by('In', 'tier', 'undefined')],
    ['In of other values', by('In', 'app', 'db')],
    ['NotIn of the value', by('NotIn', 'app', 'web')],
    ['Exists of a label that is missing', by('Exists', 'tier')],
    ['DoesNotExist of a label that is there', by('DoesNotExist', 'app')],
    ['of no known operator', by('Gt', 'app', '1')],
    ['of no known operator, where the label is missing', by('Gt', 'tier', '1')],
    [
      'of two expressions of which one holds',
      {
        matchExpressions: [
          { key: 'app', operator: 'Exists' },
          { key: 'x', operator: 'Exists' },
        ],
      },
    ],
  ])('%s does not select', (_, selector) => {
    expect(selected(selector, labels)).toBe(false);
  });
});

test('one of several tolerations is enough, and each taint needs one', () => {
  const [first, second] = ['first', 'second'].map((key) => ({ key, effect: 'NoSchedule' }));
  if (first === undefined || second === undefined) throw new Error('two taints');
  const of = (...keys: ReadonlyArray<string>): ReadonlyArray<Toleration> =>
    keys.map((key) => ({ key, operator: 'Exists' }));
  expect(blockingTaint([first], of('other', 'first'))).toBeNull();
  expect(blockingTaint([first, second], of('first'))).toBe(second);
  expect(blockingTaint([first], undefined)).toBe(first);
  expect(blockingTaint([], undefined)).toBeNull();
});
