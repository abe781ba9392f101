import type { CheaperOfferings } from '../../model/plan.ts';
import type { PlannedOffering } from '../../model/plan.ts';
import { microUsdPerHour } from '../../quantity/units.ts';
import { cheaperRules, type CheaperRule, type RuleStory } from './cheaper-rules.ts';
import { at } from '../../quantity/at.ts';
import { cheapestBit } from '../../offerings/compile-pool.ts';
import type { CompiledType } from '../../offerings/compile-types.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import { cheaperBits, listingOf, type Listing } from './listed-offerings.ts';
import { plainPriceOf, type OpenClaim } from '../../placing/state/open-claim.ts';
import { podName } from '../../model/pod-name.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import { riskFields } from '../../offerings/weighed-price.ts';
import type { Workspace } from '../../placing/state/workspace.ts';

/** Returns why nothing cheaper than its offering was chosen for a claim, most offerings first. */
export type CheaperExplainer = (claim: OpenClaim) => ReadonlyArray<CheaperOfferings>;

/** Groups told per claim: with several pools there may be more. Those of most offerings are told. */
const MAX_GROUPS = 12;

/**
 * An explainer for claims of the finished workspace. It looks through the catalog once for all claims that are alike.
 */
export function cheaperExplainer(workspace: Workspace): CheaperExplainer {
  const listing = listingOf(workspace);
  const known = new Map<string, ReadonlyArray<Group>>();
  return (claim) => {
    const id = likeness(claim);
    const groups = known.get(id) ?? groupsFor(workspace, claim, listing);
    known.set(id, groups);
    return groups.map((group) => toCheaper(workspace, claim, group));
  };
}

/** Equal for claims of one pool and offering with pods of the same kinds and sum, and with the same other choices. */
function likeness({ state, chosen, load, pods, offered, bits }: OpenClaim): string {
  const shapes = [...new Set(pods.map(({ shape }) => shape))].toSorted((a, b) => a - b);
  const choices = offered.reduce((hash, mask) => (Math.imul(hash, 31) + mask) | 0, 0);
  return [state.pool.name, chosen?.type, chosen?.bit, choices, bits, shapes.join(' '), load.join(' ')].join('/');
}

/** Offerings ruled out for one reason, while they are counted; `told`, `type` and `mask` are of the example. */
interface Group {
  readonly state: PoolState;
  told: RuleStory;
  type: number;
  mask: number;
  price: number;
  offerings: number;
  types: number;
}

function groupsFor(workspace: Workspace, claim: OpenClaim, listing: Listing): ReadonlyArray<Group> {
  const groups = new Map<string, Group>();
  const price = plainPriceOf(claim);
  for (const state of workspace.pools) {
    const rules = cheaperRules({ workspace, claim, state, listing });
    const listed = listing.of(state);
    for (let type = 0; type < listed.listed.length; type++) {
      divide(groups, state, rules, { type, mask: cheaperBits(state, listed, type, price) });
    }
  }
  return [...groups]
    .toSorted(([a, one], [b, other]) => other.offerings - one.offerings || byCodeUnit(a, b))
    .slice(0, MAX_GROUPS)
    .map(([, group]) => group);
}

/** Counts the offerings of `mask` under the first rule that rules each out. */
function divide(
  groups: Map<string, Group>,
  state: PoolState,
  rules: ReadonlyArray<CheaperRule>,
  { type, mask }: Pick<Group, 'type' | 'mask'>,
): void {
  let left = mask;
  for (const [index, rule] of left === 0 ? [] : rules.entries()) {
    const out = left & rule.rulesOut(type, left);
    if (out === 0) continue;
    left &= ~out;
    const told = rule.tell(type, out);
    const id = `${state.pool.name}/${index}/${told.about}`;
    groups.set(id, counted(groups.get(id), { state, told, type, mask: out }));
    if (left === 0) return;
  }
}

function counted(group: Group | undefined, found: Pick<Group, 'state' | 'told' | 'type' | 'mask'>): Group {
  const price = lowestOf(found);
  const known = group ?? { ...found, price, offerings: 0, types: 0 };
  known.offerings += bitCount(found.mask);
  known.types += 1;
  const [less, more] = [found.told.shortage, known.told.shortage];
  if (less < more || (less === more && price < known.price)) {
    Object.assign(known, { told: found.told, type: found.type, mask: found.mask, price });
  }
  return known;
}

function lowestOf({ state, type, mask }: Pick<Group, 'state' | 'type' | 'mask'>): number {
  const compiled = state.pool.catalog.types[type];
  return compiled === undefined ? Infinity : at(compiled.plainListPrices, cheapestBit(compiled.plainListPrices, mask));
}

function bitCount(mask: number): number {
  let count = 0;
  for (let left = mask; left !== 0; left &= left - 1) count++;
  return count;
}

function toCheaper(workspace: Workspace, claim: OpenClaim, group: Group): CheaperOfferings {
  const { state, told, type, mask, offerings, types } = group;
  const compiled = state.pool.catalog.types[type];
  const bit = compiled === undefined ? 0 : cheapestBit(compiled.plainListPrices, mask);
  const { zone = '', capacityType = 'on-demand' } = state.pool.catalog.markets[bit] ?? {};
  const [pod] = claim.pods.filter(({ shape }) => shape === told.shape).toSorted((a, b) => byCodeUnit(a.uid, b.uid));
  const reason = told.reason();
  return {
    nodePool: state.pool.name,
    reason: 'pod' in reason && pod !== undefined ? { ...reason, pod: podName(workspace.input.cluster, pod) } : reason,
    offerings,
    instanceTypes: types,
    example: { instanceType: compiled?.name ?? '', zone, capacityType, ...pricesOf(compiled, bit) },
  };
}

function pricesOf(type: CompiledType | undefined, bit: number): Pick<PlannedOffering, 'price' | 'risk'> {
  const price = microUsdPerHour(at(type?.plainListPrices ?? [], bit));
  return { price, ...riskFields(price, at(type?.evictions ?? [], bit), at(type?.weighedListPrices ?? [], bit)) };
}
