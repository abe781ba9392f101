import type { Pod } from '../model/cluster.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import { flagsOf } from '../packing/problem/flags.ts';
import type { PackingBin, PackingProblem } from '../packing/problem/problem.ts';
import { binsOf, mergeAlike, type PriceKind } from '../placing/together/bulk.ts';
import { perNodeOf } from '../placing/together/bulk-groups.ts';
import { MOST_SHARED_PORTS, sharedPorts, withOnePort, withPorts } from '../placing/together/shared-ports.ts';
import { at } from '../quantity/at.ts';
import type { Need } from '../placing/state/compile-shape.ts';
import { restrictTo, sourceFor } from '../offerings/key-source.ts';
import { isOnAllAddresses } from '../rules/host-ports.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import type { PoolState } from '../offerings/pool-state.ts';
import { optionsFor, type Workspace } from '../placing/state/workspace.ts';

/** Pods of one shape as the bound sees them: with all preferences given up. */
export interface BoundGroup {
  readonly needs: ReadonlyArray<Need>;
  readonly need: Need;
  readonly pods: ReadonlyArray<Pod>;
  readonly perNode: number;
  /** How many of the pods are on claims of this plan. */
  readonly onNew: number;
}

/** The pods that were placed, by shape. */
export function groupsPlaced(workspace: Workspace): ReadonlyArray<BoundGroup> {
  const onClaims = Map.groupBy(
    workspace.claims.flatMap(({ pods }) => pods),
    ({ shape }) => shape,
  );
  const onNodes = Map.groupBy(
    workspace.nodes.flatMap(({ pods }) => pods),
    ({ shape }) => shape,
  );
  return [...workspace.shapes.keys()].flatMap((shape): ReadonlyArray<BoundGroup> => {
    const needs = workspace.needs.get(shape) ?? [];
    const need = needs.at(-1);
    const own = onClaims.get(shape) ?? [];
    const pods = [...own, ...(onNodes.get(shape) ?? [])];
    if (need === undefined || pods.length === 0) return [];
    // Two pods of one shape take the same ports.
    const perNode = need.shape.ports.length > 0 ? 1 : perNodeOf(workspace, need);
    return [{ needs, need, pods, perNode, onNew: own.length }];
  });
}

/** What the bound is asked for: prices of which kind, and the zone that nodes must be in; null for any. */
export interface BoundQuestion {
  readonly counts: PriceKind;
  readonly zone: string | null;
}

/** The groups as a packing problem, and the groups that each of its items is. */
export interface GroupedProblem {
  readonly problem: PackingProblem;
  readonly members: ReadonlyArray<ReadonlyArray<number>>;
  /** How many of the problem's last resources are host ports: each node has one of each. */
  readonly ports: number;
}

/** By resources, node rules, limits per node, and host ports that several groups take. */
export function boundProblem(
  workspace: Workspace,
  groups: ReadonlyArray<BoundGroup>,
  { counts, zone }: BoundQuestion,
): GroupedProblem {
  const width = workspace.dimensions.names.length;
  const isShunned = workspace.claims.some(({ chosen }) => chosen?.shunned === true);
  const bins = workspace.pools
    .flatMap((state) => {
      const { reservedBits } = state.pool.catalog;
      const options = groups.map(({ needs }) => {
        const offered = offeredTo(workspace, state, needs);
        if (offered !== null && zone !== null) {
          restrictTo(offered, sourceFor(state, labelKey.zone), (value) => value === zone);
        }
        return reservedBits === 0 || offered === null ? offered : offered.map((mask) => mask & ~reservedBits);
      });
      return binsOf(state, options, { width, withinLimit: false, counts });
    })
    .filter(({ chosen }) => isShunned || !chosen.shunned);
  const { items, members } = mergeAlike(groups, bins);
  // A port on one address may share a node with the same on another.
  const ports = sharedPorts(groups, isOnAllAddresses).slice(0, MOST_SHARED_PORTS);
  const merged = bins.map(({ usable, price, admits }): PackingBin => ({
    usable: withOnePort(usable, ports.length),
    price,
    admits: flagsOf(members, ([first = 0]) => admits[first] === 1),
  }));
  const taking = withPorts(items, ports, (item) => {
    const group = groups[members[item]?.[0] ?? 0];
    return group?.need.shape.ports.every(isOnAllAddresses) === true ? group : undefined;
  });
  return { problem: { width: width + ports.length, items: taking, bins: merged }, members, ports: ports.length };
}

/** The offerings of the pool that pods may be on by any of these needs. */
export function offeredTo(workspace: Workspace, state: PoolState, needs: ReadonlyArray<Need>): Int32Array | null {
  const offered = new Int32Array(state.pool.offered.length);
  for (const option of needs.flatMap((need) => optionsFor(workspace, state, need))) {
    option.offered.forEach((mask, type) => (offered[type] = at(offered, type) | mask));
  }
  return offered.some((mask) => mask !== 0) ? offered : null;
}

/** Are they the same, but for the order of items and bins? */
export function isSame(one: PackingProblem, other: PackingProblem): boolean {
  return keyOf(one) === keyOf(other);
}

function keyOf({ items, bins }: PackingProblem): string {
  const ids = items.map(({ requests, count, perNode }) => `${requests.join(' ')} ${count} ${perNode}`);
  const order = ids.map((_, index) => index).toSorted((a, b) => byCodeUnit(ids[a] ?? '', ids[b] ?? '') || a - b);
  const sizes = bins.map(({ usable, price, admits }) => {
    return `${usable.join(' ')} ${price} ${order.map((item) => at(admits, item)).join('')}`;
  });
  return `${order.map((item) => ids[item] ?? '').join(',')};${[...new Set(sizes)].toSorted(byCodeUnit).join(',')}`;
}
