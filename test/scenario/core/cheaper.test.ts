import { expect, test } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { renderCheaper } from '../../../shared/core/telling/cheaper/render-cheaper.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import {
  daemonSet,
  input,
  node,
  offering,
  onDemand,
  pods,
  pool,
  requirement,
  shape,
  size,
  spec,
  zones,
} from '../../kit/core/build.ts';
import {
  deviceClass,
  fromTemplates,
  gpus,
  planned as devicesPlanned,
  sliceSpec,
  template,
} from '../../kit/core/build-devices.ts';

const D2 = size('Standard_D2s_v5', 2, 8, 100_000);
const D4 = size('Standard_D4s_v5', 4, 16, 200_000);
const D8 = size('Standard_D8s_v5', 8, 32, 390_000);
const types = [D2, D4, D8];
const zoneKey = 'topology.kubernetes.io/zone';
const capacityType = 'karpenter.sh/capacity-type';

/** What is said of the plan's first claim, a line for each group of cheaper offerings. The plan passes its audit. */
function said(parts: Parameters<typeof input>[0]): ReadonlyArray<string> {
  const given = input({ types, pods: pods(0, 1), nodePools: [pool('a')], ...parts });
  const plan = planProvisioning(given, instant(0));
  expect(auditPlan(plan, given)).toEqual([]);
  const [claim] = plan.claims;
  return (claim?.cheaper ?? []).map(
    ({ nodePool, offerings, instanceTypes, example, reason }) =>
      `${offerings} of ${instanceTypes} in ${nodePool}, as ${example.instanceType} ${example.capacityType} ${example.price}: ${renderCheaper(reason, 'USD')}`,
  );
}

const affinity = (term: object) => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
});
const preferring = (key: string, value: string) => ({
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [requirement(key, 'In', value)] } },
      ],
    },
  },
});

const cases: ReadonlyArray<readonly [string, Parameters<typeof input>[0], ReadonlyArray<string>]> = [
  ['nothing where the cheapest offering of the pool was chosen', { shapes: [shape(spec('1', '1Gi'))] }, []],
  [
    'too small, by the one that lacks least, and what daemonsets take counts',
    { shapes: [shape(spec('3900m', '1Gi'))], daemonSets: [daemonSet('agent', spec('150m', '64Mi'))] },
    ['6 of 2 in a, as Standard_D4s_v5 on-demand 200000: too small: the pods want 3.9 cpu, it has 3.85'],
  ],
  [
    'each resource by itself',
    {
      types: [size('Standard_F4s_v9', 4, 8, 150_000), size('Standard_E2s_v5', 2, 16, 130_000), D8],
      shapes: [shape(spec('4', '16Gi'))],
    },
    [
      '3 of 1 in a, as Standard_E2s_v5 on-demand 130000: too small: the pods want 4 cpu, it has 2',
      '3 of 1 in a, as Standard_F4s_v9 on-demand 150000: too small: the pods want 16Gi memory, it has 8Gi',
    ],
  ],
  [
    'not what a pod requires',
    {
      shapes: [
        shape(
          spec('1', '1Gi', {
            affinity: affinity({ matchExpressions: [requirement('karpenter.azure.com/sku-cpu', 'Gt', '3')] }),
          }),
        ),
      ],
    },
    ['3 of 1 in a, as Standard_D2s_v5 on-demand 100000: default/s0-0000 asks for karpenter.azure.com/sku-cpu Gte [4]'],
  ],
  [
    'not what a pod prefers',
    { shapes: [shape(spec('1', '1Gi', preferring('karpenter.azure.com/sku-cpu', '8')))] },
    ['6 of 2 in a, as Standard_D2s_v5 on-demand 100000: default/s0-0000 prefers other nodes'],
  ],
  [
    'of a capacity type that the pod excludes',
    {
      nodePools: [pool('a', { requirements: [] })],
      shapes: [shape(spec('1', '1Gi', { nodeSelector: { [capacityType]: 'on-demand' } }))],
    },
    [`9 of 3 in a, as Standard_D2s_v5 spot 25000: default/s0-0000 asks for ${capacityType} In [on-demand]`],
  ],
  [
    'refused by Azure',
    {
      types: [
        size('Standard_D2s_v5', 2, 8, 100_000, {
          offerings: zones.map((zone) => offering(zone, 'on-demand', 100_000, false)),
        }),
        D4,
      ],
      shapes: [shape(spec('1', '1Gi'))],
    },
    ['3 of 1 in a, as Standard_D2s_v5 on-demand 100000: not available now'],
  ],
  [
    'refused by Azure, and too small anyway',
    {
      types: [
        size('Standard_D2s_v5', 2, 8, 100_000, { offerings: [offering(zones[0], 'on-demand', 100_000, false)] }),
        D4,
      ],
      shapes: [shape(spec('3', '1Gi'))],
    },
    ['1 of 1 in a, as Standard_D2s_v5 on-demand 100000: too small: the pods want 3 cpu, it has 2'],
  ],
  [
    'burstable, or of a retired generation',
    {
      types: [size('Standard_B2s_v2', 2, 8, 50_000), size('Standard_D2_v2', 2, 7, 60_000), D2],
      shapes: [shape(spec('1', '1Gi'))],
    },
    [
      '3 of 1 in a, as Standard_B2s_v2 on-demand 50000: burstable, and the NodePool does not name it',
      '3 of 1 in a, as Standard_D2_v2 on-demand 60000: of a retired generation, and the NodePool does not name it',
    ],
  ],
  [
    'of a pool that is lighter, or whose taints the pod does not tolerate',
    {
      nodePools: [
        pool('a', { requirements: [onDemand], weight: 10 }),
        pool('b', { requirements: [requirement(capacityType, 'In', 'spot')] }),
        pool('c', {
          requirements: [requirement(capacityType, 'In', 'spot')],
          taints: [{ key: 'x', effect: 'NoSchedule' }],
        }),
      ],
      shapes: [shape(spec('1', '1Gi'))],
    },
    [
      '9 of 3 in b, as Standard_D2s_v5 spot 25000: its NodePool has less weight than one that can take the pods',
      '9 of 3 in c, as Standard_D2s_v5 spot 25000: default/s0-0000 does not tolerate taint x:NoSchedule',
    ],
  ],
  [
    'in a zone that rules about other pods forbid',
    {
      types: [
        size('Standard_D2s_v5', 2, 8, 100_000, {
          offerings: zones.map((zone, at) => offering(zone, 'on-demand', 100_000 + at)),
        }),
      ],
      shapes: [
        shape(
          spec('1', '1Gi', {
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: zoneKey,
                whenUnsatisfiable: 'DoNotSchedule',
                labelSelector: { matchLabels: { app: 'web' } },
              },
            ],
          }),
          { app: 'web' },
        ),
      ],
      pods: [...pods(0, 1), ...pods(0, 1, { nodeName: 'n' })],
      nodes: [node('n', 1, 1, { [zoneKey]: zones[0] })],
    },
    [`1 of 1 in a, as Standard_D2s_v5 on-demand 100000: rules about other pods allow no other ${zoneKey}`],
  ],
  [
    'without the devices that a pod claims',
    {
      types: [size('Standard_D4_v5', 4, 16, 200_000), size('Standard_N8_v5', 8, 32, 900_000)],
      devices: devicesPlanned({ Standard_N8_v5: [sliceSpec('local', gpus(2))] }, 'a'),
      deviceClasses: [deviceClass()],
      resourceClaimTemplates: [template('one')],
      shapes: [shape(fromTemplates('one'))],
    },
    ['3 of 1 in a, as Standard_D4_v5 on-demand 200000: the devices that default/s0-0000 claims were not found there'],
  ],
  [
    'beyond the limits of the pool',
    {
      nodePools: [pool('a', { requirements: [onDemand], limits: { memory: '10Gi' } })],
      types: [size('Standard_E2s_v5', 2, 16, 90_000), D2],
      shapes: [shape(spec('1', '1Gi'))],
    },
    ['3 of 1 in a, as Standard_E2s_v5 on-demand 90000: it takes 8Gi memory more of the limits, which leave 2Gi'],
  ],
  [
    'too few with others for minValues',
    {
      nodePools: [
        pool('a'),
        pool('b', {
          requirements: [
            requirement(capacityType, 'In', 'spot'),
            { key: 'karpenter.azure.com/sku-family', operator: 'Exists', minValues: 2 },
          ],
        }),
      ],
      shapes: [shape(spec('1', '1Gi'))],
    },
    [
      '9 of 3 in b, as Standard_D2s_v5 spot 25000: too few instance types would be left for minValues of karpenter.azure.com/sku-family',
    ],
  ],
];

test.each(cases)('of what is cheaper a claim says: %s', (_, parts, lines) => {
  expect(said(parts)).toEqual(lines);
});
