import { spawnSync } from 'node:child_process';

/** A file and which of its lines are meant: first and last of each range; null for all of them. */
export interface ChangedFile {
  readonly path: string;
  readonly lines: ReadonlyArray<readonly [number, number]> | null;
}

/**
 * The lines of this checkout that are not in `base`, committed or not. Without a base: since this branch left
 * `origin/main` or `main`, or, on that branch itself, since the commit before the last.
 */
export function changedFiles(base = usualBase()): ReadonlyArray<ChangedFile> {
  const diff = git('diff', '--unified=0', '--no-color', '--no-ext-diff', '--diff-filter=AMR', base);
  const untracked = git('ls-files', '--others', '--exclude-standard').split('\n').filter(Boolean);
  return [...readDiff(diff), ...untracked.map((path) => ({ path, lines: null }))];
}

/** Reads a diff without context. Where lines only went, there is nothing to mutate. */
export function readDiff(diff: string): ReadonlyArray<ChangedFile> {
  const files: Array<{ readonly path: string; readonly lines: Array<readonly [number, number]> }> = [];
  for (const line of diff.split('\n')) {
    if (line.startsWith('+++ b/')) files.push({ path: line.slice('+++ b/'.length), lines: [] });
    const [, from, count = '1'] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (from !== undefined && count !== '0') files.at(-1)?.lines.push([Number(from), Number(from) + Number(count) - 1]);
  }
  return files.filter(({ lines }) => lines.length > 0);
}

function usualBase(): string {
  const head = git('rev-parse', 'HEAD').trim();
  for (const branch of ['origin/main', 'main']) {
    const { status, stdout } = spawnSync('git', ['merge-base', branch, 'HEAD'], { encoding: 'utf8' });
    if (status === 0 && stdout.trim() !== head) return stdout.trim();
  }
  return 'HEAD~1';
}

function git(...args: ReadonlyArray<string>): string {
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}
