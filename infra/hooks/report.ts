import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Writes what the preflight has to say where it can be read afterwards, as azd shows nothing of its hooks without a
 * terminal: beside azd's own environment, and in the summary of a GitHub Actions run. Answers where that is.
 */
export function writeReport(
  lines: ReadonlyArray<string>,
  { root, environment, summary }: { readonly root: string; readonly environment: string; readonly summary: string },
): ReadonlyArray<string> {
  const folder = join(root, '.azure', environment);
  const file = join(folder, 'nodewright-preflight.txt');
  const written: Array<string> = [];
  if (environment !== '' && existsSync(folder)) {
    writeFileSync(file, `${lines.join('\n')}\n`);
    written.push(file);
  }
  if (summary !== '') {
    appendFileSync(summary, `### Nodewright: preflight\n\n\`\`\`\n${lines.join('\n')}\n\`\`\`\n`);
    written.push(summary);
  }
  return written;
}
