import type { Catalog, InstanceType } from '../../model/catalog.ts';
import type { NodeOverlay, NodePool } from '../../../kubernetes/manifest.ts';
import { microUsdPerHour } from '../../quantity/units.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { placeOf, sizesOf } from './audited-sizes.ts';
import { meets, type PossibleLabels } from './matching.ts';

/** What one overlay would change: prices by index of offering, capacities by resource, of one size in one pool. */
interface Change {
  readonly pool: string;
  readonly type: string;
  readonly what: string;
}

/** By pool and size: who decides each price and capacity. */
type Deciders = Map<string, Map<string, NodeOverlay['spec']>>;

/**
 * What sizes cost and have once NodeOverlays are counted, read for the audit alone: every overlay in turn, the heaviest
 * first and the later name first, decides what none before it has decided; one that meets its equal in weight on
 * anything is left out whole.
 */
export function auditedCatalog(input: ProvisioningInput): Catalog {
  const { cluster, catalog, policy } = input;
  if (!policy.gates.nodeOverlay || cluster.nodeOverlays.length === 0) return catalog;
  const changes = changesOf(input);
  const deciders: Deciders = new Map();
  const met = new Set<string>();
  for (const overlay of cluster.nodeOverlays.toSorted(byPrecedence)) {
    const own = changes.get(overlay) ?? [];
    const ids = own.map((change) => JSON.stringify([weightOf(overlay), change]));
    if (ids.some((id) => met.has(id))) continue;
    for (const id of ids) met.add(id);
    for (const change of own) decide(deciders, change, overlay);
  }
  return new Map(
    [...catalog].map(([pool, types]) => [
      pool,
      types.map((type) => changed(type, deciders.get(`${pool}/${type.name}`))),
    ]),
  );
}

function decide(deciders: Deciders, { pool, type, what }: Change, { spec }: NodeOverlay): void {
  const own = deciders.get(`${pool}/${type}`) ?? new Map<string, NodeOverlay['spec']>();
  if (!own.has(what)) own.set(what, spec);
  deciders.set(`${pool}/${type}`, own);
}

function weightOf({ spec }: NodeOverlay): number {
  return spec.weight ?? 0;
}

function byPrecedence(a: NodeOverlay, b: NodeOverlay): number {
  if (weightOf(a) !== weightOf(b)) return weightOf(b) - weightOf(a);
  return a.metadata.name > b.metadata.name ? -1 : 1;
}

function changesOf(input: ProvisioningInput): ReadonlyMap<NodeOverlay, ReadonlyArray<Change>> {
  const { nodePools, nodeOverlays } = input.cluster;
  const changes = new Map(nodeOverlays.map((overlay): [NodeOverlay, Array<Change>] => [overlay, []]));
  const sizes = sizesOf(input.catalog);
  for (const pool of nodePools) {
    for (const type of input.catalog.get(pool.metadata.name) ?? []) {
      const labels = type.offerings.map((offering) => sizes.nodeOf(pool, placeOf(type.name, offering)).labels);
      for (const [overlay, own] of changes) own.push(...changesTo(pool, type, overlay, labels));
    }
  }
  return changes;
}

/** `labels`: of each of the size's offerings, in their order. */
function changesTo(
  pool: NodePool,
  type: InstanceType,
  { spec }: NodeOverlay,
  labels: ReadonlyArray<PossibleLabels>,
): ReadonlyArray<Change> {
  const reached = labels.flatMap((own, index) =>
    spec.requirements.every((requirement) => meets(own, requirement)) ? [index] : [],
  );
  if (reached.length === 0) return [];
  const prices = spec.price === undefined && spec.priceAdjustment === undefined ? [] : reached.map(String);
  const whats = [...prices, ...Object.keys(spec.capacity ?? {}).map((resource) => `capacity ${resource}`)];
  return whats.map((what) => ({ pool: pool.metadata.name, type: type.name, what }));
}

function changed(type: InstanceType, deciders: ReadonlyMap<string, NodeOverlay['spec']> | undefined): InstanceType {
  if (deciders === undefined) return type;
  const capacity = { ...type.capacity };
  for (const [what, spec] of deciders) {
    const resource = what.replace('capacity ', '');
    if (resource !== what) capacity[resource] = spec.capacity?.[resource] ?? 0;
  }
  const offerings = type.offerings.map((offering, index) => {
    const spec = deciders.get(String(index));
    return spec === undefined ? offering : { ...offering, price: microUsdPerHour(priceBy(spec, offering.price)) };
  });
  return { ...type, capacity, offerings };
}

/** In millionths of a dollar, rounded up; counted in units of 10^-18 dollars so that nothing is lost. */
function priceBy({ price, priceAdjustment = '' }: NodeOverlay['spec'], before: number): number {
  const unit = 10n ** 12n;
  const now = BigInt(before) * unit;
  const text = price ?? priceAdjustment.replace(/[+%-]/g, '');
  const [whole = '0', fraction = ''] = text.split('.');
  const amount = BigInt(whole + fraction.padEnd(18, '0').slice(0, 18));
  let after = price === undefined ? now : amount;
  if (price === undefined) {
    const change = priceAdjustment.endsWith('%') ? (now * amount) / (100n * 10n ** 18n) : amount;
    after = priceAdjustment.startsWith('-') ? now - change : now + change;
  }
  return after <= 0n ? 0 : Number((after + unit - 1n) / unit);
}
