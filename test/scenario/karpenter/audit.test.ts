import { expect, test } from 'vitest';
import type { NodePool, PersistentVolumeClaim } from '../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { pool, requirement } from '../../kit/core/build.ts';
import {
  D2,
  key,
  machines,
  ours,
  pod,
  poolWith,
  replicas,
  schedule,
  toInput,
  z1,
  z2,
  type DraftPod,
  type Situation,
} from './kit/kit.ts';

/**
 * The audit is there for the planner's mistakes. Each plan here is right in one situation and judged in another, which
 * differs in the one thing that a planner with that mistake would have overlooked.
 */

const mounts = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
const scratch = {
  volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'disk' } } } }],
};
const disk = {
  metadata: { name: 'disk' },
  provisioner: 'disk.csi.azure.com',
  volumeBindingMode: 'WaitForFirstConsumer',
};
const volumeIn = (zone: string, kind: object = {}) => [
  {
    metadata: { name: 'pv' },
    spec: {
      ...kind,
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [requirement(key.zone, 'In', zone)] }] } },
    },
  },
];
const claim = (phase: string): ReadonlyArray<PersistentVolumeClaim> => [
  { metadata: { name: 'data', namespace: 'default' }, spec: { volumeName: 'pv' }, status: { phase } },
];
const attaching = (count: number) => [
  { metadata: { name: 'n' }, spec: { drivers: [{ name: 'disk.csi.azure.com', allocatable: { count } }] } },
];
const revision = { owner: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web-1' } };
const inZone = (zone: string) => [poolWith('default', requirement(key.zone, 'In', zone))];
const least = (minValues: number): ReadonlyArray<NodePool> => [
  poolWith('default', { key: key.type, operator: 'Exists', minValues }),
];
const held = (drafts: ReadonlyArray<DraftPod>): ReadonlyArray<DraftPod> =>
  drafts.map((draft) => {
    const containers = draft.shape.spec.containers.map((one) => ({ ...one, held: [{ cpu: '3' }] }));
    return { ...draft, shape: { ...draft.shape, spec: { ...draft.shape.spec, containers } } };
  });

const two = replicas(2, 'a', scratch);
const running = [pod('r', { cpu: '1', on: 'n' })];
const waiting = [pod('a', { cpu: '2' })];
const overlay = {
  metadata: { name: 'o' },
  spec: { requirements: [requirement(key.type, 'In', D2.name)], price: '0.05' },
};

const CASES: ReadonlyArray<readonly [string, string, Situation, Partial<Situation>]> = [
  [
    'more volumes than a node’s driver attaches',
    'volume-limit',
    { ...machines(ours('n')), storageClasses: [disk], csiNodes: attaching(2), pods: two },
    { csiNodes: attaching(1) },
  ],
  [
    'more volumes of an in-tree driver',
    'volume-limit',
    { ...machines(ours('n')), storageClasses: [disk], csiNodes: attaching(2), pods: two },
    { storageClasses: [{ ...disk, provisioner: 'kubernetes.io/azure-disk' }], csiNodes: attaching(1) },
  ],
  [
    'a volume in another zone',
    'volume',
    { persistentVolumeClaims: claim('Bound'), persistentVolumes: volumeIn(z1), pods: [pod('a', mounts)] },
    { persistentVolumes: volumeIn(z2) },
  ],
  [
    'a local volume in another zone',
    'volume',
    {
      persistentVolumeClaims: claim('Bound'),
      persistentVolumes: volumeIn(z1, { local: {} }),
      pods: [pod('a', mounts)],
    },
    { persistentVolumes: volumeIn(z2, { local: {} }) },
  ],
  [
    'a claim that is not bound to its volume yet',
    'volume',
    { persistentVolumeClaims: claim('Bound'), persistentVolumes: volumeIn(z1), pods: [pod('a', mounts)] },
    { persistentVolumeClaims: claim('Pending') },
  ],
  [
    'an ephemeral volume whose class binds at once',
    'volume',
    { storageClasses: [disk], pods: [pod('a', scratch)] },
    { storageClasses: [{ ...disk, volumeBindingMode: 'Immediate' }] },
  ],
  [
    'a label of the pool that the offering contradicts',
    'pool-requirements',
    { pools: inZone(z1), pods: [pod('a')] },
    { pools: [pool('default', { labels: { [key.zone]: z2 } })] },
  ],
  [
    'a node that is going',
    'target',
    { ...machines(ours('n')), pods: [pod('a')] },
    machines(ours('n', { deleting: true })),
  ],
  [
    'minValues that were waived under Strict',
    'min-values',
    { pools: least(9), policy: { minValuesPolicy: 'BestEffort' }, pods: [pod('a')] },
    { policy: { minValuesPolicy: 'Strict' } },
  ],
  ['minValues that are not met', 'min-values', { pools: least(3), pods: [pod('a')] }, { pools: least(9) }],
  ['a price that an overlay changed', 'offering', { pods: [pod('a')] }, { nodeOverlays: [overlay] }],
  [
    'a default spread',
    'spread',
    { pods: replicas(6, 'web', revision) },
    { policy: { defaultSpread: [{ maxSkew: 1, topologyKey: key.zone, whenUnsatisfiable: 'DoNotSchedule' }] } },
  ],
  [
    'what a node holds for a pod that is resized',
    'resources',
    { ...machines(ours('n')), pods: [...running, ...waiting] },
    { pods: [...held(running), ...waiting] },
  ],
  [
    'a pool that is static',
    'static',
    { pods: [pod('a')] },
    { pools: [{ ...pool('default'), spec: { ...pool('default').spec, replicas: 3 } }] },
  ],
];

test.each(CASES)('the audit refuses a plan that overlooks %s', (_, rule, planned, judged) => {
  // Right where it was made: the kit audits it there.
  schedule(planned);
  const plan = planProvisioning(toInput(planned), instant(0));
  const findings = auditPlan(plan, toInput({ ...planned, ...judged }));
  expect(findings.filter(({ severity }) => severity === 'fatal').map((one) => one.rule)).toContain(rule);
});
