import { renderClock, renderHourly } from '../view/amounts.ts';
import { fit, type Line, type Span, span } from './ansi.ts';
import type { Progress } from './display.ts';
import { newsLines } from './news-lines.ts';
import { nodesShown, nodeTable } from './node-table.ts';
import { gapOf } from '../view/plan-gap.ts';
import { reasonLines, reasonsOf } from './reason-lines.ts';
import { shareRows, type Shares } from './share-rows.ts';

/** Everything that the live screen shows. */
export interface Screenful extends Progress {
  /** How to talk to it; shown as they are, at the bottom, the most useful last. */
  readonly hints: ReadonlyArray<string>;
  readonly scrolled: Scrolled;
}

/** What is left out at the top of the table, and at the end of the news, as somebody has scrolled. */
export interface Scrolled {
  readonly nodes: number;
  readonly news: number;
}

/** The terminal, in characters. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** More lines for one reason are worth less than the blank ones that they would fill. */
const REASON_LINES_MAX = 3;
/** Title, totals, and a line apart. */
const HEAD = 3;

/** The screen as lines: exactly `rows` of them, none wider than `columns`. */
export function renderScreen(content: Screenful, { columns, rows }: Size): ReadonlyArray<Line> {
  const { view, news } = content;
  const head = [titleLine(content, columns), totalsLine(content), []];
  const shares = sharesOf(content, { columns, rows });
  const scrolled = clampScrolled(content, { columns, rows });
  const hints = (shares.hints === 0 ? [] : content.hints.slice(-shares.hints)).map((hint): Line => [span(hint, 'dim')]);
  const table = nodeTable(view.nodes, { columns, height: shares.table, from: scrolled.nodes });
  const reasons = reasonBlock(reasonsOf(view), shares, columns);
  const longer = reasons.length - shares.reasonsBlock;
  const height = shares.news - longer;
  const told = newsLines(news, { columns, height, back: scrolled.news });
  const body = [...head, ...table, ...reasons, [], ...told];
  const filler = Array.from({ length: Math.max(0, rows - body.length - hints.length) }, (): Line => []);
  return [...body, ...filler, ...hints].slice(0, rows).map((line) => fit(line, columns));
}

/** As far as one may scroll: the last nodes stay in the table, and the oldest sentence on the screen. */
export function clampScrolled({ view, news, scrolled, hints, ...rest }: Screenful, size: Size): Scrolled {
  const { table } = sharesOf({ view, news, scrolled, hints, ...rest }, size);
  const most = Math.max(0, view.nodes.length - nodesShown(view.nodes.length, table));
  return {
    nodes: Math.min(Math.max(0, scrolled.nodes), most),
    news: Math.min(Math.max(0, scrolled.news), Math.max(0, news.length - 1)),
  };
}

function sharesOf({ view, news, hints }: Screenful, { columns, rows }: Size): Shares {
  return shareRows({
    rows,
    head: HEAD,
    table: view.nodes.length === 0 ? 0 : view.nodes.length + 1,
    reasons: reasonsOf(view).length,
    news: newsLines(news, { columns, height: rows }).length,
    hints: hints.length,
  });
}

/** One line for each reason; more where nobody else wants them. */
function reasonBlock(
  reasons: ReadonlyArray<string>,
  { reasons: shown, countsRest, reasonsBlock, spare }: Shares,
  columns: number,
): ReadonlyArray<Line> {
  if (shown === 0) return [];
  for (let linesEach = REASON_LINES_MAX; linesEach > 1; linesEach--) {
    const block = [[], ...reasonLines(reasons, { columns, shown, countsRest, linesEach })];
    if (block.length <= reasonsBlock + spare) return block;
  }
  return [[], ...reasonLines(reasons, { columns, shown, countsRest, linesEach: 1 })];
}

const TITLE = 'Nodewright sandbox';

function titleLine({ view, plans, savedMicroUsdPerHour: saved, elapsedMs }: Screenful, columns: number): Line {
  const clock = renderClock(elapsedMs);
  const gap = gapOf(view, plans);
  const savings = saved > 0 ? `, ${renderHourly(saved)} saved` : '';
  const cost = `  ${renderHourly(view.microUsdPerHour)}${gap === null ? '' : `, ${gap}`}${savings}`;
  const padding = Math.max(1, columns - TITLE.length - cost.length - clock.length);
  return [span(TITLE, 'bold'), span(cost), span(' '.repeat(padding)), span(clock, 'dim')];
}

function totalsLine({ view }: Screenful): Line {
  const ready = view.nodes.filter(({ state }) => state.kind === 'ready').length;
  const leaving = view.nodes.filter(({ state }) => state.kind === 'leaving').length;
  const tainted = view.nodes.filter(({ state }) => state.kind === 'tainted').length;
  const coming = view.nodes.length - ready - leaving - tainted;
  const { running, starting, pending } = view.pods;
  const also = (count: number, word: string): ReadonlyArray<Span> =>
    count === 0 ? [] : [span(`, ${count} ${word}`, 'warn')];
  return [
    span('Nodes ', 'dim'),
    span(`${ready} ready`, ready > 0 ? 'good' : 'plain'),
    ...also(coming, 'coming'),
    ...also(tainted, 'with a startup taint'),
    ...also(leaving, 'leaving'),
    span('   Pods ', 'dim'),
    span(`${running} running`, running > 0 ? 'good' : 'plain'),
    ...also(starting, 'starting'),
    ...also(pending, 'pending'),
  ];
}
