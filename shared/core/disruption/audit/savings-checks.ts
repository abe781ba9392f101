import type { PodShape } from '../../model/cluster.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import type { AuditedInput } from '../../audit/seen/audited-sizes.ts';
import type { FinalNode } from '../../audit/seen/final-state.ts';
import { fatal, type Finding } from '../../audit/seen/finding.ts';
import type { DisruptionPlan, DisruptionStep } from '../plan/disruption-plan.ts';

interface Context {
  readonly input: AuditedInput;
  /** As it is before the step. */
  readonly state: ReadonlyMap<string, FinalNode>;
}

/** What is created for less use costs less than what goes; and a Balanced pool's score is high enough. */
export function checkSavings(step: DisruptionStep, plan: DisruptionPlan, context: Context): ReadonlyArray<Finding> {
  const going = step.remove.flatMap((name) => context.state.get(name) ?? []);
  const bought = new Map(plan.replacements.map(({ name, price }) => [name, price as number]));
  const paid = going.reduce((sum, node) => sum + priceOf(node, context), 0);
  const saved = paid - step.create.reduce((sum, name) => sum + (bought.get(name) ?? Infinity), 0);
  const findings: Array<Finding> = [];
  if (saved !== step.saved) findings.push(fatal('totals', `saves ${saved}, and says ${step.saved}`));
  if (step.reason !== 'Underutilized') return findings;
  if (step.create.length > 0 && saved <= 0) findings.push(fatal('not-cheaper', `costs ${-saved} more`));
  for (const [pool, nodes] of Map.groupBy(going, ({ nodePool }) => nodePool ?? '')) {
    const manifest = context.input.cluster.nodePools.find(({ metadata }) => metadata.name === pool);
    if (manifest?.spec.disruption?.consolidationPolicy !== 'Balanced') continue;
    const share = nodes.reduce((sum, node) => sum + priceOf(node, context), 0) / (paid || 1);
    const score = scoreIn(pool, nodes, saved * share, context);
    if (score < 0.5) findings.push(fatal('balanced', `NodePool ${pool}: the score is ${score}`));
  }
  return findings;
}

function scoreIn(pool: string, nodes: ReadonlyArray<FinalNode>, saved: number, context: Context): number {
  const all = [...context.state.values()].filter(
    ({ nodePool, claim, pods }) => nodePool === pool && (claim === null || pods.size > 0),
  );
  const [cost, disruption] = [
    all.reduce((sum, node) => sum + priceOf(node, context), 0),
    all.reduce((sum, node) => sum + disruptionOf(node), 0),
  ];
  const disrupted = nodes.reduce((sum, node) => sum + disruptionOf(node), 0);
  return cost === 0 ? 0 : (saved / cost) * (disruption / disrupted);
}

function disruptionOf({ pods }: FinalNode): number {
  let sum = 1;
  for (const { spec, running } of pods.values()) sum += running * evictionOf(spec);
  return sum;
}

function evictionOf({ owner, annotations, spec }: PodShape): number {
  if (owner?.kind === 'DaemonSet' || owner?.kind === 'Node') return 0;
  const text = annotations['controller.kubernetes.io/pod-deletion-cost'] ?? '0';
  const stated = /^[+-]?\d+$/.test(text) ? Number(text) : 0;
  return Math.max(0, Math.min(10, 1 + stated / 134_217_728 + (spec.priority ?? 0) / 33_554_432));
}

/** By the offering that the node's labels name; nothing where there is none. */
function priceOf({ labels, nodePool }: FinalNode, { input }: Context): number {
  const of = (key: string): string => labels.get(key)?.[0] ?? '';
  const type = nodePool === null ? undefined : input.sizes.typeOf(nodePool, of(labelKey.instanceType));
  const offering = type?.offerings.find(
    ({ zone, capacityType, reservation }) =>
      zone === of(labelKey.zone) &&
      capacityType === of(labelKey.capacityType) &&
      (reservation === undefined || reservation.id === of(labelKey.reservation)),
  );
  return offering?.price ?? 0;
}
