import { isApiError } from '../../client/connection.ts';
import type { Condition } from '../../../../shared/kubernetes/manifest.ts';
import { controllerOf, keyOf } from '../../client/objects.ts';
import { toTime } from '../../timestamp.ts';
import { isSameJson, shortHash, type ControllerContext, type Shared } from '../controller-context.ts';
import { planRollout, type RolloutSet } from './plan-rollout.ts';
import { resolveCount, type Deployment, type ReplicaSet } from './workloads.ts';

const REVISION = 'deployment.kubernetes.io/revision';
const HASH_LABEL = 'pod-template-hash';
/** Replica sets of earlier revisions that are kept; the API's default. */
const HISTORY_LIMIT = 10;

/** Keeps each Deployment's replica sets: one per template, scaled by its strategy. Reports status and progress. */
export function runDeployments(context: ControllerContext, sets: Shared<ReplicaSet>): void {
  const deployments = context.watch<Deployment>('/apis/apps/v1/deployments');
  const loop = context.loop('deployment', async (key) => {
    const deployment = deployments.objects.get(key);
    if (deployment !== undefined) await reconcile(context, sets, deployment);
  });
  deployments.listen({
    onChange: (deployment) => {
      loop.enqueue(keyOf(deployment));
    },
    onDelete: () => undefined,
  });
  const onSet = (set: ReplicaSet): void => {
    const owner = controllerOf(set);
    if (owner?.kind === 'Deployment') loop.enqueue(`${set.metadata.namespace ?? ''}/${owner.name}`);
  };
  sets.listen({ onChange: onSet, onDelete: onSet });
}

async function reconcile(context: ControllerContext, sets: Shared<ReplicaSet>, deployment: Deployment): Promise<void> {
  if (deployment.metadata.deletionTimestamp !== undefined) return;
  const { uid, namespace } = deployment.metadata;
  const own = [...sets.objects.values()].filter(
    (set) => set.metadata.namespace === namespace && controllerOf(set)?.uid === uid,
  );
  const current = own.find((set) => isSameTemplate(set, deployment));
  if (current === undefined) {
    if (deployment.spec.paused !== true) await createSet(context, deployment, own);
    // The next pass starts with the watch's word that it is there.
    return reportStatus(context, deployment, { own, current: null });
  }
  const older = own.filter((set) => set !== current);
  if (deployment.spec.paused !== true) {
    await keepRevision(context, deployment, current, older);
    for (const { set, replicas } of scalesOf(deployment, current, older)) await scale(context, set, replicas);
    await dropHistory(context, deployment, older);
  }
  await reportStatus(context, deployment, { own, current });
}

function isSameTemplate(set: ReplicaSet, { spec }: Deployment): boolean {
  const { [HASH_LABEL]: _, ...labels } = set.spec.template.metadata?.labels ?? {};
  const template = { ...set.spec.template, metadata: { ...set.spec.template.metadata, labels } };
  return isSameJson(
    withoutNulls(template),
    withoutNulls({ ...spec.template, metadata: { labels: {}, ...spec.template.metadata } }),
  );
}

/** Servers differ in whether they write `creationTimestamp: null` into templates. */
function withoutNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, inner: unknown) => (inner === null ? undefined : inner)));
}

function revisionOf(object: ReplicaSet | Deployment): number {
  return Number(object.metadata.annotations?.[REVISION] ?? 0) || 0;
}

async function createSet(
  { connection, events }: ControllerContext,
  deployment: Deployment,
  own: ReadonlyArray<ReplicaSet>,
): Promise<void> {
  const { name, namespace, uid } = deployment.metadata;
  const { template, selector, minReadySeconds } = deployment.spec;
  const hash = shortHash([template, deployment.status?.collisionCount ?? 0]);
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
  const revision = String(Math.max(0, ...own.map(revisionOf)) + 1);
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid, controller: true, blockOwnerDeletion: true };
  // A first replica set is as large as it may be; a later one starts empty and is scaled by the strategy.
  const replicas = own.length === 0 ? (deployment.spec.replicas ?? 1) : 0;
  const body = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels,
      annotations: { [REVISION]: revision },
      ownerReferences: [owner],
    },
    spec: {
      replicas,
      minReadySeconds: minReadySeconds ?? 0,
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
  try {
    await connection.create(`/apis/apps/v1/namespaces/${namespace ?? ''}/replicasets`, body);
    const message = `Scaled up replica set ${name}-${hash} from 0 to ${replicas}`;
    events.record({
      object: deployment,
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      type: 'Normal',
      reason: 'ScalingReplicaSet',
      message,
    });
  } catch (error) {
    // Made by an earlier pass that the watch has not shown yet.
    if (!isApiError(error, 409)) throw error;
  }
}

async function keepRevision(
  { connection }: ControllerContext,
  deployment: Deployment,
  current: ReplicaSet,
  older: ReadonlyArray<ReplicaSet>,
): Promise<void> {
  const newest = Math.max(0, ...older.map(revisionOf));
  const revision = revisionOf(current) > newest ? revisionOf(current) : newest + 1;
  const annotations = { [REVISION]: String(revision) };
  if (revisionOf(current) !== revision)
    await connection.patch(setPath(current), 'merge', { metadata: { annotations } });
  if (revisionOf(deployment) !== revision)
    await connection.patch(deploymentPath(deployment), 'merge', { metadata: { annotations } });
}

function scalesOf(
  { spec }: Deployment,
  current: ReplicaSet,
  older: ReadonlyArray<ReplicaSet>,
): ReadonlyArray<{ readonly set: ReplicaSet; readonly replicas: number }> {
  const desired = spec.replicas ?? 1;
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec.strategy?.rollingUpdate ?? {};
  const surge = resolveCount(maxSurge, desired, 'up');
  const unavailable = resolveCount(maxUnavailable, desired, 'down');
  const oldestFirst = older.toSorted((a, b) => revisionOf(a) - revisionOf(b));
  const targets = planRollout({
    strategy: spec.strategy?.type === 'Recreate' ? 'Recreate' : 'RollingUpdate',
    desired,
    surge,
    // Both zero would stand still; the real controller then allows one to be unavailable.
    unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable,
    current: toRolloutSet(current),
    older: oldestFirst.map(toRolloutSet),
  });
  return [
    { set: current, replicas: targets.current },
    ...oldestFirst.map((set, index) => ({ set, replicas: targets.older[index] ?? 0 })),
  ];
}

function toRolloutSet({ spec, status }: ReplicaSet): RolloutSet {
  return { replicas: spec.replicas ?? 1, available: status?.availableReplicas ?? 0, existing: status?.replicas ?? 0 };
}

async function scale({ connection }: ControllerContext, set: ReplicaSet, replicas: number): Promise<void> {
  if ((set.spec.replicas ?? 1) === replicas) return;
  // With the version, so that a scale planned from an old picture is refused and planned again.
  const { resourceVersion } = set.metadata;
  await connection.patch(setPath(set), 'merge', { metadata: { resourceVersion }, spec: { replicas } });
}

async function dropHistory(
  { connection }: ControllerContext,
  { spec }: Deployment,
  older: ReadonlyArray<ReplicaSet>,
): Promise<void> {
  const empty = older.filter(({ spec: { replicas }, status }) => replicas === 0 && (status?.replicas ?? 0) === 0);
  const surplus = empty.length - (spec.revisionHistoryLimit ?? HISTORY_LIMIT);
  const oldest = empty.toSorted((a, b) => revisionOf(a) - revisionOf(b)).slice(0, Math.max(0, surplus));
  for (const set of oldest) await connection.remove(setPath(set));
}

interface Observed {
  readonly own: ReadonlyArray<ReplicaSet>;
  readonly current: ReplicaSet | null;
}

async function reportStatus(
  context: ControllerContext,
  deployment: Deployment,
  { own, current }: Observed,
): Promise<void> {
  const sum = (field: 'replicas' | 'readyReplicas' | 'availableReplicas'): number =>
    own.reduce((total, { status }) => total + (status?.[field] ?? 0), 0);
  const counts = {
    replicas: sum('replicas'),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: sum('readyReplicas'),
    availableReplicas: sum('availableReplicas'),
    unavailableReplicas: Math.max(0, (deployment.spec.replicas ?? 1) - sum('availableReplicas')),
    observedGeneration: deployment.metadata.generation,
  };
  const conditions = conditionsOf(deployment, counts, current, context.clock.now());
  const status = { ...counts, conditions };
  const before: Readonly<Record<string, unknown>> = { ...deployment.status };
  const shown = Object.fromEntries(
    Object.keys(status).map((key) => [key, before[key] ?? (key === 'conditions' ? [] : 0)]),
  );
  if (isSameJson(status, shown)) return;
  await context.connection.patch(`${deploymentPath(deployment)}/status`, 'merge', { status });
}

function conditionsOf(
  { spec, status }: Deployment,
  counts: { readonly replicas: number; readonly updatedReplicas: number; readonly availableReplicas: number },
  current: ReplicaSet | null,
  nowMs: number,
): ReadonlyArray<Condition> {
  const desired = spec.replicas ?? 1;
  const unavailable = resolveCount(spec.strategy?.rollingUpdate?.maxUnavailable ?? '25%', desired, 'down');
  const isAvailable = counts.availableReplicas >= desired - unavailable;
  const isDone =
    current !== null &&
    counts.updatedReplicas === desired &&
    counts.replicas === desired &&
    counts.availableReplicas === desired;
  const name = current?.metadata.name ?? '';
  const wanted: ReadonlyArray<Condition> = [
    isAvailable
      ? {
          type: 'Available',
          status: 'True',
          reason: 'MinimumReplicasAvailable',
          message: 'Deployment has minimum availability.',
        }
      : {
          type: 'Available',
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        },
    isDone
      ? {
          type: 'Progressing',
          status: 'True',
          reason: 'NewReplicaSetAvailable',
          message: `ReplicaSet "${name}" has successfully progressed.`,
        }
      : {
          type: 'Progressing',
          status: 'True',
          reason: 'ReplicaSetUpdated',
          message: `ReplicaSet "${name}" is progressing.`,
        },
  ];
  const at = toTime(nowMs);
  return wanted.map((condition) => {
    const before = status?.conditions?.find(({ type }) => type === condition.type);
    if (before?.status === condition.status && before.reason === condition.reason) return before;
    const lastTransitionTime = before?.status === condition.status ? (before.lastTransitionTime ?? at) : at;
    return { ...condition, lastTransitionTime, lastUpdateTime: at };
  });
}

function setPath({ metadata }: ReplicaSet): string {
  return `/apis/apps/v1/namespaces/${metadata.namespace ?? ''}/replicasets/${metadata.name}`;
}

function deploymentPath({ metadata }: Deployment): string {
  return `/apis/apps/v1/namespaces/${metadata.namespace ?? ''}/deployments/${metadata.name}`;
}
