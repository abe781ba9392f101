import type { Arena, Place } from './arena.ts';
import { drawFrom, type Draw } from '../../quantity/draw.ts';
import { cheapestOffer, type Offer } from './offers.ts';
import { ANYWHERE } from './pour.ts';
import { isFair, mayGo, replace, settleNew, takeAwaySimply, type Means } from './take-away.ts';
import { ownPods } from './own-pods.ts';
import { bring, close, take, undoTo, type Trail } from './trail.ts';

/** Nodes that one try brings back at most, and those that it tries beside them. */
const MOST_BROUGHT = 8;
const MOST_BESIDE = 6;

/** Now and then a try brings back many, so that one new node can take the place of them all. */
const TRIES_PER_LARGE = 12;
const MANY_BROUGHT = 40;

/** A search that has found nothing for so many tries per candidate, and at least so many, ends. */
const TRIES_PER_CANDIDATE = 30;
const LEAST_TRIES = 3000;

/**
 * Looks for better ends near the present one: brings some nodes back, takes others away or puts new ones in their place, and
 * keeps what is cheaper. Ends with the work that the arena has left, or when nothing has been found for long.
 */
export function improve(trail: Trail, means: Means): void {
  const { arena } = trail;
  const candidates = arena.places.filter(({ isCandidate, node }) => isCandidate && node?.verdict.kind === 'may');
  if (candidates.length === 0) return;
  const draw = drawFrom(candidates.length);
  const sight: Sight = { tries: 0, places: [] };
  const patience = Math.max(LEAST_TRIES, TRIES_PER_CANDIDATE * candidates.length);
  const slackAtFirst =
    WORSE_AT_FIRST * arena.places.reduce((sum, { state, price }) => sum + (state === 'there' ? price : 0), 0);
  const allowed = arena.work.left;
  let best = { length: trail.done.length, change: trail.change };
  for (let vain = 0; vain < patience && arena.work.left > 0; vain++) {
    const [start, before] = [trail.done.length, trail.change];
    const slack = slackAtFirst * slackLeft(vain / patience, 1 - arena.work.left / allowed) * draw.share();
    arena.blur.draw = draw.below(2) === 0 ? draw : null;
    arena.work.left -= WORK_PER_TRY;
    const isLawful = tryOnce(trail, { candidates, means, draw, sight });
    if (!isLawful || trail.change > Math.min(before, best.change) + slack) undoTo(trail, start);
    else if (trail.change < best.change - LEAST_GAIN) {
      best = { length: trail.done.length, change: trail.change };
      vain = -1;
    }
  }
  arena.blur.draw = null;
  arena.window.places = null;
  // All that was done since is at the end of the trail.
  undoTo(trail, best.length);
  trail.change = best.change;
}

/**
 * How much of the slack at first is left, by the shares of patience and of work that are used: where the work of a large cluster ends
 * before patience does, it must end with a slack of none too, or the search only wanders.
 */
export function slackLeft(patienceUsed: number, workUsed: number): number {
  return (1 - Math.max(patienceUsed, workUsed)) ** 2;
}

/** Ends that are worse than the best by no more than this share of all prices are gone on from, at first. */
const WORSE_AT_FIRST = 0.004;

/** What a try takes beside looking at places, in such looks. */
const WORK_PER_TRY = 500;

/** What is less than a millionth of a dollar is an error of rounding. */
const LEAST_GAIN = 1;

/** Brings nodes back; answers the new nodes that had pods of theirs, which are dropped where they had no others. */
function bringAll(trail: Trail, brought: ReadonlyArray<Place>): ReadonlySet<Place> {
  const emptied = new Set<Place>();
  for (const place of brought) {
    for (const { target } of place.moves) {
      const to = trail.arena.places[target];
      if (to !== undefined && to.offer !== null) emptied.add(to);
    }
    bring(trail, place);
  }
  for (const place of emptied) if (place.state === 'there' && place.received === 0) close(trail, place);
  return emptied;
}

/** What all tries have in common. */
interface Tries {
  readonly candidates: ReadonlyArray<Place>;
  readonly means: Means;
  readonly draw: Draw;
  readonly sight: Sight;
}

/** False: what it has done must not be. */
function tryOnce(trail: Trail, { candidates, means, draw, sight }: Tries): boolean {
  const { arena } = trail;
  sightOf(arena, sight, draw);
  const center = candidates[draw.below(candidates.length)];
  if (center === undefined) return false;
  const brought = relatedTo(trail, center, draw);
  const besides = besideOf(candidates, brought, draw);
  arena.window.places = windowFor(arena, [center, ...brought, ...besides], sight);
  const emptied = bringAll(trail, brought);
  const tried = [...new Set([...brought, ...(mayGo(center) ? [center] : []), ...besides])];
  const order = noisy(tried, draw);
  if (draw.below(2) === 0) replaceSome(trail, order, means, draw);
  takeAwaySimply(trail, order);
  for (const place of order) if (mayGo(place) && draw.below(3) === 0) replaceSome(trail, [place], means, draw);
  for (const place of emptied) settleNew(trail, place, means);
  return [...emptied].every((place) => place.state !== 'there' || isFair(arena, place, means));
}

/** Clusters of no more places than this are looked at as a whole; of others each try sees so many, drawn. */
const WINDOW = 160;

/** A drawn part of the cluster is looked at in so many tries. */
const TRIES_PER_SIGHT = 16;

/** What some tries in a row can put pods on beside what each is about; null in a small cluster: everything. */
interface Sight {
  tries: number;
  places: ReadonlyArray<Place>;
}

function sightOf(arena: Arena, sight: Sight, draw: Draw): void {
  if (sight.tries++ % TRIES_PER_SIGHT > 0) return;
  const { places } = arena;
  const seen: Array<Place> = [];
  for (let drawn = 0; drawn < WINDOW; drawn++) {
    const place = places[draw.below(places.length)];
    if (place?.takesPods === true) seen.push(place);
  }
  sight.places = seen;
}

/** What one try can put pods on. A place that comes up twice is looked at twice. */
function windowFor({ places }: Arena, about: ReadonlyArray<Place>, sight: Sight): Array<Place> | null {
  if (places.length <= WINDOW) return null;
  const window = [...sight.places, ...about];
  for (const { moves } of about) {
    for (const { target } of moves) {
      const to = places[target];
      if (to !== undefined) window.push(to);
    }
  }
  return window;
}

/** Nodes that are gone and whose pods are where the center's are, or on the center; now and then many others too. */
function relatedTo({ arena }: Trail, center: Place, draw: Draw): ReadonlyArray<Place> {
  const { places } = arena;
  const isMany = draw.below(TRIES_PER_LARGE) === 0;
  const found = new Set<Place>(isMany ? drawnGone(places, draw) : []);
  if (center.state === 'gone') found.add(center);
  const targets = center.state === 'gone' ? center.moves.filter(() => draw.below(2) === 0) : [{ target: center.index }];
  const most = isMany ? MANY_BROUGHT : 1 + draw.below(MOST_BROUGHT);
  // Those that a place of the targets has pods of must all come back for it to be free.
  const sources = targets.flatMap(({ target }) => [...(places[target]?.sources ?? [])]);
  for (const source of sources) {
    if (found.size > most) break;
    const place = places[source];
    if (place?.node?.verdict.kind === 'may') found.add(place);
  }
  return [...found];
}

function drawnGone(places: ReadonlyArray<Place>, draw: Draw): ReadonlyArray<Place> {
  const drawn = Array.from({ length: MANY_BROUGHT }, () => places[draw.below(places.length)]);
  return drawn.flatMap((place) => (place?.state === 'gone' && place.node?.verdict.kind === 'may' ? [place] : []));
}

function besideOf(candidates: ReadonlyArray<Place>, brought: ReadonlyArray<Place>, draw: Draw): ReadonlyArray<Place> {
  const beside: Array<Place> = [];
  const most = draw.below(MOST_BESIDE);
  const taken = new Set(brought);
  for (let tries = 0; tries < most * 3 && beside.length < most; tries++) {
    const place = candidates[draw.below(candidates.length)];
    if (place !== undefined && !taken.has(place) && mayGo(place)) beside.push(place);
  }
  return beside;
}

/** Those that save most for their pods first, roughly. */
function noisy(places: ReadonlyArray<Place>, draw: Draw): ReadonlyArray<Place> {
  const keys = new Map(places.map((place) => [place, place.reluctance * (0.5 + draw.share())]));
  return places.toSorted((a, b) => (keys.get(b) ?? 0) - (keys.get(a) ?? 0) || a.index - b.index);
}

function replaceSome(trail: Trail, order: ReadonlyArray<Place>, means: Means, draw: Draw): void {
  const free = order.filter(mayGo);
  if (free.length === 0) return;
  const group = free.slice(0, 1 + draw.below(free.length));
  const offer = offerFor(trail, group, means, draw);
  if (offer !== null) replace(trail, group, offer, means);
}

/** A new node that would hold the pods of them all, or of some. */
function offerFor({ arena }: Trail, group: ReadonlyArray<Place>, means: Means, draw: Draw): Offer | null {
  const paid = group.reduce((sum, { price }) => sum + price, 0);
  const some = group.slice(0, 1 + draw.below(group.length));
  const share = draw.below(3) === 0 ? 0.3 + 0.7 * draw.share() : 1;
  const { needs, load } = ownPods(arena, some);
  const zones = group.map(({ room }) => room.capacity.labels['topology.kubernetes.io/zone'] ?? null);
  const zone = zones[draw.below(zones.length)] ?? null;
  const mayBeSpot =
    means.spotToSpot || group.some(({ room }) => room.capacity.labels['karpenter.sh/capacity-type'] !== 'spot');
  const demand = { needs, load: share === 1 ? load : load.map((all) => share * all), zone, below: paid, mayBeSpot };
  return cheapestOffer(arena.workspace, means.offers, demand);
}

/** Every single node that saves when it goes, or when a cheaper one comes in its place, goes; answers how many. */
export function takeAllSingles(trail: Trail, means: Means): number {
  const { arena } = trail;
  const candidates = arena.places.filter(({ isCandidate, node }) => isCandidate && node?.verdict.kind === 'may');
  const order = candidates.toSorted((a, b) => b.reluctance - a.reluctance || a.index - b.index);
  let gone = 0;
  for (const place of order) {
    if (!mayGo(place) || place.price <= place.toll) continue;
    if (take(trail, place, ANYWHERE)) gone++;
  }
  for (const place of order) {
    if (!mayGo(place)) continue;
    const offer = singleOffer(trail, place, means);
    if (offer !== null && replace(trail, [place], offer, means)) gone++;
  }
  return gone;
}

function singleOffer({ arena }: Trail, place: Place, means: Means): Offer | null {
  const { labels } = place.room.capacity;
  return cheapestOffer(arena.workspace, means.offers, {
    ...ownPods(arena, [place]),
    zone: labels['topology.kubernetes.io/zone'] ?? null,
    below: place.price - place.toll,
    mayBeSpot: means.spotToSpot || labels['karpenter.sh/capacity-type'] !== 'spot',
  });
}
