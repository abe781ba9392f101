import { describe, expect, test } from 'vitest';
import { instant, microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { input, offering, onDemand, pods, pool, shape, size, spec, zones } from '../../kit/core/build.ts';
import { planned } from '../../kit/core/render.ts';

const D2 = size('Standard_D2s_v5', 2, 8, 100_000);
const D4 = size('Standard_D4s_v5', 4, 16, 200_000);
const cheapD4 = size('Standard_D4s_v5', 4, 16, 90_000);

/** Two of these are never on one node. */
const alone = shape(spec('1', '1Gi', { containers: [portAnd('1', '1Gi')] }));

function portAnd(cpu: string, memory: string) {
  return { resources: { requests: { cpu, memory } }, ports: [{ hostPort: 8080 }] };
}

describe('where a limit binds', () => {
  test('a size that becomes cheaper and takes more of the limit leaves no more pods', () => {
    const given = {
      nodePools: [pool('a', { requirements: [onDemand], limits: { cpu: '4' } })],
      shapes: [alone],
      pods: pods(0, 2),
    };
    const both = ['launch Standard_D2s_v5 on-demand of a: s0-0', 'launch Standard_D2s_v5 on-demand of a: s0-1'];
    expect(planned(input({ ...given, types: [D2, D4] }))).toEqual(both);
    expect(planned(input({ ...given, types: [D2, cheapD4] }))).toEqual(both);
  });

  test('what the pods leave of the limit makes their nodes cheaper', () => {
    const given = input({
      types: [D2, cheapD4],
      nodePools: [pool('a', { requirements: [onDemand], limits: { cpu: '6' } })],
      shapes: [alone],
      pods: pods(0, 2),
    });
    expect(planned(given)).toEqual([
      'launch Standard_D4s_v5 on-demand of a: s0-0',
      'launch Standard_D2s_v5 on-demand of a: s0-1',
    ]);
  });

  test('of one priority as many pods as can be are placed: several small ones before a large one', () => {
    const given = input({
      types: [D2, D4],
      nodePools: [pool('a', { requirements: [onDemand], limits: { cpu: '4' } })],
      shapes: [shape(spec('3500m', '1Gi')), shape(spec('900m', '1Gi'))],
      pods: [...pods(0, 1), ...pods(1, 4)],
    });
    expect(planned(given)).toEqual([
      'launch Standard_D2s_v5 on-demand of a: s1-0 s1-1',
      'launch Standard_D2s_v5 on-demand of a: s1-2 s1-3',
      'leave s0-0: limit',
    ]);
  });

  test('no pod of higher priority is given up for any number of lower priority', () => {
    const given = input({
      types: [D2, D4],
      nodePools: [pool('a', { requirements: [onDemand], limits: { cpu: '4' } })],
      shapes: [shape(spec('3500m', '1Gi', { priority: 10 })), shape(spec('900m', '1Gi'))],
      pods: [...pods(0, 1), ...pods(1, 2)],
    });
    expect(planned(given)).toEqual([
      'launch Standard_D4s_v5 on-demand of a: s0-0',
      'leave s1-0: limit',
      'leave s1-1: limit',
    ]);
  });

  test('of two pools pods that may be in both leave the one with a limit to those that must be there', () => {
    const given = input({
      types: [D2],
      nodePools: [
        pool('limited', {
          requirements: [onDemand],
          weight: 10,
          limits: { nodes: '1' },
          labels: { 'example.com/team': 'red' },
        }),
        pool('open', { requirements: [onDemand] }),
      ],
      shapes: [
        shape(spec('1900m', '1Gi')),
        shape(spec('1800m', '1Gi', { nodeSelector: { 'example.com/team': 'red' } })),
      ],
      pods: [...pods(0, 1), ...pods(1, 1)],
    });
    expect(planned(given)).toEqual([
      'launch Standard_D2s_v5 on-demand of limited: s1-0',
      'launch Standard_D2s_v5 on-demand of open: s0-0',
    ]);
  });
});

describe('where pods look at other pods', () => {
  test('pods that must be on one node are not left because larger ones, which may be anywhere, used the limit up', () => {
    const together = spec('500m', '7Gi', {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } },
          ],
        },
      },
    });
    const given = input({
      types: [D4, size('Standard_D8s_v5', 8, 32, 150_000), size('Standard_E4s_v5', 4, 32, 260_000)],
      nodePools: [pool('a', { requirements: [onDemand], limits: { cpu: '8' } })],
      shapes: [shape(spec('3', '7Gi')), shape(together, { app: 'db' })],
      pods: [...pods(0, 2), ...pods(1, 4)],
    });
    expect(planned(given)).toEqual([
      'launch Standard_E4s_v5 on-demand of a: s1-0 s1-1 s1-2 s1-3',
      'launch Standard_D4s_v5 on-demand of a: s0-0',
      'leave s0-1: limit',
    ]);
  });

  test('a pod goes where it keeps no other out, though a node costs more there', () => {
    const cheapInOne = size('Standard_D2s_v5', 2, 8, 100_000, {
      offerings: zones.map((zone, index) => offering(zone, 'on-demand', 100_000 + 10_000 * index)),
    });
    const averse = spec('1900m', '1Gi', {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'topology.kubernetes.io/zone', labelSelector: { matchLabels: { app: 'db' } } },
          ],
        },
      },
    });
    const bound = spec('1', '1Gi', { nodeSelector: { 'topology.kubernetes.io/zone': zones[0] } });
    const given = input({
      types: [cheapInOne],
      nodePools: [pool('a')],
      shapes: [shape(averse, { app: 'web' }), shape(bound, { app: 'db' })],
      pods: [...pods(0, 1), ...pods(1, 1)],
    });
    expect(planned(given)).toEqual([
      `launch Standard_D2s_v5 on-demand in ${zones[0]} of a: s1-0`,
      `launch Standard_D2s_v5 on-demand in ${zones[1]} of a: s0-0`,
    ]);
  });
});

test('a plan that leaves pods no plan could place is as cheap as it would be without them', () => {
  const given = (count: number) =>
    input({
      types: [D2, cheapD4],
      nodePools: [pool('a', { requirements: [onDemand], limits: { cpu: '8' } })],
      shapes: [shape(spec('1', '1Gi')), shape(spec('64', '1Gi'))],
      pods: [...pods(0, 4), ...pods(1, count)],
    });
  const [without, beside] = [0, 3].map((count) => planProvisioning(given(count), instant(0)));
  expect(beside?.cost).toBe(microUsdPerHour(90_000));
  expect(beside?.claims).toEqual(without?.claims);
});
