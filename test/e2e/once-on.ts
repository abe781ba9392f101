import { it } from 'vitest';
import type { Mode } from './world.ts';

/** Cases that tell nothing new on the double run on the real control plane alone: `npm test` is to be quick. */
export function onceOn(mode: Mode): typeof it | typeof it.skip {
  return mode === 'real' ? it : it.skip;
}
