import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_WORK } from '../../../shared/core/model/provisioning-input.ts';
import { drawing } from '../kit/drawing.ts';
import { toInput, variants, type Deployment } from '../kit/priced-workloads.ts';

/**
 * Pods of hundreds of kinds, each with its own ratio of memory to CPU: `node test/bench/planning/irregular.ts [kinds]
 * [pods of each] [draws] [variant]`. Each draw is planned with growing amounts of work. Gaps are against the strongest
 * bound that any of the plans proved; times are CPU time of this process.
 */
const BUDGETS = [0, DEFAULT_WORK.operations, DEFAULT_WORK.operations * 5];

interface Attempt {
  readonly cost: number;
  readonly bound: number;
  readonly cpuMs: number;
}

const [kinds = '200', replicas = '5', draws = '3', wanted = ''] = process.argv.slice(2);

/** 0.1 to 8 CPU and 0.5 to 16 GiB per CPU, small and large ones equally often by orders of magnitude. */
function drawDeployments(seed: number): ReadonlyArray<Deployment> {
  const draw = drawing(7_919 * seed + 1);
  const between = (least: number, most: number): number => least * (most / least) ** draw();
  return Array.from({ length: Number(kinds) }, (_, index): Deployment => {
    const cpuM = Math.round(between(100, 8_000));
    const memMiB = Math.round((cpuM / 1_000) * 1_024 * between(0.5, 16));
    return [`kind-${index}`, Number(replicas), cpuM, memMiB, 0, 0];
  });
}

const percent = (value: number): string => `${(100 * value).toFixed(2)} %`;

function measure(seed: number, variant: string): ReadonlyArray<Attempt> {
  const input = toInput(drawDeployments(seed), variants[variant] ?? []);
  let findings = 0;
  const attempts = BUDGETS.map((operations): Attempt => {
    const given = { ...input, work: { operations } };
    const before = process.cpuUsage();
    const plan = planProvisioning(given, instant(0));
    const cpuMs = process.cpuUsage(before).user / 1e3;
    findings += auditPlan(plan, given).length + plan.left.length;
    return { cost: plan.cost / 1e6, bound: plan.lowerBound / 1e6, cpuMs };
  });
  const bound = Math.max(...attempts.map((one) => one.bound));
  const shown = attempts.map(
    (one) =>
      `${percent(one.cost / bound - 1)} (own bound ${percent(one.cost / one.bound - 1)}) ${one.cpuMs.toFixed(0)} ms`,
  );
  process.stdout.write(
    `${variant.padEnd(17)} draw ${seed}: bound ${bound.toFixed(4)} $/h; over it: ${shown.join(', ')}${findings > 0 ? ` ${findings} FINDINGS` : ''}\n`,
  );
  return attempts;
}

const mean = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
const summary: Array<string> = [];
for (const variant of Object.keys(variants).filter((one) => wanted === '' || one === wanted)) {
  const rows = Array.from({ length: Number(draws) }, (_, index) => measure(index + 1, variant));
  const columns = BUDGETS.map((_, index) => {
    const own = rows.flatMap((attempts) => attempts[index] ?? []);
    const gaps = own.map(({ cost, bound }) => cost / bound - 1);
    const time = Math.max(...own.map(({ cpuMs }) => cpuMs));
    return `${percent(mean(gaps))}/${percent(Math.max(...gaps))} ${time.toFixed(0)} ms`;
  });
  summary.push(`${variant.padEnd(17)} ${columns.join(' | ')}`);
}
process.stdout.write(
  `\n${kinds} kinds, ${replicas} pods of each: over the bound of the same plan, mean/largest, and most CPU time, by work: ` +
    `${BUDGETS.join(', ')} operations\n${summary.join('\n')}\n`,
);
