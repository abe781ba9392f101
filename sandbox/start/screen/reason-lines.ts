import { counted } from '../view/amounts.ts';
import { type Line, span, wrapAtMost } from './ansi.ts';
import { renderNodes, shortageSentence } from '../tell/sentences.ts';
import type { NodeState, View } from '../view/view.ts';

/**
 * Everything that somebody waits for, in one sentence each: quota first, which other reasons come from where it is
 * short.
 */
export function reasonsOf({ nodes, shortages, waiting }: View): ReadonlyArray<string> {
  const untold = waiting.filter(({ reason }) => shortages.length === 0 || !SHORT_OF_QUOTA.test(reason));
  const pods = untold.map(({ reason, pods: names }) => {
    return `${counted(names.length, 'pod')} ${names.length === 1 ? 'waits' : 'wait'}: ${reason}`;
  });
  return [...(waiting.length === 0 ? [] : shortages.map(shortageSentence)), ...heldSentences(nodes), ...pods];
}

/** The app's reason that says no more than the quota which is short: it knows that there is none, and not of what. */
const SHORT_OF_QUOTA = /^[^:;]+: (every|no) instance type [^;]*quota does not allow (it|any)(; wait, [^;]*)?$/;

/** What nodes wait for that nobody else may do: those that wait for the same thing together. */
export function heldSentences(nodes: View['nodes']): ReadonlyArray<string> {
  const held = new Map<string, ReadonlyArray<string>>();
  for (const { name, state } of nodes) {
    const what = heldBy(state);
    if (what !== null) held.set(what, [...(held.get(what) ?? []), name]);
  }
  return [...held].map(([what, names]) => `${renderNodes(names)} ${names.length === 1 ? 'waits' : 'wait'} for ${what}`);
}

function heldBy(state: NodeState): string | null {
  if (state.kind === 'tainted') return `the removal of startup taint ${state.taint}`;
  if (state.kind !== 'leaving' || state.waitsFor === null) return null;
  return state.waitsFor.startsWith('PodDisruptionBudget')
    ? `${state.waitsFor}, which allows no evictions`
    : state.waitsFor;
}

/** How many reasons are told, in how many lines each, and whether the others are counted. */
export interface ReasonSpace {
  readonly columns: number;
  readonly shown: number;
  readonly countsRest: boolean;
  readonly linesEach: number;
}

/** Reasons as lines. */
export function reasonLines(
  reasons: ReadonlyArray<string>,
  { columns, shown, countsRest, linesEach }: ReasonSpace,
): ReadonlyArray<Line> {
  const lines = reasons
    .slice(0, shown)
    .flatMap((text) =>
      wrapAtMost(text, Math.max(1, columns - 2), linesEach).map((line, index): Line => [
        index === 0 ? span('! ', 'bad') : span('  '),
        span(line, 'warn'),
      ]),
    );
  const more = reasons.length - shown;
  return [...lines, ...(countsRest ? [[span(`  and ${counted(more, 'other reason')}`, 'dim')]] : [])];
}
