import type { Need } from '../../placing/state/compile-shape.ts';
import { factsOf, type Arena, type Slot } from './arena.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { drawFrom, type Draw } from '../../quantity/draw.ts';
import { cheapestOffering, type PoolOffering } from './pool-offerings.ts';
import { ANYWHERE } from './reschedule.ts';
import {
  ALL,
  isFair,
  isSpotNode,
  mayGo,
  replace,
  settleNew,
  takeAwaySimply,
  type Means,
  type Within,
} from './take-away.ts';
import { addNeed, ownPods } from './own-pods.ts';
import { bring, close, isTaken, take, undoTo, type Trail } from './trail.ts';

/** Nodes that one try brings back at most, and those that it tries beside them. */
const MOST_BROUGHT = 8;
const MOST_BESIDE = 6;

/** Now and then a try brings back many, so that one new node can take the place of them all. */
const TRIES_PER_LARGE = 12;
const MANY_BROUGHT = 40;

/** A search that has found nothing for so many tries per candidate, and at least so many, ends. */
const TRIES_PER_CANDIDATE = 30;
const LEAST_TRIES = 3000;

/** After how many tries in vain a search among so many candidates ends. */
export function patienceFor(candidates: number): number {
  return Math.max(LEAST_TRIES, TRIES_PER_CANDIDATE * candidates);
}

/** Two new nodes at once are one kind of change of several: so much less patience finds them. */
const PAIRS_SHARE = 3;

/** How far a search goes: tries in vain, and slots that one try sees. */
interface Reach {
  readonly patience?: number;
  readonly sampleSize?: number;
  /** Do two new nodes come in the place of some? Else one does. */
  readonly inPairs?: boolean;
}

/**
 * Looks for better ends near the present one: brings some nodes back, takes others away or puts new ones in their
 * place, and keeps what is cheaper. Ends with the work that the arena has left, or when nothing has been found for
 * long.
 */
export function improve(
  trail: Trail,
  means: Means,
  { patience: most, sampleSize = SAMPLE_SIZE, inPairs = false }: Reach = {},
): void {
  const { arena } = trail;
  const candidates = arena.slots.filter(({ isCandidate, node }) => isCandidate && node?.verdict.kind === 'may');
  // Stryker disable next-line ConditionalExpression: a shortcut, without candidates all tries are in vain
  if (candidates.length === 0) return;
  const draw = drawFrom(candidates.length);
  const sample = newSample(sampleSize);
  const patience = most ?? patienceFor(candidates.length) / (inPairs ? PAIRS_SHARE : 1);
  const slackAtFirst = slackOf(arena);
  const allowed = arena.work.left;
  let best = { length: trail.done.length, costChange: trail.costChange };
  for (let vain = 0; vain < patience && arena.work.left > 0; vain++) {
    const start = trail.done.length;
    const slack = slackAtFirst * slackLeft([vain, patience], [arena.work.left, allowed]) * draw.share();
    const noise = draw.below(2) === 0 ? draw : null;
    arena.work.left -= WORK_PER_TRY;
    const isLawful = tryOnce(trail, { candidates, means, draw, noise, sample, inPairs });
    if (!isLawful || trail.costChange > best.costChange + slack) undoTo(trail, start);
    else if (trail.costChange < best.costChange - LEAST_GAIN) {
      best = { length: trail.done.length, costChange: trail.costChange };
      vain = -1;
    }
  }
  // All that was done since is at the end of the trail.
  undoTo(trail, best.length);
  trail.costChange = best.costChange;
}

/**
 * How much of the slack at first is left, by how many tries of so many have been in vain, and how much of the work
 * allowed is left: where the work of a large cluster ends before patience does, it must end with a slack of none too,
 * or the search only wanders.
 */
export function slackLeft(
  [vain, patience]: readonly [number, number],
  [work, allowed]: readonly [number, number],
): number {
  return Math.min(1 - vain / patience, work / allowed) ** 2;
}

/** Ends that are worse than the best by no more than this share of all prices are gone on from, at first. */
const WORSE_AT_FIRST = 0.004;

/** ... which is so much, in micro-USD per hour. */
export function slackOf({ slots }: Pick<Arena, 'slots'>): number {
  return WORSE_AT_FIRST * slots.reduce((sum, { state, price }) => sum + (state === 'there' ? price : 0), 0);
}

/** What a try takes beside looking at slots, in such looks. */
const WORK_PER_TRY = 500;

/** What is less than a millionth of a dollar is an error of rounding. */
const LEAST_GAIN = 1;

/** Brings nodes back; answers the new nodes that had pods of theirs, which are dropped where they had no others. */
function bringAll(trail: Trail, brought: ReadonlyArray<Slot>): ReadonlySet<Slot> {
  const emptied = new Set<Slot>();
  for (const slot of brought) {
    for (const { target } of slot.moves) {
      const to = trail.arena.slots[target];
      if (to !== undefined && to.offering !== null) emptied.add(to);
    }
    bring(trail, slot);
  }
  for (const slot of emptied) if (slot.received === 0) close(trail, slot);
  return emptied;
}

/** What all tries have in common, and whether this one judges roughly. */
interface Tries {
  readonly candidates: ReadonlyArray<Slot>;
  readonly means: Means;
  readonly draw: Draw;
  readonly noise: Draw | null;
  readonly sample: Sample;
  readonly inPairs: boolean;
}

/** False: what it has done must not be. */
function tryOnce(trail: Trail, { candidates, means, draw, noise, sample, inPairs }: Tries): boolean {
  const { arena } = trail;
  drawSample(arena, sample, draw);
  const center = candidates[draw.below(candidates.length)];
  if (center === undefined) return false;
  const brought = relatedTo(trail, center, draw);
  const besides = besideOf(candidates, draw);
  const within: Within = { among: slotsAbout(arena, [center, ...brought, ...besides], sample), noise };
  const emptied = bringAll(trail, brought);
  const tried = [...new Set([...brought, ...(mayGo(center) ? [center] : []), ...besides])];
  const order = noisy(tried, draw);
  if (draw.below(2) === 0) replaceSome(trail, order, { means, draw, within, inPairs });
  takeAwaySimply(trail, order, within);
  for (const slot of order)
    if (mayGo(slot) && draw.below(3) === 0) replaceSome(trail, [slot], { means, draw, within, inPairs });
  for (const slot of emptied) settleNew(trail, slot, means);
  return [...emptied].every((slot) => slot.state !== 'there' || isFair(arena, slot, means));
}

/** Clusters of no more slots than this are looked at as a whole; of others each try sees so many, drawn. */
const SAMPLE_SIZE = 160;

/** A drawn part of the cluster is looked at in so many tries. */
const TRIES_PER_SAMPLE = 16;

/** What some tries in a row can put pods on beside what each is about. */
interface Sample {
  readonly size: number;
  tries: number;
  slots: ReadonlyArray<Slot>;
}

/** Nothing is drawn yet. */
export function newSample(size: number): Sample {
  return { size, tries: 0, slots: [] };
}

/** Draws the sample anew where it has been looked at often enough: of slots that take pods, `size` at most. */
export function drawSample({ slots }: Pick<Arena, 'slots'>, sample: Sample, draw: Draw): void {
  if (sample.tries++ % TRIES_PER_SAMPLE > 0) return;
  const drawn = Array.from({ length: sample.size }, () => slots[draw.below(slots.length)]);
  sample.slots = drawn.flatMap((slot) => (slot?.takesPods === true ? slot : []));
}

/**
 * What one try can put pods on; null in a small cluster: everything. A slot that comes up twice is looked at twice.
 * `about`: the nodes that the try may take away; where pods of theirs are, others may go too.
 */
export function slotsAbout(
  { slots }: Pick<Arena, 'slots'>,
  about: ReadonlyArray<Slot>,
  sample: Sample,
): Array<Slot> | null {
  if (slots.length <= sample.size) return null;
  const targets = about.flatMap(({ moves }) => moves.flatMap(({ target }) => slots[target] ?? []));
  return [...sample.slots, ...about, ...targets];
}

/** Nodes that are gone and whose pods are where the center's are, or on the center; now and then many others too. */
function relatedTo({ arena }: Trail, center: Slot, draw: Draw): ReadonlyArray<Slot> {
  const { slots } = arena;
  const isMany = draw.below(TRIES_PER_LARGE) === 0;
  const found = new Set<Slot>(isMany ? drawnGone(slots, draw) : []);
  if (center.state === 'gone') found.add(center);
  const targets = center.state === 'gone' ? center.moves.filter(() => draw.below(2) === 0) : [{ target: center.index }];
  const most = isMany ? MANY_BROUGHT : 1 + draw.below(MOST_BROUGHT);
  // Those that a place of the targets has pods of must all come back for it to be free.
  const sources = targets.flatMap(({ target }) => [...(slots[target]?.sources ?? [])]);
  for (const source of sources) {
    if (found.size > most) break;
    const slot = slots[source];
    if (slot?.node?.verdict.kind === 'may') found.add(slot);
  }
  return [...found];
}

function drawnGone(slots: ReadonlyArray<Slot>, draw: Draw): ReadonlyArray<Slot> {
  const drawn = Array.from({ length: MANY_BROUGHT }, () => slots[draw.below(slots.length)]);
  return drawn.flatMap((slot) => (slot?.state === 'gone' && slot.node?.verdict.kind === 'may' ? [slot] : []));
}

function besideOf(candidates: ReadonlyArray<Slot>, draw: Draw): ReadonlyArray<Slot> {
  const beside: Array<Slot> = [];
  const most = draw.below(MOST_BESIDE);
  for (let tries = 0; tries < most * 3 && beside.length < most; tries++) {
    const slot = candidates[draw.below(candidates.length)];
    if (slot !== undefined && mayGo(slot)) beside.push(slot);
  }
  return beside;
}

/** Those that save most for their pods first, roughly. */
function noisy(slots: ReadonlyArray<Slot>, draw: Draw): ReadonlyArray<Slot> {
  const keys = new Map(slots.map((slot) => [slot, slot.reluctance * (0.5 + draw.share())]));
  return slots.toSorted((a, b) => (keys.get(b) ?? 0) - (keys.get(a) ?? 0) || a.index - b.index);
}

interface Replacing {
  readonly means: Means;
  readonly draw: Draw;
  readonly within: Within;
  readonly inPairs: boolean;
}

function replaceSome(trail: Trail, order: ReadonlyArray<Slot>, { means, draw, within, inPairs }: Replacing): void {
  const free = order.filter(mayGo);
  // Stryker disable next-line ConditionalExpression: a shortcut, none cost nothing, and no offering costs less
  if (free.length === 0) return;
  const group = free.slice(0, 1 + draw.below(free.length));
  const offering = offeringFor(trail, group, means, draw);
  if (offering === null) return;
  const beside = inPairs ? offeringForOne(trail, group, means, draw) : null;
  const both = beside === null ? [offering] : draw.below(2) === 0 ? [beside, offering] : [offering, beside];
  replace(trail, group, both, means, within);
}

/** A new node for some pods of one of them that are alike: others may need what is dearer. */
function offeringForOne({ arena }: Trail, group: ReadonlyArray<Slot>, means: Means, draw: Draw): PoolOffering | null {
  const { own, price } = group[draw.below(group.length)] ?? {};
  const some = own?.[draw.below(own.length)];
  if (some === undefined || price === undefined) return null;
  const needs = new Set<Need>();
  addNeed(arena, needs, some.shape);
  const count = 1 + draw.below(some.count);
  const load = factsOf(arena, some.shape).requests.map((amount) => amount * count);
  const demand = { needs, load, zone: null, below: price, mayBeSpot: maySpotFollow(group, means) };
  return cheapestOffering(arena.workspace, means.offerings, demand);
}

/** A new node that would hold the pods of them all, or of some. */
function offeringFor({ arena }: Trail, group: ReadonlyArray<Slot>, means: Means, draw: Draw): PoolOffering | null {
  const paid = group.reduce((sum, { price }) => sum + price, 0);
  const some = group.slice(0, 1 + draw.below(group.length));
  const share = draw.below(3) === 0 ? 0.3 + 0.7 * draw.share() : 1;
  const { needs, load } = ownPods(arena, some);
  const zones = group.map(zoneOf);
  const zone = zones[draw.below(zones.length)] ?? null;
  const mayBeSpot = maySpotFollow(group, means);
  const demand = { needs, load: load.map((all) => share * all), zone, below: paid, mayBeSpot };
  return cheapestOffering(arena.workspace, means.offerings, demand);
}

function zoneOf({ room }: Slot): string | null {
  return room.capacity.labels[labelKey.zone] ?? null;
}

/** May a spot node take the place of the group? Where all are spot only if that is switched on. */
function maySpotFollow(group: ReadonlyArray<Slot>, { spotToSpot }: Means): boolean {
  return spotToSpot || !group.every(isSpotNode);
}

/** Every single node that saves when it goes, or when a cheaper one comes in its place, goes; answers how many. */
export function takeAllSingles(trail: Trail, means: Means): number {
  const { arena } = trail;
  const order = arena.slots.toSorted((a, b) => b.reluctance - a.reluctance || a.index - b.index);
  let gone = 0;
  for (const slot of order) {
    if (!mayGo(slot) || slot.price <= slot.disruptionCost) continue;
    if (isTaken(take(trail, slot, ANYWHERE))) gone++;
  }
  for (const slot of order) {
    if (!mayGo(slot)) continue;
    const offering = singleOffering(trail, slot, means);
    if (offering !== null && replace(trail, [slot], [offering], means, ALL)) gone++;
  }
  return gone;
}

function singleOffering({ arena }: Trail, slot: Slot, means: Means): PoolOffering | null {
  return cheapestOffering(arena.workspace, means.offerings, {
    ...ownPods(arena, [slot]),
    zone: zoneOf(slot),
    below: slot.price - slot.disruptionCost,
    mayBeSpot: maySpotFollow([slot], means),
  });
}
