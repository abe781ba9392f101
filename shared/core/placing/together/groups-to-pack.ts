import type { PackingProblem } from '../../packing/problem/problem.ts';
import type { BulkGroup } from './bulk-groups.ts';

/** Groups of pods, and the problem that they are: each item is the groups of its members, by index. */
export interface GroupsToPack {
  readonly problem: PackingProblem;
  readonly groups: ReadonlyArray<BulkGroup>;
  readonly members: ReadonlyArray<ReadonlyArray<number>>;
}
