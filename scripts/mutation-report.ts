/** What Stryker writes of a run, as far as it is read (the mutation testing report schema, version 2). */
interface Report {
  readonly files: Readonly<
    Record<string, { readonly source: string; readonly mutants: ReadonlyArray<ReportedMutant> }>
  >;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

interface ReportedMutant {
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
  readonly location: { readonly start: Position; readonly end: Position };
}

/** One change of the source, and whether a test told it from the original. */
export interface Mutant {
  readonly path: string;
  readonly line: number;
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
  readonly status: string;
}

const FOUND = new Set(['Killed', 'Timeout']);
const MISSED = new Set(['Survived', 'NoCoverage']);

/** Reads Stryker's JSON. */
export function readReport(text: string): ReadonlyArray<Mutant> {
  const { files } = JSON.parse(text) as Report;
  return Object.entries(files).flatMap(([path, { source, mutants }]) =>
    mutants.map(({ mutatorName, replacement = '', status, location }) => ({
      path,
      line: location.start.line,
      mutator: mutatorName,
      original: onOneLine(cut(source, location)),
      replacement: onOneLine(replacement),
      status,
    })),
  );
}

/** Columns count from one, and the end is not part of the place. */
function cut(source: string, { start, end }: ReportedMutant['location']): string {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const last = lines.length - 1;
  return lines
    .map((line, at) => line.slice(at === 0 ? start.column - 1 : 0, at === last ? end.column - 1 : undefined))
    .join('\n');
}

/** Longer code is told by its beginning. */
const SHOWN = 110;

function onOneLine(code: string): string {
  const line = code.replaceAll(/\s+/g, ' ').trim();
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
}

/** A line about a mutant that no test told from the original; null of others. */
export function renderSurvivor({ path, line, mutator, original, replacement, status }: Mutant): string | null {
  if (!MISSED.has(status)) return null;
  const note = status === 'NoCoverage' ? ' (no test gets there)' : '';
  return `${path}:${line} ${mutator}${note}\n    ${original}\n  → ${replacement}`;
}

/** Of mutants that can be told from the original, how many in a hundred were. */
export function scoreOf(mutants: ReadonlyArray<Mutant>): number {
  const found = mutants.filter(({ status }) => FOUND.has(status)).length;
  const missed = mutants.filter(({ status }) => MISSED.has(status)).length;
  return found + missed === 0 ? 100 : (100 * found) / (found + missed);
}

/** The score of each file and each area, as a table. */
export function renderScores(mutants: ReadonlyArray<Mutant>, areaOf: (path: string) => string | undefined): string {
  const areas = Map.groupBy(mutants, ({ path }) => areaOf(path) ?? 'others');
  const rows = [...areas].flatMap(([area, own]) => [
    renderRow(area, own),
    ...[...Map.groupBy(own, ({ path }) => path)].map(([path, those]) => renderRow(`  ${path}`, those)),
  ]);
  return rows.length === 0 ? 'nothing to mutate' : ['  score  found missed', ...rows].join('\n');
}

function renderRow(name: string, mutants: ReadonlyArray<Mutant>): string {
  const count = (statuses: ReadonlySet<string>): string =>
    String(mutants.filter(({ status }) => statuses.has(status)).length).padStart(6);
  return `${scoreOf(mutants).toFixed(1).padStart(5)} % ${count(FOUND)} ${count(MISSED)}  ${name}`;
}
