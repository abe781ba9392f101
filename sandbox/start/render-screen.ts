import { counted, renderClock, renderGap, renderHourly, renderUsd } from './amounts.ts';
import { fit, type Line, padEnd, padStart, type Span, span, type Style, wrap } from './ansi.ts';
import { newsLines } from './news-lines.ts';
import { shortageSentence } from './sentences.ts';
import type { NodeRow, Sentence, Share, View } from './view.ts';

/** Everything that the live screen shows. */
export interface Screenful {
  readonly view: View;
  readonly elapsedMs: number;
  /** Micro-USD per hour of all plans so far, and the sum of their lower bounds. */
  readonly plans: { readonly cost: number; readonly lowerBound: number };
  /** What the removal of nodes has saved so far. */
  readonly savedMicroUsdPerHour: number;
  readonly news: ReadonlyArray<Sentence>;
  /** How to talk to it; shown as they are, at the bottom. */
  readonly hints: ReadonlyArray<string>;
}

/** The terminal, in characters. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Lines that the last sentences keep, even when there are more nodes than fit. */
const NEWS_LINES_MIN = 4;
const WAITING_SHOWN = 3;
/** A lower terminal shows only the last hint. */
const ROWS_FOR_HINTS = 22;

/** The screen as lines: exactly `rows` of them, none wider than `columns`. */
export function renderScreen(content: Screenful, { columns, rows }: Size): ReadonlyArray<Line> {
  const { view } = content;
  const head = [titleLine(content, columns), totalsLine(content), []];
  const waiting = waitingLines(view, columns);
  const hints = (rows < ROWS_FOR_HINTS ? content.hints.slice(-1) : content.hints).map((hint): Line => [
    span(hint, 'dim'),
  ]);
  const room = Math.max(0, rows - head.length - waiting.length - hints.length - 2);
  const table = nodeTable(view.nodes, columns, Math.min(view.nodes.length + 1, room - NEWS_LINES_MIN));
  const news = newsLines(content.news, { columns, height: Math.max(0, room - table.length) });
  const body = [...head, ...table, ...waiting, [], ...news];
  const filler = Array.from({ length: Math.max(0, rows - body.length - hints.length) }, (): Line => []);
  return [...body, ...filler, ...hints].slice(0, rows).map((line) => fit(line, columns));
}

const TITLE = 'Nodewright sandbox';

function titleLine({ view, plans, savedMicroUsdPerHour: saved, elapsedMs }: Screenful, columns: number): Line {
  const clock = renderClock(elapsedMs);
  // The bound is one of the plans; once nodes have gone again it says nothing of what is there.
  const gap = view.microUsdPerHour === plans.cost ? renderGap(plans.cost, plans.lowerBound) : null;
  const savings = saved > 0 ? `, ${renderHourly(saved)} saved` : '';
  const cost = `  ${renderHourly(view.microUsdPerHour)}${gap === null ? '' : `, ${gap}`}${savings}`;
  const padding = Math.max(1, columns - TITLE.length - cost.length - clock.length);
  return [span(TITLE, 'bold'), span(cost), span(' '.repeat(padding)), span(clock, 'dim')];
}

function totalsLine({ view }: Screenful): Line {
  const ready = view.nodes.filter(({ state }) => state.kind === 'ready').length;
  const leaving = view.nodes.filter(({ state }) => state.kind === 'leaving').length;
  const coming = view.nodes.length - ready - leaving;
  const { running, starting, pending } = view.pods;
  const also = (count: number, word: string): ReadonlyArray<Span> =>
    count === 0 ? [] : [span(`, ${count} ${word}`, 'warn')];
  return [
    span('Nodes ', 'dim'),
    span(`${ready} ready`, ready > 0 ? 'good' : 'plain'),
    ...also(coming, 'coming'),
    ...also(leaving, 'leaving'),
    span('   Pods ', 'dim'),
    span(`${running} running`, running > 0 ? 'good' : 'plain'),
    ...also(starting, 'starting'),
    ...also(pending, 'pending'),
  ];
}

/** Widths of the table's columns; what is over goes to the name first, then to the bars. */
interface Columns {
  readonly name: number;
  readonly bar: number;
}

const SIZE = 13;
const TYPE = 9;
const PRICE = 7;
const PODS = 4;
const NAME_MIN = 12;
const NAME_MAX = 36;
const BAR_MIN = 5;
const BAR_MAX = 16;
const PERCENT = 4;
/** Everything but the name and the two bars, with the spaces between. */
const FIXED = 1 + SIZE + 1 + 2 + 1 + TYPE + 1 + PRICE + 1 + (PERCENT + 1) * 2 + 1 + PODS;

function columnsFor(columns: number, nodes: ReadonlyArray<NodeRow>): Columns {
  const longest = Math.max(NAME_MIN, ...nodes.map(({ name }) => name.length));
  const spare = columns - FIXED - 2 * BAR_MIN;
  const name = Math.max(NAME_MIN, Math.min(NAME_MAX, longest, spare));
  const bar = Math.max(BAR_MIN, Math.min(BAR_MAX, Math.floor((columns - FIXED - name) / 2)));
  return { name, bar };
}

function nodeTable(nodes: ReadonlyArray<NodeRow>, columns: number, height: number): ReadonlyArray<Line> {
  if (nodes.length === 0 || height < 2) return [];
  const widths = columnsFor(columns, nodes);
  const hasAll = nodes.length <= height - 1;
  const shown = hasAll ? nodes : mostTelling(nodes).slice(0, height - 2);
  const header = [
    padEnd('NODE', widths.name),
    padEnd('SIZE', SIZE),
    'ZN',
    padEnd('TYPE', TYPE),
    padStart('$/H', PRICE),
    padEnd('CPU', widths.bar + PERCENT),
    padEnd('MEMORY', widths.bar + PERCENT),
    padStart('PODS', PODS),
  ].join(' ');
  const rest = nodes.length - shown.length;
  const more: Line = [span(`… and ${counted(rest, 'more node')}`, 'dim')];
  return [[span(header, 'dim')], ...shown.map((row) => nodeLine(row, widths)), ...(rest > 0 ? [more] : [])];
}

/** Nodes that are coming or going first, the dearest of the others next. */
function mostTelling(nodes: ReadonlyArray<NodeRow>): ReadonlyArray<NodeRow> {
  const rank = ({ state }: NodeRow): number => (state.kind === 'ready' ? 1 : 0);
  const price = ({ microUsdPerHour }: NodeRow): number => microUsdPerHour ?? 0;
  return nodes.toSorted((a, b) => rank(a) - rank(b) || price(b) - price(a) || (a.name < b.name ? -1 : 1));
}

function nodeLine(row: NodeRow, { name, bar }: Columns): Line {
  const price = row.microUsdPerHour === null ? '-' : renderUsd(row.microUsdPerHour);
  const lead = [padEnd(row.name, name), padEnd(row.size, SIZE), padEnd(row.zone, 2)].join(' ');
  const type = padEnd(row.capacityType === '' ? '-' : row.capacityType, TYPE);
  const start: ReadonlyArray<Span> = [
    span(`${lead} `),
    span(type, row.capacityType === 'spot' ? 'accent' : 'plain'),
    span(` ${padStart(price, PRICE)} `),
  ];
  const pods = span(padStart(String(row.pods), PODS));
  const word = stateWord(row);
  if (word !== null) return [...start, span(padEnd(word.text, (bar + PERCENT) * 2 + 1), word.style), span(' '), pods];
  return [...start, ...barSpans(row.cpu, bar), span(' '), ...barSpans(row.memory, bar), span(' '), pods];
}

/** What stands in the place of the bars while a node has no use to show. */
function stateWord({ state, ageMs }: NodeRow): { readonly text: string; readonly style: Style } | null {
  const age = `${Math.floor(ageMs / 1_000)} s`;
  switch (state.kind) {
    case 'launching':
      return { text: `asking Azure, ${age}`, style: 'warn' };
    case 'booting':
      return { text: `booting, ${age}`, style: 'warn' };
    case 'joining':
      return { text: `joining, ${age}`, style: 'warn' };
    case 'leaving':
      return { text: state.takenBack ? 'taken back by Azure' : 'being removed', style: 'bad' };
    case 'ready':
      return null;
    default:
      return state satisfies never;
  }
}

function barSpans({ used, of }: Share, width: number): ReadonlyArray<Span> {
  const share = of > 0 ? Math.min(1, used / of) : 0;
  const full = Math.min(width, Math.round(share * width));
  return [
    span('█'.repeat(full), 'good'),
    span('░'.repeat(width - full), 'dim'),
    span(padStart(`${Math.floor(share * 100)}%`, PERCENT)),
  ];
}

/** Quota first: it is what the other reasons come from where it is short. */
function waitingLines({ waiting, shortages }: View, columns: number): ReadonlyArray<Line> {
  if (waiting.length === 0) return [];
  const told = waiting.map(({ reason, pods }) => {
    const verb = pods.length === 1 ? 'waits' : 'wait';
    return `${counted(pods.length, 'pod')} ${verb}: ${reason}`;
  });
  const reasons = [...shortages.map(shortageSentence), ...told];
  const shown = reasons.slice(0, WAITING_SHOWN).flatMap((text) => {
    const [first = '', ...rest] = wrap(text, columns - 2).slice(0, 3);
    return [[span('! ', 'bad'), span(first, 'warn')], ...rest.map((line): Line => [span(`  ${line}`, 'warn')])];
  });
  const more = reasons.length - WAITING_SHOWN;
  return [[], ...shown, ...(more > 0 ? [[span(`  and ${counted(more, 'other reason')}`, 'dim')]] : [])];
}
