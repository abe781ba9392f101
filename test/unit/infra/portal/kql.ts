/** Of one part of a query what it reads: a part begins with a table and ends before the next, or with `;`. */
export interface QueryPart {
  readonly table: string;
  /** The events whose lines it takes. */
  readonly events: ReadonlySet<string>;
  /** What it reads out of the line, by name. */
  readonly fields: ReadonlySet<string>;
  /** By a field that is JSON itself: what is read of each of its values. */
  readonly inner: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Columns that the portal's queries use. Source: Azure Monitor Logs reference of each table, 2026-08. */
const columns: Readonly<Record<string, ReadonlyArray<string>>> = {
  AppTraces: ['TimeGenerated', 'Message', 'ItemCount', 'OperationId', 'SeverityLevel', '_ResourceId'],
  AppRequests: ['TimeGenerated', 'Name', 'Success', 'DurationMs', 'ItemCount', 'OperationId', '_ResourceId'],
  AppExceptions: ['TimeGenerated', 'OperationName', 'ExceptionType', 'OuterMessage', 'ItemCount', '_ResourceId'],
};

const operators: ReadonlySet<string> = new Set([
  'where',
  'extend',
  'summarize',
  'project',
  'order by',
  'join kind=inner',
  'mv-expand',
  'top',
]);

const TABLE = /\bApp[A-Z]\w*/g;
const OPERATOR = /^\|\s*(order by|join kind=\w+|[\w-]+)/gm;
const ASSIGNED = /\b(\w+)\s*=(?![=~])/g;
const NAMED = /(?<![\w.])(_?[A-Z]\w*)/g;
const EVENT_TAKEN = /startswith '\{"event":"([^"]+)"'/g;
const EVENT_COMPARED = /\bd\.event == '([^']+)'/g;
const FIELD = /\bd\.(\w+)/g;
const UNPACKED = /\b(\w+) = parse_json\(tostring\(d\.(\w+)\)\)/g;

/** The parts of a query, in order. */
export function partsOf(query: string): ReadonlyArray<QueryPart> {
  const starts = [...query.matchAll(TABLE)].map(({ index }) => index);
  return starts.map((start, place) => {
    const text = query.slice(start, starts[place + 1]).split(';')[0] ?? '';
    const fields = new Set(all(text, FIELD).filter((field) => field !== 'event'));
    const inner = new Map(
      [...text.matchAll(UNPACKED)].map(([, name = '', field = '']) => {
        const reads = new RegExp(`\\b${name}\\[\\w+\\]\\.(\\w+)`, 'g');
        return [field, new Set(all(text, reads))] as const;
      }),
    );
    return { table: /^\w+/.exec(text)?.[0] ?? '', events: new Set(all(text, EVENT_TAKEN)), fields, inner };
  });
}

/** What is wrong with a query before anybody runs it. */
export function queryFaults(query: string): ReadonlyArray<string> {
  const parts = partsOf(query);
  const bare = query.replaceAll(/\{\w+(?::\w+)?\}/g, '0').replaceAll(/'(?:[^'\\]|\\.)*'/g, "''");
  const tables = parts.map(({ table }) => table);
  const known = new Set([...tables, ...tables.flatMap((table) => columns[table] ?? []), ...all(bare, ASSIGNED)]);
  const taken = new Set(parts.flatMap(({ events }) => [...events]));
  return [
    ...(parts.length === 0 ? ['it reads no table'] : []),
    ...tables.filter((table) => columns[table] === undefined).map((table) => `${table} is no table of ours`),
    ...bracketFaults(bare),
    ...all(bare, OPERATOR)
      .filter((one) => !operators.has(one))
      .map((one) => `${one} is no operator`),
    ...(bare.trimEnd().endsWith('|') || /\|\s*\|/.test(bare) ? ['an operator is missing'] : []),
    ...all(bare, NAMED)
      .filter((name) => !known.has(name))
      .map((name) => `${name} is neither a column nor named in the query`),
    ...all(query, EVENT_COMPARED)
      .filter((event) => !taken.has(event))
      .map((event) => `it asks for ${event} and does not take it`),
    ...parts
      .filter(({ table, events }) => table === 'AppTraces' && events.size === 0)
      .map(() => 'it takes every line of the log'),
    ...(all(query, /_ResourceId =~ ('\{\w+\}')/g).length < parts.length ? ['it takes lines of other apps'] : []),
  ];
}

/** What columns the last operator that makes columns leaves. */
export function columnsOf(query: string): ReadonlySet<string> {
  const made = query
    .split(/^\|/m)
    .map((one) => one.trim())
    .findLast((one) => /^(summarize|project)\b/.test(one));
  return new Set(all(made ?? '', ASSIGNED));
}

function bracketFaults(text: string): ReadonlyArray<string> {
  const open: Array<string> = [];
  const pairs: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
  for (const sign of text) {
    if ('([{'.includes(sign)) open.push(sign);
    else if (sign in pairs && open.pop() !== pairs[sign]) return [`${sign} closes nothing`];
  }
  return [
    ...open.map((sign) => `${sign} is not closed`),
    ...((text.split("'").length - 1) % 2 === 1 ? ["' is not closed"] : []),
  ];
}

/** The first group of every match. */
function all(text: string, pattern: RegExp): ReadonlyArray<string> {
  return [...text.matchAll(pattern)].map(([, found = '']) => found);
}
