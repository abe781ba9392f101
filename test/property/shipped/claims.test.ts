import { expect, test } from 'vitest';
import { isLabelValue, isQualifiedName } from '../../../shared/contract/api/schema/object-meta.ts';
import { nodeClaimKind } from '../../../shared/contract/api/kinds/node-claim.ts';
import { inspect } from '../../../shared/contract/api/parse.ts';
import { launchCandidates } from '../../../shared/core/launch/launch-candidates.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { PlannedClaim } from '../../../shared/core/model/plan.ts';
import { DEFAULT_EVICTION_COST_MS } from '../../../shared/core/offerings/weighed-price.ts';
import type { NodePool, PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { everyPlan, slow } from './every-plan.ts';
import { amountOf, isMet, mayBeOn, wishesMet } from './own-reading.ts';
import { claimOf, launchedLabels, poolOf, specsOn } from './planned-node.ts';
import type { ReadWorld } from './read-world.ts';
import { isShunnedIn, singleNodes } from './single-nodes.ts';

test('a claim can be launched as its offering and as every fallback, and its pods can be there', slow, () =>
  everyPlan((plan, read) => {
    for (const planned of plan.claims) {
      const [claim, pool] = [claimOf(planned, read), poolOf(planned, read)];
      const choices = [planned.offering, ...planned.fallbacks];
      const costMs = read.input.evictionCostMs.get(planned.nodePool) ?? DEFAULT_EVICTION_COST_MS;
      expect(launchCandidates(claim, read.types, choices, costMs).slice(0, choices.length)).toEqual(choices);
      for (const choice of choices) {
        const labels = launchedLabels(planned, pool, choice, read);
        const wanted = [...claim.spec.requirements, ...pool.spec.template.spec.requirements];
        expect(wanted.filter((one) => !isMet(one, labels))).toEqual([]);
        expect(specsOn(planned, read).filter((spec) => !mayBeOn(spec, labels))).toEqual([]);
      }
    }
  }),
);

test('every claim passes the rules of its definition, and its labels are labels', slow, () =>
  everyPlan((plan, read) => {
    for (const planned of plan.claims) {
      const claim = claimOf(planned, read);
      const { problems, unknownFields } = inspect(nodeClaimKind, JSON.parse(JSON.stringify(claim)));
      expect({ problems, unknownFields }).toEqual({ problems: [], unknownFields: [] });
      const labels = Object.entries(claim.metadata.labels ?? {});
      expect(labels.filter(([key, value]) => !isQualifiedName(key) || !isLabelValue(value))).toEqual([]);
    }
  }),
);

test('no node costs more than the cheapest one that could hold its pods where it is', slow, () =>
  everyPlan((plan, read) => {
    for (const planned of plan.claims) expect(cheaperThan(planned, read)).toEqual([]);
  }),
);

test(
  'a pod with a rule about zones is on a machine without one only where no machine in a zone could hold it',
  slow,
  () =>
    everyPlan((plan, read) => {
      if (countsNoZone(read)) return;
      for (const planned of plan.claims) {
        const pool = poolOf(planned, read);
        const specs = specsOn(planned, read);
        if (planned.offering.zone !== '0' || !specs.some(looksAtZones)) continue;
        const own = launchedLabels(planned, pool, planned.offering, read);
        const inZones = [...singleNodes(read.input, pool, specs, (_, { zone }) => zone !== '0')].filter(({ labels }) =>
          specs.every((spec) => wishesMet(spec, own).isSubsetOf(wishesMet(spec, labels))),
        );
        expect(inZones.slice(0, 1).map(({ type, offering }) => `${type.name} ${offering.zone}`)).toEqual([]);
      }
    }),
);

/** The nodes that would do as well as the claim's and cost less, first of all the cheapest. */
function cheaperThan(planned: PlannedClaim, read: ReadWorld): ReadonlyArray<string> {
  const { offering } = planned;
  const pool = poolOf(planned, read);
  const type = read.types.find(({ name }) => name === offering.instanceType);
  if (type === undefined) throw new Error(`there is no ${offering.instanceType}`);
  const counts = offering.risk?.weighedPrice ?? offering.price;
  const specs = specsOn(planned, read);
  const own = launchedLabels(planned, pool, offering, read);
  const isDear = isShunnedIn(pool, type);
  const kept = domainKeys(read).map((key) => ({ key, operator: 'In', values: own.get(key) ?? [] }));
  const limits = Object.keys(pool.spec.limits ?? {});
  const found: Array<{ readonly text: string; readonly weighed: number }> = [];
  const isWorth = (other: InstanceType, _: unknown, weighed: number): boolean =>
    (weighed < counts || isDear) &&
    limits.every((name) => amountOf(other.capacity[name] ?? 0) <= amountOf(type.capacity[name] ?? 0));
  for (const node of singleNodes(read.input, pool, specs, isWorth)) {
    if (node.isShunned && (!isDear || node.weighed >= counts)) continue;
    if (!kept.every((one) => isMet(one, node.labels) || own.get(one.key) === undefined)) continue;
    if (!specs.every((spec) => wishesMet(spec, own).isSubsetOf(wishesMet(spec, node.labels)))) continue;
    const { zone, capacityType } = node.offering;
    found.push({
      text: `${node.type.name} ${zone} ${capacityType} ${node.weighed} < ${offering.instanceType} ${counts}`,
      weighed: node.weighed,
    });
  }
  return found
    .toSorted((a, b) => a.weighed - b.weighed)
    .slice(0, 1)
    .map(({ text }) => text);
}

/** Is no zone a place of its own to a spread, since a node has none, or a pool speaks of machines without one? */
function countsNoZone({ input: { cluster } }: ReadWorld): boolean {
  const isWithout = cluster.nodes.some(({ metadata }) => metadata.labels?.['topology.kubernetes.io/zone'] === '0');
  return isWithout || cluster.nodePools.some(speaksOfNone);
}

/** Does the pool speak of machines without a zone? */
function speaksOfNone({ spec: { template } }: NodePool): boolean {
  const said = Object.entries(template.metadata?.labels ?? {}).map(([key, value]) => ({ key, values: [value] }));
  return [...template.spec.requirements, ...said].some(
    ({ key, values = [] }) =>
      key === 'karpenter.azure.com/placement-scope' || (key === 'topology.kubernetes.io/zone' && values.includes('0')),
  );
}

function looksAtZones(spec: PodSpec): boolean {
  return domainKeysOf(spec).includes('topology.kubernetes.io/zone');
}

/** Labels over which some rule spreads pods, or keeps them together or apart: what a node has for them is fixed. */
function domainKeys({ input }: ReadWorld): ReadonlyArray<string> {
  const keys = input.cluster.shapes.flatMap(({ spec }) => domainKeysOf(spec));
  return [...new Set(keys)].filter((key) => key !== 'kubernetes.io/hostname');
}

function domainKeysOf({ affinity, topologySpreadConstraints = [] }: PodSpec): ReadonlyArray<string> {
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  const rules = [podAffinity, podAntiAffinity].flatMap((one) => [
    ...(one?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(one?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
  return [...topologySpreadConstraints, ...rules].map(({ topologyKey }) => topologyKey);
}
