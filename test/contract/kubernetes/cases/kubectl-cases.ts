import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiUnderTest } from './api-under-test.ts';
import type { Kubectl } from '../kubectl.ts';

const deployment = (image: string, replicas = 2): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { app: web } }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - name: main
          image: ${image}
          ports: [{ containerPort: 80 }]
`;

const pod = (name: string, node: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: web } }
spec:
  nodeName: ${node}
  containers: [{ name: main, image: 'x:1' }]
`;

/** What people type: the verbs of kubectl and what they print. */
export function kubectlCases(api: () => ApiUnderTest, kubectl: () => Kubectl): void {
  let namespace = '';
  const node = 'kubectl-node';
  const run = async (...args: ReadonlyArray<string>): Promise<string> => {
    const { code, out, err } = await kubectl()(['-n', namespace, ...args]);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${err}${out}`);
    return out + err;
  };
  const feed = async (input: string, ...args: ReadonlyArray<string>): Promise<string> => {
    const { code, out, err } = await kubectl()(['-n', namespace, ...args], input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${err}${out}`);
    return out + err;
  };
  const rows = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
    text
      .trim()
      .split('\n')
      .map((line) => line.split(/\s{2,}/));
  beforeAll(async () => {
    namespace = await api().namespace();
    await api().send('POST', '/api/v1/nodes', { body: { metadata: { name: node } } });
    const status = { conditions: [{ type: 'Ready', status: 'True' }], nodeInfo: { kubeletVersion: 'v1.36.3' } };
    await api().send('PATCH', `/api/v1/nodes/${node}/status`, {
      type: 'application/merge-patch+json',
      body: { status },
    });
  });

  describe('kubectl', () => {
    test('apply creates, then finds nothing to do, then changes', async () => {
      expect(await feed(deployment('app:1'), 'apply', '-f', '-')).toContain('deployment.apps/web created');
      expect(await feed(deployment('app:1'), 'apply', '-f', '-')).toContain('deployment.apps/web unchanged');
      expect(await feed(deployment('app:2'), 'apply', '-f', '-')).toContain('deployment.apps/web configured');
      expect(await run('get', 'deploy', 'web', '-o', 'jsonpath={.spec.template.spec.containers[0].image}')).toBe(
        'app:2',
      );
    });

    test('get prints the columns of the kind, wide, yaml, json and names', async () => {
      const wide = rows(await run('get', 'deploy', '-o', 'wide'));
      expect(wide[0]?.map((cell) => cell.trim())).toEqual([
        'NAME',
        'READY',
        'UP-TO-DATE',
        'AVAILABLE',
        'AGE',
        'CONTAINERS',
        'IMAGES',
        'SELECTOR',
      ]);
      expect(wide[1]?.slice(0, 4)).toEqual(['web', '0/2', '0', '0']);
      expect(await run('get', 'deploy', 'web', '-o', 'yaml')).toContain('revisionHistoryLimit: 10');
      expect(JSON.parse(await run('get', 'deploy', '-o', 'json'))).toMatchObject({
        kind: 'List',
        items: [{ kind: 'Deployment' }],
      });
      expect(await run('get', 'deploy', '-o', 'name')).toBe('deployment.apps/web\n');
      expect(await run('get', 'deploy,pods', '-l', 'app=none')).toContain('No resources found');
    });

    test('diff tells what an apply would change, and that it would', async () => {
      const changed = await kubectl()(['-n', namespace, 'diff', '-f', '-'], deployment('app:3'));
      expect(changed.code).toBe(1);
      expect(changed.out).toContain('-      - image: app:2');
      expect(changed.out).toContain('+      - image: app:3');
      expect((await kubectl()(['-n', namespace, 'diff', '-f', '-'], deployment('app:2'))).code).toBe(0);
    });

    test('patch speaks all three languages', async () => {
      const strategic =
        '{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"A","value":"1"}]}]}}}}';
      expect(await run('patch', 'deploy', 'web', '-p', strategic)).toContain('patched');
      expect(await run('patch', 'deploy', 'web', '--type', 'merge', '-p', '{"spec":{"replicas":3}}')).toContain(
        'patched',
      );
      const operations = '[{"op":"replace","path":"/spec/replicas","value":4}]';
      expect(await run('patch', 'deploy', 'web', '--type', 'json', '-p', operations)).toContain('patched');
      const path =
        'jsonpath={.spec.replicas} {.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env[0].name}';
      expect(await run('get', 'deploy', 'web', '-o', path)).toBe('4 app:2 A');
    });

    test('scale, label, annotate and set image change what they say', async () => {
      expect(await run('scale', 'deploy', 'web', '--replicas', '1')).toContain('scaled');
      expect(await run('label', 'deploy', 'web', 'tier=front')).toContain('labeled');
      expect(await run('annotate', 'deploy', 'web', 'note=x')).toContain('annotated');
      expect(await run('set', 'image', 'deploy/web', 'main=app:9')).toContain('image updated');
      const path =
        'jsonpath={.spec.replicas} {.metadata.labels.tier} {.metadata.annotations.note} {.spec.template.spec.containers[0].image}';
      expect(await run('get', 'deploy', 'web', '-o', path)).toBe('1 front x app:9');
    });

    test('edit saves what the editor wrote', async () => {
      const env = { KUBE_EDITOR: 'sed -i s/note:\\ x/note:\\ edited/' };
      const edited = await kubectl()(['-n', namespace, 'edit', 'deploy', 'web'], '', env);
      expect(edited.out).toContain('deployment.apps/web edited');
      expect(await run('get', 'deploy', 'web', '-o', 'jsonpath={.metadata.annotations.note}')).toBe('edited');
    });

    test('server-side apply tells its conflicts and can force', async () => {
      const other = deployment('other:1', 1);
      const refused = await kubectl()(
        ['-n', namespace, 'apply', '--server-side', '--field-manager', 'other', '-f', '-'],
        other,
      );
      expect(refused.code).toBe(1);
      expect(refused.err).toContain('.spec.template.spec.containers[name="main"].image');
      const forced = await feed(
        other,
        'apply',
        '--server-side',
        '--field-manager',
        'other',
        '--force-conflicts',
        '-f',
        '-',
      );
      expect(forced).toContain('deployment.apps/web serverside-applied');
      expect(await run('get', 'deploy', 'web', '-o', 'jsonpath={.spec.template.spec.containers[0].image}')).toBe(
        'other:1',
      );
    });

    test('server-side apply takes over what client-side apply owned', async () => {
      const config = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: moved }\ndata: { k: "1", l: "1" }\n';
      await feed(config, 'apply', '-f', '-');
      const without = config.replace(', l: "1"', '');
      expect(await feed(without, 'apply', '--server-side', '-f', '-')).toContain('serverside-applied');
      expect(await run('get', 'cm', 'moved', '-o', 'jsonpath={.data}')).toBe('{"k":"1"}');
    });

    test('rollout status waits for what the status says', async () => {
      const path = `/apis/apps/v1/namespaces/${namespace}/deployments/web`;
      const { body } = await api().send('GET', path);
      const counts = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
      const status = { observedGeneration: body.metadata.generation, ...counts };
      await api().send('PATCH', `${path}/status`, { type: 'application/merge-patch+json', body: { status } });
      expect(await run('rollout', 'status', 'deploy/web', '--timeout', '20s')).toContain('successfully rolled out');
    });

    test('describe tells of deployments, pods and nodes, with their events', async () => {
      await feed(pod('told', node), 'apply', '-f', '-');
      const { body } = await api().send('GET', `/api/v1/namespaces/${namespace}/pods/told`);
      const involvedObject = { kind: 'Pod', apiVersion: 'v1', namespace, name: 'told', uid: body.metadata.uid };
      const event = {
        metadata: { name: 'told.1', namespace },
        involvedObject,
        reason: 'Greeted',
        message: 'hello there',
        type: 'Normal',
      };
      await api().send('POST', `/api/v1/namespaces/${namespace}/events`, { body: event });
      expect(await run('describe', 'deploy', 'web')).toContain('StrategyType:           RollingUpdate');
      const told = await run('describe', 'pod', 'told');
      expect(told).toContain('hello there');
      expect(told).toMatch(/Node:\s+kubectl-node/);
      expect(await run('describe', 'node', node)).toContain('told');
      expect(await run('events', '--for', 'pod/told')).toContain('Greeted');
      expect(await run('get', 'events')).toContain('pod/told');
    });

    test('explain finds fields of built-in and custom kinds', async () => {
      expect(await run('explain', 'pod.spec.nodeName')).toContain('FIELD: nodeName <string>');
      expect(await run('explain', 'deployment.spec.strategy')).toContain('rollingUpdate');
      const unknown = await kubectl()(['explain', 'pod.spec.nothing']);
      expect(unknown.err).toContain('field "nothing" does not exist');
    });

    test('taint, cordon and uncordon change the node', async () => {
      expect(await run('taint', 'node', node, 'team=a:NoSchedule')).toContain('tainted');
      expect(await run('cordon', node)).toContain('cordoned');
      expect(await run('get', 'node', node)).toMatch(/Ready,SchedulingDisabled/);
      expect(await run('uncordon', node)).toContain('uncordoned');
      expect(await run('taint', 'node', node, 'team-')).toContain('untainted');
    });

    test('drain respects the disruption budget', async () => {
      const budget =
        'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: { name: web }\nspec: { minAvailable: 1, selector: { matchLabels: { app: web } } }\n';
      await feed(budget, 'apply', '-f', '-');
      const merge = 'application/merge-patch+json';
      const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      await api().send('PATCH', `/api/v1/namespaces/${namespace}/pods/told/status`, {
        type: merge,
        body: { status: running },
      });
      const status = {
        observedGeneration: 1,
        disruptionsAllowed: 0,
        currentHealthy: 1,
        desiredHealthy: 1,
        expectedPods: 1,
      };
      const budgetPath = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/web/status`;
      await api().send('PATCH', budgetPath, { type: merge, body: { status } });
      const refused = await kubectl()(['drain', node, '--force', '--timeout', '2s']);
      expect(refused.code).toBe(1);
      expect(refused.err).toContain("Cannot evict pod as it would violate the pod's disruption budget");
      await api().send('PATCH', budgetPath, { type: merge, body: { status: { ...status, disruptionsAllowed: 1 } } });
      const drained = await kubectl()(['drain', node, '--force', '--grace-period', '0', '--timeout', '20s']);
      expect(drained.err + drained.out).toContain(`node/${node} drained`);
      await run('uncordon', node);
    });

    test('wait and watch see what happens while they look', async () => {
      await feed(pod('seen', node), 'apply', '-f', '-');
      const waiting = run('wait', '--for', 'condition=Ready', 'pod/seen', '--timeout', '20s');
      const watching = kubectl()(['-n', namespace, 'get', 'pods', '-w', '--request-timeout', '3s', '--no-headers']);
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      const path = `/api/v1/namespaces/${namespace}/pods/seen/status`;
      await api().send('PATCH', path, { type: 'application/merge-patch+json', body: { status } });
      expect(await waiting).toContain('pod/seen condition met');
      expect((await watching).out).toMatch(/seen\s+0\/1\s+Running/);
    });

    test('delete waits until the object is gone', async () => {
      expect(await run('delete', 'pod', 'seen', '--grace-period', '0', '--force')).toContain('deleted');
      expect(await run('delete', 'deploy', 'web')).toContain('deployment.apps "web" deleted');
      const missing = await kubectl()(['-n', namespace, 'get', 'deploy', 'web']);
      expect(missing.err).toContain('Error from server (NotFound): deployments.apps "web" not found');
    });

    test('mistakes are told as the API server words them', async () => {
      const bad = await kubectl()(
        ['-n', namespace, 'apply', '-f', '-'],
        deployment('x').replace('replicas', 'replicsa'),
      );
      expect(bad.err).toContain('unknown field "spec.replicsa"');
      const unknown = await kubectl()(['get', 'gizmos']);
      expect(unknown.err).toContain('the server doesn\'t have a resource type "gizmos"');
    });

    test('api-resources, api-versions, auth can-i, version and cluster-info answer', async () => {
      const resources = await run('api-resources');
      expect(resources).toMatch(/deployments\s+deploy\s+apps\/v1\s+true\s+Deployment/);
      expect(resources).toMatch(/nodes\s+no\s+v1\s+false\s+Node/);
      expect(await run('api-versions')).toContain('policy/v1');
      expect(await run('auth', 'can-i', 'create', 'pods')).toBe('yes\n');
      expect(await run('version')).toContain('Server Version: v1.36');
      expect(await run('create', 'configmap', 'made', '--from-literal', 'a=b', '-o', 'name')).toBe('configmap/made\n');
      expect(await run('create', 'deployment', 'made', '--image', 'x', '--port', '80')).toContain('created');
      const port = 'jsonpath={.spec.template.spec.containers[0].ports[0].containerPort}';
      expect(await run('get', 'deploy', 'made', '-o', port)).toBe('80');
    });

    test('manifests of several objects are applied, replaced and deleted by file', async () => {
      const file = `${api().kubeconfigPath}.objects.yaml`;
      const made = ['one', 'two'].map((name) => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`);
      writeFileSync(file, made.join('---\n'));
      expect(await run('create', '-f', file)).toContain('configmap/two created');
      expect(await run('replace', '-f', file)).toContain('configmap/one replaced');
      expect(await run('delete', '-f', file)).toContain('configmap "two" deleted');
    });
  });
}
