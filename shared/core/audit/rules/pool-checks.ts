import type { NodePool, Taint } from '../../../kubernetes/manifest.ts';
import { labelKey, normalizeKey } from '../../../kubernetes/labels.ts';
import type { Plan, PlannedClaim } from '../../model/plan.ts';
import { isPlace, placeOf, type AuditedInput } from '../seen/audited-sizes.ts';
import type { FinalNode } from '../seen/final-state.ts';
import { fatal, type Finding, type Subject } from '../seen/finding.ts';
import { meets } from '../seen/matching.ts';
import { amountsOf } from '../seen/requested.ts';

/** Offerings, pool requirements, limits, minValues and the stated costs. */
export function checkPools(plan: Plan, input: AuditedInput, nodes: ReadonlyArray<FinalNode>): ReadonlyArray<Finding> {
  const findings = plan.claims.flatMap((claim, index) => checkClaim(claim, index, input));
  for (const pool of input.cluster.nodePools)
    findings.push(...checkLimits(pool, nodes, input), ...checkReplicas(pool, nodes));
  const cost = plan.claims.reduce((sum, { offering }) => sum + offering.price, 0);
  if (cost !== plan.cost) findings.push(fatal('cost', `the claims cost ${cost}, the plan says ${plan.cost}`));
  // Written so that what is no number is above anything.
  if (!(plan.lowerBound <= plan.cost))
    findings.push(fatal('bound', `bound ${plan.lowerBound} above cost ${plan.cost}`));
  return findings;
}

function checkClaim(claim: PlannedClaim, index: number, input: AuditedInput): ReadonlyArray<Finding> {
  const name = `planned-${index}`;
  const about: Subject = { kind: 'planned', index };
  const pool = input.cluster.nodePools.find(({ metadata }) => metadata.name === claim.nodePool);
  if (pool === undefined) return [fatal('pool', `${name}: NodePool ${claim.nodePool} does not exist`, about)];
  const fixed = pool.spec.replicas !== undefined;
  if (pool.metadata.deletionTimestamp !== undefined || (fixed && !input.policy.gates.staticCapacity)) {
    return [fatal('pool', `${name}: NodePool ${claim.nodePool} takes no new nodes`, about)];
  }
  const findings: Array<Finding> = [];
  if (!fixed && claim.pods.length === 0) findings.push(fatal('empty-claim', `${name} has no pods`, about));
  if (fixed && claim.pods.length > 0) findings.push(fatal('static', `${name} is for pods, its pool is static`, about));
  findings.push(...checkTaints(claim, pool, name, about));
  for (const offering of [claim.offering, ...claim.fallbacks]) {
    findings.push(...checkOffering(offering, claim, { pool, name, about, input }));
  }
  return [...findings, ...checkMinValues(claim, { pool, name, about }, input)];
}

/** What the pool gives its nodes is what pods were planned by: more would keep them out, less would let others in. */
function checkTaints(claim: PlannedClaim, { spec }: NodePool, name: string, about: Subject): ReadonlyArray<Finding> {
  const { taints = [], startupTaints = [] } = spec.template.spec;
  const isSame = (a: ReadonlyArray<Taint>, b: ReadonlyArray<Taint>): boolean => textOf(a) === textOf(b);
  return isSame(claim.taints, taints) && isSame(claim.startupTaints, startupTaints)
    ? []
    : [fatal('taints', `${name}: its taints are not those of NodePool ${claim.nodePool}`, about)];
}

function textOf(taints: ReadonlyArray<Taint>): string {
  const texts = taints.map(({ key, value = '', effect }) => `${key}=${value}:${effect}`);
  return texts.toSorted((a, b) => (a < b ? -1 : 1)).join();
}

/** A claim of the plan as findings call it. */
interface CheckedClaim {
  readonly pool: NodePool;
  readonly name: string;
  readonly about: Subject;
}

function checkOffering(
  offering: PlannedClaim['offering'],
  claim: PlannedClaim,
  { pool, name, about, input }: CheckedClaim & { readonly input: AuditedInput },
): ReadonlyArray<Finding> {
  const findings: Array<Finding> = [];
  const { instanceType, zone, capacityType } = offering;
  const type = input.sizes.typeOf(claim.nodePool, instanceType);
  const found = type?.offerings.some((one) => isPlace(one, offering) && one.available && one.price === offering.price);
  const text = `${name}: ${instanceType} ${zone} ${capacityType}`;
  if (found !== true) findings.push(fatal('offering', `${text} is not available at that price`, about));
  const node = input.sizes.nodeOf(pool, offering);
  const labels = new Map(node.labels);
  for (const [key, value] of Object.entries(claim.labels)) {
    if (labels.get(normalizeKey(key))?.includes(value) === false)
      findings.push(fatal('claim-labels', `${text}: its ${key} is not ${value}`, about));
    labels.set(normalizeKey(key), [value]);
  }
  const unmet = pool.spec.template.spec.requirements.find((requirement) => !meets(labels, requirement));
  if (unmet !== undefined) findings.push(fatal('pool-requirements', `${text}: ${unmet.key} ${unmet.operator}`, about));
  if (node.contradictsTemplate) findings.push(fatal('pool-requirements', `${text}: template labels`, about));
  const broken = claim.requirements.find((requirement) => !meets(labels, requirement));
  if (broken !== undefined)
    findings.push(fatal('claim-requirements', `${text}: ${broken.key} ${broken.operator}`, about));
  return findings;
}

function checkMinValues(
  claim: PlannedClaim,
  { pool, name, about }: CheckedClaim,
  input: AuditedInput,
): ReadonlyArray<Finding> {
  const relaxed = claim.annotations['karpenter.sh/nodeclaim-min-values-relaxed'] === 'true';
  if (relaxed && input.policy.minValuesPolicy === 'Strict')
    return [fatal('min-values', `${name}: waived under Strict`, about)];
  const listed = claim.requirements.find(({ key }) => key === labelKey.instanceType)?.values ?? [];
  return pool.spec.template.spec.requirements.flatMap(({ key, minValues }) => {
    if (minValues === undefined) return [];
    const values = new Set<string>();
    for (const type of input.catalog.get(pool.metadata.name) ?? []) {
      if (!listed.includes(type.name)) continue;
      for (const offering of type.offerings.filter(({ available }) => available)) {
        const { labels } = input.sizes.nodeOf(pool, placeOf(type.name, offering));
        for (const value of labels.get(normalizeKey(key)) ?? []) values.add(value);
      }
    }
    const stated = claim.requirements.find((one) => one.key === normalizeKey(key))?.minValues ?? 0;
    return values.size < (relaxed ? stated : minValues)
      ? [fatal('min-values', `${name}: ${key} has ${values.size} of ${minValues}`, about)]
      : [];
  });
}

/** A static pool never gets more nodes than it asks for. */
function checkReplicas({ metadata, spec }: NodePool, nodes: ReadonlyArray<FinalNode>): ReadonlyArray<Finding> {
  const own = nodes.filter(({ nodePool, leaving }) => nodePool === metadata.name && !leaving);
  const { replicas = Infinity } = spec;
  return own.length > replicas && own.some(({ claim }) => claim !== null)
    ? [
        fatal('static', `NodePool ${metadata.name}: ${own.length} nodes of ${replicas}`, {
          kind: 'pool',
          name: metadata.name,
        }),
      ]
    : [];
}

/** Over a limit is wrong only where this plan adds to the resource. */
function checkLimits(
  pool: NodePool,
  nodes: ReadonlyArray<FinalNode>,
  { held }: Pick<AuditedInput, 'held'>,
): ReadonlyArray<Finding> {
  const own = nodes.filter(({ nodePool, counts }) => nodePool === pool.metadata.name && counts);
  const beside = held.filter(({ nodePool }) => nodePool === pool.metadata.name);
  const sum = (list: ReadonlyArray<Pick<FinalNode, 'capacity'>>, resource: string): number =>
    list.reduce((total, { capacity }) => total + (resource === 'nodes' ? 1 : (capacity.get(resource) ?? 0)), 0);
  return [...amountsOf(pool.spec.limits, 'down')].flatMap(([resource, limit]) => {
    const added = sum(
      own.filter(({ claim }) => claim !== null),
      resource,
    );
    const total = sum([...own, ...beside], resource);
    return added > 0 && total > limit
      ? [
          fatal('limits', `NodePool ${pool.metadata.name}: ${resource} ${total} of ${limit}`, {
            kind: 'pool',
            name: pool.metadata.name,
          }),
        ]
      : [];
  });
}
