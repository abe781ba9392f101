import type { Edit, Remedy } from '../../model/remedy.ts';
import { isNone } from '../../offerings/compile-pool.ts';
import type { LabelRules } from '../../rules/label-rule.ts';
import type { CompiledShape } from '../../placing/state/compile-shape.ts';
import { changesOfLabel, type Change } from './changes.ts';
import { conditionsOf, type Conditions } from './conditions.ts';
import type { Condition } from './condition.ts';
import { conflictsAmong, leftBy, type Conflict } from './conflicts.ts';
import type { PoolFacts } from './facts-of-pool.ts';
import { changesOfSize } from './size-changes.ts';

/** Which conditions leave nothing, and what would let the pod in. */
export interface Explanation {
  readonly conflicts: ReadonlyArray<Conflict>;
  /** Each by itself is enough, as far as labels, sizes and what they have are asked. */
  readonly remedies: ReadonlyArray<Remedy>;
}

/** More ways than this to choose what is changed are not tried, nor more remedies told. */
const CHOICES_MAX = 16;
const REMEDIES_MAX = 3;

/** Why no offering is for a pod of the shape on the pool, `rules` being what it asks of labels. */
export function explainConflict(facts: PoolFacts, shape: CompiledShape, rules: LabelRules): Explanation {
  const conditions = conditionsOf(facts, shape, rules);
  const conflicts = conflictsAmong(conditions);
  const changesTo = (condition: Condition, offered: Int32Array): ReadonlyArray<Change> =>
    condition.of === 'size' ? changesOfSize(facts, shape, offered) : changesOfLabel(facts, condition, offered);
  const found = choicesOf(conflicts).flatMap((chosen) => remediesBy(conditions, chosen, changesTo));
  return { conflicts, remedies: distinct(found).slice(0, REMEDIES_MAX) };
}

/** One condition of each conflict, in every way. */
function choicesOf(conflicts: ReadonlyArray<Conflict>): ReadonlyArray<ReadonlyArray<Condition>> {
  if (conflicts.length === 0) return [];
  return conflicts.reduce<ReadonlyArray<ReadonlyArray<Condition>>>(
    (before, conflict) => before.flatMap((some) => conflict.map((one) => [...some, one])).slice(0, CHOICES_MAX),
    [[]],
  );
}

/** The remedies that change the chosen conditions and no other. */
function remediesBy(
  { base, all }: Conditions,
  chosen: ReadonlyArray<Condition>,
  changesTo: (condition: Condition, offered: Int32Array) => ReadonlyArray<Change>,
): ReadonlyArray<Remedy> {
  const start: Change = {
    edits: [],
    left: leftBy(
      base,
      all.filter((one) => !chosen.includes(one)),
    ),
  };
  if (isNone(start.left)) return [];
  return chosen
    .reduce<ReadonlyArray<Change>>(
      (before, condition) =>
        before
          .flatMap(({ edits, left }) =>
            changesTo(condition, left).map((change) => ({ edits: [...edits, ...change.edits], left: change.left })),
          )
          .slice(0, CHOICES_MAX),
      [start],
    )
    .map(({ edits }) => edits);
}

function distinct(remedies: ReadonlyArray<Remedy>): ReadonlyArray<Remedy> {
  const known = new Map<string, ReadonlyArray<Edit>>();
  for (const remedy of remedies) {
    const id = JSON.stringify(remedy);
    if (!known.has(id)) known.set(id, remedy);
  }
  return [...known.values()];
}
