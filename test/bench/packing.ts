import { auditPlan } from '../../shared/core/plan/audit-plan.ts';
import { instant } from '../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../shared/core/scheduling/plan-provisioning.ts';
import { pricedWorkloads } from './priced-workloads.ts';

/** Compares what plans cost with their bound and with Karpenter: `node test/bench/packing.ts [filter of workload] [of variant]`. */

const [wantedWorkload = '', wantedVariant = ''] = process.argv.slice(2);
for (const { name, variant, pods, karpenterCost, fluidBound, input } of pricedWorkloads(
  wantedWorkload,
  wantedVariant,
)) {
  const started = performance.now();
  const plan = planProvisioning(input, instant(0));
  const ms = performance.now() - started;
  const auditStarted = performance.now();
  const findings = auditPlan(plan, input).length;
  const auditMs = performance.now() - auditStarted;
  const ours = plan.cost / 1e6;
  const bound = plan.lowerBound / 1e6;
  const percent = (value: number): string => `${(100 * value).toFixed(1).padStart(6)} %`;
  process.stdout.write(
    `${name.padEnd(20)} ${variant.padEnd(16)} ${pods.padStart(5)} pods ${ours.toFixed(3).padStart(9)} $/h ` +
      `bound ${bound.toFixed(3).padStart(9)} gap ${percent(ours / bound - 1)} Karpenter ${percent(1 - ours / karpenterCost)} saved, ` +
      `fluid ${fluidBound} ${ms.toFixed(0).padStart(6)} ms ${plan.claims.length} nodes ${plan.left.length} left ` +
      `${findings} findings in ${auditMs.toFixed(0)} ms${ours > karpenterCost ? ' DEARER' : ''}\n`,
  );
}
