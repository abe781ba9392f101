import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The repository. */
export const root = resolve(import.meta.dirname, '../../../..');

export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Names of the folder's files that end so, with their path from the repository. */
export function list(folder: string, ending: string): ReadonlyArray<string> {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .toSorted();
}

const recordings = 'test/unit/infra/portal/recorded';

export type Facts = Readonly<Record<string, unknown>>;

/**
 * Facts of the lines that the product has logged in the sandbox, by event. `test/e2e/reading/record-portal.ts` made
 * them.
 */
export const recordedLines: ReadonlyMap<string, ReadonlyArray<Facts>> = Map.groupBy(
  read(`${recordings}/lines.jsonl`)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Facts),
  ({ event }) => String(event),
);

/** Names of the labels of each metric that the relay has shown. Of a histogram its series. */
export const recordedMetrics: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  read(`${recordings}/relay-metrics.txt`)
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
      return [name, new Set([...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label))] as const;
    }),
);

/** What logs: the use cases and the functions. */
export const sources = ['shared/app', 'functions'].flatMap((folder) => list(folder, '.ts')).map((path) => read(path));

/** `log('a', …)`, `logTo(context)('a', …)`, and `log(isSo ? 'a' : 'b', …)`. */
const LOGGED = /\blog(?:To\(context\))?\((?:\w+ \? '([a-z-]+)' : )?'([a-z-]+)'/g;

/** Events that the code logs, wherever it does. */
export const loggedEvents: ReadonlySet<string> = new Set(
  sources.flatMap((text) => [...text.matchAll(LOGGED)].flatMap(([, ...events]) => events.filter(Boolean))),
);
