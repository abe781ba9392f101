import { describe, expect, test } from 'vitest';
import { placedPods, planDocument, pool, workload } from '../../../kit/cli/plan-manifests.ts';

const job = (spec: string, status = '{}'): string => `
apiVersion: batch/v1
kind: Job
metadata: { name: sums }
spec: { ${spec}, template: { spec: { restartPolicy: Never, containers: [{ name: main, resources: { requests: { cpu: '1' } } }] } } }
status: ${status}
`;

const cronJob = (metadata: string, suspend = false): string => `
apiVersion: batch/v1
kind: CronJob
metadata: ${metadata}
spec:
  schedule: '0 3 * * *'
  suspend: ${suspend}
  jobTemplate: { spec: { parallelism: 2, template: { spec: { containers: [{ name: main, resources: { requests: { cpu: '1' } } }] } } } }
`;

describe('pods that workloads imply', () => {
  test.each(['Deployment', 'ReplicaSet', 'StatefulSet'])(
    'those of a %s are named by workload and ordinal',
    async (kind) => {
      const plan = await planDocument([pool, workload(kind, 'web', 3)]);
      expect(placedPods(plan)).toEqual(['default/web-0', 'default/web-1', 'default/web-2']);
    },
  );

  test('a workload without replicas has one pod', async () => {
    const plan = await planDocument([pool, workload('Deployment', 'web', 7).replace('replicas: 7', 'paused: false')]);
    expect(placedPods(plan)).toEqual(['default/web-0']);
  });

  test('a job has as many pods as may run at once and are still to complete', async () => {
    const two = await planDocument([pool, job('parallelism: 4, completions: 10', '{ succeeded: 8 }')]);
    expect(placedPods(two)).toEqual(['default/sums-0', 'default/sums-1']);
    const none = await planDocument([
      pool,
      job('parallelism: 4', '{ conditions: [{ type: Complete, status: "True" }] }'),
    ]);
    expect(placedPods(none)).toEqual([]);
  });

  test('a cron job from a file is planned as one run, one read from a cluster or suspended is not', async () => {
    const fromFile = await planDocument([pool, cronJob('{ name: nightly }')]);
    expect(placedPods(fromFile)).toEqual(['default/nightly-0', 'default/nightly-1']);
    expect(fromFile.notes).toContain('CronJob default/nightly: planned as if one run had begun');
    expect(placedPods(await planDocument([pool, cronJob('{ name: nightly, uid: u1 }')]))).toEqual([]);
    expect(placedPods(await planDocument([pool, cronJob('{ name: nightly }', true)]))).toEqual([]);
  });

  test('pods that are given are not implied again, through replica sets either', async () => {
    const owned = (name: string, owner: string): string =>
      `metadata: { name: ${name}, labels: { app: web }, ownerReferences: [{ apiVersion: apps/v1, kind: ${owner}, uid: u, controller: true }] }`;
    const replicaSet = workload('ReplicaSet', 'web-5d9', 2).replace(
      'metadata: { name: web-5d9 }',
      owned('web-5d9', 'Deployment, name: web'),
    );
    const pod = `apiVersion: v1\nkind: Pod\n${owned('web-5d9-x', 'ReplicaSet, name: web-5d9')}\nspec: { containers: [{ name: main, resources: { requests: { cpu: 1 } } }] }`;
    const plan = await planDocument([pool, workload('Deployment', 'web', 2), replicaSet, pod]);
    expect(placedPods(plan)).toEqual(['default/web-0', 'default/web-5d9-x']);
  });

  test('a name that is taken is passed over', async () => {
    const pod =
      'apiVersion: v1\nkind: Pod\nmetadata: { name: web-0 }\nspec: { containers: [{ name: main, resources: { requests: { cpu: 1 } } }] }';
    const plan = await planDocument([pool, workload('Deployment', 'web', 2), pod]);
    expect(placedPods(plan)).toEqual(['default/web-0', 'default/web-1', 'default/web-2']);
  });

  test('a stateful set brings a volume claim for each of its pods', async () => {
    const set = `${workload('StatefulSet', 'db', 2)}  volumeClaimTemplates: [{ metadata: { name: data }, spec: { storageClassName: managed-csi } }]\n`;
    const plan = await planDocument([pool, set]);
    expect(plan.left).toEqual([]);
    expect(plan.notes).toContain('no StorageClass is given: those of AKS are assumed');
  });

  test('a daemonset has no pods of its own in a plan, and takes its share of every node', async () => {
    const alone = await planDocument([pool, workload('Deployment', 'web', 1, '{ cpu: 1500m, memory: 512Mi }')]);
    const daemon = workload('DaemonSet', 'agent', 1, '{ cpu: 1, memory: 1Gi }');
    const beside = await planDocument([
      pool,
      workload('Deployment', 'web', 1, '{ cpu: 1500m, memory: 512Mi }'),
      daemon,
    ]);
    expect(placedPods(beside)).toEqual(['default/web-0']);
    expect(Number(beside.summary.costPerHour)).toBeGreaterThan(Number(alone.summary.costPerHour));
  });

  test('labels that controllers add can be selected by', async () => {
    const spread = `      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: { matchLabels: { app: web } }
          matchLabelKeys: [pod-template-hash]
      containers:`;
    const manifest = workload('Deployment', 'web', 3)
      .replace('spec: { containers:', `spec:\n${spread}`)
      .replace('} }] }\n', '} }]\n');
    const plan = await planDocument([pool, manifest]);
    expect(plan.nodeClaims.map(({ pods }) => pods.length)).toEqual([1, 1, 1]);
  });
});
