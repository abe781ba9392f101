import { harmless } from '../../shared/contract/harmless.ts';

export type Align = 'left' | 'right';

/** Between columns. */
const GAP = '  ';

/**
 * Columns with one title each; numbers go right. Ends of lines are not padded. What a terminal obeys is made harmless.
 */
export function textTable(
  titles: ReadonlyArray<string>,
  given: ReadonlyArray<ReadonlyArray<string>>,
  aligns: ReadonlyArray<Align>,
): string {
  const rows = given.map((row) => row.map(harmless));
  const widths = widthsOf([titles, ...rows]);
  const line = (cells: ReadonlyArray<string>): string =>
    cells
      .map((cell, column) =>
        aligns[column] === 'right' ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join(GAP)
      .trimEnd();
  return [titles, ...rows].map(line).join('\n');
}

/** The rows with cells of one column cut in their middle, as far as the table needs it to be no wider than `width`. */
export function cutColumn(
  titles: ReadonlyArray<string>,
  given: ReadonlyArray<ReadonlyArray<string>>,
  { column, width }: { readonly column: number; readonly width: number },
): ReadonlyArray<ReadonlyArray<string>> {
  const rows = given.map((row) => row.map(harmless));
  const widths = widthsOf([titles, ...rows]);
  const total = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (titles.length - 1);
  const most = Math.max(titles[column]?.length ?? 0, (widths[column] ?? 0) - Math.max(0, total - width));
  return rows.map((row) => row.map((cell, index) => (index === column ? cutMiddle(cell, most) : cell)));
}

function widthsOf(rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<number> {
  const [first = []] = rows;
  return first.map((_, column) => rows.reduce((width, row) => Math.max(width, (row[column] ?? '').length), 0));
}

/** The end of a name tells it from its like, and the beginning says what it is. */
function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
}

/**
 * Lines of at most `width`, broken at blanks; the first begins with `lead` and the others are indented as deep as it.
 * Harmless.
 */
export function wrapText(text: string, width: number, lead = ''): string {
  const indent = ' '.repeat(lead.length);
  const lines: Array<string> = [];
  let line = lead;
  for (const word of harmless(text).split(' ')) {
    const isFirst = line === lead || line === indent;
    if (!isFirst && line.length + 1 + word.length > width) {
      lines.push(line);
      line = indent + word;
    } else line = isFirst ? line + word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}
