import { createHash } from 'node:crypto';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { pricedWorkloads } from '../kit/priced-workloads.ts';

/**
 * Whether a change leaves plans as they are: `node test/bench/planning/plans.ts [filter of workload] [of variant] >
 * before.txt`, again after the change, and `diff`. A line per workload: cost and bound in dollars per hour, nodes, and
 * a digest of all else.
 */
const [workload = '', variant = ''] = process.argv.slice(2);
for (const { name, variant: of, input } of pricedWorkloads(workload, variant)) {
  const plan = planProvisioning(input, instant(0));
  const { cost, lowerBound, claims } = plan;
  const digest = createHash('sha256').update(JSON.stringify(plan)).digest('hex').slice(0, 12);
  const figures = [cost / 1e6, lowerBound / 1e6].map((amount) => amount.toFixed(4));
  process.stdout.write(`${[name, of, ...figures, claims.length, digest].join(' ')}\n`);
}
