import { instant } from '../../shared/core/quantity/units.ts';
import { countWaiting } from '../../shared/core/telling/effective-zones.ts';
import { planProvisioning } from '../../shared/core/plan-provisioning.ts';
import { DEFAULT_WORK } from '../../shared/core/model/provisioning-input.ts';
import { input, node, pods, pool, shape, size, spec, zones } from '../kit/core/build.ts';

/**
 * CPU time that it takes to count the pods that wait, beside the plan for them:
 * `node test/bench/waiting-figures.ts [nodes] [waiting pods] [shapes]`. Every node runs 29 pods; a third of the shapes
 * spread over zones within their own node rules, a third go where their like are, a third ask for one zone.
 */
const [nodeCount = 500, waiting = 1_000, shapeCount = 60] = process.argv.slice(2).map(Number);
const topologyKey = 'topology.kubernetes.io/zone';
const types = [2, 4, 8, 16, 32].map((cpu) => size(`Standard_D${cpu}s_v5`, cpu, cpu * 4, cpu * 50_000));

function rulesOf(index: number, app: string): Partial<ReturnType<typeof spec>> {
  const labelSelector = { matchLabels: { app } };
  if (index % 3 === 2) return { nodeSelector: { [topologyKey]: zones[index % 2] ?? '' } };
  if (index % 3 === 1) {
    const terms = [{ topologyKey, labelSelector }];
    return { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } };
  }
  return {
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }],
  };
}

const shapes = Array.from({ length: shapeCount }, (_, index) => {
  const app = `app-${index}`;
  return shape(spec(`${100 + 50 * (index % 17)}m`, `${128 * (1 + (index % 23))}Mi`, rulesOf(index, app)), { app });
});
const nodes = Array.from({ length: nodeCount }, (_, index) =>
  node(`node-${String(index).padStart(5, '0')}`, 16, 64, {
    [topologyKey]: zones[index % 3] ?? '',
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  }),
);
const running = nodes.flatMap(({ metadata }, index) => pods(index % shapeCount, 29, { nodeName: metadata.name }));
const given = input({
  types,
  shapes,
  nodes,
  nodePools: [pool('default')],
  pods: [...running, ...shapes.flatMap((_, index) => pods(index, Math.floor(waiting / shapeCount)))],
  operations: DEFAULT_WORK.operations,
});
/** Of the main thread, so that other load on the machine counts for little. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

for (let run = 0; run < 4; run++) {
  const started = cpuMs();
  planProvisioning(given, instant(0));
  const planned = cpuMs();
  const { pending, byZone } = countWaiting(given, instant(0));
  const counted = cpuMs();
  process.stdout.write(
    `${nodeCount} nodes, ${running.length} running, ${pending} waiting, ${shapeCount} shapes: ` +
      `plan ${(planned - started).toFixed(1)} ms, counting ${(counted - planned).toFixed(1)} ms; ` +
      `${JSON.stringify(Object.fromEntries(byZone))}\n`,
  );
}
