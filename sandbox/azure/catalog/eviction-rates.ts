import type { Rng } from '../../base/rng.ts';
import type { Size } from './sizes.ts';

/**
 * Azure's words for how many percent of spot VMs it evicts within an hour, and how many of a hundred families have
 * each. Azure publishes no such distribution: most of its sizes are in the first band, and the last is more common than
 * those between.
 */
const BANDS = [
  { word: '0-5', families: 64 },
  { word: '5-10', families: 14 },
  { word: '10-15', families: 7 },
  { word: '15-20', families: 4 },
  { word: '20+', families: 11 },
] as const;

/** In percent: sizes of a family share their hardware, and mostly their fate. */
const LIKE_FAMILY = 80;

/** How often Azure evicts spot VMs of a size in the region: drawn from the seed, until somebody says otherwise. */
export class EvictionRates {
  readonly #rng: Rng;
  readonly #region: string;
  readonly #said = new Map<string, string>();

  constructor(rng: Rng, region: string, said: { readonly [size: string]: string }) {
    this.#rng = rng;
    this.#region = region;
    for (const [size, word] of Object.entries(said)) this.set(size, word);
  }

  /** Any word is taken: Azure may find new ones. */
  set(size: string, word: string): void {
    this.#said.set(size.toLowerCase(), word);
  }

  of({ name, family }: Pick<Size, 'name' | 'family'>): string {
    const said = this.#said.get(name.toLowerCase());
    if (said !== undefined) return said;
    const own = this.#rng.split(`${this.#region}/${name}`);
    return draw(own.chance(LIKE_FAMILY) ? this.#rng.split(`${this.#region}/${family}`) : own);
  }
}

function draw(rng: Rng): string {
  let left = rng.below(BANDS.reduce((sum, { families }) => sum + families, 0));
  for (const { word, families } of BANDS) {
    if (left < families) return word;
    left -= families;
  }
  return BANDS[0].word;
}
