import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listSources, readSaidTexts, textsIn } from './said-texts.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Where sentences come from that people see: events, conditions, reasons, the screen, the command, the preflight. */
const SAYING = [
  'shared/app',
  'shared/core/telling',
  'shared/core/disruption/plan',
  'shared/core/disruption/second-look',
  'shared/contract/api',
  'shared/adapters',
  'cli',
  'relay',
  'functions',
  'sandbox/start',
  'sandbox/orders',
  'sandbox/world',
  'infra/hooks',
];

/** Pages that people read first. */
const PAGES = [
  'README.md',
  'docs/faq.md',
  'docs/annotations.md',
  'docs/compatibility.md',
  'docs/reasons.md',
  'docs/operate.md',
  'docs/disruption.md',
  'docs/troubleshooting.md',
  'docs/migrate.md',
  'docs/interruptions.md',
  'docs/metrics.md',
  'docs/portal.md',
  'docs/sandbox.md',
  'docs/glossary.md',
  'docs/logs.md',
  'docs/deploy.md',
  'docs/rights.md',
  'docs/security.md',
  'docs/devices.md',
  'docs/bootstrap.md',
  'docs/cost.md',
  'docs/planner.md',
  'docs/decisions/README.md',
  'docs/screens.md',
];

/** What a machine can see of the faults that CONTRIBUTING.md lists, with the words to use. */
const FAULTS: ReadonlyArray<readonly [pattern: RegExp, better: string]> = [
  [/\bso (?:many|long|often) (?!as\b|that\b)/i, 'this many, for this long, or the number'],
  [/\banew\b/i, 'again, or new'],
  [/\bwho(?:m|so)?ever\b/i, 'people who, or the role'],
  [/\b(?:is|are) (?:not )?there(?=[.,;:)]|$| already\b)/i, 'exists, does not exist'],
  [/\btak(?:es?|ing) \S+(?: \S+){0,3} back\b|\b(?:takes?|taken|took|taking) back\b/i, 'evicts, reclaims, keeps'],
  [/\bfinds? no place\b|\bno place is to be found\b/i, 'has no place, no node has room for'],
  [/\bof our own choice\b/i, 'voluntary'],
  [/\bgoes? on\b/i, 'continues'],
  [/\blets? \S+ (?:not )?go\b/i, 'removes, releases, does not allow'],
  [/\b(?:is|are|was|were) told\b/i, 'reports, says, logs'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\b(?:is|are) to go\b/i, 'is to be removed'],
  [/\bto be had\b/i, 'available'],
  [/\bout of those that\b|\bfor want of\b/i, 'among, because … is missing'],
];

/** Texts of the portal and of the template: descriptions of alerts and parameters, titles of the workbook. */
const PORTAL = ['infra/modules', 'infra/portal'].flatMap((folder) =>
  globSync(`${folder}/**/*.{bicep,json}`, { cwd: root }).toSorted(),
);

/** Whose docstrings are read for the worst of these faults. */
const DOCUMENTED = ['shared', 'relay', 'cli'];
/** Where the others work now, or whose words are the search's own. */
const NOT_YET = ['shared/core/disruption/', 'shared/app/disrupt/'];
const DOCSTRING_FAULTS: ReadonlyArray<readonly [pattern: RegExp, better: string]> = [
  ...FAULTS.filter(([pattern]) => /anew|back|own choice|goes|mend|to go|to be had|for want of/.test(pattern.source)),
  [/(?:^|[.;] |\band |` )[Aa]nswers (?!are\b|a read\b)[a-z]/, 'returns'],
];

/** The docstrings of a source file, each in one line. */
function docstringsOf(source: string): ReadonlyArray<string> {
  return [...source.matchAll(/\/\*\*([^]*?)\*\//g)].map(([, text = '']) =>
    text
      .split('\n')
      .map((line) => line.replace(/^\s*\* ?/, '').trim())
      .join(' ')
      .trim(),
  );
}

function faultsIn(text: string): ReadonlyArray<string> {
  return FAULTS.flatMap(([pattern, better]) => {
    const found = pattern.exec(text)?.[0];
    return found === undefined ? [] : [`"${found}": write ${better}`];
  });
}

describe('sentences that people see', () => {
  test.each(SAYING)('in %s have none of the faults that a machine can see', (folder) => {
    const found = listSources(root, folder).flatMap((file) =>
      readSaidTexts(join(root, file)).flatMap(({ line, text }) =>
        faultsIn(text).map((fault) => `${file}:${line}: ${fault} in: ${text.slice(0, 120)}`),
      ),
    );
    expect(found).toEqual([]);
  });

  test.each(PAGES)('on %s have none either', (page) => {
    const found = readFileSync(join(root, page), 'utf8')
      .split('\n')
      .flatMap((line, index) => faultsIn(line).map((fault) => `${page}:${index + 1}: ${fault}`));
    expect(found).toEqual([]);
  });

  test.each(PORTAL)('in %s have none either', (name) => {
    const text = readFileSync(join(root, name), 'utf8');
    const said = name.endsWith('.json')
      ? [...text.matchAll(/"(?:title|json|noDataMessage|label)": "((?:[^"\\]|\\.)*)"/g)]
      : [...text.matchAll(/(?:description\(|description(?::| =) |title: )'((?:[^'\\]|\\.)*)'/g)];
    expect(said.flatMap(([, one = '']) => faultsIn(one).map((fault) => `${fault} in: ${one.slice(0, 120)}`))).toEqual(
      [],
    );
  });

  test.each(DOCUMENTED)('in docstrings of %s have none of the worst', (folder) => {
    const files = listSources(root, folder).filter((file) => !NOT_YET.some((one) => file.startsWith(one)));
    const found = files.flatMap((file) =>
      docstringsOf(readFileSync(join(root, file), 'utf8')).flatMap((text) =>
        DOCSTRING_FAULTS.flatMap(([pattern, better]) => {
          const fault = pattern.exec(text)?.[0];
          return fault === undefined ? [] : [`${file}: "${fault}": write ${better} in: ${text.slice(0, 160)}`];
        }),
      ),
    );
    expect(found).toEqual([]);
  });

  test('are found by their quotes, and comments and patterns are passed over', () => {
    const source = [
      "const a = 'one text'; // it's a comment",
      '/* "not this" */ const b = /["\']/.test(c) ? `two ${d ? "or three" : e} parts` : 6 / 2;',
      "const f = 'it\\'s here';",
    ].join('\n');
    expect(textsIn(source)).toEqual([
      { line: 1, text: 'one text' },
      { line: 2, text: 'or three' },
      { line: 2, text: 'two … parts' },
      { line: 3, text: "it's here" },
    ]);
  });

  test('are found to be faulty where they are, and only there', () => {
    expect(faultsIn('the node finds no place and goes on')).toHaveLength(2);
    expect(faultsIn('as long as there are so many that no one waits')).toEqual([]);
    expect(faultsIn('Azure evicts the VM, and the node is removed')).toEqual([]);
  });
});
