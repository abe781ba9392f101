import { HOST, looksAt, type YardstickPod, type YardstickRule } from './yardstick-pod.ts';

/** How many pods of one set are in each zone, and on each claim; or, for a rule turned round, where its owners are. */
export interface TopologyGroup {
  readonly rule: YardstickRule;
  readonly byZone: Map<string, number>;
  readonly byClaim: Map<number, number>;
}

/**
 * The groups of a run: one per different rule, and one more per required anti-affinity for those that it keeps away.
 */
export interface TopologyGroups {
  readonly groups: Map<string, TopologyGroup>;
  readonly inverse: Map<string, TopologyGroup>;
  readonly zones: ReadonlyArray<string>;
}

/** What topology leaves of a claim for a pod: zones, or nothing. */
export type Allowed = ReadonlyArray<string>;

export function groupsOf(pods: ReadonlyArray<YardstickPod>, zones: ReadonlyArray<string>): TopologyGroups {
  const made: TopologyGroups = { groups: new Map(), inverse: new Map(), zones };
  for (const { rules, preferred } of pods) {
    for (const rule of [...rules, ...preferred]) groupOf(made.groups, rule);
    for (const rule of rules) if (rule.kind === 'anti-affinity') groupOf(made.inverse, rule);
  }
  return made;
}

function groupOf(groups: Map<string, TopologyGroup>, rule: YardstickRule): TopologyGroup {
  const id = JSON.stringify([rule.kind, rule.key, rule.maxSkew, Object.entries(rule.matches)]);
  const known = groups.get(id) ?? { rule, byZone: new Map<string, number>(), byClaim: new Map<number, number>() };
  groups.set(id, known);
  return known;
}

/** A pod in the form of its own rules' groups, found once. */
export interface GroupedPod {
  readonly own: ReadonlyArray<{ readonly group: TopologyGroup; readonly self: boolean }>;
  readonly counted: ReadonlyArray<TopologyGroup>;
  readonly keptAway: ReadonlyArray<TopologyGroup>;
  readonly inverse: ReadonlyArray<TopologyGroup>;
}

export function toGrouped(made: TopologyGroups, pod: YardstickPod, rules: ReadonlyArray<YardstickRule>): GroupedPod {
  const own = rules.map((rule) => ({ group: groupOf(made.groups, rule), self: looksAt(rule, pod.labels) }));
  return {
    own,
    counted: [...made.groups.values()].filter(({ rule }) => looksAt(rule, pod.labels)),
    keptAway: [...made.inverse.values()].filter(({ rule }) => looksAt(rule, pod.labels)),
    inverse: pod.rules.filter(({ kind }) => kind === 'anti-affinity').map((rule) => groupOf(made.inverse, rule)),
  };
}

/**
 * The zones that are left of `zones`, when the pod joins claim number `claim`; empty when it must not. Each rule
 * narrows the zones as they were before, a spread to one of them, the emptiest.
 */
export function allowedZones({ own, keptAway }: GroupedPod, claim: number, zones: Allowed, podZones: Allowed): Allowed {
  let left = zones;
  const rules = [...own, ...keptAway.map((group) => ({ group, self: false }))];
  for (const { group, self } of rules) {
    const { kind, key, maxSkew } = group.rule;
    if (key === HOST) {
      if (!allowsHost(group, claim, self)) return [];
      continue;
    }
    const domains = { spread: spreadZone, affinity: affinityZones, 'anti-affinity': emptyZones }[kind];
    const allowed = domains(group, { zones, podZones, self, maxSkew });
    left = left.filter((zone) => allowed.includes(zone));
    if (left.length === 0) return left;
  }
  return left;
}

function allowsHost({ rule, byClaim }: TopologyGroup, claim: number, self: boolean): boolean {
  const here = byClaim.get(claim) ?? 0;
  if (rule.kind === 'spread') return here + Number(self) <= rule.maxSkew;
  return rule.kind === 'anti-affinity' ? here === 0 : here > 0 || (self && byClaim.size === 0);
}

interface Question {
  readonly zones: Allowed;
  readonly podZones: Allowed;
  readonly self: boolean;
  readonly maxSkew: number;
}

function spreadZone({ byZone }: TopologyGroup, { zones, podZones, self, maxSkew }: Question): Allowed {
  const count = (zone: string): number => byZone.get(zone) ?? 0;
  const least = Math.min(...podZones.map(count));
  const valid = zones.filter((zone) => count(zone) + Number(self) - least <= maxSkew);
  return valid.toSorted((a, b) => count(a) - count(b)).slice(0, 1);
}

function affinityZones({ byZone }: TopologyGroup, { zones, podZones, self }: Question): Allowed {
  const both = zones.filter((zone) => podZones.includes(zone));
  const there = both.filter((zone) => (byZone.get(zone) ?? 0) > 0);
  if (there.length > 0) return there;
  const none = !podZones.some((zone) => (byZone.get(zone) ?? 0) > 0);
  return self && none ? both.slice(0, 1) : [];
}

function emptyZones({ byZone }: TopologyGroup, { zones }: Question): Allowed {
  return zones.filter((zone) => (byZone.get(zone) ?? 0) === 0);
}

/**
 * Notes the pod on the claim, whose zones are now `zones`: counted when one is left, kept free of others in all of
 * them.
 */
export function recordPod({ counted, inverse }: GroupedPod, claim: number, zones: Allowed): void {
  for (const group of [...counted, ...inverse]) {
    group.byClaim.set(claim, (group.byClaim.get(claim) ?? 0) + 1);
    if (group.rule.kind !== 'anti-affinity' && zones.length > 1) continue;
    for (const zone of zones) group.byZone.set(zone, (group.byZone.get(zone) ?? 0) + 1);
  }
}
