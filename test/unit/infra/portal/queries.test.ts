import { describe, expect, test } from 'vitest';
import { loggedFields } from './logged-fields.ts';
import { columnsOf, partsOf, queryFaults } from './kql.ts';
import { type Facts, list, loggedEvents, read, recordedLines, sources } from './recorded.ts';
import { queryPanels } from './workbook.ts';

interface Query {
  readonly name: string;
  readonly text: string;
}

const alerts: ReadonlyArray<Query> = list('infra/portal/alerts', '.kql').map((path) => ({
  name: path.split('/').at(-1)?.replace('.kql', '') ?? '',
  text: read(path),
}));
const panels: ReadonlyArray<Query> = queryPanels.map(({ name, content }) => ({ name, text: content.query ?? '' }));
const queries = [...alerts, ...panels];
const source = sources.join('\n');

/** Where a query reads what nobody logs: of the sandbox's lines, and of the code. */
function fieldFaults(text: string): ReadonlyArray<string> {
  return partsOf(text).flatMap(({ events, fields, inner }) => {
    const lines = [...events].flatMap((event) => recordedLines.get(event) ?? []);
    return [
      ...[...events].filter((event) => !recordedLines.has(event)).map((event) => `${event} was never logged`),
      ...[...events].filter((event) => !loggedEvents.has(event)).map((event) => `${event} is not in the code`),
      ...[...fields]
        .filter((field) => !lines.some((line) => field in line))
        .map((field) => `${field} was never logged`),
      ...[...fields].filter((field) => !isInCode(field)).map((field) => `${field} is not in the code`),
      ...[...inner].flatMap(([field, names]) =>
        [...names].filter((name) => !namesWithin(lines, field).has(name)).map((name) => `${field} has no ${name}`),
      ),
    ];
  });
}

function isInCode(field: string): boolean {
  return new RegExp(`\\b${field}\\b`).test(source);
}

/** The names of what the values of a field have that is JSON itself. */
function namesWithin(lines: ReadonlyArray<Facts>, field: string): ReadonlySet<string> {
  const values = lines.flatMap((line) => {
    const text = line[field];
    return typeof text === 'string' ? Object.values(JSON.parse(text) as Readonly<Record<string, unknown>>) : [];
  });
  return new Set(values.flatMap((value) => (typeof value === 'object' && value !== null ? Object.keys(value) : [])));
}

describe('a query of the portal', () => {
  test('is one of many', () => {
    expect(alerts.length).toBeGreaterThan(8);
    expect(panels.length).toBeGreaterThan(30);
  });

  test.each(queries)('reads only what is logged, and is in order: $name', ({ text }) => {
    expect([...queryFaults(text), ...fieldFaults(text)]).toEqual([]);
  });

  test('reads every line that says that something is wrong', () => {
    const taken = new Set(queries.flatMap(({ text }) => partsOf(text).flatMap(({ events }) => [...events])));
    const wrong = [
      'offering-refused',
      'launch-rejected',
      'nodeclaim-deleted',
      'message-kept',
      'deployment-not-ready',
      'breaker-tripped',
    ];
    expect(wrong.filter((event) => !taken.has(event))).toEqual([]);
  });
});

/** Events of which the code and the recording do not have the same fields. */
function staleEvents(inCode: ReadonlyMap<string, ReadonlySet<string>>): ReadonlyArray<string> {
  return [...recordedLines].flatMap(([event, lines]) => {
    if (event === 'signal') return [];
    const recorded = new Set(lines.flatMap((line) => Object.keys(line)).filter((field) => field !== 'event'));
    const coded = inCode.get(event) ?? new Set();
    const differ = [...recorded.symmetricDifference(coded)].map((field) => `${event}: ${field}`);
    return differ.length === 0
      ? []
      : [...differ, 'record again: npm run build && node test/e2e/reading/record-portal.ts'];
  });
}

describe('the recording', () => {
  test('has the fields that the code gives each line, and no others', () => {
    expect(staleEvents(loggedFields())).toEqual([]);
  });

  test.each([
    ['a field that is renamed', 'sinceLaunchMs:', 'launchedAgoMs:'],
    ['a field that is added', 'sinceLaunchMs:', 'more: 1, sinceLaunchMs:'],
    ['a field that is gone', '...claimFacts(claim),', ''],
    ['an event that is renamed', "'nodeclaim-registered'", "'nodeclaim-joined'"],
  ])('is out of date after %s', (_, old, changed) => {
    const texts = sources.map((text) => (text.includes("'nodeclaim-registered'") ? text.replace(old, changed) : text));
    expect(texts).not.toEqual(sources);
    expect(staleEvents(loggedFields(texts))).not.toEqual([]);
  });
});

describe('the checks notice', () => {
  const query = (name: string): string => queries.find((one) => one.name === name)?.text ?? '';
  test.each([
    ['a field that is misspelt', 'cost-against-bound', 'lowerBoundMicro', 'lowerboundMicro'],
    ['a field of another event', 'savings', 'd.savedMicroPerHour', 'd.tookMs'],
    ['an event that is misspelt', 'messages-kept', '"message-kept"', '"message-keptt"'],
    ['a name within a field', 'quota-left', '].limit', '].limits'],
  ])('%s', (_, name, right, wrong) => {
    expect(query(name)).toContain(right);
    expect(fieldFaults(query(name))).toEqual([]);
    expect(fieldFaults(query(name).replaceAll(right, wrong))).not.toEqual([]);
  });

  test.each([
    ['a column that is misspelt', 'executions', 'DurationMs', 'DurationMS'],
    ['a table that is misspelt', 'executions', 'AppRequests', 'AppRequest'],
    ['a name that the query does not make', 'quota-left', 'order by UsedPercent', 'order by Percent'],
    ['a bracket that is not closed', 'savings', 'sum(Nodes)', 'sum(Nodes'],
    ['an operator that there is not', 'savings', '| summarize', '| sumarize'],
    ['a pipe to nothing', 'executions', 'order by Executions desc', ''],
    ['a text that is not closed', 'savings', `"disrupted"'`, `"disrupted"`],
    ['lines of other apps', 'executions', "| where _ResourceId =~ '{App}'\n", ''],
    ['an event that is asked for and not taken', 'nothing-decided', "d.event == 'planned'", "d.event == 'swept'"],
  ])('%s', (_, name, right, wrong) => {
    expect(query(name)).toContain(right);
    expect(queryFaults(query(name).replaceAll(right, wrong))).not.toEqual([]);
  });
});

describe('an alert', () => {
  const module = read('infra/modules/portal.bicep');
  const rules = [...module.matchAll(/alerts\/([\w-]+)\.kql'\)[\s\S]*?column: '(\w+)'/g)].map(
    ([, file = '', column = '']) => ({ file, column }),
  );

  test('has a query in a file of its own, and each file is an alert’s', () => {
    expect(rules.map(({ file }) => file).toSorted()).toEqual(alerts.map(({ name }) => name));
  });

  test.each(rules)('compares a figure that its query makes: $file', ({ file, column }) => {
    expect(columnsOf(alerts.find(({ name }) => name === file)?.text ?? '')).toContain(column);
  });

  test('says what to do, in two sentences or more', () => {
    const described = [...module.matchAll(/^ {4}(?: {4})?description: '((?:[^'\\]|\\.)*)'$/gm)].map(
      ([, text = '']) => text,
    );
    expect(described).toHaveLength(alerts.length + 2);
    expect(described.filter((text) => text.split(/[.:;?] /).length < 2 || text.length > 400)).toEqual([]);
  });

  test('leaves no placeholder in its query that the module does not fill', () => {
    const left = alerts.flatMap(({ text }) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name));
    expect(new Set(left)).toEqual(new Set(['applicationInsightsId', 'currency', 'monthlyCostAlert']));
    for (const name of new Set(left)) expect(module).toContain(`'{${name}}'`);
  });
});

describe('the page about the portal', () => {
  test('has every alert with its severity', () => {
    const module = read('infra/modules/portal.bicep');
    const rows = [...read('docs/portal.md').matchAll(/^\| `([\w-]+)` \|.*\| (\d) \|$/gm)];
    const told = rows.map(([, name = '', severity = '']) => `${name} ${severity}`);
    const logs = [
      ...module.matchAll(/^ {4}(?: {4})?name: '([\w-]+)'[\s\S]*?^ {4}(?: {4})?(?:severity: (\d)|metric: )/gm),
    ];
    const made = logs.map(([, name = '', severity = '2']) => `${name} ${severity}`);
    expect(told.toSorted()).toEqual(made.toSorted());
  });
});

describe('the page about logs', () => {
  const rows = new Map(
    [...read('docs/logs.md').matchAll(/^\| `([a-z-]+)` \| ([^|]*) \|/gm)].map(([, event = '', fields = '']) => [
      event,
      new Set([...fields.matchAll(/`(\w+)`/g)].map(([, field = '']) => field)),
    ]),
  );

  test('has every event that the code logs, and no other', () => {
    expect([...rows.keys()].toSorted()).toEqual([...loggedEvents].toSorted());
  });

  test('has every field that was logged', () => {
    const missing = [...recordedLines].flatMap(([event, lines]) =>
      [...new Set(lines.flatMap((line) => Object.keys(line)))]
        .filter((field) => field !== 'event' && rows.get(event)?.has(field) !== true)
        .map((field) => `${event}: ${field}`),
    );
    expect(missing).toEqual([]);
  });

  test('has no field that the code does not know', () => {
    const unknown = [...rows].flatMap(([event, fields]) =>
      [...fields].filter((field) => !isInCode(field)).map((field) => `${event}: ${field}`),
    );
    expect(unknown.filter((one) => !one.endsWith(': price'))).toEqual([]);
  });
});
