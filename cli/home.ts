import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The folder of Nodewright: of the checkout, or of the package that was installed. Files that the command reads are
 * found from here, as a bundle keeps no place beside them.
 */
export const home: string = homeOf(import.meta.dirname);

/** Throws an Error where no folder above has the package.json of Nodewright. */
function homeOf(start: string): string {
  for (let folder = start; ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && nameIn(manifest) === 'nodewright') return folder;
    if (folder === dirname(folder)) throw new Error(`no folder above ${start} is Nodewright's`);
  }
}

/** The version of this command, as its package.json says it. */
export function readVersion(): string {
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { readonly version: string };
  return version;
}

function nameIn(manifest: string): unknown {
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name?: unknown }).name;
}
