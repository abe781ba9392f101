import { spawnSync } from 'node:child_process';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_WORK } from '../../../shared/core/model/provisioning-input.ts';
import { pricedWorkloads } from '../kit/priced-workloads.ts';

/**
 * The first plan that a process makes, nothing compiled yet: `node test/bench/planning/first-plan.ts [filter of
 * workload] [variant] [processes]`. With no work beyond the first packing, and with the default. The start of the
 * process and reading the input are not counted.
 */
const [workload = '-100-', variant = 'D+nap', processes = '5', steps = ''] = process.argv.slice(2);
if (steps === '') {
  const median = (numbers: ReadonlyArray<number>): number =>
    numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0;
  for (const { name } of pricedWorkloads(workload, variant)) {
    const times = [0, DEFAULT_WORK.operations].map((work) =>
      Array.from({ length: Number(processes) }, () => {
        const args = [import.meta.filename, name, variant, processes, String(work)];
        return Number(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout);
      }),
    );
    const [first, whole] = times.map((own) => `${median(own).toFixed(0)} ms (slowest ${Math.max(...own).toFixed(0)})`);
    process.stdout.write(`${name.padEnd(18)} ${variant}: first packing ${first}, default work ${whole}\n`);
  }
} else {
  for (const { input } of pricedWorkloads(workload, variant)) {
    const started = performance.now();
    planProvisioning({ ...input, work: { operations: Number(steps) } }, instant(0));
    process.stdout.write(`${performance.now() - started}`);
  }
}
