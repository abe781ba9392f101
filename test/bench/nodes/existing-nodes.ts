import type { Node } from '../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { drawing } from '../kit/drawing.ts';
import { pricedWorkloads } from '../kit/priced-workloads.ts';

/**
 * Plans beside partly filled nodes: `node test/bench/nodes/existing-nodes.ts [nodes] [filter of workload] [variant]`.
 * Each node has some CPU and memory left, different on all of them; together they hold a part of the pods.
 */
const [nodeCount = '500', wantedWorkload = '1000-', wantedVariant = ''] = process.argv.slice(2);

/** The same numbers in every run. */
const draw = drawing(20_261);
const nodes = Array.from({ length: Number(nodeCount) }, (_, index): Node => {
  const name = `node-${String(index).padStart(4, '0')}`;
  const cpu = Math.round(draw() * 3_500);
  const memory = Math.round(draw() * 14_000);
  const room = { cpu: `${cpu}m`, memory: `${memory}Mi`, pods: '40' };
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/arch': 'amd64',
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
        'topology.kubernetes.io/zone': `westeurope-${1 + (index % 3)}`,
      },
    },
    spec: { taints: [] },
    status: { allocatable: room, capacity: room },
  };
});

for (const { name, variant, input } of pricedWorkloads(wantedWorkload, wantedVariant)) {
  const given = { ...input, cluster: { ...input.cluster, nodes } };
  const before = process.cpuUsage();
  const plan = planProvisioning(given, instant(0));
  const cpuMs = process.cpuUsage(before).user / 1e3;
  const nominated = plan.nominations.reduce((sum, { pods }) => sum + pods.length, 0);
  const [cost, bound] = [plan.cost / 1e6, plan.lowerBound / 1e6];
  const gap = cost === bound ? 0 : cost / bound - 1;
  process.stdout.write(
    `${name.padEnd(18)} ${variant.padEnd(16)} ${nominated} pods on ${plan.nominations.length} of ${nodeCount} nodes, ` +
      `${plan.claims.length} claims at ${cost.toFixed(3)} $/h, bound ${bound.toFixed(3)}, ` +
      `${(100 * gap).toFixed(2)} % over it, ${cpuMs.toFixed(0)} ms of CPU, ` +
      `${auditPlan(plan, given).length} findings\n`,
  );
}
