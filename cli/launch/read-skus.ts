import type { ResourceSku } from '@azure/arm-compute';
import { type Sku, toSku } from '../../shared/adapters/azure/catalog/sku.ts';
import { readShippedSizes } from '../catalog/shipped-sizes.ts';
import { listAt, mapAt } from '../input/json-fields.ts';
import { readSource } from '../input/read/read-sources.ts';
import { fileProblem, WrongInputError } from '../wrong-input.ts';

/** A launch is one size that somebody has named: what it costs decides nothing. */
const UNPRICED = { onDemandMicroUsd: 1, spotMicroUsd: 1 } as const;

/** Which generations of images a size boots is not among what comes along: all that are sold today boot the second. */
const ANY_GENERATION = { hyperVGenerations: ['1', '2'] } as const;

/**
 * The sizes of a region: those that come along, or those of a file as ARM lists them (`az vm list-skus`, a `value` of
 * ARM's, or one list for each region). Throws WrongInputError.
 */
export function readSkus(path: string | null, location: string): ReadonlyArray<Sku> {
  if (path === null) return readShippedSizes(location).skus.map((sku) => ({ ...sku, ...ANY_GENERATION }));
  const { origin, text } = readSource(path);
  const wrong = (message: string, fix: string): WrongInputError =>
    new WrongInputError([fileProblem(origin, message, fix)]);
  const listed = listOf(text, location);
  if (listed === null) throw wrong('lists no sizes', 'give what `az vm list-skus --location REGION -o json` prints');
  const skus = listed.flatMap((entry) => {
    const sku = toSku(entry as ResourceSku, location);
    return sku === null ? [] : [{ ...sku, ...UNPRICED }];
  });
  if (skus.length === 0) throw wrong(`has no size of ${location} that a node can have`, 'see LOCATION of the settings');
  return skus;
}

function listOf(text: string, location: string): ReadonlyArray<unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value as ReadonlyArray<unknown>;
    const lists = mapAt(value);
    const list = listAt(lists, 'value' in lists ? 'value' : location.toLowerCase());
    return list.length === 0 ? null : list;
  } catch {
    return null;
  }
}
