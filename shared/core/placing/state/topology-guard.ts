import { labelKey } from '../../../kubernetes/labels.ts';
import { restrictTo, sourceFor } from '../../offerings/key-source.ts';
import type { OfferingGroups } from '../../offerings/pool-state.ts';
import type { OpenClaim } from './open-claim.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import type { NeedTerms, SpreadTerm } from './need-terms.ts';
import type { Counter, Exclusion, NodeFilter } from './topology.ts';

/**
 * How many pods of a filtered counter a claim adds to a domain: unsure while the filter allows only some of its
 * offerings.
 */
export type ClaimShare = (
  claim: OpenClaim,
  key: string,
  filter: NodeFilter,
) => {
  readonly domain: string | null;
  readonly certain: boolean;
  readonly possible: boolean;
};

/**
 * What the topology rules allow for one pod at one moment: valid until the next pod is placed. Answers are kept, since
 * many nodes are in one domain.
 */
export interface Guard {
  readonly rules: GuardRules;
  readonly share: ClaimShare;
  /** May the pod be the first of those that its affinity looks for? */
  readonly isFirst: boolean;
  answers: Map<string, Map<string | undefined, boolean>> | null;
  /** The fewest on any host, of counters that were asked for it. */
  least: Map<Counter, number> | null;
  /** The answer for one pool, usually the only one. */
  offerings: { readonly state: PoolState; readonly allowed: AllowedOfferings } | null;
}

/** Bits of offering masks that topology allows; `types`: per type, when the type decides a key that matters. */
export interface AllowedOfferings {
  readonly bits: number;
  readonly types: Int32Array | null;
}

/** The rules of a need by what they look at, sorted once; the counters change, the rules do not. */
export interface GuardRules {
  readonly keys: ReadonlyArray<string>;
  readonly byKey: ReadonlyMap<string, KeyRules>;
  /** Counters of hosts with what may at most be there before the pod. */
  readonly hostMost: ReadonlyArray<HostMost>;
  /** Those of them whose pods it must not meet at all, by its own anti-affinity or another's. */
  readonly hostAvoided: ReadonlyArray<Counter>;
  /** Counters of hosts of which some pod must be there. */
  readonly hostNeeded: ReadonlyArray<Counter>;
  readonly affinity: ReadonlyArray<Counter>;
  readonly affinityToSelf: boolean;
}

interface HostMost {
  readonly counter: Counter;
  readonly limit: number;
  /** May more be there where hosts go? Then this pod counts as so many; null: no. */
  readonly crowds: 0 | 1 | null;
}

interface KeyRules {
  /** The values that nodes can have for a key that some pool leaves open. */
  readonly known: ReadonlyArray<string>;
  readonly spread: ReadonlyArray<SpreadTerm>;
  readonly avoided: ReadonlyArray<Counter>;
  readonly affinity: ReadonlyArray<Counter>;
  /** The counters that count the pod, its own or others'. */
  readonly counting: ReadonlyArray<Counter>;
}

/** `counters`: those that count the pod, its own or others'. `known`: values of keys that some pool leaves open. */
export function guardRules(
  terms: NeedTerms,
  exclusions: ReadonlyArray<Exclusion>,
  counters: ReadonlyArray<Counter>,
  known: ReadonlyMap<string, ReadonlyArray<string>>,
): GuardRules {
  const avoided: ReadonlyArray<Counter> = [...terms.antiAffinity, ...exclusions];
  const all = [...terms.spread.map(({ counter }) => counter), ...avoided, ...terms.affinity, ...counters];
  const keys = [...new Set(all.map(({ key }) => key))].filter((key) => key !== labelKey.hostname);
  const of = <T extends Counter>(list: ReadonlyArray<T>, key: string) => list.filter((counter) => counter.key === key);
  const rulesOf = (key: string): KeyRules => ({
    known: known.get(key) ?? [],
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
      ...hostSpread.map(({ counter, maxSkew, minDomains, self }) => {
        // Of how many hosts there are then nobody can be sure.
        return { counter, limit: maxSkew - self, crowds: minDomains > 1 ? null : self };
      }),
      ...of(avoided, labelKey.hostname).map((counter) => ({ counter, limit: 0, crowds: null })),
    ],
    hostAvoided: of(avoided, labelKey.hostname),
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
  const isFirst = mayStart && rules.affinityToSelf && rules.affinity.every(({ total }) => total === 0);
  return { rules, share, isFirst, answers: null, least: null, offerings: null };
}

/** The rules of pods that no topology rule concerns. */
export const NO_RULES: GuardRules = {
  keys: [],
  byKey: new Map(),
  hostMost: [],
  hostAvoided: [],
  hostNeeded: [],
  affinity: [],
  affinityToSelf: false,
};

/** May the pod be in the domain of the key? Undefined: on a node without such a label. */
export function allowsDomain(guard: Guard, key: string, domain: string | undefined): boolean {
  guard.answers ??= new Map();
  const answers = guard.answers.get(key) ?? new Map<string | undefined, boolean>();
  guard.answers.set(key, answers);
  const answer = answers.get(domain) ?? judge(guard, key, domain);
  answers.set(domain, answer);
  return answer;
}

/** May the pod share a node with what is on it? `host` is the node's hostname, or a claim of this plan. */
export function allowsHost(guard: Guard, host: string | OpenClaim): boolean {
  const { rules, isFirst } = guard;
  for (const rule of rules.hostMost) {
    const there = onHost(rule.counter, host);
    if (there > rule.limit && !mayCrowd(guard, rule, there)) return false;
  }
  if (isFirst) return true;
  for (const counter of rules.hostNeeded) if (onHost(counter, host) === 0) return false;
  return true;
}

const EVERYTHING: AllowedOfferings = { bits: -1, types: null };

/** What the rules leave of a pool's offerings: of all types alike, and per type (null: all). Open labels aside. */
export function offeringsUnder(guard: Guard, state: PoolState): AllowedOfferings {
  if (guard.rules.keys.length === 0) return EVERYTHING;
  if (guard.offerings?.state === state) return guard.offerings.allowed;
  const allowed = allowedOfferings(guard, state);
  guard.offerings = { state, allowed };
  return allowed;
}

/**
 * Pods in the domains of an offering that some rule counts together with this one: the fewer, the better at one price.
 */
export function crowdingAt({ rules, share }: Guard, state: PoolState, bit: number): number {
  let crowding = 0;
  for (const key of rules.keys) {
    const counting = rules.byKey.get(key)?.counting ?? [];
    const source = counting.length === 0 ? null : sourceFor(state, key);
    const domain = source?.kind === 'offering' ? source.values[bit] : undefined;
    if (domain !== undefined) for (const counter of counting) crowding += most(counter, domain, share);
  }
  return crowding;
}

function judge({ rules, share, isFirst }: Guard, key: string, domain: string | undefined): boolean {
  const ofKey = rules.byKey.get(key);
  if (ofKey === undefined) return true;
  const { spread, avoided, affinity } = ofKey;
  if (domain === undefined && affinity.length > 0) return false;
  for (const term of spread) if (!staysEven(term, domain, share)) return false;
  if (domain === undefined) return true;
  for (const counter of avoided) if (most(counter, domain, share) > 0) return false;
  if (isFirst) return true;
  for (const counter of affinity) if (least(counter, domain, share) === 0) return false;
  return true;
}

function allowedOfferings(guard: Guard, state: PoolState): AllowedOfferings {
  let bits = -1;
  let types: Int32Array | null = null;
  for (const key of guard.rules.keys) {
    const source = sourceFor(state, key);
    if (source.kind === 'offering') {
      bits &= bitsAllowed(guard, key, source.groups);
    } else if (source.kind === 'pool' && !judge(guard, key, source.value)) {
      bits = 0;
    } else if (source.kind === 'type') {
      types ??= new Int32Array(source.values.length).fill(-1);
      restrictTo(types, source, (value) => allowsDomain(guard, key, value));
    }
  }
  return { bits, types };
}

function bitsAllowed(guard: Guard, key: string, groups: OfferingGroups): number {
  let bits = -1;
  for (const { value, bits: withValue } of groups) if (!judge(guard, key, value)) bits &= ~withValue;
  return bits;
}

/** With so many there already: may another come once the hosts that go have gone? */
function mayCrowd(guard: Guard, { counter, limit, crowds }: HostMost, there: number): boolean {
  if (counter.crowding === null || crowds === null || there + crowds > counter.crowding.most) return false;
  guard.least ??= new Map();
  const fewest = guard.least.get(counter) ?? counter.crowding.least();
  guard.least.set(counter, fewest);
  return there - limit <= fewest;
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
  for (const other of domains) {
    if (other === domain ? limit < 0 : here - least(counter, other, share) > limit) return false;
  }
  return true;
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
