import { describe, expect, test } from 'vitest';
import type { ApiUnderTest } from './api-under-test.ts';

const pod = (name: string, more: object = {}): object => ({
  metadata: { name, labels: { app: name } },
  spec: { containers: [{ name: 'main', image: 'registry.example/app:1', ...more }] },
});

/** Creating, changing and deleting single objects. */
export function objectCases(api: () => ApiUnderTest): void {
  const inNamespace = async (): Promise<string> => `/api/v1/namespaces/${await api().namespace()}`;

  describe('create', () => {
    test('a created object gets uid, creation time, version and its kind’s defaults', async () => {
      const path = await inNamespace();
      const { status, body } = await api().send('POST', `${path}/pods`, { body: pod('a') });
      expect(status).toBe(201);
      expect(body.kind).toBe('Pod');
      expect(body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
      expect(Date.parse(body.metadata.creationTimestamp)).toBeGreaterThan(0);
      expect(Number(body.metadata.resourceVersion)).toBeGreaterThan(0);
      expect(body.metadata.generation).toBe(1);
      expect(body.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
      expect(body.spec).toMatchObject({
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        schedulerName: 'default-scheduler',
        enableServiceLinks: true,
        priority: 0,
        preemptionPolicy: 'PreemptLowerPriority',
      });
      expect(body.spec.tolerations).toEqual(
        ['not-ready', 'unreachable'].map((state) => ({
          key: `node.kubernetes.io/${state}`,
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: 300,
        })),
      );
      expect(body.spec.containers[0]).toMatchObject({
        imagePullPolicy: 'IfNotPresent',
        terminationMessagePolicy: 'File',
      });
    });

    test('limits become requests, quantities are written canonically, and the quality class follows', async () => {
      const path = await inNamespace();
      const resources = { limits: { cpu: '1500m', memory: '0.5Gi' }, requests: { cpu: '1000m' } };
      const { body } = await api().send('POST', `${path}/pods`, { body: pod('a', { resources }) });
      expect(body.spec.containers[0].resources).toEqual({
        limits: { cpu: '1500m', memory: '512Mi' },
        requests: { cpu: '1', memory: '512Mi' },
      });
      expect(body.status.qosClass).toBe('Burstable');
    });

    test('a generated name is the prefix and five letters', async () => {
      const path = await inNamespace();
      const body = { metadata: { generateName: 'web-' }, data: {} };
      const first = await api().send('POST', `${path}/configmaps`, { body });
      expect(first.body.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
      expect(first.body.metadata.generateName).toBe('web-');
    });

    test('a taken name is AlreadyExists', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/pods`, { body: pod('a') });
      const { body } = await api().send('POST', `${path}/pods`, { body: pod('a') });
      expect(body).toMatchObject({
        kind: 'Status',
        status: 'Failure',
        reason: 'AlreadyExists',
        message: 'pods "a" already exists',
        details: { name: 'a', kind: 'pods' },
        code: 409,
      });
    });

    test('a namespace that is not there is NotFound', async () => {
      const { body } = await api().send('POST', '/api/v1/namespaces/nowhere/pods', { body: pod('a') });
      expect(body).toMatchObject({ code: 404, message: 'namespaces "nowhere" not found' });
    });

    test('an object without a name is Invalid with its cause', async () => {
      const path = await inNamespace();
      const { body } = await api().send('POST', `${path}/configmaps`, { body: { metadata: {} } });
      expect(body).toMatchObject({
        code: 422,
        reason: 'Invalid',
        message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        details: {
          kind: 'ConfigMap',
          causes: [
            {
              reason: 'FieldValueRequired',
              message: 'Required value: name or generateName is required',
              field: 'metadata.name',
            },
          ],
        },
      });
    });

    test('a pod that breaks several rules names every field', async () => {
      const path = await inNamespace();
      const bad = {
        metadata: { name: 'a' },
        spec: {
          restartPolicy: 'X',
          containers: [{ name: 'A', resources: { requests: { cpu: 2 }, limits: { cpu: 1 } } }],
        },
      };
      const { body } = await api().send('POST', `${path}/pods`, { body: bad });
      expect(body.code).toBe(422);
      const fields = body.details.causes.map((cause: { field: string }) => cause.field);
      expect(fields).toEqual([
        'spec.containers[0].name',
        'spec.containers[0].image',
        'spec.containers[0].resources.requests',
        'spec.restartPolicy',
      ]);
    });

    test('unknown fields are refused, warned of or dropped, as asked', async () => {
      const path = await inNamespace();
      const body = { ...pod('a'), extra: 1 };
      const strict = await api().send('POST', `${path}/pods?fieldValidation=Strict`, { body });
      expect(strict.body).toMatchObject({
        code: 400,
        message: 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "extra"',
      });
      const warned = await api().send('POST', `${path}/pods?dryRun=All`, { body });
      expect(warned.status).toBe(201);
      expect(warned.headers['warning']).toBe('299 - "unknown field \\"extra\\""');
      const ignored = await api().send('POST', `${path}/pods?dryRun=All&fieldValidation=Ignore`, { body });
      expect(ignored.headers['warning']).toBeUndefined();
      expect(ignored.body.extra).toBeUndefined();
    });

    test('a value of the wrong type is a BadRequest', async () => {
      const path = await inNamespace();
      const { body } = await api().send('POST', `${path}/pods`, {
        body: { metadata: { name: 'a' }, spec: { nodeName: 1 } },
      });
      expect(body).toMatchObject({ code: 400, reason: 'BadRequest' });
      expect(body.message).toContain('cannot unmarshal number into Go struct field');
    });

    test('a dry run answers the object and stores nothing', async () => {
      const path = await inNamespace();
      const made = await api().send('POST', `${path}/pods?dryRun=All`, { body: pod('a') });
      expect(made.status).toBe(201);
      expect(made.body.metadata.uid).toBeTruthy();
      expect((await api().send('GET', `${path}/pods/a`)).status).toBe(404);
    });

    test('the namespace of the object must be the one of the path', async () => {
      const path = await inNamespace();
      const { body } = await api().send('POST', `${path}/configmaps`, {
        body: { metadata: { name: 'a', namespace: 'b' } },
      });
      expect(body).toMatchObject({
        code: 400,
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      });
    });

    test('a priority class gives a pod its priority, and an unknown one is forbidden', async () => {
      const path = await inNamespace();
      const withClass = (priorityClassName: string): object => ({
        metadata: { name: 'a' },
        spec: { priorityClassName, containers: [{ name: 'main', image: 'x' }] },
      });
      const made = await api().send('POST', `${path}/pods?dryRun=All`, { body: withClass('system-node-critical') });
      expect(made.body.spec.priority).toBe(2_000_001_000);
      const refused = await api().send('POST', `${path}/pods`, { body: withClass('none-such') });
      expect(refused.body).toMatchObject({
        code: 403,
        reason: 'Forbidden',
        message: 'pods "a" is forbidden: no PriorityClass with name none-such was found',
      });
    });

    test('a deployment needs a selector that matches its template', async () => {
      const path = `/apis/apps/v1/namespaces/${await api().namespace()}/deployments`;
      const template = { metadata: { labels: { a: 'c' } }, spec: { containers: [{ name: 'main', image: 'x' }] } };
      const body = { metadata: { name: 'a' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
      const answer = await api().send('POST', path, { body });
      expect(answer.body.message).toBe(
        'Deployment.apps "a" is invalid: spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`',
      );
    });

    test('a new node is tainted until it is ready', async () => {
      const name = `node-${await api().namespace()}`;
      const { body } = await api().send('POST', '/api/v1/nodes', { body: { metadata: { name } } });
      expect(body.spec.taints).toEqual([{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    });
  });

  describe('update', () => {
    test('an update of an old version is a Conflict', async () => {
      const path = await inNamespace();
      const made = await api().send('POST', `${path}/configmaps`, {
        body: { metadata: { name: 'a' }, data: { k: '1' } },
      });
      await api().send('PUT', `${path}/configmaps/a`, { body: { ...made.body, data: { k: '2' } } });
      const { body } = await api().send('PUT', `${path}/configmaps/a`, { body: { ...made.body, data: { k: '3' } } });
      expect(body).toMatchObject({
        code: 409,
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
      });
    });

    test('an update without a version wins, and one that changes nothing leaves the version alone', async () => {
      const path = await inNamespace();
      const body = { metadata: { name: 'a' }, data: { k: '1' } };
      await api().send('POST', `${path}/configmaps`, { body });
      const changed = await api().send('PUT', `${path}/configmaps/a`, { body: { ...body, data: { k: '2' } } });
      expect(changed.status).toBe(200);
      const same = await api().send('PUT', `${path}/configmaps/a`, { body: changed.body });
      expect(same.body.metadata.resourceVersion).toBe(changed.body.metadata.resourceVersion);
    });

    test('the generation counts changes of the spec and not of the status or labels', async () => {
      const path = `/apis/apps/v1/namespaces/${await api().namespace()}/deployments`;
      const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'main', image: 'x' }] } };
      await api().send('POST', path, {
        body: { metadata: { name: 'a' }, spec: { selector: { matchLabels: { a: 'b' } }, template } },
      });
      const merge = 'application/merge-patch+json';
      const labelled = await api().send('PATCH', `${path}/a`, {
        type: merge,
        body: { metadata: { labels: { x: 'y' } } },
      });
      expect(labelled.body.metadata.generation).toBe(1);
      const status = await api().send('PATCH', `${path}/a/status`, {
        type: merge,
        body: { status: { replicas: 1 }, spec: { replicas: 9 } },
      });
      expect(status.body.metadata.generation).toBe(1);
      expect(status.body.spec.replicas).toBe(1);
      expect(status.body.status.replicas).toBe(1);
      const scaled = await api().send('PATCH', `${path}/a`, {
        type: merge,
        body: { spec: { replicas: 2 }, status: { replicas: 7 } },
      });
      expect(scaled.body.metadata.generation).toBe(2);
      expect(scaled.body.status.replicas).toBe(1);
    });

    test('a pod’s spec hardly changes', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/pods`, { body: pod('a') });
      const merge = 'application/merge-patch+json';
      const { body } = await api().send('PATCH', `${path}/pods/a`, { type: merge, body: { spec: { nodeName: 'n' } } });
      expect(body.code).toBe(422);
      expect(body.message).toContain('spec: Forbidden: pod updates may not change fields other than');
      const strategic = 'application/strategic-merge-patch+json';
      const image = { spec: { containers: [{ name: 'main', image: 'other' }] } };
      expect((await api().send('PATCH', `${path}/pods/a`, { type: strategic, body: image })).status).toBe(200);
    });
  });

  describe('patch', () => {
    test('a strategic merge patch merges lists by their keys and deletes by directive', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/services`, {
        body: {
          metadata: { name: 'a' },
          spec: {
            ports: [
              { port: 80, name: 'http' },
              { port: 443, name: 'https' },
            ],
          },
        },
      });
      const type = 'application/strategic-merge-patch+json';
      const patch = {
        spec: {
          ports: [
            { port: 80, $patch: 'delete' },
            { port: 443, targetPort: 8443 },
            { port: 53, name: 'dns' },
          ],
        },
      };
      const { body } = await api().send('PATCH', `${path}/services/a`, { type, body: patch });
      const ports = body.spec.ports.map((port: { port: number; targetPort: number }) => [port.port, port.targetPort]);
      expect(ports.toSorted()).toEqual([
        [443, 8443],
        [53, 53],
      ]);
    });

    test('a merge patch replaces lists and removes nulls', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/configmaps`, {
        body: { metadata: { name: 'a', labels: { x: '1', y: '2' } }, data: { k: '1' } },
      });
      const type = 'application/merge-patch+json';
      const { body } = await api().send('PATCH', `${path}/configmaps/a`, {
        type,
        body: { metadata: { labels: { x: null } }, data: { l: '2' } },
      });
      expect(body.metadata.labels).toEqual({ y: '2' });
      expect(body.data).toEqual({ k: '1', l: '2' });
    });

    test('a JSON patch tests before it changes', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'a' }, data: { k: '1' } } });
      const type = 'application/json-patch+json';
      const operations = (value: string): object => [
        { op: 'test', path: '/data/k', value },
        { op: 'replace', path: '/data/k', value: '2' },
      ];
      expect((await api().send('PATCH', `${path}/configmaps/a`, { type, body: operations('9') })).status).toBe(422);
      expect((await api().send('PATCH', `${path}/configmaps/a`, { type, body: operations('1') })).body.data.k).toBe(
        '2',
      );
    });

    test('a patch that names an old version is a Conflict, another type of patch is not supported', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'a' } } });
      const type = 'application/merge-patch+json';
      const stale = await api().send('PATCH', `${path}/configmaps/a`, {
        type,
        body: { metadata: { resourceVersion: '1' } },
      });
      expect(stale.status).toBe(409);
      expect(
        (await api().send('PATCH', `${path}/configmaps/a`, { type: 'application/x-patch', body: {} })).status,
      ).toBe(415);
    });
  });

  describe('delete', () => {
    test('a deleted object is gone and answered by a Status', async () => {
      const path = await inNamespace();
      const made = await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'a' } } });
      const { status, body } = await api().send('DELETE', `${path}/configmaps/a`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        kind: 'Status',
        status: 'Success',
        details: { name: 'a', kind: 'configmaps', uid: made.body.metadata.uid },
      });
      expect((await api().send('GET', `${path}/configmaps/a`)).body).toMatchObject({
        code: 404,
        message: 'configmaps "a" not found',
      });
    });

    test('finalizers hold an object until the last one is taken, and none may be added', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/configmaps`, {
        body: { metadata: { name: 'a', finalizers: ['example.com/hold'] } },
      });
      const marked = await api().send('DELETE', `${path}/configmaps/a`);
      expect(marked.body.metadata.deletionTimestamp).toBeTruthy();
      const type = 'application/merge-patch+json';
      const more = { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } };
      const refused = await api().send('PATCH', `${path}/configmaps/a`, { type, body: more });
      expect(refused.body.message).toBe(
        'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}',
      );
      const freed = await api().send('PATCH', `${path}/configmaps/a`, { type, body: { metadata: { finalizers: [] } } });
      expect(freed.status).toBe(200);
      expect((await api().send('GET', `${path}/configmaps/a`)).status).toBe(404);
    });

    test('preconditions protect another object of the same name', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'a' } } });
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'other' } };
      const answer = await api().send('DELETE', `${path}/configmaps/a`, { body });
      expect(answer.status).toBe(409);
      expect(answer.body.message).toContain('the UID in the precondition (other) does not match the UID in record');
    });

    test('a pod that runs nowhere goes at once; one on a node keeps its grace until a kubelet ends it', async () => {
      const path = await inNamespace();
      await api().send('POST', `${path}/pods`, { body: pod('free') });
      await api().send('DELETE', `${path}/pods/free`);
      expect((await api().send('GET', `${path}/pods/free`)).status).toBe(404);
      const bound = {
        metadata: { name: 'bound' },
        spec: { nodeName: 'n', containers: [{ name: 'main', image: 'x' }] },
      };
      await api().send('POST', `${path}/pods`, { body: bound });
      const { body } = await api().send('DELETE', `${path}/pods/bound`);
      expect(body.metadata.deletionGracePeriodSeconds).toBe(30);
      expect(body.metadata.generation).toBe(2);
      const shorter = await api().send('DELETE', `${path}/pods/bound?gracePeriodSeconds=5`);
      expect(shorter.body.metadata.deletionGracePeriodSeconds).toBe(5);
      await api().send('DELETE', `${path}/pods/bound?gracePeriodSeconds=0`);
      expect((await api().send('GET', `${path}/pods/bound`)).status).toBe(404);
    });

    test('deletecollection deletes what the selector selects', async () => {
      const path = await inNamespace();
      for (const name of ['a', 'b']) {
        await api().send('POST', `${path}/configmaps`, { body: { metadata: { name, labels: { name } } } });
      }
      const gone = await api().send('DELETE', `${path}/configmaps?labelSelector=name%3Da`);
      expect(gone.body.kind).toBe('ConfigMapList');
      const left = await api().send('GET', `${path}/configmaps`);
      const names = left.body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
      expect(names.filter((name: string) => name !== 'kube-root-ca.crt')).toEqual(['b']);
    });
  });
}
