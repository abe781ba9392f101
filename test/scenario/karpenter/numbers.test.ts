import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const tests = join(import.meta.dirname, '..', '..');
const decisions = join(tests, '..', 'docs', 'decisions');
const page = join(import.meta.dirname, 'README.md');

/** Where decisions say how we differ, scenario by scenario. */
const DIFFERING = [
  '0024-where-plans-differ-from-karpenter.md',
  '0047-where-lives-of-nodes-differ-from-karpenter.md',
  '0048-where-disruption-differs-from-karpenter.md',
];

test('the page has every number of a scenario of Karpenter, what it is about, and which files hold it', async () => {
  const text = readFileSync(page, 'utf8');
  const head = text.slice(0, text.indexOf('\n| A01 '));
  const about = new Map(
    [...text.matchAll(/^\| ([A-Z]\d{2}) \| ([^|]*) \|/gm)].map(([, number, what]) => [number, what]),
  );
  const holding = filesByNumber();
  const differing = differingByNumber();
  const rows = [...new Set([...holding.keys(), ...differing.keys()])].toSorted().map((number) => {
    const files = [...(holding.get(number) ?? [])].toSorted().map((file) => `\`${file}\``);
    const pages = (differing.get(number) ?? []).map(
      (name) => `[${Number(name.slice(0, 4))}](../../../docs/decisions/${name})`,
    );
    return `| ${number} | ${about.get(number) ?? '?'} | ${files.join(', ')} | ${pages.join(', ')} |`;
  });
  expect(rows.filter((row) => row.includes('| ? |'))).toEqual([]);
  // `vitest -u` writes it anew, and keeps what each is about.
  await expect(`${head}\n${rows.join('\n')}\n`).toMatchFileSnapshot(page);
});

function filesByNumber(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const path of readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))) {
    for (const [, number = ''] of readFileSync(join(tests, path), 'utf8').matchAll(/\[([A-Z]\d{2})\]/g)) {
      found.set(number, (found.get(number) ?? new Set<string>()).add(path.replaceAll('\\', '/')));
    }
  }
  return found;
}

function differingByNumber(): ReadonlyMap<string, ReadonlyArray<string>> {
  const found = new Map<string, ReadonlyArray<string>>();
  for (const name of DIFFERING) {
    const rows = readFileSync(join(decisions, name), 'utf8').matchAll(/^\| ([A-Z]\d{2}(?:, [A-Z]\d{2})*) \|/gm);
    const numbers = new Set([...rows].flatMap(([, cell = '']) => cell.split(', ')));
    for (const number of numbers) found.set(number, [...(found.get(number) ?? []), name]);
  }
  return found;
}
