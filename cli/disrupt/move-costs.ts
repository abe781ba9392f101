import type { NodePool } from '../../shared/kubernetes/manifest.ts';
import { WrongInputError, type InputProblem } from '../wrong-input.ts';

/** On a NodePool: what moving one of its pods costs, as a share of what the pool pays on average per node and pod. */
const MOVE_COST = 'nodewright.dev/move-cost';

/** What NodePools say by annotation that a move costs, by name. Throws WrongInputError for what is not such a share. */
export function moveCosts(nodePools: ReadonlyArray<NodePool>): ReadonlyMap<string, number> {
  const problems: Array<InputProblem> = [];
  const costs = new Map<string, number>();
  for (const { metadata } of nodePools) {
    const text = metadata.annotations?.[MOVE_COST];
    if (text === undefined) continue;
    if (/^\d+(\.\d+)?$/.test(text)) costs.set(metadata.name, Number(text));
    else problems.push({ origin: null, object: `NodePool ${metadata.name}`, ...problemWith(text) });
  }
  if (problems.length > 0) throw new WrongInputError(problems);
  return costs;
}

function problemWith(text: string): Pick<InputProblem, 'path' | 'message' | 'fix'> {
  return {
    path: `metadata.annotations[${MOVE_COST}]`,
    message: `${JSON.stringify(text)} is no share`,
    fix: 'write a number such as 0.25, or 0 for moves that cost nothing',
  };
}
