import { it } from 'vitest';
import type { Mode } from './world.ts';

/**
 * Cases that `npm test` leaves out, as it is to be quick: they run on the real control plane, and on the double with
 * `--slow`.
 */
export function onceOn(mode: Mode): typeof it | typeof it.skip {
  return mode === 'real' || process.env['NODEWRIGHT_SLOW'] === '1' ? it : it.skip;
}
