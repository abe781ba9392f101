import type { AuditedInput } from '../../audit/seen/audited-sizes.ts';
import { isPlace } from '../../audit/seen/audited-sizes.ts';
import { fatal, type Finding } from '../../audit/seen/finding.ts';
import { meets } from '../../audit/seen/matching.ts';
import type { DisruptionPlan, PlannedReplacement } from '../plan/disruption-plan.ts';

/** Is what the plan says of itself so: nodes that go or stay, nodes that come, sums, bound? */
export function checkStatement(plan: DisruptionPlan, input: AuditedInput): ReadonlyArray<Finding> {
  const removed = plan.steps.flatMap(({ remove }) => remove);
  const told = [...removed, ...plan.kept.map(({ node }) => node)];
  const names = new Set(input.cluster.nodes.map(({ metadata }) => metadata.name));
  const findings: Array<Finding> = [];
  if (new Set(told).size !== told.length) findings.push(fatal('kept', 'a node goes and stays, or does so twice'));
  for (const name of told) if (!names.has(name)) findings.push(fatal('kept', `there is no node ${name}`));
  if (told.length < names.size) findings.push(fatal('kept', `${names.size - told.length} nodes are not told of`));
  const created = plan.steps.flatMap(({ create }) => create);
  const listed = plan.replacements.map(({ name }) => name);
  if (created.toSorted().join() !== listed.toSorted().join() || new Set(listed).size !== listed.length) {
    findings.push(fatal('create', 'what steps create is not what is listed'));
  }
  const saved = plan.steps.reduce((sum, step) => sum + step.saved, 0);
  if (plan.before.cost - plan.after.cost !== saved) findings.push(fatal('totals', 'the steps save something else'));
  if (plan.lowerBound > plan.after.cost) findings.push(fatal('bound', 'the lower bound is above the cost'));
  return [...findings, ...plan.replacements.flatMap((one) => checkReplacement(one, input))];
}

function checkReplacement(one: PlannedReplacement, { cluster, sizes }: AuditedInput): ReadonlyArray<Finding> {
  const pool = cluster.nodePools.find(({ metadata }) => metadata.name === one.nodePool);
  const offering = sizes.typeOf(one.nodePool, one.instanceType)?.offerings.find((other) => isPlace(other, one));
  const say = (text: string): ReadonlyArray<Finding> => [fatal('offering', `${one.name} ${text}`)];
  if (pool === undefined || offering === undefined) return say('is not to be had');
  if (!offering.available) return say('is not available');
  if (offering.price !== one.price) return say(`costs ${offering.price}, and is said to cost ${one.price}`);
  const { labels } = sizes.nodeOf(pool, one);
  const wrong = pool.spec.template.spec.requirements.find((rule) => labels.has(rule.key) && !meets(labels, rule));
  return wrong === undefined ? [] : say(`does not meet ${wrong.key} of its NodePool`);
}
