import { labelKey } from '../model/labels.ts';
import { restrictTo } from './key-source.ts';
import { sourceFor, type OpenClaim } from './open-claim.ts';
import type { PoolState } from './pool-state.ts';
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
  /** What the rules leave of a pool's offerings: of all types alike, and per type (null: all). Open labels aside. */
  readonly offeringsOn: (state: PoolState) => AllowedOfferings;
  /** Pods in the domains of an offering that some rule counts together with this one: the fewer, the better at one price. */
  readonly crowdingOn: (state: PoolState, bit: number) => number;
}

/** Bits of offering masks that topology allows; `types`: per type, when the type decides a key that matters. */
export interface AllowedOfferings {
  readonly bits: number;
  readonly types: Int32Array | null;
}

/** The rules of an ask by what they look at, sorted once; the counters change, the rules do not. */
export interface GuardRules {
  readonly keys: ReadonlyArray<string>;
  readonly byKey: ReadonlyMap<string, KeyRules>;
  /** Counters of hosts with what may at most be there before the pod. */
  readonly hostMost: ReadonlyArray<{ readonly counter: Counter; readonly limit: number }>;
  /** Counters of hosts of which some pod must be there. */
  readonly hostNeeded: ReadonlyArray<Counter>;
  readonly affinity: ReadonlyArray<Counter>;
  readonly affinityToSelf: boolean;
}

interface KeyRules {
  readonly spread: ReadonlyArray<SpreadTerm>;
  readonly avoided: ReadonlyArray<Counter>;
  readonly affinity: ReadonlyArray<Counter>;
  /** The counters that count the pod, its own or others'. */
  readonly counting: ReadonlyArray<Counter>;
}

/** `counters`: those that count the pod, its own or others'. */
export function guardRules(
  terms: AskTerms,
  exclusions: ReadonlyArray<Exclusion>,
  counters: ReadonlyArray<Counter>,
): GuardRules {
  const avoided: ReadonlyArray<Counter> = [...terms.antiAffinity, ...exclusions];
  const all = [...terms.spread.map(({ counter }) => counter), ...avoided, ...terms.affinity, ...counters];
  const keys = [...new Set(all.map(({ key }) => key))].filter((key) => key !== labelKey.hostname);
  const of = <T extends Counter>(list: ReadonlyArray<T>, key: string) => list.filter((counter) => counter.key === key);
  const rulesOf = (key: string): KeyRules => ({
    spread: terms.spread.filter(({ counter }) => counter.key === key),
    avoided: of(avoided, key),
    affinity: of(terms.affinity, key),
    counting: of(counters, key),
  });
  const hostSpread = terms.spread.filter(({ counter }) => isHost(counter));
  return {
    keys,
    byKey: new Map(keys.map((key) => [key, rulesOf(key)])),
    hostMost: [
      ...hostSpread.map(({ counter, maxSkew, self }) => ({ counter, limit: maxSkew - self })),
      ...of(avoided, labelKey.hostname).map((counter) => ({ counter, limit: 0 })),
    ],
    hostNeeded: of(terms.affinity, labelKey.hostname),
    affinity: terms.affinity,
    affinityToSelf: terms.affinityToSelf,
  };
}

/**
 * Reads the counters as they are now: make a new guard after each placement. `mayStart`: a pod whose affinity looks for
 * pods like itself may be the first where there are none.
 */
export function guardOf(rules: GuardRules, share: ClaimShare, mayStart: boolean): Guard {
  const { keys, byKey, hostMost } = rules;
  const first = mayStart && rules.affinityToSelf && rules.affinity.every(({ total }) => total === 0);
  const hostNeeded = first ? [] : rules.hostNeeded;
  const known = new Map<string, Map<string | undefined, boolean>>();
  const offerings = new Map<PoolState, AllowedOfferings>();
  const allows = (key: string, domain: string | undefined): boolean => {
    const ofKey = byKey.get(key);
    if (ofKey === undefined) return true;
    const answers = known.get(key) ?? new Map<string | undefined, boolean>();
    known.set(key, answers);
    const answer = answers.get(domain) ?? judge(ofKey, domain, share, first);
    answers.set(domain, answer);
    return answer;
  };
  return {
    keys,
    allows,
    allowsHost: (host) => {
      for (const { counter, limit } of hostMost) if (onHost(counter, host) > limit) return false;
      for (const counter of hostNeeded) if (onHost(counter, host) === 0) return false;
      return true;
    },
    offeringsOn: (state) => {
      const allowed = offerings.get(state) ?? allowedOfferings(state, keys, allows);
      offerings.set(state, allowed);
      return allowed;
    },
    crowdingOn: (state, bit) => {
      let crowding = 0;
      for (const [key, { counting }] of byKey) {
        const source = counting.length === 0 ? null : sourceFor(state, key);
        const domain = source?.kind === 'offering' ? source.values[bit] : undefined;
        if (domain !== undefined) for (const counter of counting) crowding += most(counter, domain, share);
      }
      return crowding;
    },
  };
}

/** A pod that no topology rule concerns. */
export const UNGUARDED: Guard = {
  keys: [],
  allows: () => true,
  allowsHost: () => true,
  offeringsOn: () => ({ bits: -1, types: null }),
  crowdingOn: () => 0,
};

function judge(
  { spread, avoided, affinity }: KeyRules,
  domain: string | undefined,
  share: ClaimShare,
  isFirst: boolean,
): boolean {
  if (domain === undefined && affinity.length > 0) return false;
  if (!spread.every((term) => staysEven(term, domain, share))) return false;
  if (domain === undefined) return true;
  if (avoided.some((counter) => most(counter, domain, share) > 0)) return false;
  return isFirst || affinity.every((counter) => least(counter, domain, share) > 0);
}

function allowedOfferings(state: PoolState, keys: ReadonlyArray<string>, allows: Guard['allows']): AllowedOfferings {
  let bits = -1;
  let types: Int32Array | null = null;
  for (const key of keys) {
    const source = sourceFor(state, key);
    if (source.kind === 'offering') {
      source.values.forEach((value, bit) => (bits = allows(key, value) ? bits : bits & ~(1 << bit)));
    } else if (source.kind === 'pool' && !allows(key, source.value)) {
      bits = 0;
    } else if (source.kind === 'type') {
      types ??= new Int32Array(source.values.length).fill(-1);
      restrictTo(types, source, (value) => allows(key, value));
    }
  }
  return { bits, types };
}

function isHost({ key }: Counter): boolean {
  return key === labelKey.hostname;
}

function onHost({ byDomain, host }: Counter, where: string | OpenClaim): number {
  return (typeof where === 'string' ? byDomain.get(where) : where.onHost[host]) ?? 0;
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
