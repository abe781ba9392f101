import { describe, expect, test } from 'vitest';
import type { ApiUnderTest, Sent } from './api-under-test.ts';

const merge = 'application/merge-patch+json';
const patches = ['application/json-patch+json', merge, 'application/strategic-merge-patch+json'];

const malformed: ReadonlyArray<readonly [what: string, method: string, path: string, sent: Sent]> = [
  ['a body that is no JSON', 'POST', '/configmaps', { body: '{bad' }],
  ['an empty body', 'POST', '/configmaps', { body: '' }],
  ['a list for a body', 'POST', '/configmaps', { body: '[]' }],
  ['a number for metadata', 'POST', '/configmaps', { body: { metadata: 5 } }],
  ['labels that are no text', 'POST', '/configmaps', { body: { metadata: { name: 'a', labels: { x: 1 } } } }],
  ['a list for labels', 'POST', '/configmaps', { body: { metadata: { name: 'a', labels: ['x'] } } }],
  ['containers that are text', 'POST', '/pods', { body: { metadata: { name: 'a' }, spec: { containers: 'x' } } }],
  [
    'a quantity that is none',
    'POST',
    '/pods',
    {
      body: {
        metadata: { name: 'a' },
        spec: { containers: [{ name: 'a', image: 'x', resources: { limits: { cpu: 'lots' } } }] },
      },
    },
  ],
  ['protobuf that is none', 'POST', '/configmaps', { body: 'k8s\0zzz', type: 'application/vnd.kubernetes.protobuf' }],
  ['a selector that cannot be read', 'GET', '/pods?labelSelector=a%20in%20b', {}],
  ['a field selector without a value', 'GET', '/pods?fieldSelector=x', {}],
  ['a continue token that is none', 'GET', '/pods?continue=zzz', {}],
  ['a version that is no number', 'GET', '/pods?resourceVersion=-1', {}],
  ['a dry run of another kind', 'POST', '/configmaps?dryRun=Some', { body: { metadata: { name: 'a' } } }],
  ['an object under another name', 'PUT', '/configmaps/held', { body: { metadata: { name: 'other' } } }],
  ['a kind that is not served', 'GET', '/gizmos', {}],
  ['a part that the kind does not have', 'GET', '/configmaps/held/scale', {}],
  ['a delete of everything by PUT', 'PUT', '/configmaps', { body: {} }],
  ['an object in the path of a create', 'POST', '/configmaps/held', { body: {} }],
  ...patches.map(
    (type) => [`a patch that is no JSON (${type})`, 'PATCH', '/configmaps/held', { type, body: '{' }] as const,
  ),
  ['a merge patch that is a list', 'PATCH', '/configmaps/held', { type: merge, body: '[]' }],
  ['a merge patch that removes the metadata', 'PATCH', '/configmaps/held', { type: merge, body: { metadata: null } }],
  ['a JSON patch that is an object', 'PATCH', '/configmaps/held', { type: patches[0] ?? '', body: {} }],
  [
    'a JSON patch of an unknown operation',
    'PATCH',
    '/configmaps/held',
    { type: patches[0] ?? '', body: [{ op: 'melt', path: '/data' }] },
  ],
  [
    'an apply of another name',
    'PATCH',
    '/configmaps/held?fieldManager=x',
    {
      type: 'application/apply-patch+yaml',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other' } },
    },
  ],
];

/** Input that no well-behaved client sends: refused with a Status, and the server goes on. */
export function malformedCases(api: () => ApiUnderTest): void {
  describe('malformed input', () => {
    test.each(malformed)('%s is refused with a Status', async (_what, method, path, sent) => {
      const namespace = `/api/v1/namespaces/${await api().namespace()}`;
      await api().send('POST', `${namespace}/configmaps`, { body: { metadata: { name: 'held' } } });
      const answer = await api().send(method, `${namespace}${path}`, sent);
      expect([answer.status, answer.text]).toEqual([
        expect.toSatisfy((status: number) => status >= 400 && status < 500),
        expect.any(String),
      ]);
      expect(answer.body).toMatchObject({ kind: 'Status', status: 'Failure', code: answer.status });
      expect((await api().send('GET', '/readyz')).text).toBe('ok');
    });
  });
}
