export type Align = 'left' | 'right';

/** Columns with one title each; numbers go right. The last column is not padded. */
export function textTable(
  titles: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  aligns: ReadonlyArray<Align>,
): string {
  const widths = titles.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? '').length), title.length),
  );
  const line = (cells: ReadonlyArray<string>): string =>
    cells
      .map((cell, column) =>
        aligns[column] === 'right' ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('   ')
      .trimEnd();
  return [titles, ...rows].map(line).join('\n');
}
