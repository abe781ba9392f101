import { heldCases } from './kit/held.ts';

const numbered = (letter: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `${letter}${String(index + 1).padStart(2, '0')}`);

heldCases([...numbered('J', 12), ...numbered('K', 8)], '0047-where-lives-of-nodes-differ-from-karpenter.md');
