import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

/** The real az, and what brings it to a double. */
export interface Tools {
  /** The folder with `az`. */
  readonly folder: string;
  /** The proxy that ends its TLS. */
  readonly intercept: string;
}

/** Shared tools stand beside the checkout. */
const SHARED = resolve(root, process.env['AZURE_TOOLS'] ?? '../shared/azure-tools');

/**
 * Null where there is no real az here: then suites that need it do nothing, and say so. `AZURE_CLI_FOLDER` names its
 * folder, which CI builds (scripts/azure-cli.ts); without it the one on the PATH is taken.
 */
export function findTools(): Tools | null {
  const intercept = join(SHARED, 'intercept.mjs');
  if (!existsSync(intercept) || spawnSync('openssl', ['version']).error !== undefined) return null;
  const { AZURE_CLI_FOLDER: named = '', PATH = '' } = process.env;
  const folder = [named, ...PATH.split(delimiter)].find((one) => one !== '' && existsSync(join(one, 'az')));
  return folder === undefined ? null : { folder, intercept };
}
