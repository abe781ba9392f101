import { describe, expect, test } from 'vitest';
import type { Answer, ApiUnderTest } from './api-under-test.ts';

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: object;
}

/** Server-side apply: ownership, conflicts, and what happens to fields that are applied no longer. */
export function applyCases(api: () => ApiUnderTest): void {
  const apply = (path: string, manager: string, body: object, more = ''): Promise<Answer> =>
    api().send('PATCH', `${path}?fieldManager=${manager}${more}`, { type: 'application/apply-patch+yaml', body });
  const configMap = (data: object): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data });
  const ownership = (answer: Answer): ReadonlyArray<readonly [string, string, object]> =>
    answer.body.metadata.managedFields.map((entry: Entry) => [entry.manager, entry.operation, entry.fieldsV1]);
  const pathOf = async (): Promise<string> => `/api/v1/namespaces/${await api().namespace()}/configmaps/a`;

  describe('server-side apply', () => {
    test('an apply creates, and its manager owns what it applied', async () => {
      const made = await apply(await pathOf(), 'one', configMap({ k: '1' }));
      expect(made.status).toBe(201);
      expect(ownership(made)).toEqual([['one', 'Apply', { 'f:data': { 'f:k': {} } }]]);
    });

    test('another manager’s value is a conflict that names manager and field; force takes it over', async () => {
      const path = await pathOf();
      await apply(path, 'one', configMap({ k: '1' }));
      const refused = await apply(path, 'two', configMap({ k: '2' }));
      expect(refused.body).toMatchObject({
        code: 409,
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "one": .data.k',
        details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.k' }] },
      });
      const forced = await apply(path, 'two', configMap({ k: '2' }), '&force=true');
      expect(forced.body.data).toEqual({ k: '2' });
      expect(ownership(forced)).toEqual([['two', 'Apply', { 'f:data': { 'f:k': {} } }]]);
    });

    test('several conflicts are listed by manager', async () => {
      const path = await pathOf();
      await apply(path, 'one', configMap({ k: '1', l: '1' }));
      const refused = await apply(path, 'two', configMap({ k: '2', l: '2' }));
      expect(refused.body.message).toBe('Apply failed with 2 conflicts: conflicts with "one":\n- .data.k\n- .data.l');
    });

    test('the same value may be owned by several', async () => {
      const path = await pathOf();
      await apply(path, 'one', configMap({ k: '1' }));
      const shared = await apply(path, 'two', configMap({ k: '1' }));
      expect(
        ownership(shared)
          .map(([manager]) => manager)
          .toSorted(),
      ).toEqual(['one', 'two']);
    });

    test('a field that is applied no longer goes, unless another manager owns it', async () => {
      const path = await pathOf();
      await apply(path, 'one', configMap({ k: '1', shared: 's' }));
      await apply(path, 'two', configMap({ shared: 's' }));
      const { body } = await apply(path, 'one', configMap({}));
      expect(body.data).toEqual({ shared: 's' });
    });

    test('an update takes ownership of what it changes, and an apply then conflicts with it', async () => {
      const path = await pathOf();
      await apply(path, 'one', configMap({ k: '1' }));
      await api().send('PATCH', `${path}?fieldManager=editor`, {
        type: 'application/merge-patch+json',
        body: { data: { k: '2' } },
      });
      const refused = await apply(path, 'one', configMap({ k: '1' }));
      expect(refused.status).toBe(409);
      expect(refused.body.details.causes[0].field).toBe('.data.k');
      expect(refused.body.message).toMatch(
        /^Apply failed with 1 conflict: conflict with "editor" using v1.*: \.data\.k$/,
      );
    });

    test('containers are merged by name, and defaults belong to nobody', async () => {
      const path = `/apis/apps/v1/namespaces/${await api().namespace()}/deployments/a`;
      const deployment = (spec: object, labels: object): object => ({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'a' },
        spec: { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels }, spec } },
      });
      const main = { containers: [{ name: 'main', image: 'x', ports: [{ containerPort: 80 }] }] };
      const made = await apply(path, 'one', deployment(main, { a: 'b' }));
      expect(made.status).toBe(201);
      expect(ownership(made)[0]?.[2]).toMatchObject({
        'f:spec': {
          'f:template': {
            'f:spec': {
              'f:containers': {
                'k:{"name":"main"}': {
                  '.': {},
                  'f:image': {},
                  'f:name': {},
                  'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
                },
              },
            },
          },
        },
      });
      const second = deployment({ containers: [{ name: 'side', image: 'y' }] }, { a: 'b' });
      const both = await apply(path, 'two', second);
      const names = both.body.spec.template.spec.containers.map((container: { name: string }) => container.name);
      expect(names).toEqual(['main', 'side']);
      const gone = await apply(path, 'two', {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'a', labels: { x: 'y' } },
      });
      expect(gone.body.spec.template.spec.containers).toHaveLength(1);
    });

    test('a status apply owns the status only', async () => {
      const namespace = await api().namespace();
      const pod = { metadata: { name: 'a' }, spec: { containers: [{ name: 'main', image: 'x' }] } };
      await api().send('POST', `/api/v1/namespaces/${namespace}/pods`, { body: pod });
      const status = { conditions: [{ type: 'Ready', status: 'True' }] };
      const applied = await apply(`/api/v1/namespaces/${namespace}/pods/a/status`, 'kubelet', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'a' },
        status,
      });
      expect(applied.body.status.conditions).toHaveLength(1);
      const entry = applied.body.metadata.managedFields.find((found: Entry) => found.manager === 'kubelet');
      expect(entry).toMatchObject({ operation: 'Apply', subresource: 'status' });
      expect(Object.keys(entry.fieldsV1)).toEqual(['f:status']);
    });

    test('an apply names its manager', async () => {
      const { body } = await api().send('PATCH', await pathOf(), {
        type: 'application/apply-patch+yaml',
        body: configMap({}),
      });
      expect(body).toMatchObject({
        code: 422,
        message: 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      });
    });
  });
}
