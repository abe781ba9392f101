import { planFirstFit } from '../first-fit-decreasing/plan-first-fit.ts';
import { pricedWorkloads } from '../kit/priced-workloads.ts';

/**
 * How well our first-fit-decreasing agrees with Karpenter's own costs, so that comparing with it is fair:
 * `node test/bench/planning/karpenter-yardstick.ts [filter of workload] [of variant]`. Spread differs by a few per
 * cent, as it does between two runs of Karpenter, which draws the zone where several are as empty.
 */
const [wantedWorkload = '', wantedVariant = ''] = process.argv.slice(2);
let [exact, all, spreadOff] = [0, 0, 0];
for (const { name, variant, karpenterCost, karpenterNodes, input } of pricedWorkloads(wantedWorkload, wantedVariant)) {
  const started = performance.now();
  const { cost, nodes, left } = planFirstFit(input);
  const ms = performance.now() - started;
  const off = cost / 1e6 / karpenterCost - 1;
  const isSpread = name.startsWith('spread');
  if (isSpread) spreadOff = Math.max(spreadOff, Math.abs(off));
  else {
    all++;
    if (Math.abs(cost / 1e6 - karpenterCost) < 0.01) exact++;
  }
  process.stdout.write(
    `${name.padEnd(20)} ${variant.padEnd(16)} ${(cost / 1e6).toFixed(3).padStart(9)} $/h on ${nodes} nodes, Karpenter ` +
      `${karpenterCost.toFixed(3).padStart(9)} on ${karpenterNodes}: ${(100 * off).toFixed(2)} % off, ${left} left, ${ms.toFixed(0)} ms\n`,
  );
}
process.stdout.write(
  `to the cent: ${exact} of ${all} without spread; with spread at most ${(100 * spreadOff).toFixed(1)} % off\n`,
);
