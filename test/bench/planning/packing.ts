import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_WORK } from '../../../shared/core/model/provisioning-input.ts';
import { pricedWorkloads, type PricedWorkload } from '../kit/priced-workloads.ts';

/**
 * What plans cost, with their bound and beside Karpenter: `node test/bench/planning/packing.ts [filter of workload] [of
 * variant]`. Every workload is planned with growing amounts of work. Gaps are against the strongest bound that any of
 * the plans proved; times are CPU time of this process, so that a busy machine shows less.
 */
const BUDGETS = [0, DEFAULT_WORK.operations / 3, DEFAULT_WORK.operations, DEFAULT_WORK.operations * 4];

interface Attempt {
  readonly cost: number;
  readonly cpuMs: number;
}

interface Row {
  readonly group: string;
  readonly attempts: ReadonlyArray<Attempt>;
  readonly bound: number;
  readonly saved: number;
}

const percent = (value: number): string => `${(100 * value).toFixed(2)} %`;
const gapOf = ({ cost }: Attempt, bound: number): number => cost / bound - 1;

function measure({ name, variant, pods, karpenterCost, input }: PricedWorkload): Row {
  let bound = 0;
  let findings = 0;
  const attempts = BUDGETS.map((operations): Attempt => {
    const given = { ...input, work: { operations } };
    const before = process.cpuUsage();
    const plan = planProvisioning(given, instant(0));
    const cpuMs = process.cpuUsage(before).user / 1e3;
    bound = Math.max(bound, plan.lowerBound / 1e6);
    findings += auditPlan(plan, given).length + plan.left.length;
    return { cost: plan.cost / 1e6, cpuMs };
  });
  const saved = 1 - (attempts[2]?.cost ?? 0) / karpenterCost;
  const steps = attempts.map((one) => `${percent(gapOf(one, bound))} in ${one.cpuMs.toFixed(0)} ms`).join(', ');
  process.stdout.write(
    `${name.padEnd(18)} ${variant.padEnd(16)} bound ${bound.toFixed(4).padStart(9)} $/h; over it: ${steps}; Karpenter ` +
      `${percent(saved)} saved${saved < 0 ? ' DEARER' : ''}${findings > 0 ? ` ${findings} FINDINGS` : ''}\n`,
  );
  const kind = name.startsWith('spread') ? 'spread' : 'plain';
  return { group: `${variant} ${kind} ${pods}`, attempts, bound, saved };
}

const [wantedWorkload = '', wantedVariant = ''] = process.argv.slice(2);
const rows = [...pricedWorkloads(wantedWorkload, wantedVariant)].map((workload) => measure(workload));
const mean = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
process.stdout.write(
  `\nOver the strongest bound, mean/largest, and CPU time, by work: ${BUDGETS.join(', ')} operations\n`,
);
for (const [group, own] of Map.groupBy(rows, (row) => row.group)) {
  const columns = BUDGETS.map((_, index) => {
    const gaps = own.map(({ attempts, bound }) => gapOf(attempts[index] ?? { cost: 0, cpuMs: 0 }, bound));
    const times = own.map(({ attempts }) => attempts[index]?.cpuMs ?? 0);
    return `${percent(mean(gaps))}/${percent(Math.max(...gaps))} ${Math.max(...times).toFixed(0)} ms`;
  });
  const proved = own.filter(({ attempts, bound }) => (attempts[2]?.cost ?? 0) <= bound * (1 + 1e-9)).length;
  const saved = own.map((row) => row.saved);
  process.stdout.write(
    `${group.padEnd(30)} ${columns.join(' | ')} | proved ${proved} of ${own.length} | saved ${percent(mean(saved))} (least ${percent(Math.min(...saved))})\n`,
  );
}
