import { labelKey } from '../../kubernetes/labels.ts';
import { boundInDomains, type SharedItem } from '../packing/zones/bound-in-domains.ts';
import type { Work } from '../packing/problem/work.ts';
import { isNarrowedByTerm, type SpreadTerm } from '../placing/state/need-terms.ts';
import { boundProblem, isSame, type BoundGroup } from './bound-problem.ts';
import type { PriceKind } from '../placing/together/bulk.ts';
import { keySourceOf } from '../offerings/key-source.ts';
import { namesRegional } from '../rules/placement-scope.ts';
import { regionalBits } from '../placing/state/zones-first.ts';
import { mostWith, placedBy } from '../placing/together/most-in-domain.ts';
import type { Workspace } from '../placing/state/workspace.ts';

/** More pods than this are more than packing a zone again and again can search. */
const FEW_PODS = 60;

/** What the plan costs, at prices of which kind. */
export interface Costing {
  readonly counts: PriceKind;
  readonly cost: number;
}

/** The same, and what no plan undercuts as far as is known. */
export interface KnownCosting extends Costing {
  readonly known: number;
}

/**
 * What no plan can undercut where zones are alike and few pods, all on new nodes, spread over them: every zone needs
 * whole nodes for its own. 0 where that does not apply. `groups`: all pods placed, by shape.
 */
export function boundByZones(
  workspace: Workspace,
  groups: ReadonlyArray<BoundGroup>,
  { counts, cost, known }: KnownCosting,
  work: Work,
): number {
  const pods = groups.reduce((sum, group) => sum + group.pods.length, 0);
  const [zone, ...others] = zonesOf(
    workspace,
    groups.every(({ need }) => need.keepsToZones),
  );
  if (zone === undefined || others.length === 0 || pods > FEW_PODS) return 0;
  const zones = [zone, ...others];
  const shares = groups.map((group) => shareOf(workspace, group, zones));
  // With no pod bound to be anywhere, zones need nothing of their own.
  if (shares.every(({ least, most }, group) => least === 0 && most === groups[group]?.pods.length)) return 0;
  const { problem, members } = boundProblem(workspace, groups, { counts, zone });
  const areAlike = others.every((other) => {
    const { problem: theirs } = boundProblem(workspace, groups, { counts, zone: other });
    return isSame(problem, theirs);
  });
  if (!areAlike) return 0;
  const items = problem.items.map((item, index): SharedItem => {
    const own = (members[index] ?? []).flatMap((group) => shares[group] ?? []);
    const [least, most] = [sumOf(own.map((share) => share.least)), sumOf(own.map((share) => share.most))];
    return { ...item, least, most };
  });
  const domains = { width: problem.width, domains: zones.length, items, bins: problem.bins };
  return boundInDomains(domains, { above: known, below: cost }, work);
}

/**
 * The zones that new nodes can be in; none where some node could be in no zone, or nobody knows in which. `keeping`:
 * all keep to zones.
 */
function zonesOf({ pools }: Workspace, keeping: boolean): ReadonlyArray<string> {
  const zones = new Set<string>();
  for (const { pool } of pools) {
    const source = keySourceOf(pool, labelKey.zone);
    if (source.kind !== 'offering') return [];
    const offered = pool.offered.reduce((mask, own) => mask | own, 0);
    const apart = keeping && !namesRegional(pool.manifest) ? regionalBits(pool.catalog) : 0;
    const own = source.values.filter((_, bit) => (((offered & ~apart) >> bit) & 1) === 1);
    for (const zone of own) {
      if (zone === undefined) return [];
      zones.add(zone);
    }
  }
  return [...zones].toSorted();
}

interface ZoneShare {
  readonly least: number;
  readonly most: number;
}

/**
 * How many pods of the group one zone gets at least and at most, in any plan that places them: none and all unless a
 * spread says more.
 */
function shareOf(workspace: Workspace, { need, pods }: BoundGroup, zones: ReadonlyArray<string>): ZoneShare {
  return need.terms.spread
    .map((term) => shareBy(workspace, term, pods.length, zones))
    .reduce((a, b) => ({ least: Math.max(a.least, b.least), most: Math.min(a.most, b.most) }), {
      least: 0,
      most: pods.length,
    });
}

/**
 * A spread over other domains than these zones, or one that counts more than these pods or not all alike, says nothing
 * here.
 */
function shareBy(workspace: Workspace, term: SpreadTerm, pods: number, zones: ReadonlyArray<string>): ZoneShare {
  const { counter, domains, maxSkew, minDomains, self } = term;
  const nothing = { least: 0, most: pods };
  if (counter.key !== labelKey.zone || counter.filter !== null || self !== 1 || domains.length < minDomains) {
    return nothing;
  }
  if (isNarrowedByTerm(term)) return nothing;
  if (domains.length !== zones.length || !zones.every((zone) => domains.includes(zone))) return nothing;
  const placed = placedBy(workspace, counter);
  const running = domains.map((domain) => (counter.byDomain.get(domain) ?? 0) - (placed.byDomain.get(domain) ?? 0));
  if (placed.total !== pods || running.some((count) => count !== running[0])) return nothing;
  // All other zones have at most maxSkew more than the one with the fewest.
  const least = Math.max(0, Math.ceil((pods - (zones.length - 1) * maxSkew) / zones.length));
  return { least, most: Math.min(pods, mostWith({ running, pods, maxSkew, isEmptiestKnown: true })) };
}

function sumOf(numbers: ReadonlyArray<number>): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}
