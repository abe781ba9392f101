import { describe, expect, test } from 'vitest';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { input, node, pods, pool, requirement, shape, size, spec, zones } from '../../kit/core/build.ts';
import { planned } from '../../kit/core/render.ts';

const byText = (a = '', b = ''): number => (a < b ? -1 : Number(a > b));
const types = [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_D8s_v5', 8, 32, 390_000)];
const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const web = { matchLabels: { app: 'web' } };
const hard = { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: web };
const zonesOf = (given: Parameters<typeof planProvisioning>[0]) =>
  planProvisioning(given, instant(0))
    .claims.flatMap(({ offering, pods: own }) => own.map(() => offering.zone))
    .toSorted(byText);

describe('node rules', () => {
  test('a taint that a pod does not tolerate keeps it off, and the plan says so', () => {
    const tainted = pool('a', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] });
    expect(
      planned(input({ types, nodePools: [tainted], shapes: [shape(spec('1', '1Gi'))], pods: pods(0, 1) })),
    ).toEqual(['leave s0-0: taint']);
  });

  test('a pool without a soft taint is preferred, one with it is used when it is the only one', () => {
    const soft = pool('soft', { taints: [{ key: 'soft', effect: 'PreferNoSchedule' }] });
    const shapes = [shape(spec('1', '1Gi'))];
    expect(planned(input({ types, nodePools: [soft, pool('z')], shapes, pods: pods(0, 1) }))).toEqual([
      'launch Standard_D2s_v5 on-demand of z: s0-0',
    ]);
    expect(planned(input({ types, nodePools: [soft], shapes, pods: pods(0, 1) }))).toEqual([
      'launch Standard_D2s_v5 on-demand of soft: s0-0',
    ]);
  });

  test('required terms are alternatives: any will do', () => {
    const nodeSelectorTerms = [
      { matchExpressions: [requirement('example.com/none', 'Exists')] },
      { matchExpressions: [requirement(zoneKey, 'In', zones[1])] },
    ];
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [shape(spec('1', '1Gi', { affinity }))],
      pods: pods(0, 1),
    });
    expect(planned(given)).toEqual([`launch Standard_D2s_v5 on-demand in ${zones[1]} of a: s0-0`]);
  });

  test('a preference is met where it can be and dropped where it cannot', () => {
    const prefer = (key: string, value: string) =>
      spec('1', '1Gi', {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, preference: { matchExpressions: [requirement(key, 'In', value)] } },
            ],
          },
        },
      });
    const shapes = [shape(prefer('karpenter.azure.com/sku-cpu', '8')), shape(prefer('example.com/none', 'x'))];
    const parts = { types, nodePools: [pool('a')], shapes, pods: [...pods(0, 1), ...pods(1, 9)] };
    const plan = planProvisioning(input(parts), instant(0));
    expect(plan.left).toEqual([]);
    expect(plan.claims.find(({ pods: own }) => own.some(({ uid }) => uid === 's0-0000'))?.offering.instanceType).toBe(
      'Standard_D8s_v5',
    );
    expect(planned(input({ ...parts, pods: pods(0, 1), policy: { preferencePolicy: 'Ignore' } }))).toEqual([
      'launch Standard_D2s_v5 on-demand of a: s0-0',
    ]);
  });

  test('a label that the pool leaves open gets the value that its pods ask for, and pods of two values get two nodes', () => {
    const open = pool('a', { requirements: [requirement('example.com/team', 'In', 'red', 'blue')] });
    const wants = (team: string) => shape(spec('500m', '1Gi', { nodeSelector: { 'example.com/team': team } }));
    const plan = planProvisioning(
      input({ types, nodePools: [open], shapes: [wants('red'), wants('blue')], pods: [...pods(0, 1), ...pods(1, 1)] }),
      instant(0),
    );
    expect(plan.claims.map(({ labels }) => labels['example.com/team']).toSorted(byText)).toEqual(['blue', 'red']);
  });

  test('a label nobody gives is named as the reason', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [shape(spec('1', '1Gi', { nodeSelector: { 'example.com/disk': 'fast' } }))],
      pods: pods(0, 1),
    });
    const [left] = planProvisioning(given, instant(0)).left;
    expect(left?.refusals).toMatchObject([
      { nodePool: 'a', kind: 'requirement', wanted: [{ key: 'example.com/disk' }] },
    ]);
  });

  test('what is not planned for is left with the feature named, never placed', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      nodes: [node('n', 8, 32)],
      shapes: [shape(spec('1', '1Gi', { resourceClaims: [{ name: 'gpu' }] }))],
      pods: pods(0, 1),
    });
    expect(planned(given)).toEqual(['leave s0-0: claims-ignored']);
  });
});

describe('spread', () => {
  const spread = (more: object = {}) =>
    shape(spec('100m', '128Mi', { topologySpreadConstraints: [{ ...hard, topologyKey: zoneKey, ...more }] }), {
      app: 'web',
    });

  test('nine pods over three zones are three in each, on exactly three nodes', () => {
    const given = input({ types, nodePools: [pool('a')], shapes: [spread()], pods: pods(0, 9) });
    expect(planned(given)).toHaveLength(3);
    expect(zonesOf(given)).toEqual(zones.flatMap((zone) => [zone, zone, zone]));
  });

  test('pods that run count: the emptiest zone is filled first', () => {
    const busy = [node('n1', 1, 1, { [zoneKey]: zones[0] }), node('n2', 1, 1, { [zoneKey]: zones[1] })];
    const full = shape(spec('900m', '900Mi'), { app: 'web' });
    const given = input({
      types,
      nodePools: [pool('a')],
      nodes: busy,
      shapes: [spread(), full],
      pods: [...pods(0, 1), ...pods(1, 1, { nodeName: 'n1' }), ...pods(1, 1, { nodeName: 'n2' })],
    });
    expect(zonesOf(given)).toEqual([zones[2]]);
  });

  test('with fewer zones than minDomains every zone takes maxSkew pods and no more', () => {
    const two = pool('a', { requirements: [requirement(zoneKey, 'In', zones[0], zones[1])] });
    const given = input({ types, nodePools: [two], shapes: [spread({ minDomains: 3 })], pods: pods(0, 3) });
    expect(planned(given).filter((line) => line.startsWith('leave'))).toEqual(['leave s0-2: topology-spread']);
  });

  test('ScheduleAnyway spreads where it costs no pod its place', () => {
    const one = pool('a', { requirements: [requirement(zoneKey, 'In', zones[0])] });
    const soft = spread({ whenUnsatisfiable: 'ScheduleAnyway', minDomains: 3 });
    expect(
      planProvisioning(input({ types, nodePools: [one], shapes: [soft], pods: pods(0, 4) }), instant(0)).left,
    ).toEqual([]);
  });

  test('over hosts, every node takes at most maxSkew pods', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [spread({ topologyKey: hostKey, maxSkew: 2 })],
      pods: pods(0, 5),
    });
    expect(planned(given)).toHaveLength(3);
  });

  test('revisions told apart by matchLabelKeys are spread each by itself', () => {
    const revision = (hash: string) => {
      const { spec: own } = spread({ matchLabelKeys: ['hash'] });
      return shape(own, { app: 'web', hash });
    };
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [revision('1'), revision('2')],
      pods: [...pods(0, 3), ...pods(1, 3)],
    });
    expect(zonesOf(given)).toEqual(zones.flatMap((zone) => [zone, zone]));
  });
});

describe('affinity and anti-affinity', () => {
  const term = (topologyKey: string) => ({ topologyKey, labelSelector: web });
  const apart = (key: string) =>
    spec('100m', '128Mi', {
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(key)] } },
    });
  const together = (key: string) =>
    spec('100m', '128Mi', {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(key)] } },
    });

  test('a hundred pods that shun each other get a hundred nodes', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [shape(apart(hostKey), { app: 'web' })],
      pods: pods(0, 100),
    });
    expect(planned(given)).toHaveLength(100);
  });

  test('pods that shun each other and an older revision share the nodes of larger pods that wait beside them', () => {
    const revision = (hash: string) => shape(apart(hostKey), { app: 'web', hash });
    const given = input({
      types,
      nodePools: [pool('a')],
      nodes: [node('n', 1, 4)],
      shapes: [revision('2'), shape(spec('3', '6Gi')), revision('1')],
      pods: [...pods(0, 2), ...pods(1, 2), ...pods(2, 1, { nodeName: 'n' })],
    });
    expect(planned(given)).toHaveLength(2);
  });

  test('pods that shun each other by zone take one zone each, and the fourth is left', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [shape(apart(zoneKey), { app: 'web' })],
      pods: pods(0, 4),
    });
    expect(zonesOf(given)).toEqual([...zones]);
    expect(planned(given).at(-1)).toMatch(/^leave s0-\d: pod-anti-affinity|anti-affinity-of-others/);
  });

  test('a pod that runs keeps away those its anti-affinity names', () => {
    const nodes = [node('n', 8, 32, { [zoneKey]: zones[0] })];
    const given = input({
      types,
      nodePools: [pool('a', { requirements: [requirement(zoneKey, 'In', zones[0])] })],
      nodes,
      shapes: [shape(spec('100m', '128Mi'), { app: 'web' }), shape(apart(zoneKey), { app: 'db' })],
      pods: [...pods(0, 1), ...pods(1, 1, { nodeName: 'n' })],
    });
    expect(planned(given)).toEqual(['leave s0-0: anti-affinity-of-others']);
  });

  test('pods that want to be together share a node', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [shape(together(hostKey), { app: 'web' })],
      pods: pods(0, 5),
    });
    expect(planned(given)).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-0 s0-1 s0-2 s0-3 s0-4']);
  });

  test('a pod that wants to be near others goes where they are', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [
        shape(spec('1900m', '128Mi', { nodeSelector: { [zoneKey]: zones[2] } }), { app: 'web' }),
        shape(together(zoneKey), { app: 'db' }),
      ],
      pods: [...pods(0, 1), ...pods(1, 2)],
    });
    expect(zonesOf(given)).toEqual([zones[2], zones[2], zones[2]]);
  });

  test('a pod that wants to be near pods that do not exist is left', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [shape(together(zoneKey), { app: 'db' })],
      pods: pods(0, 1),
    });
    expect(planned(given)).toEqual(['leave s0-0: pod-affinity']);
  });

  test('a term looks into the namespaces that it selects by label', () => {
    const namespaceSelector = { matchLabels: { team: 'x' } };
    const looks = spec('100m', '128Mi', {
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term(hostKey), namespaceSelector }] },
      },
    });
    const given = input({
      types,
      nodePools: [pool('a')],
      namespaces: [{ metadata: { name: 'other', labels: { team: 'x' } } }],
      shapes: [shape(looks, { app: 'db' }), shape(spec('100m', '128Mi'), { app: 'web' }, 'other')],
      pods: [...pods(0, 1), ...pods(1, 1)],
    });
    expect(planned(given)).toHaveLength(2);
  });
});

describe('ports and volumes', () => {
  test('two pods that use one host port get two nodes', () => {
    const listens = spec('100m', '128Mi', {
      containers: [{ resources: { requests: { cpu: '100m' } }, ports: [{ hostPort: 80 }] }],
    });
    expect(planned(input({ types, nodePools: [pool('a')], shapes: [shape(listens)], pods: pods(0, 2) }))).toHaveLength(
      2,
    );
  });

  const mounts = shape(
    spec('100m', '128Mi', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }),
  );
  const claim = (volumeName?: string, storageClassName?: string) => ({
    metadata: { name: 'data', namespace: 'default' },
    status: { phase: volumeName === undefined ? 'Pending' : 'Bound' },
    spec: {
      ...(volumeName === undefined ? {} : { volumeName }),
      ...(storageClassName === undefined ? {} : { storageClassName }),
    },
  });

  test('a pod follows its volume to the zone that it is in', () => {
    const volume = {
      metadata: { name: 'pv' },
      spec: {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [requirement('topology.disk.csi.azure.com/zone', 'In', zones[1])] },
            ],
          },
        },
      },
    };
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [mounts],
      pods: pods(0, 1),
      persistentVolumeClaims: [claim('pv')],
      persistentVolumes: [volume],
    });
    expect(planned(given)).toEqual([`launch Standard_D2s_v5 on-demand in ${zones[1]} of a: s0-0`]);
  });

  test('a volume that is not bound yet goes where its class allows', () => {
    const storageClass = {
      metadata: { name: 'zonal' },
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [{ matchLabelExpressions: [{ key: zoneKey, values: [zones[2]] }] }],
    };
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [mounts],
      pods: pods(0, 1),
      persistentVolumeClaims: [claim(undefined, 'zonal')],
      storageClasses: [storageClass],
    });
    expect(planned(given)).toEqual([`launch Standard_D2s_v5 on-demand in ${zones[2]} of a: s0-0`]);
  });

  test.each([
    ['does not exist', [], 'volume-claim-missing'],
    ['binds at once and is not bound', [claim(undefined, 'now')], 'volume-not-bound'],
  ])('a pod whose claim %s is left for that', (_, persistentVolumeClaims, kind) => {
    const storageClasses = [{ metadata: { name: 'now' }, volumeBindingMode: 'Immediate' }];
    expect(
      planned(
        input({
          types,
          nodePools: [pool('a')],
          shapes: [mounts],
          pods: pods(0, 1),
          persistentVolumeClaims,
          storageClasses,
        }),
      ),
    ).toEqual([`leave s0-0: ${kind}`]);
  });

  test('a node takes no more volumes than its driver attaches', () => {
    const storageClass = {
      metadata: { name: 'disk' },
      provisioner: 'disk.csi.azure.com',
      volumeBindingMode: 'WaitForFirstConsumer',
    };
    const template = { volumeClaimTemplate: { spec: { storageClassName: 'disk' } } };
    const each = shape(spec('100m', '128Mi', { volumes: [{ name: 'scratch', ephemeral: template }] }));
    const csiNodes = [
      { metadata: { name: 'n' }, spec: { drivers: [{ name: 'disk.csi.azure.com', allocatable: { count: 1 } }] } },
    ];
    const given = input({
      types,
      nodePools: [pool('a')],
      nodes: [node('n', 8, 32)],
      shapes: [each],
      pods: pods(0, 2),
      storageClasses: [storageClass],
      csiNodes,
    });
    expect(planned(given)).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-1', 'nominate to node n: s0-0']);
  });
});
