import { flagsOf } from '../../packing/problem/flags.ts';
import type { JoinedProblem } from '../../packing/zones/pack-joined.ts';
import type { PackingBin, PackingItem, PackingProblem } from '../../packing/problem/problem.ts';
import { at } from '../../quantity/at.ts';
import { canHoldMore, mostWith } from './most-in-domain.ts';
import type { GroupsToPack } from './groups-to-pack.ts';

/**
 * The problem without the domains that pods were assigned to: all pods of a spread are one, on the sizes of all of its
 * domains, and a node holds no more of them than one domain can have. Where nothing else is planned, that is the
 * problem that the bound of the plan is about.
 */
export function joinDomains(given: GroupsToPack): JoinedProblem {
  const { problem } = given;
  const spreads = joinedSpreads(given).filter(({ item }) => item.count > 0);
  const alike = [...Map.groupBy(spreads, ({ id }) => id).values()];
  const items = alike.flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    return [{ ...first.item, count: others.reduce((sum, { item }) => sum + item.count, first.item.count) }];
  });
  const itemAt = new Map(alike.flatMap((own, item) => own.flatMap(({ parts }) => parts.map((part) => [part, item]))));
  const bins: Array<PackingBin> = [];
  const known = new Map<string, number>();
  const binAt = problem.bins.map(({ usable, price }, index) => {
    const admits = flagsOf(alike, ([first]) => first?.admits[index] === 1);
    if (!admits.includes(1)) return -1;
    const id = `${usable.join(' ')} ${price} ${admits.join('')}`;
    const bin = known.get(id) ?? bins.push({ usable, price, admits }) - 1;
    known.set(id, bin);
    return bin;
  });
  return {
    problem: { width: problem.width, items, bins },
    items: problem.items.map((_, item) => itemAt.get(item) ?? 0),
    bins: Int32Array.from(binAt),
  };
}

/** All pods of a spread, or of a group that was not assigned. */
interface JoinedSpread {
  readonly item: PackingItem;
  /** The items that they are in the problem with domains. */
  readonly parts: ReadonlyArray<number>;
  /** Per bin of that. */
  readonly admits: Uint8Array;
  /** The same for those that are one item here. */
  readonly id: string;
}

function joinedSpreads({ problem, groups, members }: GroupsToPack): ReadonlyArray<JoinedSpread> {
  const itemOf = new Map(members.flatMap((own, item) => own.map((group) => [group, item])));
  const largest = largestBin(problem);
  const bySplit = Map.groupBy(groups.keys(), (group) => groups[group]?.split ?? groups[group] ?? null);
  return [...bySplit.values()].flatMap((own) => {
    const [first = 0] = own;
    const item = problem.items[itemOf.get(first) ?? -1];
    if (item === undefined) return [];
    const count = own.reduce((sum, group) => sum + (groups[group]?.pods.length ?? 0), 0);
    const most = mostOnNode(groups[first], count);
    const perNode = canHoldMore(largest, item.requests, most) ? Math.min(item.perNode, most) : item.perNode;
    const parts = own.flatMap((group) => itemOf.get(group) ?? []);
    const admits = flagsOf(problem.bins, (bin) => parts.some((part) => bin.admits[part] === 1));
    const id = `${item.requests.join(' ')} ${perNode === Infinity ? '' : first} ${admits.join('')}`;
    return [{ item: { ...item, count, perNode }, parts, admits, id }];
  });
}

/** Of each resource, the most that a bin has. */
function largestBin({ width, bins }: PackingProblem): Float64Array {
  const largest = new Float64Array(width);
  for (const { usable } of bins) usable.forEach((amount, k) => (largest[k] = Math.max(at(largest, k), amount)));
  return largest;
}

/** A node is in one domain. */
function mostOnNode(group: GroupsToPack['groups'][number] | undefined, pods: number): number {
  const split = group?.split ?? null;
  if (split === null) return Infinity;
  const { counts, assigned, maxSkew, isEmptiestKnown } = split;
  const running = [...counts].map(([domain, count]) => count - (assigned.get(domain) ?? 0));
  return mostWith({ running, pods, maxSkew, isEmptiestKnown });
}
