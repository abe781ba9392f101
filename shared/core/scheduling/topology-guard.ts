import { labelKey } from '../model/labels.ts';
import type { OpenClaim } from './open-claim.ts';
import type { AskTerms, SpreadTerm } from './ask-terms.ts';
import type { Counter, Exclusion, NodeFilter } from './topology.ts';

/** How many pods of a filtered counter a claim adds to a domain: unsure while the filter allows only some of its offerings. */
export type ClaimShare = (
  claim: OpenClaim,
  key: string,
  filter: NodeFilter,
) => {
  readonly domain: string | null;
  readonly certain: boolean;
  readonly possible: boolean;
};

/** What the topology rules allow for one pod at one moment. */
export interface Guard {
  /** The keys, hostname aside, on which a rule of the pod or of others depends. */
  readonly keys: ReadonlyArray<string>;
  readonly allows: (key: string, domain: string | undefined) => boolean;
  /** May the pod share a node with what is on it? `host` is the node's hostname, or a claim of this plan. */
  readonly allowsHost: (host: string | OpenClaim) => boolean;
  /** Pods in a domain that some rule counts together with this one: the fewer, the better where prices are equal. */
  readonly crowding: (key: string, domain: string | undefined) => number;
}

export interface GuardContext {
  readonly share: ClaimShare;
  readonly mayStart: boolean;
  /** The counters that count the pod, its own or others'. */
  readonly counters: ReadonlyArray<Counter>;
}

/**
 * Reads the counters as they are now: make a new guard after each placement. `mayStart`: a pod whose affinity looks for
 * pods like itself may be the first where there are none.
 */
export function guardOf(
  terms: AskTerms,
  exclusions: ReadonlyArray<Exclusion>,
  { share, mayStart, counters }: GuardContext,
): Guard {
  const avoided: ReadonlyArray<Counter> = [...terms.antiAffinity, ...exclusions];
  const first = mayStart && terms.affinityToSelf && terms.affinity.every(isUnused);
  const needed = first ? [] : terms.affinity;
  const present = new Set(terms.affinity.map(({ key }) => key));
  const all = [...terms.spread.map(({ counter }) => counter), ...avoided, ...terms.affinity, ...counters];
  const known = new Map<string, Map<string | undefined, boolean>>();
  const judge = (key: string, domain: string | undefined): boolean => {
    if (domain === undefined && present.has(key)) return false;
    if (!terms.spread.every((term) => term.counter.key !== key || staysEven(term, domain, share))) return false;
    if (domain === undefined) return true;
    if (avoided.some((counter) => counter.key === key && most(counter, domain, share) > 0)) return false;
    return needed.every((counter) => counter.key !== key || least(counter, domain, share) > 0);
  };
  return {
    keys: [...new Set(all.map(({ key }) => key))].filter((key) => key !== labelKey.hostname),
    allows: (key, domain) => {
      const ofKey = known.get(key) ?? new Map<string | undefined, boolean>();
      known.set(key, ofKey);
      const answer = ofKey.get(domain) ?? judge(key, domain);
      ofKey.set(domain, answer);
      return answer;
    },
    allowsHost: (host) =>
      terms.spread.every(({ counter, maxSkew, self }) => !isHost(counter) || onHost(counter, host) + self <= maxSkew) &&
      avoided.every((counter) => !isHost(counter) || onHost(counter, host) === 0) &&
      needed.every((counter) => !isHost(counter) || onHost(counter, host) > 0),
    crowding: (key, domain) =>
      counters.reduce(
        (sum, counter) => (counter.key === key && domain !== undefined ? sum + most(counter, domain, share) : sum),
        0,
      ),
  };
}

/** A pod that no topology rule concerns. */
export const UNGUARDED: Guard = { keys: [], allows: () => true, allowsHost: () => true, crowding: () => 0 };

function isHost({ key }: Counter): boolean {
  return key === labelKey.hostname;
}

function isUnused({ byDomain, byClaim }: Counter): boolean {
  return [...byDomain.values(), ...byClaim.values()].every((count) => count === 0);
}

function onHost({ byDomain, byClaim }: Counter, host: string | OpenClaim): number {
  return (typeof host === 'string' ? byDomain.get(host) : byClaim.get(host)) ?? 0;
}

/** Would one more pod in the domain keep it within maxSkew of the emptiest one? */
function staysEven(term: SpreadTerm, domain: string | undefined, share: ClaimShare): boolean {
  if (domain === undefined) return false;
  const { counter, domains, maxSkew, minDomains, self } = term;
  const limit = maxSkew - self;
  const here = most(counter, domain, share);
  if (domains.length < minDomains) return here <= limit;
  return domains.every((other) => (other === domain ? limit >= 0 : here - least(counter, other, share) <= limit));
}

function least(counter: Counter, domain: string, share: ClaimShare): number {
  return (counter.byDomain.get(domain) ?? 0) + fromClaims(counter, domain, share, 'certain');
}

function most(counter: Counter, domain: string, share: ClaimShare): number {
  return (counter.byDomain.get(domain) ?? 0) + fromClaims(counter, domain, share, 'possible');
}

function fromClaims(counter: Counter, domain: string, share: ClaimShare, which: 'certain' | 'possible'): number {
  const { filter, key } = counter;
  if (filter === null || isHost(counter)) return 0;
  let sum = 0;
  for (const [claim, count] of counter.byClaim) {
    const answer = share(claim, key, filter);
    if (answer.domain === domain && answer[which]) sum += count;
  }
  return sum;
}
