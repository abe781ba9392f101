import { describe, expect, test } from 'vitest';
import { placedPods, planDocument, pool, problemsOf, workload } from '../../../../kit/cli/plan-manifests.ts';

const object = (apiVersion: string, kind: string, spec = '{}', meta = ''): string =>
  `{ apiVersion: ${apiVersion}, kind: ${kind}, metadata: { name: a${meta} }, spec: ${spec} }`;
const containers = '{ containers: [{ name: main, image: x }] }';

async function notesOn(...manifests: ReadonlyArray<string>): Promise<ReadonlyArray<string>> {
  return (await planDocument([pool, ...manifests])).notes;
}

describe('what a plan leaves aside', () => {
  test('is ignored where no plan depends on it', async () => {
    expect(
      await notesOn(
        object('v1', 'Service'),
        object('v1', 'ConfigMap'),
        object('rbac.authorization.k8s.io/v1', 'Role'),
        object('cert-manager.io/v1', 'Certificate'),
        object('monitoring.coreos.com/v1', 'ServiceMonitor'),
      ),
    ).toEqual([
      'ignored, as no plan depends on it: 1 Certificate (cert-manager.io), 1 ConfigMap, 1 Role, 1 Service, 1 ServiceMonitor (monitoring.coreos.com)',
    ]);
  });

  test.each([
    ['ray.io/v1', 'RayCluster'],
    ['kafka.strimzi.io/v1beta2', 'Kafka'],
    ['flink.apache.org/v1beta1', 'FlinkDeployment'],
    ['sparkoperator.k8s.io/v1beta2', 'SparkApplication'],
    ['leaderworkerset.x-k8s.io/v1', 'LeaderWorkerSet'],
    ['elasticsearch.k8s.elastic.co/v1', 'Elasticsearch'],
    ['kibana.k8s.elastic.co/v1', 'Kibana'],
    ['jobset.x-k8s.io/v1alpha2', 'JobSet'],
    ['kubeflow.org/v1', 'PyTorchJob'],
    ['argoproj.io/v1alpha1', 'Workflow'],
    ['argoproj.io/v1alpha1', 'Rollout'],
    ['serving.kserve.io/v1beta1', 'InferenceService'],
    ['ceph.rook.io/v1', 'CephCluster'],
    ['kubernetes.dask.org/v1', 'DaskCluster'],
    ['monitoring.coreos.com/v1', 'Prometheus'],
    ['serving.knative.dev/v1', 'Service'],
    ['batch.volcano.sh/v1alpha1', 'Job', `{ tasks: [{ template: { spec: ${containers} } }] }`],
  ])('of %s makes pods, which is said: %s', async (apiVersion, kind, spec = '{}') => {
    const [group] = apiVersion.split('/');
    expect(await notesOn(object(apiVersion, kind, spec))).toEqual([
      `the pods that these make are not planned: 1 ${kind} (${group})`,
    ]);
  });

  test('of a kind that nobody knows makes pods where it has containers, and may make them where it has none', async () => {
    expect(
      await notesOn(object('example.com/v1', 'Farm', `{ groups: [{ template: { spec: ${containers} } }] }`)),
    ).toEqual(['the pods that these make are not planned: 1 Farm (example.com)']);
    expect(await notesOn(object('example.com/v1', 'Farm', '{ fields: 3, containers: [3] }'))).toEqual([
      'of kinds that are not known: they may make pods, which are not planned: 1 Farm (example.com)',
    ]);
  });

  test('was read from a cluster, which has its pods already', async () => {
    expect(await notesOn(object('ray.io/v1', 'RayCluster', '{}', ', uid: u'))).toEqual([
      'ignored, as no plan depends on it: 1 RayCluster (ray.io)',
    ]);
  });
});

const autoscaler = (least: string, apiVersion = 'autoscaling/v2', name = 'web', kind = 'Deployment'): string =>
  object(
    apiVersion,
    'HorizontalPodAutoscaler',
    `{ scaleTargetRef: { apiVersion: apps/v1, kind: ${kind}, name: ${name} }, ${least} maxReplicas: 9 }`,
  );
const scaledObject = (spec: string): string =>
  object('keda.sh/v1alpha1', 'ScaledObject', `{ scaleTargetRef: { name: web }, ${spec} triggers: [] }`);
const web = (replicas: number | null, kind = 'Deployment'): string =>
  replicas === null
    ? workload(kind, 'web', 1).replace('replicas: 1', 'minReadySeconds: 0')
    : workload(kind, 'web', replicas);

describe('autoscalers', () => {
  test.each([
    ['a minimum', web(null), autoscaler('minReplicas: 5,'), 5, 'the least that HorizontalPodAutoscaler default/a'],
    [
      'a minimum of the older version',
      web(null),
      autoscaler('minReplicas: 5,', 'autoscaling/v1'),
      5,
      'the least that HorizontalPodAutoscaler default/a',
    ],
    [
      'a minimum above replicas',
      web(2),
      autoscaler('minReplicas: 5,'),
      5,
      'the least that HorizontalPodAutoscaler default/a',
    ],
    [
      'a maximum below replicas',
      web(12),
      autoscaler('minReplicas: 5,'),
      9,
      'the most that HorizontalPodAutoscaler default/a',
    ],
    [
      'a minimum of a stateful set',
      web(null, 'StatefulSet'),
      autoscaler('minReplicas: 4,', 'autoscaling/v2', 'web', 'StatefulSet'),
      4,
      'the least that HorizontalPodAutoscaler default/a',
    ],
    ['a minimum of KEDA', web(null), scaledObject('minReplicaCount: 3,'), 3, 'the least that ScaledObject default/a'],
  ])('with %s plan it, as the cluster would, and this is told', async (_, target, scaler, pods, bound) => {
    const plan = await planDocument([pool, scaler, target]);
    expect(placedPods(plan)).toHaveLength(pods);
    const kind = target.includes('StatefulSet') ? 'StatefulSet' : 'Deployment';
    expect(plan.notes).toEqual([`${kind} default/web: planned with ${pods} pods, ${bound} allows`]);
  });

  test.each([
    ['between the bounds', web(7), autoscaler('minReplicas: 5,'), 7],
    ['without a minimum', web(null), autoscaler(''), 1],
    ['scaled to nothing by hand', web(0), autoscaler('minReplicas: 5,'), 0],
    ['that it does not name', web(2), autoscaler('minReplicas: 5,', 'autoscaling/v2', 'other'), 2],
    ['that may go to zero', web(2), scaledObject(''), 2],
  ])('leave a workload %s as it is', async (_, target, scaler, pods) => {
    const plan = await planDocument([pool, scaler, target]);
    expect(placedPods(plan)).toHaveLength(pods);
    expect(plan.notes).toEqual([]);
  });

  test('of a version that is not served any more are refused, as by the API server', async () => {
    expect(await problemsOf([pool, web(2), autoscaler('', 'autoscaling/v2beta2')])).toEqual([
      'standard input, document 4: HorizontalPodAutoscaler default/a: apiVersion: autoscaling/v2beta2 is not served (write autoscaling/v2)',
    ]);
  });
});
