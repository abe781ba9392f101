import type { ProvisioningInput } from '../model/provisioning-input.ts';
import { unfoldBuffers } from './rules/audited-buffers.ts';
import { auditedCatalog } from './seen/audited-catalog.ts';
import { sizesOf, type AuditedInput } from './seen/audited-sizes.ts';
import { fatal, type Finding } from './seen/finding.ts';
import { finalState } from './seen/final-state.ts';
import { auditedDaemons, nodeCheck } from './rules/node-checks.ts';
import { checkDevices } from './devices/device-checks.ts';
import { checkPrecedence } from './rules/precedence-checks.ts';
import { checkPools } from './rules/pool-checks.ts';
import { offeredDomains } from './topology/offered-domains.ts';
import { auditedShapes } from './rules/spread-by-default.ts';
import { checkTopology } from './topology/topology-checks.ts';
import { checkRisk } from './rules/risk-checks.ts';
import { auditedReservations, checkReservations } from './rules/reservation-checks.ts';
import type { Plan } from '../model/plan.ts';

export type { Finding } from './seen/finding.ts';

/**
 * Checks a plan against its input without knowing how it was made: its own reading of requests, requirements, taints,
 * daemons, limits, volumes, devices, buffers and topology, on the state that the plan leads to. Empty when nothing is
 * wrong.
 */
export function auditPlan(stated: Plan, given: ProvisioningInput): ReadonlyArray<Finding> {
  const { plan, cluster: unfolded, spare, findings } = unfoldBuffers(stated, given);
  const cluster = { ...unfolded, shapes: auditedShapes({ ...given, cluster: unfolded }) };
  const priced = { ...given, cluster, catalog: auditedCatalog(given) };
  const catalog = auditedReservations(priced);
  const input: AuditedInput = { ...priced, catalog, sizes: sizesOf(catalog) };
  const accounting = checkAccounting(plan, input);
  const state = finalState(plan, input);
  const nodes = [...state.values()];
  const daemons = auditedDaemons(input);
  const check = nodeCheck(input.cluster, daemons);
  return [
    ...findings,
    ...accounting,
    ...plan.nominations
      .filter(({ target }) => state.get(`${target.kind}/${target.name}`)?.leaving !== false)
      .map(({ target }) =>
        fatal('target', `there is no ${target.kind} ${target.name} that stays`, { kind: 'node', name: target.name }),
      ),
    ...checkPools(plan, input, nodes),
    ...nodes.flatMap(check),
    ...checkRisk(plan, input),
    ...checkReservations(plan, priced),
    ...checkPrecedence(plan, input, { nodes, spare, daemons, check }),
    ...checkDevices(plan, input, state),
    ...checkTopology({
      cluster: input.cluster,
      nodes,
      offered: offeredDomains(input),
      crowdOf: (shape) => given.crowds?.get(shape) ?? 0,
      // The plan has them all.
      expectedOn: () => [],
    }),
  ];
}

function checkAccounting(plan: Plan, { cluster }: ProvisioningInput): ReadonlyArray<Finding> {
  const placed = [...plan.claims, ...plan.nominations].flatMap(({ pods }) => pods);
  const told = [...placed, ...plan.left.map(({ pod }) => pod)];
  const named = new Set(told.map(({ uid }) => uid));
  const known = new Set<string>();
  // Stryker disable next-line ConditionalExpression: those that the plan does not name are not asked for
  for (const { uid } of cluster.pods) if (named.has(uid)) known.add(uid);
  const seen = new Set<string>();
  return told.flatMap(({ name, uid }) => {
    const repeated = seen.has(uid);
    seen.add(uid);
    if (!known.has(uid)) return [fatal('accounting', `pod ${name} is not known`, { kind: 'pod', uid })];
    return repeated ? [fatal('accounting', `pod ${name} is in the plan twice`, { kind: 'pod', uid })] : [];
  });
}
