import type { Requirement } from '../../../kubernetes/manifest.ts';
import { admits, byCodeUnit, toRule } from '../../rules/label-rule.ts';
import { valueMeant } from './value-meant.ts';

/** The values that nodes can have for a label. */
export interface LabelValues {
  /** Of nodes that meet all else, the one available first comes first. */
  readonly left: ReadonlyArray<string>;
  /** Of all nodes that there can be. */
  readonly known: ReadonlySet<string>;
}

/** More values than this are no list to choose from. */
const LISTED_MAX = 10;

/**
 * A requirement changed as little as lets something in: mistyped values are corrected, else the value available first
 * is let in; where no value of it exists, all that do are listed. Null: it has to go.
 */
export function widened(requirement: Requirement, values: LabelValues): Requirement | null {
  const [first] = values.left;
  if (first === undefined) return null;
  const { operator } = requirement;
  if (operator === 'In') return widenedIn(requirement, values, first);
  if (values.left.some((one) => admits(toRule(requirement), one))) return requirement;
  if (operator === 'NotIn')
    return withValues(
      requirement,
      (requirement.values ?? []).filter((one) => one !== first),
    );
  const numbers = values.left.map(Number).filter(Number.isInteger);
  const bound = numbers.length === 0 ? undefined : BOUNDS[operator]?.(numbers);
  return bound === undefined || bound < 0 ? null : withValues(requirement, [String(bound)]);
}

/** The nearest bound that lets one of these in. */
const BOUNDS: Readonly<Record<string, (numbers: ReadonlyArray<number>) => number>> = {
  Gt: (numbers) => Math.max(...numbers) - 1,
  Gte: (numbers) => Math.max(...numbers),
  Lt: (numbers) => Math.min(...numbers) + 1,
  Lte: (numbers) => Math.min(...numbers),
};

function widenedIn(requirement: Requirement, { left, known }: LabelValues, first: string): Requirement | null {
  const { values = [] } = requirement;
  const kept = values.filter((one) => known.has(one));
  const meant = values.filter((one) => !known.has(one)).flatMap((one) => valueMeant(one, left) ?? []);
  if (meant.length > 0) return withValues(requirement, inOrder([...kept, ...meant]));
  if (kept.length > 0) return withValues(requirement, inOrder([...kept, first]));
  return left.length > LISTED_MAX ? null : withValues(requirement, inOrder(left));
}

/** Null where none is left; `minValues` only as far as values are left for it. */
function withValues({ minValues, ...rest }: Requirement, values: ReadonlyArray<string>): Requirement | null {
  if (values.length === 0) return null;
  const changed = { ...rest, values };
  return minValues === undefined || minValues > values.length ? changed : { ...changed, minValues };
}

function inOrder(values: ReadonlyArray<string>): ReadonlyArray<string> {
  const areNumbers = values.every((one) => /^\d+$/.test(one));
  return [...new Set(values)].toSorted((a, b) => (areNumbers ? Number(a) - Number(b) : byCodeUnit(a, b)));
}
