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
  const createBudget = async (namespace: string, allowed: number, name = 'budget'): Promise<string> => {
    const budgets = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
    const spec = { minAvailable: 1, selector: { matchLabels: { app: 'web' } } };
    await api().send('POST', budgets, { body: { metadata: { name }, spec } });
    const status = {
      observedGeneration: 1,
      disruptionsAllowed: allowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    };
    await api().send('PATCH', `${budgets}/${name}/status`, { type: merge, body: { status } });
    return `${budgets}/${name}`;
  };

  test('ports of a pod with the network of its host are host ports, those of init containers too, and no template’s', async () => {
    const namespace = await api().namespace();
    const spec = {
      hostNetwork: true,
      initContainers: [{ name: 'first', image: 'x', ports: [{ containerPort: 7000 }] }],
      containers: [{ name: 'main', image: 'x', ports: [{ containerPort: 5473 }, { containerPort: 80, hostPort: 80 }] }],
    };
    const metadata = { name: 'a', labels: { app: 'web' } };
    const { body } = await api().send('POST', `/api/v1/namespaces/${namespace}/pods`, { body: { metadata, spec } });
    expect(body.spec.initContainers[0].ports).toMatchObject([{ containerPort: 7000, hostPort: 7000 }]);
    expect(body.spec.containers[0].ports).toMatchObject([{ hostPort: 5473 }, { hostPort: 80 }]);
    const template = { metadata, spec: { containers: spec.containers, hostNetwork: true } };
    const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const deployment = await api().send('POST', deployments, {
      body: { metadata, spec: { selector: { matchLabels: metadata.labels }, template } },
    });
    expect(deployment.body.spec.template.spec.containers[0].ports[0].hostPort).toBeUndefined();
  });

  test('a spread that is no condition may not ask for domains', async () => {
    const path = `/api/v1/namespaces/${await api().namespace()}/pods`;
    const create = (whenUnsatisfiable: string) => {
      const spread = { maxSkew: 1, minDomains: 2, topologyKey: 'zone', whenUnsatisfiable, labelSelector: {} };
      const spec = { containers: [{ name: 'main', image: 'x' }], topologySpreadConstraints: [spread] };
      return api().send('POST', path, { body: { metadata: { name: whenUnsatisfiable.toLowerCase() }, spec } });
    };
    expect((await create('DoNotSchedule')).status).toBe(201);
    const refused = await create('ScheduleAnyway');
    expect(refused.status).toBe(422);
    expect(refused.body.details.causes).toMatchObject([
      {
        field: 'spec.topologySpreadConstraints[0].minDomains',
        message: 'Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
      },
    ]);
  });

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

  describe('labels of the node’s place', () => {
    const PLACE = { 'topology.kubernetes.io/region': 'westeurope', 'topology.kubernetes.io/zone': 'westeurope-1' };

    async function createNode(labels: Readonly<Record<string, string>>): Promise<string> {
      const name = `place-${await api().namespace()}`;
      await api().send('POST', '/api/v1/nodes', { body: { metadata: { name, labels } } });
      return name;
    }

    /** Labels of a pod that had these, and others that the binding brought, once it is bound to the node. */
    async function labelsOnceBound(node: string, own: object, brought: object = {}): Promise<unknown> {
      const path = `/api/v1/namespaces/${await api().namespace()}`;
      const spec = { containers: [{ name: 'pause', image: 'pause' }] };
      await api().send('POST', `${path}/pods`, { body: { metadata: { name: 'a', labels: own }, spec } });
      const metadata = { name: 'a', labels: brought };
      const target = { kind: 'Node', name: node };
      expect((await api().send('POST', `${path}/pods/a/binding`, { body: { metadata, target } })).status).toBe(201);
      return (await api().send('GET', `${path}/pods/a`)).body.metadata.labels;
    }

    test('are given to a pod that is bound, and no other labels', async () => {
      const node = await createNode({ ...PLACE, 'topology.kubernetes.io/rack': 'r1', other: 'one' });
      expect(await labelsOnceBound(node, { app: 'a' })).toEqual({ app: 'a', ...PLACE });
    });

    test('are those that the node has', async () => {
      const node = await createNode({ 'topology.kubernetes.io/zone': 'westeurope-2' });
      expect(await labelsOnceBound(node, {})).toEqual({ 'topology.kubernetes.io/zone': 'westeurope-2' });
    });

    test('are those of the node where the pod has others', async () => {
      const node = await createNode(PLACE);
      const elsewhere = { 'topology.kubernetes.io/zone': 'elsewhere', app: 'a' };
      expect(await labelsOnceBound(node, elsewhere)).toEqual({ app: 'a', ...PLACE });
    });

    test('are those of the binding where the node is not known', async () => {
      const brought = { 'topology.kubernetes.io/zone': 'elsewhere', app: 'b' };
      expect(await labelsOnceBound('node-1', { app: 'a', tier: 'x' }, brought)).toEqual({ tier: 'x', ...brought });
    });

    test('are those of the node where the binding brings others', async () => {
      const node = await createNode(PLACE);
      expect(await labelsOnceBound(node, {}, { 'topology.kubernetes.io/zone': 'elsewhere' })).toEqual(PLACE);
    });

    test('are given to a pod that is made on a node', async () => {
      const node = await createNode(PLACE);
      const path = `/api/v1/namespaces/${await api().namespace()}`;
      const spec = { nodeName: node, containers: [{ name: 'pause', image: 'pause' }] };
      const { body } = await api().send('POST', `${path}/pods`, { body: { metadata: { name: 'a' }, spec } });
      expect(body.metadata.labels).toEqual(PLACE);
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

    test('a pod of two budgets is refused with 500, and says that it has more than one [K08]', async () => {
      const namespace = await api().namespace();
      const path = `/api/v1/namespaces/${namespace}`;
      await createPod(path, 'a', 'node-1');
      await run(path, 'a', true);
      await createBudget(namespace, 1);
      await createBudget(namespace, 1, 'another');
      const { status, body } = await evict(path, 'a');
      expect(status).toBe(500);
      expect(body.message).toContain('more than one PodDisruptionBudget');
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
