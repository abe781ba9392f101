import { describe, expect, test } from 'vitest';
import { type ApiUnderTest, eventually } from './api-under-test.ts';

const version = (name: string, storage: boolean): object => ({
  name,
  served: true,
  storage,
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
  },
});

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.versions.example' },
  spec: {
    group: 'versions.example',
    scope: 'Cluster',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [version('v1', true), version('v1beta1', false)],
  },
};

/** Objects that are served at several versions or in several groups are the same objects. */
export function versionCases(api: () => ApiUnderTest): void {
  describe('versions', () => {
    test('a custom resource written at one version is read, listed and watched at the other', async () => {
      await api().send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body: definition });
      const path = (name: string): string => `/apis/versions.example/${name}/widgets`;
      const body = { apiVersion: 'versions.example/v1beta1', kind: 'Widget', metadata: { name: 'a' }, spec: { x: 1 } };
      const made = await eventually(
        () => api().send('POST', path('v1beta1'), { body }),
        ({ status }) => status === 201,
      );
      expect(made.body.apiVersion).toBe('versions.example/v1beta1');
      const read = await api().send('GET', `${path('v1')}/a`);
      expect(read.body).toMatchObject({ apiVersion: 'versions.example/v1', spec: { x: 1 } });
      expect(read.body.metadata.uid).toBe(made.body.metadata.uid);
      const list = await api().send('GET', path('v1'));
      expect(list.body.items.map((item: { apiVersion: string }) => item.apiVersion)).toEqual(['versions.example/v1']);
      const group = await api().send('GET', '/apis/versions.example');
      expect(group.body.preferredVersion.version).toBe('v1');
    });

    test('an event recorded in one group is seen in the other', async () => {
      const namespace = await api().namespace();
      const regarding = { apiVersion: 'v1', kind: 'Pod', name: 'p', namespace };
      const made = await api().send('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
        body: {
          metadata: { name: 'e' },
          eventTime: '2026-01-01T00:00:00.000000Z',
          reportingController: 'example.com/tester',
          reportingInstance: 'tester-1',
          action: 'Testing',
          reason: 'Tested',
          regarding,
          note: 'seen twice',
          type: 'Normal',
        },
      });
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({ apiVersion: 'events.k8s.io/v1', note: 'seen twice', regarding });
      const core = `/api/v1/namespaces/${namespace}/events`;
      const found = await api().send('GET', `${core}?fieldSelector=involvedObject.name%3Dp,reason%3DTested`);
      expect(found.body.items).toHaveLength(1);
      expect(found.body.items[0]).toMatchObject({
        involvedObject: regarding,
        message: 'seen twice',
        reportingComponent: 'example.com/tester',
      });
    });

    test('aggregated discovery tells of groups, versions, resources and subresources at once', async () => {
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
      const { body, headers } = await api().send('GET', '/apis', { accept });
      expect(headers['content-type']).toContain('as=APIGroupDiscoveryList');
      const apps = body.items.find((group: { metadata: { name: string } }) => group.metadata.name === 'apps');
      const deployments = apps.versions[0].resources.find(
        (found: { resource: string }) => found.resource === 'deployments',
      );
      expect(deployments).toMatchObject({
        scope: 'Namespaced',
        shortNames: ['deploy'],
        singularResource: 'deployment',
      });
      const parts = deployments.subresources.map((part: { subresource: string }) => part.subresource);
      expect(parts.toSorted()).toEqual(['scale', 'status']);
    });
  });
}
