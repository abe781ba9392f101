import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Sku } from '../../shared/adapters/azure/catalog/sku.ts';
import { home } from '../home.ts';
import { WrongInputError } from '../wrong-input.ts';
import { fromRow, type SizeFile } from './size-rows.ts';

/** Sizes of a region with their prices, as the command ships them. */
export interface ShippedSizes {
  readonly region: string;
  /** Where the prices are from, and of which day. */
  readonly prices: string;
  readonly skus: ReadonlyArray<Sku>;
}

/** Where plans are made for when nothing says otherwise. */
export const DEFAULT_REGION = 'westeurope';

const folder = join(home, 'cli/catalog/data');

/** The regions with sizes and prices, by name. */
export function knownRegions(): ReadonlyArray<string> {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .toSorted();
}

/** `West Europe`, as the portal writes it, is `westeurope`. Throws WrongInputError for a region that is not shipped. */
export function readShippedSizes(name: string): ShippedSizes {
  const region = name.toLowerCase().replaceAll(' ', '');
  const known = knownRegions();
  if (!known.includes(region)) {
    const message = `there are no prices of ${JSON.stringify(name)} here`;
    const fix = `use ${known.join(' or ')}, or give your own sizes and prices with --catalog`;
    throw new WrongInputError([{ origin: null, object: '', path: '--region', message, fix }]);
  }
  const { meta, sizes } = JSON.parse(readFileSync(join(folder, `${region}.json`), 'utf8')) as SizeFile;
  return { region, prices: meta.prices, skus: sizes.map(fromRow) };
}
