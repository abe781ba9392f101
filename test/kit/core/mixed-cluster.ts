import type { PodShape } from '../../../shared/core/model/cluster.ts';
import { drawFrom, type Draw } from '../../../shared/core/quantity/draw.ts';
import type { NodePool, PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { pods as waiting, shape, size, spec, zones } from './build.ts';
import {
  CONSOLIDATABLE,
  disruptable,
  machine,
  on,
  types,
  type Machine,
  type disruptionInput,
} from './build-disruption.ts';

type Parts = Parameters<typeof disruptionInput>[0];

const DRIFTED = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };
const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';

/** What pods of an application ask for beside room. */
const RULES: ReadonlyArray<(app: string) => Partial<PodSpec>> = [
  () => ({}),
  () => ({}),
  (app) => ({ topologySpreadConstraints: [spread(app, ZONE)] }),
  (app) => ({ topologySpreadConstraints: [spread(app, HOST)] }),
  (app) => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOST, labelSelector: matching(app) }],
      },
    },
  }),
  () => ({
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: ZONE, operator: 'In', values: [zones[0]] }] } },
        ],
      },
    },
  }),
  () => ({ nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand' } }),
];

function matching(app: string) {
  return { matchLabels: { app } };
}

function spread(app: string, topologyKey: string) {
  return { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector: matching(app) };
}

/**
 * A few nodes of two NodePools, on demand and spot, some of which have drifted or may not go yet, with pods of
 * applications whose rules are drawn from the seed; some wait.
 */
export function mixedCluster(seed: number): Parts {
  const draw = drawFrom(seed);
  const one = <T>(list: ReadonlyArray<T>): T => {
    const found = list[draw.below(list.length)];
    if (found === undefined) throw new Error('nothing to draw from');
    return found;
  };
  const isSometimes = (share: number): boolean => draw.share() < share;
  const shapes = Array.from({ length: 2 + draw.below(5) }, (_, app) => drawnShape(`app-${app}`, draw, one));
  const names = Array.from({ length: 3 + draw.below(10) }, (_, index) => `n${String(index).padStart(2, '0')}`);
  const mayBeSpot = isSometimes(0.5);
  const cpus = one<ReadonlyArray<2 | 4 | 8>>([[8], [4], [8, 2], [2, 4, 8], [8, 4, 4, 2]]);
  const drifts = one([0, 0, 0.2, 0.5]);
  const machines = names.map((name): Machine =>
    machine(name, {
      cpu: one(cpus),
      zone: one(zones),
      capacityType: mayBeSpot && isSometimes(0.4) ? 'spot' : 'on-demand',
      nodePool: isSometimes(0.25) ? 'other' : 'general',
      conditions: [...(isSometimes(0.9) ? [CONSOLIDATABLE] : []), ...(isSometimes(drifts) ? [DRIFTED] : [])],
    }),
  );
  const running = machines.flatMap(({ node }) => {
    const { name } = node.metadata;
    const most = isSometimes(0.15) ? 0 : Math.floor(Number(node.status?.allocatable?.['cpu'] ?? 0) * 1.2);
    return Array.from({ length: most === 0 ? 0 : 1 + draw.below(most) }, (_, number) =>
      on(name, draw.below(shapes.length), 1, { name: `${name}-${number}`, uid: `${name}-${number}` }),
    ).flat();
  });
  const arriving = isSometimes(0.2) ? waiting(draw.below(shapes.length), 1 + draw.below(2)) : [];
  const requirements = mayBeSpot ? { requirements: [] } : {};
  const policy = {
    budgets: [{ nodes: one(['1', '2', '30%', '100%']) }],
    ...one([{}, {}, { consolidationPolicy: 'Balanced' }]),
  };
  const nodePools: ReadonlyArray<NodePool> = [
    disruptable('general', policy, { ...requirements, ...one([{}, {}, { limits: { cpu: '60' } }]) }),
    disruptable('other', policy, requirements),
  ];
  return {
    machines,
    shapes,
    pods: [...running, ...arriving],
    nodePools,
    types: [...types, size('Standard_E4s_v5', 4, 32, 250_000), size('Standard_F2s_v2', 2, 4, 80_000)],
    podDisruptionBudgets: isSometimes(0.3)
      ? [
          {
            metadata: { name: 'b', namespace: 'default' },
            spec: { selector: matching('app-0') },
            status: { disruptionsAllowed: 1 },
          },
        ]
      : [],
    disruption: {
      searchSteps: one([0, 5_000, 20_000]),
      spotToSpot: isSometimes(0.5),
      ...one([{}, {}, { moveCost: 0 }, { moveCostOf: new Map([['general', 0.5]]) }]),
    },
  };
}

function drawnShape(app: string, draw: Draw, one: <T>(list: ReadonlyArray<T>) => T): PodShape {
  const cpu = one(['250m', '500m', '750m', '1', '1500m']);
  const ports = draw.below(8) === 0 ? [{ hostPort: 8080, containerPort: 8080 }] : [];
  const rules = one(RULES)(app);
  const { containers, ...rest } = spec(cpu, one(['256Mi', '1Gi', '4Gi']), rules);
  const made = shape({ ...rest, containers: containers.map((container) => ({ ...container, ports })) }, { app });
  const cost = one([null, null, null, '-2147483647', '100000000']);
  return cost === null ? made : { ...made, annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } };
}
