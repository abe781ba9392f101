import { harmless } from '../../../shared/contract/harmless.ts';

/** How a piece of text looks. Few on purpose: most of the screen is plain. */
export type Style = 'plain' | 'bold' | 'dim' | 'good' | 'warn' | 'bad' | 'accent';

/** A piece of a line. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

/** One line of the terminal, before it is cut to a width and painted. */
export type Line = ReadonlyArray<Span>;

const codes: Readonly<Record<Style, string>> = {
  plain: '',
  bold: '1',
  dim: '2',
  good: '32',
  warn: '33',
  bad: '31',
  accent: '36',
};

/** A span. What a message from the cluster may carry and a terminal obeys is made harmless. */
export function span(text: string, style: Style = 'plain'): Span {
  return { text: harmless(text), style };
}

/** Width of a line in columns; every character that the sandbox prints is one column wide. */
export function widthOf(line: Line): number {
  return line.reduce((sum, { text }) => sum + Array.from(text).length, 0);
}

/** The line cut to `width` columns; what was cut shows as an ellipsis. */
export function fit(line: Line, width: number): Line {
  if (widthOf(line) <= width) return line;
  const kept: Array<Span> = [];
  let left = Math.max(0, width - 1);
  for (const { text, style } of line) {
    const letters = Array.from(text);
    kept.push({ text: letters.slice(0, left).join(''), style });
    left -= Math.min(left, letters.length);
    if (left === 0) break;
  }
  if (width > 0) kept.push({ text: '…', style: 'dim' });
  return kept;
}

/** The line as text, with escape codes when `colour` is true. */
export function paint(line: Line, colour: boolean): string {
  return line
    .map(({ text, style }) => {
      const code = codes[style];
      return !colour || code === '' || text === '' ? text : `\u001B[${code}m${text}\u001B[0m`;
    })
    .join('');
}

/** Text in exactly `width` columns: padded at its end, or cut in its middle where both ends tell something. */
export function padEnd(text: string, width: number): string {
  const letters = Array.from(text);
  if (letters.length <= width) return text + ' '.repeat(width - letters.length);
  if (width <= 1) return '…'.slice(0, width);
  const tail = Math.ceil((width - 1) * 0.6);
  return `${letters.slice(0, width - 1 - tail).join('')}…${letters.slice(letters.length - tail).join('')}`;
}

/** Text in exactly `width` columns, padded at its start; what is too long is cut at its end. */
export function padStart(text: string, width: number): string {
  const letters = Array.from(text);
  return letters.length > width
    ? `${letters.slice(0, Math.max(0, width - 1)).join('')}…`.slice(0, width)
    : ' '.repeat(width - letters.length) + text;
}

/** Text broken at spaces into lines of at most `width` columns; a longer word is cut. Never empty. */
export function wrap(text: string, width: number): ReadonlyArray<string> {
  const lines: Array<string> = [];
  let line = '';
  for (const word of text.split(' ').flatMap((one) => chunks(one, width))) {
    if (line === '') line = word;
    else if (Array.from(line).length + 1 + Array.from(word).length <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

function chunks(word: string, width: number): ReadonlyArray<string> {
  const letters = Array.from(word);
  if (letters.length <= width) return [word];
  const size = Math.max(1, width);
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, index) =>
    letters.slice(index * size, (index + 1) * size).join(''),
  );
}

/** Text broken into at most `lines` lines; what does not fit is cut behind a word, and an ellipsis tells so. */
export function wrapAtMost(text: string, width: number, lines: number): ReadonlyArray<string> {
  const all = wrap(text, width);
  if (all.length <= lines) return all;
  // More of the text than the line holds, so that the ellipsis stands at its end.
  const last = all.slice(lines - 1, lines + 1).join(' ');
  return [...all.slice(0, lines - 1), withEllipsis(last, width)];
}

/** A cut behind a word may leave so much of the width empty; else a word is cut. */
const WASTE_MAX = 0.25;

/** The text and an ellipsis in at most `width` columns, cut behind a word unless that wastes much of the width. */
export function withEllipsis(text: string, width: number): string {
  const room = Array.from(text)
    .slice(0, Math.max(0, width - 2))
    .join('');
  if (room === text) return `${text} …`;
  const end = Array.from(text)[width - 2] === ' ' ? room.length : room.lastIndexOf(' ');
  return end > width * (1 - WASTE_MAX)
    ? `${room.slice(0, end)} …`
    : `${Array.from(text)
        .slice(0, Math.max(0, width - 1))
        .join('')}…`;
}
