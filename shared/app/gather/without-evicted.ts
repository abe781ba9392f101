import { label } from '../../contract/names.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Catalog, InstanceType } from '../../core/model/catalog.ts';
import { evictedAmong } from '../facts/interrupted.ts';

/**
 * The catalog without the very spot offerings that are being evicted now. The memory that all instances share has them
 * for longer, where it could be written.
 */
export function withoutEvicted(catalog: Catalog, { nodeClaims }: Pick<Snapshot, 'nodeClaims'>, nowMs: number): Catalog {
  const evicted = new Set(
    evictedAmong(nodeClaims, nowMs).map(
      ({ metadata: { labels = {} } }) => `${labels[label.instanceType]}/${labels[label.zone]}`,
    ),
  );
  if (evicted.size === 0) return catalog;
  // Pools that share a list go on sharing it.
  const narrowed = new Map<ReadonlyArray<InstanceType>, ReadonlyArray<InstanceType>>();
  const narrow = (types: ReadonlyArray<InstanceType>): ReadonlyArray<InstanceType> => {
    const known = narrowed.get(types) ?? types.map((type) => withoutOfferings(type, evicted));
    narrowed.set(types, known);
    return known;
  };
  return new Map([...catalog].map(([pool, types]) => [pool, narrow(types)]));
}

function withoutOfferings(type: InstanceType, evicted: ReadonlySet<string>): InstanceType {
  const isEvicted = ({ capacityType, zone }: InstanceType['offerings'][number]): boolean =>
    capacityType === 'spot' && evicted.has(`${type.name}/${zone}`);
  if (!type.offerings.some(isEvicted)) return type;
  return { ...type, offerings: type.offerings.map((one) => (isEvicted(one) ? { ...one, available: false } : one)) };
}
