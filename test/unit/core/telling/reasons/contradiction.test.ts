import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SelectorRequirement } from '../../../../../shared/kubernetes/manifest.ts';
import {
  contradictionIn,
  contradictionOfPod,
  saidBy,
} from '../../../../../shared/core/telling/reasons/contradiction.ts';
import { admits, toRule } from '../../../../../shared/core/rules/label-rule.ts';
import { pool, requirement, spec } from '../../../../kit/core/build.ts';

const asks = (operator: string, ...values: ReadonlyArray<string>) => requirement('k', operator, ...values);

describe('requirements contradict each other', () => {
  test.each<readonly [string, ReadonlyArray<SelectorRequirement>]>([
    ['values that have none in common', [asks('In', 'a'), asks('In', 'b')]],
    ['bounds with nothing between them', [asks('Gt', '5'), asks('Lt', '3')]],
    ['bounds without a whole number between them', [asks('Gt', '5'), asks('Lt', '6')]],
    ['being there and not', [asks('Exists'), asks('DoesNotExist')]],
    ['a value that is excluded', [asks('In', 'a'), asks('NotIn', 'a', 'b')]],
  ])('by %s', (_, both) => {
    expect(contradictionIn(both)).toEqual(both);
    const beside = [requirement('other', 'In', 'x'), asks('NotIn', 'z'), ...both];
    expect(contradictionIn(beside)).toEqual(both);
  });

  test('all together where no two of them do', () => {
    const three = [asks('In', 'a', 'b'), asks('NotIn', 'a'), asks('NotIn', 'b')];
    expect(contradictionIn(three)).toEqual(three);
  });

  test('also under an old name of the label', () => {
    const both = [
      requirement('topology.kubernetes.io/zone', 'In', 'a'),
      requirement('failure-domain.beta.kubernetes.io/zone', 'In', 'b'),
    ];
    expect(contradictionIn(both)).toEqual(both);
  });

  test('only where no value will do, nor absence', () => {
    const values = ['a', 'b', '1', '2', '3'];
    const one = fc.oneof(
      fc.tuple(fc.constantFrom('In', 'NotIn'), fc.subarray(values, { minLength: 1 })),
      fc.tuple(fc.constantFrom('Gt', 'Lt'), fc.constantFrom(['1'], ['2'], ['3'])),
      fc.tuple(fc.constantFrom('Exists', 'DoesNotExist'), fc.constant([])),
    );
    fc.assert(
      fc.property(fc.array(one, { maxLength: 4 }), (drawn) => {
        const all = drawn.map(([operator, own]) => asks(operator, ...own));
        const rules = all.map(toRule);
        const states = [undefined, 'fresh', ...Array.from({ length: 9 }, (_, number) => String(number)), ...values];
        const isMet = states.some((state) => rules.every((rule) => admits(rule, state)));
        expect(contradictionIn(all) === null).toBe(isMet);
      }),
    );
  });
});

test('what a pool says of a label is what it requires, without minValues, and its own value', () => {
  const requirements = [{ ...asks('In', 'a', 'b'), minValues: 2 }, requirement('other', 'Exists')];
  const given = pool('p', { requirements, labels: { k: 'a' } });
  expect(saidBy(given, 'k')).toEqual([asks('In', 'a', 'b'), asks('In', 'a')]);
  expect(saidBy(given, 'k')[0]).not.toHaveProperty('minValues');
});

describe('a pod contradicts itself', () => {
  const podWith = (terms: ReadonlyArray<ReadonlyArray<SelectorRequirement>>) =>
    spec('1', '1Gi', {
      nodeSelector: { k: 'a' },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
          },
        },
      },
    });

  test('where every term does, and the first is told', () => {
    expect(contradictionOfPod(podWith([[asks('In', 'b')], [asks('In', 'c')]]))).toEqual([
      asks('In', 'a'),
      asks('In', 'b'),
    ]);
  });

  test('and not where one of its terms can be met, nor where it has none', () => {
    expect(contradictionOfPod(podWith([[asks('In', 'b')], [asks('In', 'a')]]))).toBeNull();
    expect(contradictionOfPod(podWith([]))).toBeNull();
    expect(contradictionOfPod(spec('1', '1Gi', { nodeSelector: { k: 'a' } }))).toBeNull();
  });
});
