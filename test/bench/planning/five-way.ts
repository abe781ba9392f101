import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { planFirstFit } from '../first-fit-decreasing/plan-first-fit.ts';
import { benchmarkInput, diversePods, preferringPods } from '../kit/five-way-mix.ts';

/**
 * Karpenter's scheduling benchmark, ours beside its algorithm: `node test/bench/planning/five-way.ts [numbers of
 * diverse pods, none for all]`. Each line is one input: the fastest of three plans made in this process, pods a second,
 * what the plan costs and what first-fit-decreasing comes to. A plan is a whole one: read, placed, bounded, rendered;
 * its audit is timed beside it. What a decision takes beyond these two is in decision.ts.
 */
const counts = process.argv.slice(2).map(Number);
const ALL = [1, 50, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000];
const PREFERRING = 4_000;
const RUNS = 3;

for (const count of counts.length === 0 ? ALL : counts) {
  compare(`${count} diverse`, benchmarkInput(diversePods(count), 'Respect'));
}
for (const policy of counts.length === 0 ? (['Respect', 'Ignore'] as const) : []) {
  compare(`${PREFERRING} with preferences, ${policy}`, benchmarkInput(preferringPods(PREFERRING), policy));
}

function compare(name: string, input: ProvisioningInput): void {
  const runs = Array.from({ length: RUNS }, () => timed(() => planProvisioning(input, instant(0))));
  const fastest = runs.toSorted((a, b) => a.ms - b.ms)[0];
  const yardstick = timed(() => planFirstFit(input));
  if (fastest === undefined) return;
  const plan = fastest.value;
  const audit = timed(() => auditPlan(plan, input).length);
  const rate = ((1_000 * input.cluster.pods.length) / fastest.ms).toFixed(0);
  const dollars = (microUsd: number): string => (microUsd / 1e6).toFixed(3);
  process.stdout.write(
    `${name}: first ${runs[0]?.ms.toFixed(0)} ms, fastest ${fastest.ms.toFixed(1)} ms, ${rate} pods/s; ` +
      `${dollars(plan.cost)} $/h on ${plan.claims.length} nodes, bound ${dollars(plan.lowerBound)}, ` +
      `${plan.left.length} left; audited in ${audit.ms.toFixed(0)} ms, ${audit.value} findings; first fit ${dollars(yardstick.value.cost)} $/h on ` +
      `${yardstick.value.nodes} nodes, ${yardstick.value.left} left, ${yardstick.ms.toFixed(0)} ms` +
      `${plan.cost > yardstick.value.cost ? ' DEARER' : ''}\n`,
  );
}

function timed<T>(make: () => T): { readonly value: T; readonly ms: number } {
  const started = performance.now();
  const value = make();
  return { value, ms: performance.now() - started };
}
