import { expect, test } from 'vitest';
import type { Offering } from '../../../shared/core/model/catalog.ts';
import { input, node, pods, pool, requirement, shape, size, spec, zones } from '../../kit/core/build.ts';
import { planned } from '../../kit/core/render.ts';

/** Prices in proportion, as Azure's within a series. */
const D2 = size('Standard_D2s_v5', 2, 8, 100_000);
const D4 = size('Standard_D4s_v5', 4, 16, 200_000);
const D8 = size('Standard_D8s_v5', 8, 32, 400_000);
const full = spec('2', '8Gi');

type Parts = Parameters<typeof input>[0];

function plan(parts: Parts): ReadonlyArray<string> {
  return planned(
    input({ types: [D2, D4, D8], nodePools: [pool('a')], shapes: [shape(full)], pods: pods(0, 2), ...parts }),
  );
}

const alone = ['launch Standard_D2s_v5 on-demand of a: s0-0', 'launch Standard_D2s_v5 on-demand of a: s0-1'];
const together = ['launch Standard_D4s_v5 on-demand of a: s0-0 s0-1'];
const zoneKey = 'topology.kubernetes.io/zone';

test('of two plans that cost the same the one with fewer nodes is made', () => {
  expect(plan({})).toEqual(together);
  expect(plan({ pods: pods(0, 7) }).map((line) => line.slice(7, 22))).toEqual([
    'Standard_D2s_v5',
    'Standard_D8s_v5',
    'Standard_D4s_v5',
  ]);
});

test('a pod that nothing can hold keeps no nodes of others apart', () => {
  const hopeless = [shape(spec('100', '8Gi')), shape({ ...full, nodeSelector: { [zoneKey]: 'elsewhere-1' } })];
  for (const one of hopeless) {
    const lines = plan({ shapes: [shape(full), one], pods: [...pods(0, 2), ...pods(1, 1)] });
    expect(lines.filter((line) => line.startsWith('launch'))).toEqual(together);
  }
});

test('a node that costs more than the two it would be for is not', () => {
  expect(plan({ types: [D2, size('Standard_D4s_v5', 4, 16, 200_001)] })).toEqual(alone);
});

test('nodes are as many as before where one would be evicted more often, and so count as more', () => {
  const spotOnly = pool('a', { requirements: [requirement('karpenter.sh/capacity-type', 'In', 'spot')] });
  const evicted = (rate: number) => (one: Offering) => ({ ...one, evictionsPerHour: rate });
  const spot = (rate: number): Parts => ({
    nodePools: [spotOnly],
    types: [D2, { ...D4, offerings: D4.offerings.map(evicted(rate)) }],
  });
  expect(plan(spot(0.025))).toHaveLength(2);
  expect(plan(spot(0))).toHaveLength(1);
});

const apart = (topologyKey: string) => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app: 'x' } } }],
  },
});
const spread = (whenUnsatisfiable: string) => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: zoneKey, whenUnsatisfiable, labelSelector: { matchLabels: { app: 'x' } } },
  ],
});
const inZone = (zone: string | undefined) => shape({ ...full, nodeSelector: { [zoneKey]: zone ?? '' } });

const disk = { name: 'data', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'disk' } } } };

const kept: ReadonlyArray<readonly [string, Parts]> = [
  ['they keep apart', { shapes: [shape({ ...full, affinity: apart('kubernetes.io/hostname') }, { app: 'x' })] }],
  ['they are spread over zones', { shapes: [shape({ ...full, ...spread('DoNotSchedule') }, { app: 'x' })] }],
  [
    'they would like to be spread over zones',
    { shapes: [shape({ ...full, ...spread('ScheduleAnyway') }, { app: 'x' })] },
  ],
  [
    'they are bound to different zones',
    { shapes: [inZone(zones[0]), inZone(zones[1])], pods: [...pods(0, 1), ...pods(1, 1)] },
  ],
  [
    'they take the same host port',
    {
      shapes: [
        shape({
          containers: [{ resources: { requests: { cpu: '2', memory: '8Gi' } }, ports: [{ hostPort: 80 }] }],
        }),
      ],
    },
  ],
  [
    'each has a disk, of which a node takes so many',
    {
      shapes: [shape({ ...full, volumes: [disk] })],
      storageClasses: [
        {
          metadata: { name: 'disk' },
          provisioner: 'disk.csi.azure.com',
          volumeBindingMode: 'WaitForFirstConsumer',
        },
      ],
    },
  ],
  [
    'they are for nodes of different pools',
    {
      nodePools: ['a', 'b'].map((name) => pool(name)),
      shapes: ['a', 'b'].map((name) => shape({ ...full, nodeSelector: { 'karpenter.sh/nodepool': name } })),
      pods: [...pods(0, 1), ...pods(1, 1)],
    },
  ],
];

test.each(kept)('pods stay on nodes of their own where %s', (_, parts) => {
  const launched = plan(parts).filter((line) => line.includes('s0-') || line.includes('s1-'));
  expect(launched.length).toBeGreaterThanOrEqual(2);
  expect(launched.filter((line) => line.includes('D4s_v5') || line.includes('D8s_v5'))).toEqual([]);
});

test('a limit that the one node would break keeps the two', () => {
  const memory = pool('a', { limits: { memory: '17Gi' } });
  expect(plan({ nodePools: [memory], types: [D2, size('Standard_E4s_v5', 4, 32, 200_000)] })).toEqual(alone);
  expect(plan({ nodePools: [memory] })).toEqual(together);
});

test('where a pod is left nodes stay as they are: what joining them gave back of limits would be for nobody', () => {
  const three = { nodePools: [pool('a', { limits: { cpu: '4' } })], pods: pods(0, 3) };
  expect(plan(three).filter((line) => line.startsWith('launch'))).toEqual(alone);
});

test('nodes that are there are not touched', () => {
  expect(plan({ nodes: [node('there', 2, 8)], pods: pods(0, 3) })).toEqual([
    'launch Standard_D4s_v5 on-demand of a: s0-1 s0-2',
    'nominate to node there: s0-0',
  ]);
});

test('a pool with minValues keeps its nodes as they were chosen', () => {
  const types = { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 2 };
  expect(plan({ nodePools: [pool('a', { requirements: [types] })] })).toHaveLength(2);
});
