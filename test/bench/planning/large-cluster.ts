import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_WORK } from '../../../shared/core/model/provisioning-input.ts';
import { input, node, pods, pool, shape, size, spec, zones } from '../../kit/core/build.ts';

/**
 * Time of one plan for a large cluster: `node test/bench/planning/large-cluster.ts [nodes] [waiting pods] [shapes]`.
 * Every node runs 30 pods and has room for little more; a third of the shapes spread over zones.
 */
const [nodeCount = 5_000, waiting = 10_000, shapeCount = 60] = process.argv.slice(2).map(Number);
const types = [2, 4, 8, 16, 32, 64].flatMap((cpu) => [
  size(`Standard_D${cpu}s_v5`, cpu, cpu * 4, cpu * 50_000),
  size(`Standard_E${cpu}s_v5`, cpu, cpu * 8, cpu * 65_000),
  size(`Standard_D${cpu}ls_v6`, cpu, cpu * 2, cpu * 44_000),
]);
const shapes = Array.from({ length: shapeCount }, (_, index) => {
  const app = `app-${index}`;
  const topologyKey = 'topology.kubernetes.io/zone';
  const labelSelector = { matchLabels: { app } };
  const spread = { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector };
  const rules = index % 3 === 0 ? { topologySpreadConstraints: [spread] } : {};
  return shape(spec(`${100 + 50 * (index % 17)}m`, `${128 * (1 + (index % 23))}Mi`, rules), { app });
});
const nodes = Array.from({ length: nodeCount }, (_, index) =>
  node(`node-${String(index).padStart(5, '0')}`, 16, 64, {
    'topology.kubernetes.io/zone': zones[index % 3] ?? '',
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  }),
);
const running = nodes.flatMap(({ metadata }, index) => pods(index % shapeCount, 29, { nodeName: metadata.name }));
const pending = shapes.flatMap((_, index) => pods(index, Math.floor(waiting / shapeCount)));
const given = input({
  types,
  shapes,
  nodes,
  nodePools: [pool('default')],
  pods: [...running, ...pending],
  operations: DEFAULT_WORK.operations,
});
for (let run = 0; run < 3; run++) {
  const started = performance.now();
  const plan = planProvisioning(given, instant(0));
  const planned = performance.now();
  const findings = auditPlan(plan, given).length;
  const audited = performance.now();
  process.stdout.write(
    `${nodeCount} nodes, ${running.length} running, ${pending.length} waiting, ${shapeCount} shapes: plan ` +
      `${(planned - started).toFixed(0)} ms, audit ${(audited - planned).toFixed(0)} ms; ${plan.claims.length} claims, ` +
      `${plan.nominations.length} nodes nominated, ${plan.left.length} left, ${findings} findings\n`,
  );
}
