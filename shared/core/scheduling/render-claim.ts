import type { Requirement } from '../model/manifest.ts';
import { labelKey } from '../model/labels.ts';
import type { PlannedClaim, PlannedOffering } from '../plan/plan.ts';
import { addAmounts, renderAmounts, type Amounts } from '../quantity/quantity.ts';
import { microUsdPerHour } from '../quantity/units.ts';
import { at, fixedLabels } from './compile-pool.ts';
import { addRule, byCodeUnit, chooseValue, oneOf, toExpressions, toRules } from './label-rule.ts';
import { cutTo, minValuesOf, takesNoMore, valuesAmong } from './min-values.ts';
import { driversNeeded } from './device-assignments.ts';
import { chooseFallbacks } from './fallbacks.ts';
import { offeringsAt, type OpenClaim } from './open-claim.ts';
import { podName } from './pod-name.ts';
import { COMBO_BITS } from './pool-state.ts';
import type { Workspace } from './workspace.ts';

/** Karpenter's mark on claims that have fewer choices than their pool's minValues asks for. */
const MIN_VALUES_RELAXED = 'karpenter.sh/nodeclaim-min-values-relaxed';

/** Karpenter's bound on how many instance types a NodeClaim lists, kept so that objects stay small. */
const MAX_INSTANCE_TYPES = 600;

/** Karpenter's list of the DRA drivers whose devices the claim's pods count on: its node is not ready without them. */
const REQUESTED_DRIVERS = 'karpenter.sh/requested-dra-drivers';

interface RankedOffering extends PlannedOffering {
  readonly type: number;
  readonly bit: number;
  readonly shunned: boolean;
}

/** The claim as a plan states it: the cheapest offering that holds its pods, with what else would. */
export function renderClaim(workspace: Workspace, claim: OpenClaim, cheaper: PlannedClaim['cheaper']): PlannedClaim {
  const { pool } = claim.state;
  const offerings = rankOfferings(claim);
  const chosen = offerings.find(({ type, bit }) => type === claim.cell?.type && bit === claim.cell.bit);
  if (chosen === undefined) throw new Error(`a claim of NodePool ${pool.name} was planned without an offering`);
  const { template } = pool.manifest.spec;
  const ranked = [chosen, ...offerings.filter((other) => other !== chosen && isBooked(claim, other))];
  // Shunned sizes come last in rank, at whatever price.
  const second = ranked.find((other) => other !== chosen && other.price >= chosen.price);
  const fallbacks = chooseFallbacks(chosen, ranked.slice(1)).map(toPlanned);
  return {
    nodePool: pool.name,
    offering: toPlanned(chosen),
    fallbacks,
    runnerUp: second === undefined ? null : toPlanned(second),
    cheaper,
    requirements: requirementsOf(claim, ranked),
    labels: { ...fixedLabels(pool.manifest), ...openLabels(claim) },
    annotations: {
      ...template.metadata?.annotations,
      ...driversOf(workspace, claim),
      ...(minValuesOf(claim.state).size === 0 ? {} : { [MIN_VALUES_RELAXED]: String(claim.minValuesRelaxed) }),
    },
    taints: template.spec.taints ?? [],
    startupTaints: template.spec.startupTaints ?? [],
    requests: renderAmounts(requestsOf(workspace, claim, chosen)),
    pods: claim.pods
      .map((pod) => ({ name: podName(workspace, pod), uid: pod.uid }))
      .toSorted((a, b) => byCodeUnit(a.name, b.name) || byCodeUnit(a.uid, b.uid)),
  };
}

function driversOf(workspace: Workspace, claim: OpenClaim): Readonly<Record<string, string>> {
  const drivers = driversNeeded(workspace, claim);
  return drivers.length === 0 ? {} : { [REQUESTED_DRIVERS]: drivers.join(',') };
}

function rankOfferings(claim: OpenClaim): ReadonlyArray<RankedOffering> {
  const { pool } = claim.state;
  const ranked: Array<RankedOffering> = [];
  for (const type of pool.order) {
    const { name, prices } = pool.catalog.types[type] ?? { name: '', prices: new Float64Array() };
    const offered = offeringsAt(claim, type);
    for (let bit = 0; bit < COMBO_BITS; bit++) {
      const combo = pool.catalog.combos[bit];
      if (((offered >> bit) & 1) === 0 || combo === undefined) continue;
      const { zone, capacityType } = combo;
      const price = microUsdPerHour(at(prices, bit));
      ranked.push({ instanceType: name, zone, capacityType, price, type, bit, shunned: pool.shunned[type] === 1 });
    }
  }
  return ranked.toSorted(
    (a, b) => Number(a.shunned) - Number(b.shunned) || a.price - b.price || a.type - b.type || a.bit - b.bit,
  );
}

/** Nothing that is launched instead takes more of the pool's limits than was booked, so that no launch can break them. */
function isBooked({ state, booked }: OpenClaim, { type }: RankedOffering): boolean {
  return booked !== null && takesNoMore(state, state.pool.catalog.types[type]?.capacity ?? new Map(), booked);
}

function toPlanned({ instanceType, zone, capacityType, price }: RankedOffering): PlannedOffering {
  return { instanceType, zone, capacityType, price };
}

/** The pool's requirements with minValues kept, narrowed to the instance types, zones and capacity types still possible. */
function requirementsOf(
  { state, open, minValuesRelaxed }: OpenClaim,
  ranked: ReadonlyArray<RankedOffering>,
): ReadonlyArray<Requirement> {
  const { pool } = state;
  const types = cutTo(state, [...new Set(ranked.map(({ type }) => type))], MAX_INSTANCE_TYPES);
  const listed = new Set(types);
  const kept = ranked.filter(({ type }) => listed.has(type));
  const rules = toRules(pool.manifest.spec.template.spec.requirements);
  for (const [key, rule] of open) addRule(rules, key, rule);
  rules.set(labelKey.instanceType, oneOf(kept.map(({ instanceType }) => instanceType)));
  rules.set(labelKey.zone, oneOf(kept.map(({ zone }) => zone)));
  rules.set(labelKey.capacityType, oneOf(kept.map(({ capacityType }) => capacityType)));
  rules.set(labelKey.nodePool, oneOf([pool.name]));
  const minValues = minValuesOf(state);
  // What was waived is written as what is left, so that the claim says what a launch may count on.
  const leastOf = (key: string): number | undefined => {
    const wanted = minValues.get(key);
    if (wanted === undefined || !minValuesRelaxed) return wanted;
    return Math.min(wanted, valuesAmong(state, types, key).size);
  };
  return [...rules]
    .toSorted(([a], [b]) => byCodeUnit(a, b))
    .flatMap(([key, rule]) => {
      const least = leastOf(key);
      return toExpressions(key, rule).map((expression) =>
        least === undefined ? expression : { ...expression, minValues: least },
      );
    });
}

/** A value for every custom label that the pool requires and leaves open, as the pods narrowed it. */
function openLabels({ state: { pool }, open }: OpenClaim): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  for (const [key, rule] of [...pool.rules, ...open]) {
    const decidedElsewhere = pool.catalog.comboKeys.has(key) || pool.catalog.typeKeys.has(key);
    const value = decidedElsewhere || key.startsWith('karpenter.') ? null : chooseValue(open.get(key) ?? rule);
    if (value !== null) labels[key] = value;
  }
  return labels;
}

function requestsOf(workspace: Workspace, claim: OpenClaim, { type, bit }: RankedOffering): Amounts {
  const total = new Map<string, number>();
  for (const { shape } of claim.pods) addAmounts(total, workspace.shapes.get(shape)?.amounts ?? new Map());
  for (const { daemon, offered } of claim.state.daemons) {
    if ((at(offered, type) >> bit) & 1) addAmounts(total, daemon.requests);
  }
  return total;
}
