import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_WORK } from '../../../shared/core/model/provisioning-input.ts';
import { daemonSet, input, pods, pool, shape, size, spec } from '../../kit/core/build.ts';

/**
 * Pods that are left, and the time it takes, where a limit on CPUs stops most nodes: node test/bench/planning/limits.ts
 * [most pods]
 */
const [most = 20_000] = process.argv.slice(2).map(Number);

const types = [
  size('Standard_D2s_v5', 2, 8, 100_000),
  size('Standard_D4s_v5', 4, 16, 200_000),
  size('Standard_D8s_v5', 8, 32, 390_000),
  size('Standard_D16s_v5', 16, 64, 790_000),
  size('Standard_D32s_v5', 32, 128, 1_600_000),
  size('Standard_E4s_v5', 4, 32, 210_000),
  size('Standard_E8s_v5', 8, 64, 420_000),
];
const evenly = {
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
    },
  ],
} as const;

const CASES = [
  [30, 20],
  [100, 60],
  [300, 100],
  [1_000, 100],
  [5_000, 500],
  [20_000, 100],
] as const;

for (const [count, cpu] of CASES.filter(([many]) => many <= most)) {
  for (const isSpread of [false, true]) {
    const shapes = [
      shape(spec('500m', '3Gi')),
      shape(spec('1', '1Gi')),
      shape(spec('1900m', '7Gi', isSpread ? evenly : {}), { app: 'web' }),
      shape(spec('250m', '1Gi'), { app: 'web' }),
    ];
    const given = input({
      types,
      nodePools: [pool('pool-0', { limits: { cpu: String(cpu) } })],
      shapes,
      pods: shapes.flatMap((_, index) => pods(index, Math.floor(count / shapes.length))),
      daemonSets: [daemonSet('agent', spec('150m', '256Mi'))],
      operations: DEFAULT_WORK.operations,
    });
    const times = [0, 1, 2].map(() => {
      const fromMs = performance.now();
      planProvisioning(given, instant(0));
      return performance.now() - fromMs;
    });
    const { left } = planProvisioning(given, instant(0));
    const rule = isSpread ? 'one shape spread' : 'no rules';
    const leastMs = Math.round(Math.min(...times));
    process.stdout.write(`${count} pods, ${cpu} CPUs, ${rule}: ${left.length} left, ${leastMs} ms\n`);
  }
}
