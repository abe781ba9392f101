import { labelKey } from '../../../kubernetes/labels.ts';
import { isNarrowedByTerm, type SpreadTerm } from '../state/need-terms.ts';
import { at } from '../../quantity/at.ts';
import type { Need } from '../state/compile-shape.ts';
import { settledValue } from '../state/open-claim.ts';
import { counts, type Counter } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

/**
 * At most so many pods of the need can be in one domain of its spreads, and so on one node, in any plan that places the
 * pods which this one places: whatever order they come in, a domain is never more than maxSkew above the emptiest.
 */
export function mostInDomain(workspace: Workspace, { terms }: Need): number {
  const limiting = terms.spread.filter(
    (term) =>
      term.self === 1 &&
      term.counter.filter === null &&
      term.counter.key !== labelKey.hostname &&
      !isNarrowedByTerm(term),
  );
  return limiting.reduce((least, term) => Math.min(least, mostBySpread(workspace, term)), Infinity);
}

function mostBySpread(workspace: Workspace, { counter, domains, maxSkew, minDomains }: SpreadTerm): number {
  const placed = placedBy(workspace, counter);
  const running = domains.map((domain) => (counter.byDomain.get(domain) ?? 0) - (placed.byDomain.get(domain) ?? 0));
  return mostWith({ running, pods: placed.total, maxSkew, isEmptiestKnown: domains.length >= minDomains });
}

/**
 * Could a node with so much of each resource hold more than `most` pods? Else a limit of so many tells pods apart for
 * nothing. The problem that is packed and the one that the bound is about limit the same pods by it.
 */
export function canHoldMore(largest: Float64Array, requests: Float64Array, most: number): boolean {
  return requests.every((request, k) => request * (most + 1) <= at(largest, k));
}

/** Pods per domain before, pods that come, and the rule. */
export interface DomainCounts {
  readonly running: ReadonlyArray<number>;
  readonly pods: number;
  readonly maxSkew: number;
  /** False where fewer domains than minDomains make the emptiest count as nothing. */
  readonly isEmptiestKnown: boolean;
}

/** The most that one domain can get of the pods that come. */
export function mostWith({ running, pods, maxSkew, isEmptiestKnown }: DomainCounts): number {
  if (!isEmptiestKnown) return Math.min(pods, maxSkew);
  // A domain that is not in the list has nothing of the pods yet, and all in it must be filled up.
  const all = [...running.map((_, index) => index), -1];
  return all.reduce((most, domain) => Math.max(most, mostIn(domain, { running, pods, maxSkew })), 0);
}

/** By halving: the higher the level of all others, the more this domain may have and the fewer pods are left for it. */
function mostIn(domain: number, { running, pods, maxSkew }: Omit<DomainCounts, 'isEmptiestKnown'>): number {
  const own = running[domain] ?? 0;
  const remaining = (level: number): number =>
    running.reduce((left, count, other) => left - (other === domain ? 0 : Math.max(0, level - count)), pods);
  const most = (level: number): number => Math.max(0, Math.min(level + maxSkew - own, remaining(level)));
  let [low, high] = [0, own + pods];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (middle + maxSkew - own >= remaining(middle)) high = middle;
    else low = middle + 1;
  }
  return Math.max(most(low), low > 0 ? most(low - 1) : 0);
}

/** The pods of this plan that the counter counts. */
export function placedBy(
  { topology, claims, nodes }: Workspace,
  counter: Counter,
): { readonly total: number; readonly byDomain: ReadonlyMap<string, number> } {
  const byDomain = new Map<string, number>();
  let total = 0;
  const add = (domain: string | null | undefined, pods: ReadonlyArray<{ readonly shape: number }>): void => {
    let own = 0;
    for (const { shape } of pods) if (counts(topology, counter, shape)) own++;
    if (own === 0) return;
    total += own;
    if (typeof domain === 'string') byDomain.set(domain, (byDomain.get(domain) ?? 0) + own);
  };
  for (const claim of claims) add(settledValue(claim, counter.key), claim.pods);
  for (const { capacity, pods } of nodes) add(capacity.labels[counter.key], pods);
  return { total, byDomain };
}
