import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A package whose code is in a bundle. */
export interface Bundled {
  readonly name: string;
  readonly version: string;
  /** As its package.json names it. */
  readonly license: string;
  /** The text of its licence; empty where it ships none. */
  readonly text: string;
}

/** The packages that paths of a bundle's sources are from, by name and version. */
export function bundledPackages(paths: ReadonlyArray<string>): ReadonlyArray<Bundled> {
  const folders = paths.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const all = [...new Set(folders)].map(readPackage);
  return all.toSorted((a, b) => a.name.localeCompare(b.name) || a.version.localeCompare(b.version));
}

function readPackage(folder: string): Bundled {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Omit<
    Bundled,
    'text'
  >;
  const file = readdirSync(folder).find((one) => /^(licen[cs]e|copying)(\.|$)/i.test(one));
  const path = file === undefined ? '' : join(folder, file);
  return { name, version, license, text: existsSync(path) ? readFileSync(path, 'utf8').trim() : '' };
}

/**
 * What licences ask for: their texts, those that are alike once. Throws an Error that names packages without a licence.
 */
export function renderNotices(packages: ReadonlyArray<Bundled>): string {
  const unlicensed = packages.filter(({ license }) => typeof license !== 'string' || license === '');
  if (unlicensed.length > 0) {
    throw new Error(`${unlicensed.map(({ name }) => name).join(', ')}: no licence is named, so it may not be bundled`);
  }
  const alike = Map.groupBy(packages, ({ license, text }) => `${license}\n\n${text}`);
  const parts = [...alike].map(
    ([terms, all]) => `${all.map(({ name, version }) => `${name} ${version}`).join('\n')}\n\n${terms}\n`,
  );
  return [`Nodewright contains code of these packages.\n`, ...parts].join(`\n${'-'.repeat(80)}\n\n`);
}
