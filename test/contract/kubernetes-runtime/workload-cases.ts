import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../sandbox/kubernetes/client/connection.ts';
import type { Condition } from '../../../shared/kubernetes/manifest.ts';
import type { KubernetesObject, Pod } from '../../../sandbox/kubernetes/client/objects.ts';
import { podBehaviour } from '../../../sandbox/kubernetes/kubelet/pod-lives.ts';
import { eventually, isReady, must, type Runtime, type Stage } from './runtime.ts';
import { stagesOn } from './stages-on.ts';

interface WithStatus extends KubernetesObject {
  readonly spec: { readonly replicas?: number };
  readonly status: Readonly<Record<string, unknown>> & { readonly conditions?: ReadonlyArray<Condition> };
}

/** The cases about controllers and kubelets: what any cluster does with workloads. */
export function describeWorkloads(start: () => Promise<Runtime>): void {
  const on = stagesOn(start);
  const deployment = (stage: Stage, replicas: number, more: object = {}): object => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template: stage.template({ app: 'web' }), ...more },
  });
  const untilAvailable = (stage: Stage, replicas: number): Promise<WithStatus> =>
    eventually(async () => {
      const found = await stage.get<WithStatus>('deployments', 'web');
      const { availableReplicas, updatedReplicas } = found.status;
      must(found.status['observedGeneration'], found.metadata.generation, 'observedGeneration');
      must([availableReplicas, updatedReplicas, found.status['replicas']], [replicas, replicas, replicas], 'replicas');
      return found;
    });

  describe('a deployment', () => {
    it('runs as many pods as it is scaled to, and says so', () =>
      on('scaling', async (stage) => {
        await stage.join('a');
        await stage.create('deployments', deployment(stage, 3));
        const { status } = await untilAvailable(stage, 3);
        expect(status.conditions).toContainEqual(
          expect.objectContaining({ type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable' }),
        );
        const [pod] = await stage.pods({ app: 'web' });
        expect(pod?.status).toMatchObject({
          phase: 'Running',
          podIP: expect.any(String),
          startTime: expect.any(String),
        });
        const path = `/apis/apps/v1/namespaces/${stage.namespace}/deployments/web`;
        await stage.connection.patch(path, 'merge', { spec: { replicas: 5 } });
        await untilAvailable(stage, 5);
        await stage.connection.patch(path, 'merge', { spec: { replicas: 1 } });
        await untilAvailable(stage, 1);
        await eventually(async () => {
          must((await stage.pods({ app: 'web' })).length, 1, 'pods');
        });
      }));

    it('replaces its pods when its template changes', () =>
      on('rollout', async (stage) => {
        await stage.join('a');
        await stage.create('deployments', deployment(stage, 4));
        await untilAvailable(stage, 4);
        const before = new Set((await stage.pods({ app: 'web' })).map(({ metadata }) => metadata.uid));
        const path = `/apis/apps/v1/namespaces/${stage.namespace}/deployments/web`;
        await stage.connection.patch(path, 'merge', {
          spec: { template: { metadata: { annotations: { version: '2' } } } },
        });
        await untilAvailable(stage, 4);
        await eventually(async () => {
          const pods = await stage.pods({ app: 'web' });
          must(pods.length, 4, 'pods');
          must(pods.filter(({ metadata }) => before.has(metadata.uid)).length, 0, 'old pods');
        });
      }));
  });

  describe('a daemon set', () => {
    it('runs one pod on every node that its template allows, also on those that come later', () =>
      on('daemons', async (stage) => {
        const first = await stage.join('a');
        await stage.join('tainted', { taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }] });
        const template = stage.template({ app: 'agent' });
        const spec = { selector: { matchLabels: { app: 'agent' } }, template };
        await stage.create('daemonsets', {
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          metadata: { name: 'agent' },
          spec,
        });
        const ready = async (...nodes: ReadonlyArray<string>): Promise<void> => {
          const pods = (await stage.pods({ app: 'agent' })).filter(isReady);
          must(
            pods.map((pod) => pod.spec.nodeName ?? '').toSorted(byBytes),
            nodes.toSorted(byBytes),
            'nodes with a daemon',
          );
        };
        await eventually(() => ready(first));
        const second = await stage.join('b');
        await eventually(() => ready(first, second));
        await eventually(async () => {
          const { status } = await stage.get<WithStatus>('daemonsets', 'agent');
          must([status['desiredNumberScheduled'], status['numberReady']], [2, 2], 'desired and ready');
        });
      }));
  });

  describe('a job', () => {
    const job = (stage: Stage, annotations: Readonly<Record<string, string>>, more: object): object => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'work' },
      spec: { template: stage.template({ app: 'work' }, { restartPolicy: 'Never' }, annotations), ...more },
    });
    const ended = (stage: Stage, type: string): Promise<WithStatus> =>
      eventually(async () => {
        const found = await stage.get<WithStatus>('jobs', 'work');
        const condition = found.status.conditions?.find((one) => one.type === type);
        must(condition?.status, 'True', type);
        return found;
      });

    it('is complete when as many pods as it wants have succeeded', () =>
      on('completion', async (stage) => {
        await stage.join('a');
        const once = { [podBehaviour.runSeconds]: '0.2' };
        await stage.create('jobs', job(stage, once, { completions: 4, parallelism: 2 }));
        const { status } = await ended(stage, 'Complete');
        expect(status['succeeded']).toBe(4);
        await eventually(async () => {
          const pods = await stage.pods({ app: 'work' });
          must(
            pods.map((pod) => pod.status?.phase),
            Array(4).fill('Succeeded'),
            'phases',
          );
          must(
            pods.flatMap(({ metadata }) => metadata.finalizers ?? []),
            [],
            'finalizers',
          );
        });
      }));

    it('has failed when more pods have failed than its backoff limit', () =>
      on('failure', async (stage) => {
        await stage.join('a');
        const failing = { [podBehaviour.runSeconds]: '0.2', [podBehaviour.exitCode]: '3' };
        await stage.create('jobs', job(stage, failing, { backoffLimit: 0 }));
        const { status } = await ended(stage, 'Failed');
        expect(status['failed']).toBe(1);
        expect(status.conditions).toContainEqual(
          expect.objectContaining({ type: 'Failed', reason: 'BackoffLimitExceeded' }),
        );
      }));
  });

  describe('a stateful set', () => {
    it('makes its pods in order, each when the one before is ready', () =>
      on('ordered', async (stage) => {
        await stage.join('a');
        const spec = {
          replicas: 3,
          serviceName: 'db',
          selector: { matchLabels: { app: 'db' } },
          template: stage.template({ app: 'db' }),
        };
        await stage.create('statefulsets', {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          metadata: { name: 'db' },
          spec,
        });
        const pods = await eventually(async () => {
          const found = (await stage.pods({ app: 'db' })).filter(isReady);
          must(found.map(({ metadata }) => metadata.name).toSorted(byBytes), ['db-0', 'db-1', 'db-2'], 'pods');
          return found;
        });
        const byName = new Map(pods.map((pod) => [pod.metadata.name, pod]));
        const readyAt = (name: string): number =>
          Date.parse(
            byName.get(name)?.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '',
          );
        expect(Date.parse(byName.get('db-1')?.metadata.creationTimestamp ?? '')).toBeGreaterThanOrEqual(
          readyAt('db-0'),
        );
      }));
  });

  describe('a disruption budget', () => {
    it('counts its healthy pods and lets no more be evicted than it allows, so that a drain goes pod by pod', () =>
      on('budget', async (stage) => {
        const first = await stage.join('a');
        await stage.create('deployments', deployment(stage, 3));
        await untilAvailable(stage, 3);
        const spec = { minAvailable: 2, selector: { matchLabels: { app: 'web' } } };
        const body = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'web' }, spec };
        await stage.create('poddisruptionbudgets', body);
        await eventually(async () => {
          const { status } = await stage.get<WithStatus>('poddisruptionbudgets', 'web');
          const { currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods } = status;
          must([currentHealthy, desiredHealthy, disruptionsAllowed, expectedPods], [3, 2, 1, 3], 'budget');
        });
        await stage.connection.patch(`/api/v1/nodes/${first}`, 'merge', { spec: { unschedulable: true } });
        const pods = await stage.pods({ app: 'web' });
        const outcomes: Array<number> = [];
        for (const pod of pods) outcomes.push(await evict(stage, pod));
        expect(outcomes).toStrictEqual([201, 429, 429]);
        const second = await stage.join('b');
        await eventually(async () => {
          const left = (await stage.pods({ app: 'web' })).filter((pod) => pod.spec.nodeName === first);
          for (const pod of left) await evict(stage, pod);
          must(left.length, 0, 'pods on the drained node');
        });
        await eventually(async () => {
          const moved = (await stage.pods({ app: 'web' })).filter(isReady);
          must(
            moved.map((pod) => pod.spec.nodeName),
            [second, second, second],
            'nodes',
          );
        });
      }));
  });

  describe('a node that is lost', () => {
    it('becomes unknown, and its pods are evicted and run elsewhere', () =>
      on('loss', async (stage) => {
        const first = await stage.join('a');
        const brief = ['not-ready', 'unreachable'].map((name) => ({
          key: `node.kubernetes.io/${name}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 1,
        }));
        await stage.create(
          'deployments',
          deployment(stage, 2, { template: stage.template({ app: 'web' }, { tolerations: brief }) }),
        );
        await untilAvailable(stage, 2);
        stage.kubelets.freeze(first);
        const second = await stage.join('b');
        await eventually(async () => {
          const found = await stage.connection.get<WithStatus>(`/api/v1/nodes/${first}`);
          must(found.status.conditions?.find(({ type }) => type === 'Ready')?.status, 'Unknown', 'Ready');
        });
        await eventually(async () => {
          const running = (await stage.pods({ app: 'web' })).filter(isReady);
          must(
            running.map((pod) => pod.spec.nodeName),
            [second, second],
            'nodes',
          );
        });
      }));

    it('is ready again once it reports again, and so are the pods that it kept', () =>
      on('return', async (stage) => {
        const node = await stage.join('a');
        await stage.create('deployments', deployment(stage, 2));
        await untilAvailable(stage, 2);
        const before = (await stage.pods({ app: 'web' })).map(({ metadata }) => metadata.uid).toSorted();
        stage.kubelets.freeze(node);
        await eventually(async () => {
          const ready = (await stage.pods({ app: 'web' })).filter(isReady);
          must(ready.length, 0, 'pods that are ready on a lost node');
        });
        await stage.kubelets.thaw(node);
        await untilAvailable(stage, 2);
        const after = (await stage.pods({ app: 'web' })).map(({ metadata }) => metadata.uid).toSorted();
        expect(after).toEqual(before);
      }));

    it('keeps nothing of what it ran when its taint says NoExecute', () =>
      on('eviction', async (stage) => {
        const first = await stage.join('a');
        await stage.create('deployments', deployment(stage, 2));
        await untilAvailable(stage, 2);
        const second = await stage.join('b');
        await stage.untilReady(second);
        await stage.connection.patch(`/api/v1/nodes/${first}`, 'strategic', {
          spec: { taints: [{ key: 'maintenance', value: 'now', effect: 'NoExecute' }] },
        });
        await eventually(async () => {
          const running = (await stage.pods({ app: 'web' })).filter(isReady);
          must(
            running.map((pod) => pod.spec.nodeName),
            [second, second],
            'nodes',
          );
        });
      }));
  });

  describe('a kubelet', () => {
    it('refuses a pod that was bound to it although it does not fit', () =>
      on('admission', async (stage) => {
        const node = await stage.join('a');
        const spec = {
          nodeName: node,
          containers: [{ name: 'main', image: 'x', resources: { requests: { cpu: '5' } } }],
        };
        await stage.create('pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'big' }, spec });
        await eventually(async () => {
          const { status } = await stage.get<Pod>('pods', 'big');
          must([status?.phase, status?.reason], ['Failed', 'OutOfcpu'], 'phase and reason');
        });
      }));

    it('adopts its node and pods when it starts again', () =>
      on('restart', async (stage) => {
        const node = await stage.join('a');
        await stage.create('deployments', deployment(stage, 2));
        await untilAvailable(stage, 2);
        const before = (await stage.pods({ app: 'web' })).map(({ metadata, status }) => [
          metadata.uid,
          status?.startTime,
        ]);
        stage.kubelets.remove(node, null);
        await stage.join('a');
        const path = `/apis/apps/v1/namespaces/${stage.namespace}/deployments/web`;
        await stage.connection.patch(path, 'merge', { spec: { replicas: 3 } });
        await untilAvailable(stage, 3);
        const after = (await stage.pods({ app: 'web' })).map(({ metadata, status }) => [
          metadata.uid,
          status?.startTime,
        ]);
        expect(after).toStrictEqual(expect.arrayContaining(before));
      }));

    it('keeps an unhealthy pod from Ready, and a deleted one for as long as its annotation says', () =>
      on('conventions', async (stage) => {
        await stage.join('a');
        const sick = stage.template({ [podBehaviour.kwokStage]: 'unhealthy' }) as Pod;
        const slow = stage.template(
          {},
          { terminationGracePeriodSeconds: 30 },
          { [podBehaviour.kwokDeleteDelay]: '2s' },
        ) as Pod;
        await stage.create('pods', {
          apiVersion: 'v1',
          kind: 'Pod',
          ...sick,
          metadata: { ...sick.metadata, name: 'sick' },
        });
        await stage.create('pods', {
          apiVersion: 'v1',
          kind: 'Pod',
          ...slow,
          metadata: { ...slow.metadata, name: 'slow' },
        });
        const phases = async (): Promise<void> => {
          const [a, b] = [await stage.get<Pod>('pods', 'sick'), await stage.get<Pod>('pods', 'slow')];
          must([a.status?.phase, isReady(a), b.status?.phase, isReady(b)], ['Running', false, 'Running', true], 'pods');
        };
        await eventually(phases);
        const asked = Date.now();
        const path = `/api/v1/namespaces/${stage.namespace}/pods`;
        await stage.connection.remove(`${path}/slow`);
        await eventually(async () => {
          must(
            (await stage.pods()).map(({ metadata }) => metadata.name),
            ['sick'],
            'pods',
          );
        });
        expect(Date.now() - asked).toBeGreaterThan(1_000);
        await stage.connection.patch(`${path}/sick`, 'merge', {
          metadata: { labels: { [podBehaviour.kwokStage]: null } },
        });
        await eventually(async () => {
          must(isReady(await stage.get<Pod>('pods', 'sick')), true, 'ready');
        });
      }));

    it('reports conditions from others, and leaves the node to the cloud when its machine is gone', () =>
      on('machine', async (stage) => {
        const node = await stage.join('a');
        await stage.kubelets.setCondition(node, {
          type: 'PreemptionScheduled',
          status: 'True',
          reason: 'PreemptScheduled',
          message: 'a Preempt event is scheduled',
        });
        const found = await stage.connection.get<WithStatus>(`/api/v1/nodes/${node}`);
        expect(found.status.conditions).toContainEqual(
          expect.objectContaining({ type: 'PreemptionScheduled', status: 'True' }),
        );
        stage.kubelets.remove(node, 100);
        await eventually(async () => {
          const left = await stage.connection.get(`/api/v1/nodes/${node}`).catch((error: unknown) => error);
          must(left instanceof ApiError ? left.code : 200, 404, 'node');
        });
      }));
  });
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

async function evict(stage: Stage, pod: Pod): Promise<number> {
  const { name, namespace } = pod.metadata;
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  try {
    await stage.connection.create(`/api/v1/namespaces/${namespace ?? ''}/pods/${name}/eviction`, body);
    return 201;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}
