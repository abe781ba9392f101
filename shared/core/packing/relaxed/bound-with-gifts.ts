import { coverDemand } from '../whole/cover.ts';
import { boundOf, cutOf, measuresOf, weigh, type Cut } from '../columns/cuts.ts';
import { fillKind, relaxWithGifts, type GiftedProblem, type GiftKind } from './relax-with-gifts.ts';
import { withShare, type Work } from '../problem/work.ts';

/** What a plan has made of the pods: the bound is only of interest below its cost. */
export interface GiftedPlan {
  /** Micro-USD per hour. */
  readonly cost: number;
  /** Are there so few new nodes that whole ones should be counted? */
  readonly isFew: boolean;
}

/**
 * What new nodes cost at least, when capacity that is there may be filled in any way: by any worth of pods, what all
 * are worth less the most that the gifts can hold. For few new nodes, also by what whole ones can hold of the rest.
 */
export function boundWithGifts(gifted: GiftedProblem, { cost, isFew }: GiftedPlan, work: Work): number {
  const { flat, kinds, demand, values } = withShare(work, 0.6, (own) => relaxWithGifts(gifted, own));
  const reduced = (cut: Cut): Cut => ({
    ...cut,
    need: Math.max(0, cut.need - heldBy(kinds, cut.values, demand, work)),
  });
  const cut = cutOf(flat, { values, demand, prices: flat.prices }, work);
  const cuts = cut === null ? [] : [reduced(cut)];
  const bound = cuts.reduce((most, one) => Math.max(most, boundOf(one, flat)), 0);
  if (!isFew || bound >= cost) return bound;
  for (const measure of measuresOf(flat)) {
    const own = cutOf(flat, { values: measure, demand, prices: null }, work);
    if (own !== null) cuts.push(reduced(own));
  }
  const canPack = () => ({ kind: 'unknown' }) as const;
  return coverDemand({ flat, demand, cuts, below: cost, floor: bound, canPack, goesOn: false, work }).bound;
}

/** No filling of the gifts counts more than this. */
function heldBy(kinds: ReadonlyArray<GiftKind>, values: Float64Array, demand: Float64Array, work: Work): number {
  let most = 0;
  for (const kind of kinds) most += kind.times * Math.floor(fillKind(kind, { values, demand }, work).atMost);
  return Math.min(most, weigh(values, demand));
}
