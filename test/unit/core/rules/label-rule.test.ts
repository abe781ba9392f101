import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  admits,
  chooseValue,
  intersect,
  isEmpty,
  toExpressions,
  toRule,
  toRules,
  type LabelRule,
} from '../../../../shared/core/rules/label-rule.ts';

const universe = [undefined, 'a', 'b', '0', '1', '5', '9', '-3', '1.5', ''];
const expressions = fc.oneof(
  fc.record({
    key: fc.constant('k'),
    operator: fc.constantFrom('In', 'NotIn'),
    values: fc.subarray(['a', 'b', '0', '1', '5', '9']),
  }),
  fc.record({ key: fc.constant('k'), operator: fc.constantFrom('Exists', 'DoesNotExist'), values: fc.constant([]) }),
  fc.record({
    key: fc.constant('k'),
    operator: fc.constantFrom('Gt', 'Lt', 'Gte', 'Lte'),
    values: fc.constantFrom(['0'], ['5'], ['9']),
  }),
);
const rules: fc.Arbitrary<LabelRule> = fc
  .array(expressions, { minLength: 1, maxLength: 3 })
  .map((list) => list.map(toRule).reduce(intersect));

describe('the algebra of label rules', () => {
  test('an intersection accepts what both accept and nothing else', () => {
    fc.assert(
      fc.property(rules, rules, (a, b) => {
        for (const value of universe) expect(admits(intersect(a, b), value)).toBe(admits(a, value) && admits(b, value));
      }),
    );
  });

  test('a rule is empty only when no value and no absence meets it', () => {
    fc.assert(
      fc.property(rules, (rule) => {
        if (universe.some((value) => admits(rule, value))) expect(isEmpty(rule)).toBe(false);
      }),
    );
  });

  test('a chosen value meets the rule, and none is chosen only when absence does or nothing can', () => {
    fc.assert(
      fc.property(rules, (rule) => {
        const value = chooseValue(rule);
        if (value === null) expect(rule.absent || isEmpty(rule)).toBe(true);
        else expect(admits(rule, value)).toBe(true);
      }),
    );
  });

  test('a rule written as requirements of a NodeClaim and read again accepts the same values', () => {
    fc.assert(
      fc.property(rules, (rule) => {
        fc.pre(!isEmpty(rule));
        const again = toRules(toExpressions('k', rule)).get('k');
        for (const value of universe.filter((one) => one !== undefined)) {
          expect(again === undefined || admits(again, value)).toBe(admits(rule, value));
        }
      }),
    );
  });
});

test.each([
  ['In', ['a'], 'a', true],
  ['In', ['a'], undefined, false],
  ['NotIn', ['a'], undefined, true],
  ['NotIn', ['a'], 'a', false],
  ['Exists', [], 'x', true],
  ['DoesNotExist', [], undefined, true],
  ['DoesNotExist', [], 'x', false],
  ['Gt', ['4'], '5', true],
  ['Gt', ['4'], '4', false],
  ['Gte', ['4'], '4', true],
  ['Lt', ['4'], '3', true],
  ['Lte', ['4'], '4', true],
  ['Lt', ['4'], undefined, false],
  ['Lt', ['4'], 'many', false],
  ['Gt', ['many'], '5', false],
  ['Sounds', ['like'], 'like', false],
])('%s %j on a label %j: %j', (operator, values, value, accepted) => {
  expect(admits(toRule({ key: 'k', operator, values }), value)).toBe(accepted);
});

test('deprecated keys are read as the current ones', () => {
  const rules_ = toRules([{ key: 'failure-domain.beta.kubernetes.io/zone', operator: 'In', values: ['z'] }]);
  expect([...rules_.keys()]).toEqual(['topology.kubernetes.io/zone']);
});

test('NotIn and Exists on one key mean a value other than these, not any absence', () => {
  const rule = intersect(
    toRule({ key: 'k', operator: 'NotIn', values: ['a'] }),
    toRule({ key: 'k', operator: 'Exists' }),
  );
  expect([admits(rule, undefined), admits(rule, 'a'), admits(rule, 'b')]).toEqual([false, false, true]);
});
