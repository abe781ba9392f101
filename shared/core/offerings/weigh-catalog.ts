import type { CompiledCatalog, CompiledType } from './compile-types.ts';
import { riskOf, withRisk } from './weighed-price.ts';

/**
 * The catalog with weighedPrices weighed by how often Azure evicts, where an eviction costs so many milliseconds of the
 * node. The catalog itself where nothing is known of evictions, or none costs anything: then nothing is copied.
 */
export function weighCatalog(catalog: CompiledCatalog, evictionCostMs: number): CompiledCatalog {
  if (evictionCostMs === 0 || catalog.types.every(({ evictions }) => evictions === null)) return catalog;
  return { ...catalog, types: catalog.types.map((type) => weighType(type, evictionCostMs)) };
}

function weighType(type: CompiledType, evictionCostMs: number): CompiledType {
  const { evictions, plainPrices, plainListPrices } = type;
  if (evictions === null) return type;
  const weighed = (plain: Float64Array): Float64Array => {
    const weighedPrices = plain.slice();
    for (let bit = 0; bit < weighedPrices.length; bit++) {
      const rate = evictions[bit] ?? 0;
      if (rate !== 0) weighedPrices[bit] = withRisk(plain[bit] ?? Infinity, riskOf(rate, evictionCostMs));
    }
    return weighedPrices;
  };
  const weighedPrices = weighed(plainPrices);
  return {
    ...type,
    weighedPrices,
    weighedListPrices: plainListPrices === plainPrices ? weighedPrices : weighed(plainListPrices),
  };
}
