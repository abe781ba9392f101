import { describe, expect, test } from 'vitest';
import {
  admits,
  chooseValue,
  intersect,
  isEmpty,
  overlaps,
  toExpressions,
  toRule,
  toRules,
} from '../../../../shared/core/rules/label-rule.ts';

/** Karpenter's truth tables of requirements (A15), as one law per operation, over every pair of these. */

const FORMS: ReadonlyArray<readonly [string, ...ReadonlyArray<string>]> = [
  ['Exists'],
  ['DoesNotExist'],
  ['In', 'a'],
  ['In', 'b'],
  ['In', 'a', 'b'],
  ['In', '1'],
  ['In', '9'],
  ['In', '1', '9', 'a'],
  ['NotIn', 'a'],
  ['NotIn', 'a', 'b'],
  ['NotIn', '1'],
  ['Gt', '1'],
  ['Gt', '9'],
  ['Lt', '9'],
  ['Lt', '1'],
  ['Gte', '1'],
  ['Gte', '9'],
  ['Lte', '9'],
  ['Lte', '1'],
];
const STATES = [undefined, 'a', 'b', 'c', '0', '1', '2', '8', '9', '10', '01', ''];
const ruleOf = ([operator, ...values]: (typeof FORMS)[number]) => toRule({ key: 'k', operator, values });
const PAIRS = FORMS.flatMap((a) => FORMS.map((b) => [a.join(' '), b.join(' '), a, b] as const));

/** What the operators mean, from the API's description. */
function means([operator, ...values]: (typeof FORMS)[number], state: string | undefined): boolean {
  if (operator === 'DoesNotExist') return state === undefined;
  if (operator === 'NotIn') return state === undefined || !values.includes(state);
  if (state === undefined) return false;
  if (operator === 'Exists') return true;
  if (operator === 'In') return values.includes(state);
  if (!/^\d+$/.test(state)) return false;
  const [number, bound] = [Number(state), Number(values[0])];
  if (operator === 'Gt') return number > bound;
  if (operator === 'Gte') return number >= bound;
  return operator === 'Lt' ? number < bound : number <= bound;
}

describe('the algebra of requirements [A15]', () => {
  test.each(FORMS.map((form) => [form.join(' '), form] as const))(
    '%s accepts exactly the states it names',
    (_, form) => {
      for (const state of STATES) expect([state, admits(ruleOf(form), state)]).toEqual([state, means(form, state)]);
    },
  );

  test.each(PAIRS)('%s and %s together accept what both accept, in either order', (_, __, a, b) => {
    for (const state of STATES) {
      const both = means(a, state) && means(b, state);
      expect([state, admits(intersect(ruleOf(a), ruleOf(b)), state)]).toEqual([state, both]);
      expect([state, admits(intersect(ruleOf(b), ruleOf(a)), state)]).toEqual([state, both]);
    }
  });

  test('two rules overlap exactly when some state is accepted by both', () => {
    for (const [, , a, b] of PAIRS) {
      const common = STATES.some((state) => means(a, state) && means(b, state));
      // What only states outside of the samples would show, an overlap may still claim; a denial must be right.
      if (common) expect([a, b, overlaps(ruleOf(a), ruleOf(b))]).toEqual([a, b, true]);
      expect(overlaps(ruleOf(a), ruleOf(b))).toBe(!isEmpty(intersect(ruleOf(a), ruleOf(b))));
    }
  });

  test('what is written to a NodeClaim accepts the same values as what it was made of', () => {
    for (const [, , a, b] of PAIRS) {
      const rule = intersect(ruleOf(a), ruleOf(b));
      if (isEmpty(rule)) continue;
      const read = toRules(toExpressions('k', rule)).get('k');
      for (const state of STATES.filter((one) => one !== undefined)) {
        expect([a, b, state, read === undefined || admits(read, state)]).toEqual([a, b, state, admits(rule, state)]);
      }
    }
  });

  test('bounds are written inclusive, and both when there are two', () => {
    const written = (...forms: ReadonlyArray<(typeof FORMS)[number]>) =>
      toExpressions('k', forms.map(ruleOf).reduce(intersect)).map(({ operator, values = [] }) => [operator, ...values]);
    expect(written(['Gt', '3'])).toEqual([['Gte', '4']]);
    expect(written(['Lt', '3'])).toEqual([['Lte', '2']]);
    expect(written(['Gt', '3'], ['Lt', '9'])).toEqual([
      ['Gte', '4'],
      ['Lte', '8'],
    ]);
  });

  test('an empty range accepts nothing, where Karpenter would take it for DoesNotExist', () => {
    const crossed = intersect(
      toRule({ key: 'k', operator: 'Gt', values: ['8'] }),
      toRule({ key: 'k', operator: 'Lt', values: ['4'] }),
    );
    expect(isEmpty(crossed)).toBe(true);
    for (const state of STATES) expect(admits(crossed, state)).toBe(false);
  });

  test('more than the largest integer is nothing', () => {
    expect(isEmpty(toRule({ key: 'k', operator: 'Gt', values: [String(Number.MAX_SAFE_INTEGER)] }))).toBe(true);
    expect(isEmpty(toRule({ key: 'k', operator: 'Gt', values: ['9223372036854775807'] }))).toBe(true);
  });

  test('a value chosen for a rule is one that it accepts, the same every time', () => {
    for (const [, , a, b] of PAIRS) {
      const rule = intersect(ruleOf(a), ruleOf(b));
      const value = chooseValue(rule);
      if (value !== null) expect([a, b, admits(rule, value)]).toEqual([a, b, true]);
      else expect([a, b, rule.absent || isEmpty(rule)]).toEqual([a, b, true]);
      expect(chooseValue(intersect(ruleOf(b), ruleOf(a)))).toBe(value);
    }
  });
});
