import type { Access } from './access.ts';

/** Rows of a table as cells without their marks, by the heading above it. */
export function rowsUnder(page: string, heading: string): ReadonlyArray<ReadonlyArray<string>> {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  return own
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

/** Accesses as rows: the resource, with its namespace and name, and the verbs. */
export function accessRows(accesses: ReadonlyArray<Access>): ReadonlyArray<ReadonlyArray<string>> {
  const parts = accesses.map((access) => {
    const [verb = '', ...resource] = access.split(' ');
    return { verb, resource: resource.join(' ') };
  });
  return [...Map.groupBy(parts, ({ resource }) => resource)]
    .map(([resource, own]) => [
      resource,
      own
        .map(({ verb }) => verb)
        .toSorted()
        .join(', '),
    ])
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
}

/** Actions in Azure as rows: the action, the calls that need it, and the roles that have it. */
export function actionRows(
  needed: ReadonlyMap<string, string>,
  rolesWith: (action: string) => ReadonlyArray<string>,
): ReadonlyArray<ReadonlyArray<string>> {
  return [...Map.groupBy(needed, ([, action]) => action)]
    .map(([action, calls]) => [action, calls.map(([call]) => call).join(', '), rolesWith(action).join(', ')])
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
