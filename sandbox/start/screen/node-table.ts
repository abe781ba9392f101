import { counted, renderUsd } from '../view/amounts.ts';
import { type Line, padEnd, padStart, type Span, span, type Style } from './ansi.ts';
import type { NodeRow, Share } from '../view/view.ts';

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

/** Nodes that fit under the header and above the line that counts the rest. */
export function nodesShown(nodes: number, height: number): number {
  return nodes <= height - 1 ? nodes : Math.max(0, height - 2);
}

/** The table in at most `height` lines; `from` leaves out so many of its first nodes where not all fit. */
export function nodeTable(
  nodes: ReadonlyArray<NodeRow>,
  { columns, height, from }: { readonly columns: number; readonly height: number; readonly from: number },
): ReadonlyArray<Line> {
  if (nodes.length === 0 || height < 2) return [];
  const widths = columnsFor(columns, nodes);
  const count = nodesShown(nodes.length, height);
  const shown = count === nodes.length ? nodes : mostTelling(nodes).slice(from, from + count);
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
  const where =
    from === 0 ? `… and ${counted(rest, 'more node')}` : `… ${from + 1} to ${from + count} of ${nodes.length} nodes`;
  const more: ReadonlyArray<Line> = rest > 0 ? [[span(where, 'dim')]] : [];
  return [[span(header, 'dim')], ...shown.map((row) => nodeLine(row, widths)), ...more];
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
  const width = (bar + PERCENT) * 2 + 1;
  const word = stateWord(row, width);
  if (word !== null) return [...start, span(padEnd(word.text, width), word.style), span(' '), pods];
  return [...start, ...barSpans(row.cpu, bar), span(' '), ...barSpans(row.memory, bar), span(' '), pods];
}

/** What stands in the place of the bars while a node has no use to show. */
function stateWord({ state, ageMs }: NodeRow, width: number): { readonly text: string; readonly style: Style } | null {
  const age = `${Math.floor(ageMs / 1_000)} s`;
  switch (state.kind) {
    case 'launching':
      return { text: `asking Azure, ${age}`, style: 'warn' };
    case 'booting':
      return { text: `booting, ${age}`, style: 'warn' };
    case 'joining':
      return { text: `joining, ${age}`, style: 'warn' };
    case 'tainted': {
      const text = `waits for startup taint ${state.taint}`;
      return { text: text.length <= width ? text : `startup taint, ${age}`, style: 'warn' };
    }
    case 'leaving': {
      const text = state.takenBack ? 'evicted by Azure' : 'being removed';
      const held = `waits for ${state.waitsFor ?? ''}`;
      if (state.waitsFor === null) return { text, style: 'bad' };
      return { text: held.length <= width ? held : 'removal waits', style: 'bad' };
    }
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
