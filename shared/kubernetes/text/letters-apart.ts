/** Letters to insert, remove or replace to make one of the other. */
export function lettersApart(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [at, letter] of one.split('').entries()) {
    const next = [at + 1];
    for (const [index, wanted] of other.split('').entries()) {
      const replaced = (row[index] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
