import { isApiError } from '../../client/connection.ts';
import { controllerOf, isFinished, keyOf, type Pod } from '../../client/objects.ts';
import { isSameJson, shortHash, type ControllerContext, type Shared } from '../controller-context.ts';
import { isActive, isReady, openPodControl, type PodControl, type PodTemplate } from '../pod-control.ts';
import type { StatefulSet } from './workloads.ts';

const HASH_LABEL = 'controller-revision-hash';

/** Keeps each StatefulSet's pods, by ordinal: one after the other unless it is parallel, with their claims. */
export function runStatefulSets(context: ControllerContext): Shared<StatefulSet> {
  const sets = context.watch<StatefulSet>('/apis/apps/v1/statefulsets');
  const control = openPodControl(context, 'apps/v1', 'StatefulSet');
  const loop = context.loop('statefulset', async (key) => {
    const set = sets.objects.get(key);
    if (set !== undefined) await reconcile(context, control, set);
  });
  sets.listen({
    onChange: (set) => {
      loop.enqueue(keyOf(set));
    },
    onDelete: () => undefined,
  });
  const onPod = (pod: Pod): void => {
    const owner = controllerOf(pod);
    if (owner?.kind === 'StatefulSet') loop.enqueue(`${pod.metadata.namespace ?? ''}/${owner.name}`);
  };
  context.pods.listen({ onChange: onPod, onDelete: onPod });
  return sets;
}

async function reconcile(context: ControllerContext, control: PodControl, set: StatefulSet): Promise<void> {
  if (set.metadata.deletionTimestamp !== undefined) return;
  const hash = shortHash(set.spec.template);
  const pods = new Map(context.podsOf(set.metadata.uid).map((pod) => [ordinalOf(pod), pod]));
  if (!control.isBehind(set)) await step(context, control, set, pods, hash);
  await reportStatus(context, set, [...pods.values()], hash);
}

/** One step: the lowest ordinal that is missing, else the highest too many, else the highest of an old template. */
// One caller.
async function step(
  context: ControllerContext,
  control: PodControl,
  set: StatefulSet,
  pods: ReadonlyMap<number, Pod>,
  hash: string,
): Promise<void> {
  const replicas = set.spec.replicas ?? 1;
  const inOrder = set.spec.podManagementPolicy !== 'Parallel';
  for (let ordinal = 0; ordinal < replicas; ordinal++) {
    const pod = pods.get(ordinal);
    if (pod === undefined) {
      await createClaims(context, set, ordinal);
      await control.create(set, [podTemplate(set, ordinal, hash)]);
      if (inOrder) return;
      continue;
    }
    if (isFinished(pod) && pod.metadata.deletionTimestamp === undefined) await control.remove(set, [pod]);
    if (inOrder && !(isActive(pod) && isReady(pod))) return;
  }
  await shrinkOrUpdate(control, set, pods, hash);
}

/** With all wanted pods in place: takes away what is too much, else what is of an old template, the highest first. */
// One caller.
async function shrinkOrUpdate(
  control: PodControl,
  set: StatefulSet,
  pods: ReadonlyMap<number, Pod>,
  hash: string,
): Promise<void> {
  const descending = [...pods].toSorted(([a], [b]) => b - a);
  const surplus = descending.filter(([ordinal]) => ordinal >= (set.spec.replicas ?? 1)).map(([, pod]) => pod);
  if (surplus.length > 0) {
    const leaving = surplus.filter(isActive);
    if (set.spec.podManagementPolicy === 'Parallel') return control.remove(set, leaving);
    // One at a time: the next goes when the last is gone.
    return control.remove(set, leaving.length === surplus.length ? leaving.slice(0, 1) : []);
  }
  for (const [, pod] of descending) {
    if (pod.metadata.labels?.[HASH_LABEL] !== hash && isActive(pod)) return control.remove(set, [pod]);
    if (!isActive(pod) || !isReady(pod)) return;
  }
}

function ordinalOf({ metadata }: Pod): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf('-') + 1));
}

function podTemplate({ metadata, spec }: StatefulSet, ordinal: number, hash: string): PodTemplate {
  const name = `${metadata.name}-${ordinal}`;
  const labels = {
    ...spec.template.metadata?.labels,
    [HASH_LABEL]: hash,
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
  };
  const claims = (spec.volumeClaimTemplates ?? []).map((claim) => ({
    name: claim.metadata.name,
    persistentVolumeClaim: { claimName: `${claim.metadata.name}-${name}` },
  }));
  const volumes = [...(spec.template.spec.volumes ?? []), ...claims];
  const meta = { ...spec.template.metadata, name, labels };
  return { ...spec.template, metadata: meta, spec: { ...spec.template.spec, volumes } };
}

async function createClaims({ connection }: ControllerContext, set: StatefulSet, ordinal: number): Promise<void> {
  const namespace = set.metadata.namespace ?? '';
  for (const { metadata, spec } of set.spec.volumeClaimTemplates ?? []) {
    const { labels, annotations } = metadata;
    const name = `${metadata.name}-${set.metadata.name}-${ordinal}`;
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, labels, annotations }, spec };
    try {
      await connection.create(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`, claim);
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
    }
  }
}

// One caller.
async function reportStatus(
  { connection }: ControllerContext,
  set: StatefulSet,
  pods: ReadonlyArray<Pod>,
  hash: string,
): Promise<void> {
  const active = pods.filter(isActive);
  const ready = active.filter(isReady).length;
  const updated = active.filter(({ metadata }) => metadata.labels?.[HASH_LABEL] === hash).length;
  const revision = `${set.metadata.name}-${hash}`;
  const status = {
    replicas: active.length,
    readyReplicas: ready,
    availableReplicas: ready,
    currentReplicas: updated,
    updatedReplicas: updated,
    currentRevision: revision,
    updateRevision: revision,
    observedGeneration: set.metadata.generation,
  };
  const shown = Object.fromEntries(Object.keys(status).map((key) => [key, set.status?.[key] ?? 0]));
  if (isSameJson(status, shown)) return;
  const { namespace, name } = set.metadata;
  await connection.patch(`/apis/apps/v1/namespaces/${namespace ?? ''}/statefulsets/${name}/status`, 'merge', {
    status,
  });
}
