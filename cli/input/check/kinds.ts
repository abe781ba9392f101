import { isRecord } from '../../../shared/contract/api/schema/object-meta.ts';
import type { SnapshotResource } from '../../../shared/contract/snapshot/builder.ts';
import {
  allOf,
  choice,
  fieldsOf,
  flag,
  listOf,
  mapOf,
  needed,
  numberOrText,
  quantities,
  text,
  wholeNumber,
  type Judge,
} from './judge.ts';
import { deviceClass, resourceClaim, resourceClaimTemplate, resourceSlice } from './device-judge.ts';
import { labelSelector, nodeSelectorTerms, podSpec, podTemplate, volumeClaimSpec } from './pod-judge.ts';

/** What an object of a kind is to a plan. */
export type KindUse =
  /** A part of the cluster, under its resource in a snapshot. */
  | { readonly use: 'cluster'; readonly resource: SnapshotResource }
  /** It makes pods, which are implied where they are not given. */
  | { readonly use: 'workload' }
  /** The API server reads it when it admits pods. */
  | { readonly use: 'admission' }
  /** It changes how many pods a workload has. */
  | { readonly use: 'scaling' };

/** A kind that a plan knows, of Kubernetes itself or of KEDA. Nodewright's own are in the contract. */
export interface KnownKind {
  readonly kind: string;
  readonly apiVersion: string;
  /** Older versions that are served beside it. */
  readonly servedToo: ReadonlyArray<string>;
  readonly namespaced: boolean;
  readonly use: KindUse;
  /** Judges the whole object but for its metadata. */
  readonly judge: Judge;
}

/** A workload's own pods must be among those that it selects, or the API server refuses it. */
const selectsItsPods: Judge = (value, _path, report) => {
  const spec = recordAt(value, 'spec');
  const wanted = recordAt(recordAt(spec, 'selector'), 'matchLabels');
  const labels = recordAt(recordAt(recordAt(spec, 'template'), 'metadata'), 'labels');
  for (const [key, label] of Object.entries(wanted)) {
    if (labels[key] !== label) {
      const fix = 'give the template the label, or correct the selector';
      report(`spec.selector.matchLabels[${key}]`, 'does not select the pods of the template', fix);
    }
  }
};

function recordAt(value: unknown, name: string): Readonly<Record<string, unknown>> {
  const found = isRecord(value) ? value[name] : undefined;
  return isRecord(found) ? found : {};
}

const replicated = allOf(
  fieldsOf({
    spec: needed(
      fieldsOf({ replicas: wholeNumber(0), template: needed(podTemplate), selector: needed(labelSelector) }),
    ),
  }),
  selectsItsPods,
);

const jobSpec = fieldsOf({
  parallelism: wholeNumber(0),
  completions: wholeNumber(0),
  suspend: flag,
  template: needed(podTemplate),
});

const anything: Judge = () => {};

const taints = listOf(
  fieldsOf({
    key: needed(text),
    value: text,
    effect: needed(choice('NoSchedule', 'PreferNoSchedule', 'NoExecute')),
  }),
);

const node = fieldsOf({
  spec: fieldsOf({ providerID: text, taints, unschedulable: flag }),
  status: needed(
    allOf(fieldsOf({ capacity: quantities, allocatable: quantities }), (value, path, report) => {
      if (isRecord(value) && value['allocatable'] === undefined && value['capacity'] === undefined) {
        report(`${path}.allocatable`, 'is missing', 'say what the node has for pods: cpu, memory, pods');
      }
    }),
  ),
});

const limitRange = fieldsOf({
  spec: fieldsOf({
    limits: listOf(fieldsOf({ type: needed(text), default: quantities, defaultRequest: quantities })),
  }),
});

const disruptionBudget = fieldsOf({
  spec: fieldsOf({ selector: labelSelector, minAvailable: numberOrText, maxUnavailable: numberOrText }),
});

const volume = fieldsOf({
  spec: fieldsOf({
    nodeAffinity: fieldsOf({ required: fieldsOf({ nodeSelectorTerms: needed(nodeSelectorTerms) }) }),
  }),
});

const storageClass = fieldsOf({
  provisioner: needed(text),
  volumeBindingMode: choice('Immediate', 'WaitForFirstConsumer'),
  allowedTopologies: listOf(
    fieldsOf({ matchLabelExpressions: listOf(fieldsOf({ key: needed(text), values: needed(listOf(text)) })) }),
  ),
});

const csiNode = fieldsOf({
  spec: needed(
    fieldsOf({
      drivers: listOf(fieldsOf({ name: needed(text), allocatable: fieldsOf({ count: wholeNumber(0) }) })),
    }),
  ),
});

const statefulSet = allOf(
  replicated,
  fieldsOf({
    spec: fieldsOf({
      volumeClaimTemplates: listOf(
        fieldsOf({ metadata: needed(fieldsOf({ name: needed(text) })), spec: volumeClaimSpec }),
      ),
      ordinals: fieldsOf({ start: wholeNumber(0) }),
    }),
  }),
);

const inCluster = (resource: SnapshotResource): KindUse => ({ use: 'cluster', resource });
const workload: KindUse = { use: 'workload' };

type Row = readonly [apiVersion: string, kind: string, scope: 'ns' | 'all', use: KindUse, judge: Judge];

const rows: ReadonlyArray<Row> = [
  ['v1', 'Pod', 'ns', inCluster('pods'), fieldsOf({ spec: needed(podSpec), status: fieldsOf({ phase: text }) })],
  ['v1', 'Node', 'all', inCluster('nodes'), node],
  ['v1', 'Namespace', 'all', inCluster('namespaces'), anything],
  ['v1', 'LimitRange', 'ns', inCluster('limitranges'), limitRange],
  ['v1', 'PersistentVolume', 'all', inCluster('persistentvolumes'), volume],
  ['v1', 'PersistentVolumeClaim', 'ns', inCluster('persistentvolumeclaims'), fieldsOf({ spec: volumeClaimSpec })],
  ['storage.k8s.io/v1', 'StorageClass', 'all', inCluster('storageclasses'), storageClass],
  ['storage.k8s.io/v1', 'CSINode', 'all', inCluster('csinodes'), csiNode],
  ['resource.k8s.io/v1', 'ResourceSlice', 'all', inCluster('resourceslices'), resourceSlice],
  ['resource.k8s.io/v1', 'DeviceClass', 'all', inCluster('deviceclasses'), deviceClass],
  ['resource.k8s.io/v1', 'ResourceClaim', 'ns', inCluster('resourceclaims'), resourceClaim],
  ['resource.k8s.io/v1', 'ResourceClaimTemplate', 'ns', inCluster('resourceclaimtemplates'), resourceClaimTemplate],
  ['v1', 'PodTemplate', 'ns', inCluster('podtemplates'), fieldsOf({ template: needed(podTemplate) })],
  ['policy/v1', 'PodDisruptionBudget', 'ns', inCluster('poddisruptionbudgets'), disruptionBudget],
  ['apps/v1', 'DaemonSet', 'ns', inCluster('daemonsets'), replicated],
  ['apps/v1', 'Deployment', 'ns', workload, replicated],
  ['apps/v1', 'ReplicaSet', 'ns', workload, replicated],
  ['apps/v1', 'StatefulSet', 'ns', workload, statefulSet],
  [
    'v1',
    'ReplicationController',
    'ns',
    workload,
    fieldsOf({ spec: needed(fieldsOf({ replicas: wholeNumber(0), template: needed(podTemplate) })) }),
  ],
  ['batch/v1', 'Job', 'ns', workload, fieldsOf({ spec: needed(jobSpec) })],
  [
    'batch/v1',
    'CronJob',
    'ns',
    workload,
    fieldsOf({ spec: needed(fieldsOf({ suspend: flag, jobTemplate: needed(fieldsOf({ spec: needed(jobSpec) })) })) }),
  ],
  [
    'scheduling.k8s.io/v1',
    'PriorityClass',
    'all',
    { use: 'admission' },
    fieldsOf({ value: needed(wholeNumber(-(2 ** 31))), globalDefault: flag }),
  ],
  [
    'node.k8s.io/v1',
    'RuntimeClass',
    'all',
    { use: 'admission' },
    fieldsOf({ overhead: fieldsOf({ podFixed: quantities }), scheduling: fieldsOf({ nodeSelector: mapOf(text) }) }),
  ],
];

const scaleTarget = needed(fieldsOf({ kind: text, name: needed(text) }));

const scalers: ReadonlyArray<Row> = [
  [
    'autoscaling/v2',
    'HorizontalPodAutoscaler',
    'ns',
    { use: 'scaling' },
    fieldsOf({
      spec: needed(
        fieldsOf({ scaleTargetRef: scaleTarget, minReplicas: wholeNumber(0), maxReplicas: needed(wholeNumber(1)) }),
      ),
    }),
  ],
  [
    'keda.sh/v1alpha1',
    'ScaledObject',
    'ns',
    { use: 'scaling' },
    fieldsOf({
      spec: needed(
        fieldsOf({ scaleTargetRef: scaleTarget, minReplicaCount: wholeNumber(0), maxReplicaCount: wholeNumber(0) }),
      ),
    }),
  ],
];

const SERVED_TOO: Readonly<Record<string, ReadonlyArray<string>>> = { HorizontalPodAutoscaler: ['autoscaling/v1'] };

const byKind = new Map(
  [...rows, ...scalers].map(([apiVersion, kind, scope, use, judge]): [string, KnownKind] => [
    kind,
    { kind, apiVersion, servedToo: SERVED_TOO[kind] ?? [], namespaced: scope === 'ns', use, judge },
  ]),
);

/** All kinds of others that a plan knows. */
export function knownKinds(): ReadonlyArray<KnownKind> {
  return [...byKind.values()];
}

/** The kind that `kind` in the group of `apiVersion` is; null where a plan does not know it. */
export function knownKind(apiVersion: string, kind: string): KnownKind | null {
  const known = byKind.get(kind);
  if (known === undefined) return null;
  const group = groupOf(apiVersion);
  // Workloads lived in `extensions` before 2019; such a manifest needs a new apiVersion, and that is said.
  return group === groupOf(known.apiVersion) || group === 'extensions' ? known : null;
}

/** `apps` of `apps/v1`; empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
