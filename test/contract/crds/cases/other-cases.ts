import {
  buffer,
  claim,
  good,
  linux,
  nodeClassRef,
  overlay,
  pool,
  refused,
  refusedChange,
  goodChange,
  type ApiObject,
  type Case,
} from './case.ts';

const taint = { key: 'dedicated', effect: 'NoSchedule' };

/** NodeClaims, but for their requirements. */
export const nodeClaimCases: ReadonlyArray<Case> = [
  good('claim: class and requirements are enough', claim()),
  refused('claim: a claim has a spec', { ...claim(), spec: undefined }, 'spec'),
  refused('claim: a claim refers to a class', claim({ nodeClassRef: undefined }), 'spec.nodeClassRef'),
  ...['group', 'kind', 'name'].map((field) =>
    refused(
      `claim: the ${field} of a class is not empty`,
      claim({ nodeClassRef: { ...nodeClassRef, [field]: '' } }),
      `spec.nodeClassRef.${field}`,
    ),
  ),
  refused(
    'claim: the group of a class has no version',
    claim({ nodeClassRef: { ...nodeClassRef, group: 'a/v1' } }),
    'spec.nodeClassRef.group',
  ),
  good('claim: a claim asks for room', claim({ resources: { requests: { cpu: '500m', memory: '1Gi', pods: 3 } } })),
  refused(
    'claim: room is asked for in quantities',
    claim({ resources: { requests: { cpu: 'x' } } }),
    'spec.resources.requests[cpu]',
  ),
  good('claim: a claim may be tainted', claim({ taints: [taint], startupTaints: [taint] })),
  refused(
    'claim: the effect of a taint exists',
    claim({ taints: [{ ...taint, effect: 'x' }] }),
    'spec.taints[0].effect',
  ),
  refused(
    'claim: the key of a startup taint is not empty',
    claim({ startupTaints: [{ ...taint, key: '' }] }),
    'spec.startupTaints[0].key',
  ),
  good('claim: a claim may never expire', claim({ expireAfter: 'Never' })),
  refused('claim: expireAfter is a duration', claim({ expireAfter: '1d' }), 'spec.expireAfter'),
  refused('claim: a grace period ends', claim({ terminationGracePeriod: 'Never' }), 'spec.terminationGracePeriod'),
  refusedChange('claim: the spec does not change', claim(), claim({ requirements: [linux] }), 'spec'),
  goodChange('claim: labels may change', claim(), {
    ...claim(),
    metadata: { name: 'general-abcde', labels: { a: 'b' } },
  }),
];

const prices = ['43', '34.43', '0', '0.432'];
const noPrices = [
  '+42',
  '.5',
  '42.',
  '42%',
  '3,14',
  '1e10',
  '0x42',
  'forty-two',
  '42a',
  '42 ',
  ' 42',
  '42.0.0',
  '-',
  '.',
  '-.42',
  '-1',
  '',
];
const adjustments = [
  '+1%',
  '-1%',
  '-100%',
  '-99.99%',
  '+100.102%',
  '+298%',
  '+43',
  '-43',
  '+34.43',
  '-34.43',
  '+.5',
  '-.5%',
];
const noAdjustments = ['1%', '1', '1.3', '-100.0%', '-101%', '-129%', '+', '%', '+1 %', '', '+1.2.3', '+1e3'];

/** `-.5%` lacks the digit that a negative percentage needs before its point. */
const isAdjustment = (text: string): boolean => text !== '-.5%';

/** NodeOverlays, but for their requirements. */
export const nodeOverlayCases: ReadonlyArray<Case> = [
  good('overlay: an overlay may change nothing', overlay()),
  refused('overlay: an overlay has a spec', { ...overlay(), spec: undefined }, 'spec'),
  ...prices.map((price) => good(`overlay: a price may be ${price}`, overlay({ price }))),
  ...noPrices.map((price) => refused(`overlay: a price may not be "${price}"`, overlay({ price }), 'spec.price')),
  refused('overlay: a price is text', overlay({ price: 1 }), 'spec.price'),
  ...adjustments.map((priceAdjustment) =>
    isAdjustment(priceAdjustment)
      ? good(`overlay: an adjustment may be ${priceAdjustment}`, overlay({ priceAdjustment }))
      : refused(
          `overlay: an adjustment may not be ${priceAdjustment}`,
          overlay({ priceAdjustment }),
          'spec.priceAdjustment',
        ),
  ),
  ...noAdjustments.map((priceAdjustment) =>
    refused(
      `overlay: an adjustment may not be "${priceAdjustment}"`,
      overlay({ priceAdjustment }),
      'spec.priceAdjustment',
    ),
  ),
  refused('overlay: a price is set or adjusted, not both', overlay({ price: '1', priceAdjustment: '+1' }), 'spec'),
  good('overlay: a resource may be added', overlay({ capacity: { 'smarter-devices/fuse': 1 } })),
  ...['cpu', 'memory', 'ephemeral-storage', 'pods'].map((resource) =>
    refused(`overlay: ${resource} may not be changed`, overlay({ capacity: { [resource]: '1' } }), 'spec.capacity'),
  ),
  refused('overlay: capacity is in quantities', overlay({ capacity: { a: 'x' } }), 'spec.capacity[a]'),
  good('overlay: weight goes from 1', overlay({ weight: 1 })),
  good('overlay: weight goes to 10000', overlay({ weight: 10_000 })),
  refused('overlay: weight is at least 1', overlay({ weight: 0 }), 'spec.weight'),
  refused('overlay: weight is at most 10000', overlay({ weight: 10_001 }), 'spec.weight'),
];

const podTemplateRef = { name: 'worker' };
const scalableRef = { apiGroup: 'apps', kind: 'Deployment', name: 'worker' };

/** CapacityBuffers. */
export const capacityBufferCases: ReadonlyArray<Case> = [
  good('buffer: room for pods of a template', buffer({ podTemplateRef, replicas: 2 })),
  good('buffer: room for pods of a template, up to a limit', buffer({ podTemplateRef, limits: { cpu: 8 } })),
  good('buffer: room for a share of a workload', buffer({ scalableRef, percentage: 20 })),
  good(
    'buffer: a workload of the core group needs no group',
    buffer({ scalableRef: { kind: 'ReplicationController', name: 'a' } }),
  ),
  good('buffer: neither is stored too', buffer({})),
  refused('buffer: a buffer has a spec', { ...buffer({}), spec: undefined }, 'spec'),
  refused('buffer: a template needs a number or a limit', buffer({ podTemplateRef }), 'spec'),
  refused(
    'buffer: a percentage is not a number of pods of a template',
    buffer({ podTemplateRef, percentage: 5 }),
    'spec',
  ),
  refused('buffer: a template or a workload, not both', buffer({ podTemplateRef, scalableRef, replicas: 1 }), 'spec'),
  refused('buffer: the template has a name', buffer({ podTemplateRef: {}, replicas: 1 }), 'spec.podTemplateRef.name'),
  refused(
    'buffer: the name of the template is not empty',
    buffer({ podTemplateRef: { name: '' }, replicas: 1 }),
    'spec.podTemplateRef.name',
  ),
  refused('buffer: the workload has a kind', buffer({ scalableRef: { name: 'a' } }), 'spec.scalableRef.kind'),
  refused(
    'buffer: the kind of the workload is not empty',
    buffer({ scalableRef: { kind: '', name: 'a' } }),
    'spec.scalableRef.kind',
  ),
  refused('buffer: the workload has a name', buffer({ scalableRef: { kind: 'a' } }), 'spec.scalableRef.name'),
  refused(
    'buffer: the name of the workload is not empty',
    buffer({ scalableRef: { kind: 'a', name: '' } }),
    'spec.scalableRef.name',
  ),
  good('buffer: no pods are room for none', buffer({ podTemplateRef, replicas: 0 })),
  refused('buffer: there is no room for fewer', buffer({ podTemplateRef, replicas: -1 }), 'spec.replicas'),
  good('buffer: a percentage may be above 100', buffer({ scalableRef, percentage: 300 })),
  refused('buffer: a percentage is not negative', buffer({ scalableRef, percentage: -1 }), 'spec.percentage'),
  refused('buffer: limits are quantities', buffer({ podTemplateRef, limits: { cpu: 'x' } }), 'spec.limits[cpu]'),
  good('buffer: a strategy may be any text', buffer({ scalableRef, provisioningStrategy: 'example.com/other' })),
];

/** Objects that are not what they say. */
export const typeCases: ReadonlyArray<Case> = [
  refused('pool: a version that is not served', { ...pool(), apiVersion: 'karpenter.sh/v1beta1' }, 'apiVersion'),
  refused('pool: a group that is not ours', { ...pool(), apiVersion: 'example.com/v1' }, 'apiVersion'),
] satisfies ReadonlyArray<Case & { readonly object: ApiObject }>;
