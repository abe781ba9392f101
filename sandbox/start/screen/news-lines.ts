import { renderClock } from '../view/amounts.ts';
import { type Line, span, wrapAtMost } from './ansi.ts';
import type { Sentence } from '../view/view.ts';

/** Lines that one sentence may take. */
const LINES_MAX = 2;
const STYLES = { plain: 'plain', good: 'plain', warn: 'warn', bad: 'bad' } as const;

/**
 * Sentences as lines, the newest last: as many of the newest as fit into `height`; `back` leaves out so many of the
 * newest.
 */
export function newsLines(
  news: ReadonlyArray<Sentence>,
  { columns, height, back = 0 }: { readonly columns: number; readonly height: number; readonly back?: number },
): ReadonlyArray<Line> {
  const lines: Array<Line> = [];
  for (const sentence of news.slice(0, news.length - back).toReversed()) {
    const block = sentenceLines(sentence, columns);
    if (lines.length + block.length > height) break;
    lines.unshift(...block);
  }
  return lines;
}

function sentenceLines({ atMs, text, tone }: Sentence, columns: number): ReadonlyArray<Line> {
  const stamp = `${renderClock(atMs).padStart(5)}  `;
  const parts = wrapAtMost(text, Math.max(10, columns - stamp.length), LINES_MAX);
  return parts.map((part, index): Line => [
    span(index === 0 ? stamp : ' '.repeat(stamp.length), 'dim'),
    span(part, STYLES[tone]),
  ]);
}
