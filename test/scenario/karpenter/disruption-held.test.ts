import { heldCases } from './kit/held.ts';

const numbered = (letter: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `${letter}${String(index + 1).padStart(2, '0')}`);

heldCases([...numbered('L', 15), ...numbered('M', 6)], '0048-where-disruption-differs-from-karpenter.md');
