import { labelKey } from '../../../kubernetes/labels.ts';
import { lettersApart } from '../../../kubernetes/text/letters-apart.ts';

/** Labels that people mean when they mistype one, in the order in which they are proposed. */
const OFTEN_MEANT: ReadonlyArray<string> = [
  labelKey.zone,
  labelKey.region,
  labelKey.instanceType,
  labelKey.nodePool,
  labelKey.capacityType,
  'kubernetes.io/arch',
  'kubernetes.io/os',
];

/** More letters than this make it another word. */
const MOST_TYPOS = 2;

/** A longer rest than this makes it another label. */
const LONGEST_REST = 8;

/**
 * The label that is probably meant by `key`, which nothing has, or null: one of the well-known ones or of `known` that
 * has it as a part, begins it, or differs from it by a letter or two. Karpenter gives the same kind of hint.
 */
export function labelMeant(key: string, known: ReadonlyArray<string>): string | null {
  const candidates = [...OFTEN_MEANT, ...known.toSorted()];
  if (key.length < 2 || candidates.includes(key)) return null;
  return (
    candidates.find((one) => one.endsWith(`/${key}`)) ??
    candidates.find((one) => lettersApart(key, one) <= MOST_TYPOS) ??
    candidates.find((one) => key.startsWith(one) && key.length - one.length <= LONGEST_REST) ??
    null
  );
}
