import { annotation } from '../../names.ts';
import type { Problem } from '../schema/validation-error.ts';

/** What somebody says that moving a pod costs, with what is wrong with it. */
export interface MoveCost {
  /** As a share of what the pool pays on average per node and pod, 0 or more; null where nothing usable is said. */
  readonly share: number | null;
  readonly problems: ReadonlyArray<Problem>;
}

/** Reads the annotation about what moving a pod of a NodePool costs. Never throws. */
export function readMoveCost(metadata: { readonly annotations?: Readonly<Record<string, string>> }): MoveCost {
  const given = metadata.annotations?.[annotation.moveCost];
  if (given === undefined) return { share: null, problems: [] };
  if (/^\d{1,9}(\.\d{1,9})?$/.test(given)) return { share: Number(given), problems: [] };
  const problem = {
    path: `metadata.annotations[${annotation.moveCost}]`,
    message: `${JSON.stringify(given)} is no share`,
    fix: 'write a number such as 0.25, or 0 for moves that cost nothing',
    layer: 'runtime',
  } as const;
  return { share: null, problems: [problem] };
}
