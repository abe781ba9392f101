import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A text in quotes of a source file, with its line. Where a template has a value there is `…`. */
export interface SaidText {
  readonly line: number;
  readonly text: string;
}

/** All TypeScript files under the folder, or the file itself. */
export function listSources(root: string, path: string): ReadonlyArray<string> {
  if (statSync(join(root, path)).isFile()) return [path];
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(path, name))
    .toSorted();
}

/** The strings and templates of a source file that are sentences or parts of them: those with a letter and a space. */
export function readSaidTexts(file: string): ReadonlyArray<SaidText> {
  return textsIn(readFileSync(file, 'utf8')).filter(({ text }) => /\p{L}.* |^ .*\p{L}/u.test(text));
}

/** After one of these a slash begins a regular expression and not a division. */
const BEFORE_PATTERN = /(^|[(,=:[!&|?{};>]|return)\s*$/;

/** Comments and regular expressions are passed over. */
export function textsIn(source: string): ReadonlyArray<SaidText> {
  const found: Array<SaidText> = [];
  let at = 0;
  const lineAt = (index: number): number => source.slice(0, index).split('\n').length;
  const skipTo = (end: string): void => {
    const index = source.indexOf(end, at);
    at = index === -1 ? source.length : index + end.length;
  };
  const readQuoted = (quote: string): void => {
    const start = at++;
    let text = '';
    while (at < source.length && source[at] !== quote) {
      if (source[at] === '\\') {
        text += source[at + 1] === 'n' ? ' ' : (source[at + 1] ?? '');
        at += 2;
      } else if (quote === '`' && source.startsWith('${', at)) {
        at += 2;
        readCode('}');
        text += '…';
      } else text += source[at++];
    }
    at++;
    found.push({ line: lineAt(start), text });
  };
  const skipPattern = (): void => {
    let inClass = false;
    for (at++; at < source.length && (inClass || source[at] !== '/') && source[at] !== '\n'; at++) {
      if (source[at] === '\\') at++;
      else if (source[at] === '[') inClass = true;
      else if (source[at] === ']') inClass = false;
    }
    at++;
  };
  function readCode(end: string | null): void {
    let depth = 0;
    while (at < source.length) {
      const char = source[at] ?? '';
      if (char === end && depth === 0) {
        at++;
        return;
      }
      if (source.startsWith('//', at)) skipTo('\n');
      else if (source.startsWith('/*', at)) skipTo('*/');
      else if (char === "'" || char === '"' || char === '`') readQuoted(char);
      else if (char === '/' && BEFORE_PATTERN.test(source.slice(Math.max(0, at - 40), at))) skipPattern();
      else {
        if (char === '{') depth++;
        if (char === '}') depth--;
        at++;
      }
    }
  }
  readCode(null);
  return found;
}
