import type { Labels, NodePool, TopologySpreadConstraint } from '../../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import { sizesOf } from '../../../../shared/core/audit/seen/audited-sizes.ts';
import { finalState, type FinalNode } from '../../../../shared/core/audit/seen/final-state.ts';
import { meets, meetsNodeRules, meetsTerm, selected } from '../../../../shared/core/audit/seen/matching.ts';
import { offeredDomains } from '../../../../shared/core/audit/topology/offered-domains.ts';
import type { Plan, PlannedClaim, PlannedOffering, PodReference } from '../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { RANK, TIER } from './open-labels.ts';

/**
 * What a node gets for a label that its pool leaves open where nobody names a value: the smallest number that is
 * allowed.
 */
const UNNAMED: Readonly<Record<string, ReadonlyArray<string>>> = { [TIER]: ['0'], [RANK]: ['0', '4'] };

/** The values of the label that pods, pools and nodes name, and what it is without. */
function valuesOf({ cluster }: ProvisioningInput, key: string): ReadonlyArray<string> {
  const expressions = [
    ...cluster.nodePools.flatMap(({ spec }) => spec.template.spec.requirements),
    ...cluster.shapes.flatMap(({ spec }) =>
      (spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []).flatMap(
        ({ matchExpressions = [] }) => matchExpressions,
      ),
    ),
  ];
  return [
    ...new Set([
      ...(UNNAMED[key] ?? []),
      ...expressions.filter((one) => one.key === key && one.operator === 'In').flatMap(({ values = [] }) => values),
      ...cluster.shapes.flatMap(({ spec }) => spec.nodeSelector?.[key] ?? []),
      ...cluster.nodes.flatMap(({ metadata }) => metadata.labels?.[key] ?? []),
    ]),
  ];
}

/** Where the pod, which the plan leaves, could be by all rules, were it the last to come; null for nowhere. */
export function placeForOneMore(plan: Plan, given: ProvisioningInput, pod: PodReference): string | null {
  for (const [place, more] of plansWith(plan, given, pod)) {
    if (auditPlan(more, given).length === 0 && isEvenWith(more, given, pod)) return place;
  }
  return null;
}

type NamedPlan = readonly [place: string, plan: Plan];

/** Every plan that has the pod on one of its nodes, or on one node more. */
function* plansWith(plan: Plan, given: ProvisioningInput, pod: PodReference): Generator<NamedPlan> {
  const left = plan.left.filter((one) => one.pod.uid !== pod.uid);
  for (const { metadata } of given.cluster.nodes) {
    const target = { kind: 'node', name: metadata.name } as const;
    yield [metadata.name, { ...plan, left, nominations: [...plan.nominations, { target, pods: [pod] }] }];
  }
  for (const [index, claim] of plan.claims.entries()) {
    const own = { ...claim, pods: [...claim.pods, pod] };
    const before = { ...plan, left, claims: plan.claims.toSpliced(index, 1) };
    const more = withClaim(before, given, own, claim.offering.price);
    yield [`planned-${index}`, more];
  }
  for (const claim of newClaims(given, pod)) {
    const more = withClaim({ ...plan, left }, given, claim, 0);
    const { offering, nodePool } = claim;
    const { [TIER]: tier = 'none', [RANK]: rank = 'none' } = claim.labels;
    const name = `${nodePool} ${offering.instanceType} ${offering.zone} ${offering.capacityType} tier ${tier} rank ${rank}`;
    yield [name, more];
  }
}

/** The plan with the claim, with the sizes listed that would do for its pods. */
function withClaim(plan: Plan, given: ProvisioningInput, claim: PlannedClaim, paid: number): Plan {
  const withSize = (offering: PlannedOffering, listed: ReadonlyArray<string>): Plan => {
    const cost = microUsdPerHour(plan.cost - paid + offering.price);
    const values = { key: 'node.kubernetes.io/instance-type', operator: 'In', values: listed };
    const own = { ...claim, offering, fallbacks: [], runnerUp: null, cheaper: [], requirements: [values] };
    return {
      ...plan,
      claims: [...plan.claims, own],
      cost,
      lowerBound: microUsdPerHour(0),
      weighed: { cost, lowerBound: microUsdPerHour(0) },
    };
  };
  const all = (given.catalog.get(claim.nodePool) ?? []).map(({ name }) => name);
  const { zone, capacityType } = claim.offering;
  const holding = offeringsIn(given, claim.nodePool).filter(
    (one) =>
      one.zone === zone && one.capacityType === capacityType && auditPlan(withSize(one, all), given).length === 0,
  );
  return withSize(
    claim.offering,
    holding.map(({ instanceType }) => instanceType),
  );
}

function offeringsIn({ catalog }: ProvisioningInput, nodePool: string): ReadonlyArray<PlannedOffering> {
  return (catalog.get(nodePool) ?? []).flatMap(({ name, offerings }) =>
    offerings.map(({ zone, capacityType, price }) => ({ instanceType: name, zone, capacityType, price })),
  );
}

function newClaims(given: ProvisioningInput, pod: PodReference): ReadonlyArray<PlannedClaim> {
  return given.cluster.nodePools.flatMap((pool) =>
    offeringsIn(given, pool.metadata.name).flatMap((offering) =>
      labelsIn(given, pool).map((labels): PlannedClaim => ({
        nodePool: pool.metadata.name,
        offering,
        fallbacks: [],
        runnerUp: null,
        cheaper: [],
        requirements: [],
        labels,
        annotations: {
          'karpenter.sh/nodeclaim-min-values-relaxed': String(given.policy.minValuesPolicy === 'BestEffort'),
        },
        taints: pool.spec.template.spec.taints ?? [],
        startupTaints: pool.spec.template.spec.startupTaints ?? [],
        requests: {},
        pods: [pod],
      })),
    ),
  );
}

/** Every choice of the labels that the pool leaves open, none where it allows that. */
function labelsIn(given: ProvisioningInput, { metadata, spec }: NodePool): ReadonlyArray<Labels> {
  const { requirements } = spec.template.spec;
  const start: ReadonlyArray<Labels> = [{ 'karpenter.sh/nodepool': metadata.name }];
  return [TIER, RANK].reduce((choices, key) => {
    const about = requirements.filter((one) => one.key === key);
    if (about.length === 0) return choices;
    const allows = (labels: Labels): boolean =>
      about.every((one) => meets(new Map(Object.entries(labels).map(([name, value]) => [name, [value]])), one));
    const values = valuesOf(given, key).map((value) => ({ [key]: value }));
    return choices.flatMap((choice) => [{}, ...values].filter(allows).map((more) => ({ ...choice, ...more })));
  }, start);
}

/** Do the pod's own spreads let it in where it is, with all others there? */
function isEvenWith(plan: Plan, given: ProvisioningInput, { uid }: PodReference): boolean {
  const nodes = [...finalState(plan, { ...given, sizes: sizesOf(given.catalog) }).values()];
  const index = given.cluster.pods.find((pod) => pod.uid === uid)?.shape ?? -1;
  const { spec, namespace } = given.cluster.shapes[index] ?? { spec: { containers: [] }, namespace: '' };
  const at = nodes.find(({ name }) => name === nodeOf(plan, uid));
  return (spec.topologySpreadConstraints ?? []).every((constraint) => {
    const { topologyKey: key, maxSkew, labelSelector } = constraint;
    const domain = at?.labels.get(key)?.[0];
    if (at === undefined || domain === undefined) return false;
    const counts = new Map<string, number>();
    for (const node of nodes) {
      const own = node.labels.get(key)?.[0];
      if (own === undefined || !looksAt(node, given, index, constraint)) continue;
      const here = [...node.pods.values()].filter(
        (pods) => pods.spec.namespace === namespace && selected(labelSelector, pods.spec.labels),
      );
      counts.set(own, (counts.get(own) ?? 0) + here.reduce((sum, { running, planned }) => sum + running + planned, 0));
    }
    const least = key === 'kubernetes.io/hostname' ? 0 : leastOf(counts, given, index, { constraint, at });
    // The pod counts itself where it is selected; else one more would come on top of none.
    return (counts.get(domain) ?? 0) - least <= maxSkew;
  });
}

function nodeOf({ claims, nominations }: Plan, uid: string): string {
  const holds = ({ pods }: { readonly pods: ReadonlyArray<PodReference> }): boolean =>
    pods.some((one) => one.uid === uid);
  const planned = claims.findIndex(holds);
  return planned === -1 ? (nominations.find(holds)?.target.name ?? '') : `planned-${planned}`;
}

function looksAt(
  node: FinalNode,
  { cluster }: ProvisioningInput,
  shape: number,
  { nodeAffinityPolicy }: TopologySpreadConstraint,
): boolean {
  const spec = cluster.shapes[shape]?.spec;
  return nodeAffinityPolicy === 'Ignore' || spec === undefined || meetsNodeRules(node.labels, spec, node.name);
}

/**
 * In the emptiest domain: of those that the pod's term in use allows, the ones that pools offer; and all where nodes
 * are.
 */
function leastOf(
  counts: ReadonlyMap<string, number>,
  given: ProvisioningInput,
  shape: number,
  { constraint, at }: { readonly constraint: TopologySpreadConstraint; readonly at: FinalNode },
): number {
  const { topologyKey: key, nodeAffinityPolicy } = constraint;
  const pod = given.cluster.shapes[shape];
  if (pod === undefined) return 0;
  const offered = new Set([
    ...offeredDomains({ ...given, sizes: sizesOf(given.catalog) })(key, pod, {
      nodeRules: nodeAffinityPolicy !== 'Ignore',
      taints: false,
    }),
    ...openDomains(given, key),
    ...counts.keys(),
  ]);
  const selects = pod.spec.nodeSelector?.[key];
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [
    {},
  ];
  const used = terms.filter((term) => Object.keys(term).length === 0 || meetsTerm(at.labels, term, at.name));
  const isOpenTo = (term: (typeof terms)[number], domain: string): boolean =>
    (selects === undefined || selects === domain) &&
    (term.matchExpressions ?? []).every((one) => one.key !== key || meets(new Map([[key, [domain]]]), one));
  const leasts = used.map((term) => {
    const domains = [...offered].filter(
      (domain) => isOpenTo(term, domain) || (counts.has(domain) && terms.some((one) => isOpenTo(one, domain))),
    );
    return domains.reduce((least, domain) => Math.min(least, counts.get(domain) ?? 0), Infinity);
  });
  const most = Math.max(...leasts);
  return most === Infinity ? 0 : most;
}

/** The values that some pool would give a label that it leaves open without listing any. */
function openDomains(given: ProvisioningInput, key: string): ReadonlyArray<string> {
  return given.cluster.nodePools.flatMap((pool) => labelsIn(given, pool).flatMap((labels) => labels[key] ?? []));
}
