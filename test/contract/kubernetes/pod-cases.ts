import { describe, expect, test } from 'vitest';
import { type ApiUnderTest } from './api-under-test.ts';

const merge = 'application/merge-patch+json';

/** Binding, status and eviction of pods, and the scale of workloads. */
export function podCases(api: () => ApiUnderTest): void {
  const createPod = async (path: string, name: string, nodeName?: string): Promise<void> => {
    const spec = { ...(nodeName === undefined ? {} : { nodeName }), containers: [{ name: 'main', image: 'x' }] };
    const answer = await api().send('POST', `${path}/pods`, {
      body: { metadata: { name, labels: { app: 'web' } }, spec },
    });
    expect(answer.status).toBe(201);
  };
  const run = (path: string, name: string, ready: boolean): Promise<unknown> =>
    api().send('PATCH', `${path}/pods/${name}/status`, {
      type: merge,
      body: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] } },
    });
  const evict = (path: string, name: string) =>
    api().send('POST', `${path}/pods/${name}/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
    });
  const createBudget = async (namespace: string, allowed: number): Promise<string> => {
    const budgets = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
    const spec = { minAvailable: 1, selector: { matchLabels: { app: 'web' } } };
    await api().send('POST', budgets, { body: { metadata: { name: 'budget' }, spec } });
    const status = {
      observedGeneration: 1,
      disruptionsAllowed: allowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    };
    await api().send('PATCH', `${budgets}/budget/status`, { type: merge, body: { status } });
    return `${budgets}/budget`;
  };

  test('a binding gives a pod its node and the PodScheduled condition, once', async () => {
    const path = `/api/v1/namespaces/${await api().namespace()}`;
    await createPod(path, 'a');
    const bind = (node: string) =>
      api().send('POST', `${path}/pods/a/binding`, {
        body: { metadata: { name: 'a' }, target: { kind: 'Node', name: node } },
      });
    expect((await bind('node-1')).status).toBe(201);
    const { body } = await api().send('GET', `${path}/pods/a`);
    expect(body.spec.nodeName).toBe('node-1');
    expect(body.status.conditions[0]).toMatchObject({ type: 'PodScheduled', status: 'True' });
    const again = await bind('node-2');
    expect(again.body).toMatchObject({
      code: 409,
      message: 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "node-1"',
    });
  });

  describe('eviction', () => {
    test('a pod without a budget is evicted', async () => {
      const path = `/api/v1/namespaces/${await api().namespace()}`;
      await createPod(path, 'a', 'node-1');
      await run(path, 'a', true);
      expect((await evict(path, 'a')).body).toMatchObject({ kind: 'Status', status: 'Success', code: 201 });
      const { body } = await api().send('GET', `${path}/pods/a`);
      expect(body.metadata.deletionTimestamp).toBeTruthy();
    });

    test('a budget with nothing left refuses with 429 and its cause', async () => {
      const namespace = await api().namespace();
      const path = `/api/v1/namespaces/${namespace}`;
      await createPod(path, 'a', 'node-1');
      await run(path, 'a', true);
      await createBudget(namespace, 0);
      const { body } = await evict(path, 'a');
      expect(body).toMatchObject({
        code: 429,
        reason: 'TooManyRequests',
        message: "Cannot evict pod as it would violate the pod's disruption budget.",
        details: {
          causes: [
            {
              reason: 'DisruptionBudget',
              message: 'The disruption budget budget needs 1 healthy pods and has 1 currently',
            },
          ],
        },
      });
    });

    test('a budget that its controller has not seen yet refuses for ten seconds', async () => {
      const namespace = await api().namespace();
      const path = `/api/v1/namespaces/${namespace}`;
      await createPod(path, 'a', 'node-1');
      await run(path, 'a', true);
      const budget = await createBudget(namespace, 1);
      await api().send('PATCH', budget, { type: merge, body: { spec: { minAvailable: 2 } } });
      const { body, headers } = await evict(path, 'a');
      expect(headers['retry-after']).toBe('10');
      expect(body.details.causes[0].message).toBe(
        'The disruption budget budget is still being processed by the server.',
      );
    });

    test('an eviction spends the budget and names the pod in it', async () => {
      const namespace = await api().namespace();
      const path = `/api/v1/namespaces/${namespace}`;
      await createPod(path, 'a', 'node-1');
      await run(path, 'a', true);
      const budget = await createBudget(namespace, 1);
      expect((await evict(path, 'a')).status).toBe(201);
      const { body } = await api().send('GET', budget);
      expect(body.status.disruptionsAllowed).toBe(0);
      expect(Object.keys(body.status.disruptedPods)).toEqual(['a']);
    });

    test('a pod that does not run needs no budget', async () => {
      const namespace = await api().namespace();
      const path = `/api/v1/namespaces/${namespace}`;
      await createPod(path, 'a', 'node-1');
      await createBudget(namespace, 0);
      expect((await evict(path, 'a')).status).toBe(201);
    });

    test('a pod that is not there is NotFound', async () => {
      const path = `/api/v1/namespaces/${await api().namespace()}`;
      expect((await evict(path, 'none')).body).toMatchObject({ code: 404, message: 'pods "none" not found' });
    });
  });

  test('the scale of a workload reads and writes its replicas', async () => {
    const path = `/apis/apps/v1/namespaces/${await api().namespace()}/deployments`;
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'main', image: 'x' }] } };
    await api().send('POST', path, {
      body: { metadata: { name: 'a' }, spec: { selector: { matchLabels: { a: 'b' } }, template } },
    });
    const { body } = await api().send('GET', `${path}/a/scale`);
    expect(body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 1 },
      status: { selector: 'a=b' },
    });
    await api().send('PUT', `${path}/a/scale`, { body: { ...body, spec: { replicas: 3 } } });
    expect((await api().send('GET', `${path}/a`)).body.spec.replicas).toBe(3);
    const negative = await api().send('PATCH', `${path}/a/scale`, { type: merge, body: { spec: { replicas: -1 } } });
    expect(negative.body.message).toBe(
      'Scale.autoscaling "a" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    );
  });
}
