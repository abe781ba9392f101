import { describe, expect, test } from 'vitest';
import { createKubernetes } from '../../../../shared/adapters/kubernetes/kubernetes.ts';
import type { Answer } from '../../../../shared/adapters/kubernetes/transport.ts';
import { RefusedError, RetryableError } from '../../../../shared/ports/errors.ts';
import type { Key, Kind, Kubernetes } from '../../../../shared/ports/kubernetes.ts';
import { scripted } from './scripted-transport.ts';

const refused: Answer = { status: 422, body: { message: 'spec is immutable' } };
const found = { metadata: { name: 'a' } };
const key: Key = { name: 'a', namespace: null };
const answerOf = (status: number, body: unknown = {}): Answer => ({ status, body });

/** What a call makes of these answers, and what it asked. */
async function asking<T>(call: (kubernetes: Kubernetes) => Promise<T>, ...answers: ReadonlyArray<Answer>) {
  const { transport, asked } = scripted(...answers);
  return { outcome: await call(createKubernetes(transport)), asked };
}

test.for<readonly [Kind, string | null, string]>([
  ['Node', null, '/api/v1/nodes/a'],
  ['Pod', 'd', '/api/v1/namespaces/d/pods/a'],
  ['Secret', 'd', '/api/v1/namespaces/d/secrets/a'],
  ['Event', null, '/api/v1/namespaces/default/events/a'],
  ['NodeClaim', null, '/apis/karpenter.sh/v1/nodeclaims/a'],
  ['NodePool', null, '/apis/karpenter.sh/v1/nodepools/a'],
  ['CapacityBuffer', 'd', '/apis/autoscaling.x-k8s.io/v1beta1/namespaces/d/capacitybuffers/a'],
  ['NodeOverlay', null, '/apis/karpenter.sh/v1alpha1/nodeoverlays/a'],
  ['AKSNodeClass', null, '/apis/karpenter.azure.com/v1beta1/aksnodeclasses/a'],
  ['Lease', 'd', '/apis/coordination.k8s.io/v1/namespaces/d/leases/a'],
  ['VolumeAttachment', null, '/apis/storage.k8s.io/v1/volumeattachments/a'],
  ['ResourceSlice', null, '/apis/resource.k8s.io/v1/resourceslices/a'],
  ['PersistentVolumeClaim', 'd', '/api/v1/namespaces/d/persistentvolumeclaims/a'],
  ['PodDisruptionBudget', 'd', '/apis/policy/v1/namespaces/d/poddisruptionbudgets/a'],
])('a %s of namespace %s is at %s', async ([kind, namespace, path]) => {
  const { outcome, asked } = await asking((one) => one.get(kind, { name: 'a', namespace }), answerOf(200, found));
  expect(outcome).toBe(found);
  expect(asked).toEqual([{ method: 'GET', path }]);
});

test('a name is no path, whatever is in it', async () => {
  const { asked } = await asking((one) => one.get('Pod', { name: 'a/b?c', namespace: 'd/e' }), answerOf(200, found));
  expect(asked[0]?.path).toBe('/api/v1/namespaces/d%2Fe/pods/a%2Fb%3Fc');
});

describe('a read', () => {
  test('gives null for what is not there', async () => {
    const { outcome } = await asking((one) => one.get('Node', key), answerOf(404, { message: 'no' }));
    expect(outcome).toBeNull();
  });

  test.for([
    ['a refusal', answerOf(400, { message: 'bad name' }), 'reading Node a: 400 bad name'],
    ['a refusal without words', answerOf(409, null), 'reading Node a: 409 HTTP 409'],
    ['nothing', answerOf(200, null), 'reading Node a: 200 HTTP 200'],
    ['no object', answerOf(200, 'x'), 'reading Node a: 200 HTTP 200'],
  ] as const)('takes %s for no object', async ([, answer, message]) => {
    const failure = await asking((one) => one.get('Node', key), answer).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message });
  });
});

describe('a list', () => {
  const page = (next: string | undefined, ...names: ReadonlyArray<string>): Answer =>
    answerOf(200, {
      items: names.map((name) => ({ metadata: { name } })),
      metadata: next === undefined ? {} : { continue: next },
    });

  test('is read to its end, page by page, each from where the last ended, with its selectors', async () => {
    const names = Array.from({ length: 500 }, (_, index) => `n-${index}`);
    const { outcome, asked } = await asking(
      (one) => one.list('Pod', { labels: 'a=b,c!=d', fields: 'spec.nodeName=n' }),
      page('x&y', ...names),
      page('z', 'n-500'),
      page('', 'n-501'),
    );
    expect(outcome.map(({ metadata }) => metadata.name)).toEqual([...names, 'n-500', 'n-501']);
    const query = 'limit=500&labelSelector=a%3Db%2Cc%21%3Dd&fieldSelector=spec.nodeName%3Dn';
    expect(asked.map(({ path }) => path)).toEqual([
      `/api/v1/pods?${query}`,
      `/api/v1/pods?${query}&continue=x%26y`,
      `/api/v1/pods?${query}&continue=z`,
    ]);
  });

  test('of a kind without objects is empty', async () => {
    const { outcome, asked } = await asking((one) => one.list('NodeClaim'), answerOf(200, {}));
    expect(outcome).toEqual([]);
    expect(asked[0]?.path).toBe('/apis/karpenter.sh/v1/nodeclaims?limit=500');
  });

  test.for([
    [
      'changes while it is read',
      answerOf(410, { message: 'expired' }),
      'listing nodes: the list changed while it was read',
    ],
    ['is refused halfway', answerOf(404, { message: 'gone' }), 'listing nodes: 404 gone'],
    ['is no list halfway', answerOf(200, null), 'listing nodes: 200 HTTP 200'],
  ] as const)('that %s is no list: half of one is never given', async ([, answer, message]) => {
    const failure = await asking((one) => one.list('Node'), page('x', 'a'), answer).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RetryableError);
    expect(failure).toMatchObject({ message });
  });

  test('that never ends is given up after a thousand pages', async () => {
    const { transport, asked } = scripted(...Array.from({ length: 1_001 }, () => page('again', 'a')));
    const listed = createKubernetes(transport).list('Node');
    await expect(listed).rejects.toThrow('listing nodes: more than 1000 pages');
    await expect(listed).rejects.toBeInstanceOf(RetryableError);
    expect(asked).toHaveLength(1_000);
  });
});

const denial = "nodes \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
const denied = (status: number): Answer => answerOf(status, { message: denial });
const byPolicy = { reason: denial, policy: "ValidatingAdmissionPolicy 'p'" };

describe('what a policy denies, whatever status it chooses', () => {
  test.for([401, 403, 404, 409, 413, 422])('is refused, and no other outcome (%s)', async (status) => {
    const object = { metadata: { name: 'a', namespace: 'd' } };
    const created = await asking((one) => one.create('Secret', object), denied(status));
    expect(created.outcome).toEqual({
      kind: 'refused',
      reason: denial,
      refusal: { act: 'create', kind: 'Secret', key: { name: 'a', namespace: 'd' }, ...byPolicy },
    });
    const patched = await asking((one) => one.patch('Node', key, {}), denied(status));
    expect(patched.outcome).toMatchObject({
      kind: 'refused',
      refusal: { act: 'patch', kind: 'Node', key, ...byPolicy },
    });
    const told = await asking((one) => one.patchStatus('Node', key, {}), denied(status));
    expect(told.outcome).toMatchObject({ kind: 'refused', refusal: { act: 'patch the status of', ...byPolicy } });
    const evicted = await asking((one) => one.evict({ namespace: 'd', name: 'p', uid: 'u' }), denied(status));
    expect(evicted.outcome).toMatchObject({
      kind: 'blocked',
      status,
      refusal: { act: 'evict', kind: 'Pod', ...byPolicy },
    });
    const failure = await asking((one) => one.delete('Node', key), denied(status)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure).toMatchObject({ refusal: { act: 'delete', kind: 'Node', key, ...byPolicy } });
  });

  test('is by admission where it is forbidden, and nobody says by whom', async () => {
    const quota = answerOf(403, { message: 'secrets "a" is forbidden: exceeded quota: few' });
    const { outcome } = await asking((one) => one.create('Secret', { metadata: { name: 'a' } }), quota);
    expect(outcome).toMatchObject({ kind: 'refused', refusal: { policy: 'admission control of the API server' } });
  });

  test('is told from what a budget does not allow now', async () => {
    const pod = { namespace: 'd', name: 'p', uid: 'u' };
    for (const status of [429, 500]) {
      const { outcome } = await asking((one) => one.evict(pod), answerOf(status, { message: 'budget' }));
      expect(outcome).toMatchObject({ kind: 'blocked', refusal: null });
    }
  });
});

describe('what is created', () => {
  const object = { metadata: { name: 'a', namespace: 'd' } };

  test('is posted to its namespace, whole', async () => {
    const { outcome, asked } = await asking((one) => one.create('Secret', object), answerOf(201, found));
    expect(outcome).toEqual({ kind: 'created', object: found });
    expect(asked).toEqual([{ method: 'POST', path: '/api/v1/namespaces/d/secrets', body: object }]);
  });

  test('is posted to the cluster where its kind has no namespace, and to the default one where it names none', async () => {
    const { asked } = await asking((one) => one.create('NodeClaim', object), answerOf(201, found));
    expect(asked[0]?.path).toBe('/apis/karpenter.sh/v1/nodeclaims');
    const nameless = await asking((one) => one.create('Event', {}), answerOf(201, found));
    expect(nameless.asked[0]?.path).toBe('/api/v1/namespaces/default/events');
  });

  test.for([
    [answerOf(409, { message: 'exists' }), { kind: 'exists' }],
    [refused, { kind: 'refused', reason: 'spec is immutable' }],
    [answerOf(400, null), { kind: 'refused', reason: 'HTTP 400' }],
    [answerOf(404, {}), { kind: 'refused', reason: 'HTTP 404' }],
  ] as const)('and answered with %j is %j', async ([answer, outcome]) => {
    expect((await asking((one) => one.create('Secret', object), answer)).outcome).toMatchObject(outcome);
  });
});

describe('a patch', () => {
  const patch = { metadata: { resourceVersion: '7', uid: 'u' }, spec: { x: null } };

  test('is a merge patch, sent as it is: what makes it conditional is in it', async () => {
    const { outcome, asked } = await asking((one) => one.patch('Node', key, patch), answerOf(200, found));
    expect(outcome).toEqual({ kind: 'written', object: found });
    expect(asked).toEqual([
      { method: 'PATCH', path: '/api/v1/nodes/a', body: patch, contentType: 'application/merge-patch+json' },
    ]);
  });

  test('of a status goes to the status', async () => {
    const { asked } = await asking((one) => one.patchStatus('NodeClaim', key, patch), answerOf(200, found));
    expect(asked).toEqual([
      {
        method: 'PATCH',
        path: '/apis/karpenter.sh/v1/nodeclaims/a/status',
        body: patch,
        contentType: 'application/merge-patch+json',
      },
    ]);
  });

  test.for([
    [answerOf(404), { kind: 'not-found' }],
    [answerOf(409), { kind: 'conflict' }],
    [refused, { kind: 'refused', reason: 'spec is immutable' }],
    [answerOf(400), { kind: 'refused', reason: 'HTTP 400' }],
  ] as const)('that is answered with %j is %j', async ([answer, outcome]) => {
    expect((await asking((one) => one.patch('Node', key, patch), answer)).outcome).toMatchObject(outcome);
    expect((await asking((one) => one.patchStatus('Node', key, patch), answer)).outcome).toMatchObject(outcome);
  });
});

describe('a deletion', () => {
  const options = { apiVersion: 'v1', kind: 'DeleteOptions' };

  test('is of the object with the uid that was meant, after the time that was given', async () => {
    const { outcome, asked } = await asking(
      (one) => one.delete('Pod', { name: 'a', namespace: 'd' }, { uid: 'u', gracePeriodSeconds: 0 }),
      answerOf(200, found),
    );
    expect(outcome).toBe('deleted');
    expect(asked).toEqual([
      {
        method: 'DELETE',
        path: '/api/v1/namespaces/d/pods/a',
        body: { ...options, preconditions: { uid: 'u' }, gracePeriodSeconds: 0 },
      },
    ]);
  });

  test('that is only tried says so where the API server reads it, beside the uid', async () => {
    const { outcome, asked } = await asking(
      (one) => one.delete('Node', key, { uid: 'u', isTrial: true }),
      answerOf(200),
    );
    expect(outcome).toBe('deleted');
    expect(asked[0]).toMatchObject({
      path: '/api/v1/nodes/a',
      body: { ...options, preconditions: { uid: 'u' }, dryRun: ['All'] },
    });
  });

  test('without further words has no condition', async () => {
    const { asked } = await asking((one) => one.delete('Node', key), answerOf(200, found));
    expect(asked[0]?.body).toEqual(options);
  });

  test.for([404, 409])('of what is gone, or another’s, is no deletion (%s)', async (status) => {
    expect((await asking((one) => one.delete('Node', key), answerOf(status))).outcome).toBe('not-found');
    const asRead = await asking((one) => one.delete('Node', key, { resourceVersion: '7' }), answerOf(status));
    expect(asRead.asked[0]?.body).toMatchObject({ preconditions: { resourceVersion: '7' } });
    expect(asRead.outcome).toBe(status === 409 ? 'conflict' : 'not-found');
  });

  test('that is refused is not taken for done', async () => {
    const deletion = asking((one) => one.delete('Node', key), refused);
    await expect(deletion).rejects.toThrow('may not delete Node a: spec is immutable');
    await expect(deletion).rejects.toBeInstanceOf(RefusedError);
  });
});

describe('an eviction [K08]', () => {
  const pod = { namespace: 'd', name: 'p', uid: 'u' };

  test('is of the pod with the uid that was meant', async () => {
    const { outcome, asked } = await asking((one) => one.evict(pod), answerOf(201));
    expect(outcome).toEqual({ kind: 'evicted', status: 201 });
    expect(asked).toEqual([
      {
        method: 'POST',
        path: '/api/v1/namespaces/d/pods/p/eviction',
        body: {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name: 'p', namespace: 'd' },
          deleteOptions: { preconditions: { uid: 'u' } },
        },
      },
    ]);
  });

  test.for([
    [answerOf(404), { kind: 'gone', status: 404 }],
    [answerOf(409), { kind: 'gone', status: 409 }],
    [answerOf(429, { message: 'budget' }), { kind: 'blocked', status: 429, reason: 'budget' }],
    [answerOf(400), { kind: 'blocked', status: 400, reason: 'HTTP 400' }],
    [answerOf(500, { message: 'two budgets' }), { kind: 'blocked', status: 500, reason: 'two budgets' }],
  ] as const)('that is answered with %j is %j', async ([answer, outcome]) => {
    expect((await asking((one) => one.evict(pod), answer)).outcome).toMatchObject(outcome);
  });
});

test.for([
  [{ gitVersion: 'v1.36.3' }, '1.36.3'],
  [{ gitVersion: 'v1.36.3-alpha.1+abc' }, '1.36.3'],
  [{ gitVersion: '1.35.0+k3s1-x' }, '1.35.0'],
  [{}, ''],
] as const)('of the version %j the numbers count: %s', async ([body, version]) => {
  const { outcome, asked } = await asking((one) => one.serverVersion(), answerOf(200, body));
  expect(outcome).toBe(version);
  expect(asked).toEqual([{ method: 'GET', path: '/version' }]);
});

test('a version that cannot be read is none', async () => {
  await expect(asking((one) => one.serverVersion(), answerOf(404, {}))).rejects.toThrow('reading the version: 404');
});
