import { describe, expect, test } from 'vitest';
import { listSnapshot } from '../../../../shared/adapters/kubernetes/list-snapshot.ts';
import type { Answer, Transport } from '../../../../shared/adapters/kubernetes/transport.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';

const node = (name: string): object => ({ metadata: { name, resourceVersion: '1', uid: name } });

/** An API server that has these pages of a resource and nothing of others, and the paths it was asked for. */
function holding(pages: (resource: string, from: string) => Answer | undefined) {
  const asked: Array<string> = [];
  const transport: Transport = ({ method, path }) => {
    asked.push(`${method} ${path}`);
    const url = new URL(path, 'http://api');
    const resource = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
    const empty: Answer = { status: 200, body: { items: [], metadata: { resourceVersion: '9' } } };
    return Promise.resolve(pages(resource, url.searchParams.get('continue') ?? '') ?? empty);
  };
  const snapshot = (buffers = false) => listSnapshot(transport, 'c', 5_000, { buffers });
  return { asked, snapshot };
}

const page = (next: string, ...names: ReadonlyArray<string>): Answer => ({
  status: 200,
  body: { items: names.map(node), metadata: { resourceVersion: '12', continue: next } },
});

describe('a snapshot that is listed', () => {
  test('has all pages of every resource, and where it was taken', async () => {
    const { asked, snapshot } = holding((resource, from) => {
      if (resource !== 'nodes') return undefined;
      return from === '' ? page('a&b', 'n-1', 'n-2') : page('', 'n-3');
    });
    const { nodes, version, takenAtMs, resourceVersions } = await snapshot();
    expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['n-1', 'n-2', 'n-3']);
    expect({ version, takenAtMs }).toEqual({ version: 'listed-5000', takenAtMs: 5_000 });
    expect(resourceVersions).toMatchObject({ nodes: '12', nodeclaims: '9' });
    expect(asked.filter((one) => one.includes('/nodes?'))).toEqual([
      'GET /api/v1/nodes?limit=500',
      'GET /api/v1/nodes?limit=500&continue=a%26b',
    ]);
    expect(asked).toContain('GET /apis/karpenter.sh/v1/nodeclaims?limit=500');
  });

  test('reads buffers only where it is told to', async () => {
    const plain = holding(() => undefined);
    await plain.snapshot();
    const withBuffers = holding(() => undefined);
    await withBuffers.snapshot(true);
    const readsBuffers = (asked: ReadonlyArray<string>): boolean =>
      asked.some((one) => one.includes('capacitybuffers'));
    expect([readsBuffers(plain.asked), readsBuffers(withBuffers.asked)]).toEqual([false, true]);
  });

  /** The API server does not find NodeOverlays, and answers so to its discovery. */
  const without = (group: Answer, groups: Answer = { status: 200, body: { groups: [] } }) =>
    holding((resource) => {
      if (resource === 'nodeoverlays') return { status: 404, body: null };
      if (resource === 'v1alpha1') return group;
      return resource === 'apis' ? groups : undefined;
    });
  const serving = (...names: ReadonlyArray<string>): Answer => ({
    status: 200,
    body: { resources: names.map((name) => ({ name })) },
  });
  const absent: Answer = { status: 404, body: null };
  const has = (groupVersion: string): Answer => ({ status: 200, body: { groups: [{ versions: [{ groupVersion }] }] } });

  test.for([
    ['whose group has other kinds', serving('others'), undefined],
    ['whose group is not there either', absent, has('karpenter.sh/v1')],
    ['where there is no group', absent, undefined],
  ] as const)('has nothing of a kind that is not installed, %s', async ([, group, groups]) => {
    expect((await without(group, groups).snapshot()).nodeOverlays).toEqual([]);
  });

  test.for([
    ['that its group has', serving('nodeoverlays'), undefined],
    ['whose group is among those of the API server', absent, has('karpenter.sh/v1alpha1')],
    ['of which the API server does not say what it has', absent, { status: 400, body: null }],
    ['whose group cannot be read', { status: 400, body: null }, undefined],
    ['whose group says nothing', { status: 200, body: {} }, undefined],
  ] as const)('is none when a kind is not found %s: plans would go without it', async ([, group, groups]) => {
    await expect(without(group, groups).snapshot()).rejects.toThrow('listing nodeoverlays: 404');
  });

  test.for(['nodes', 'daemonsets', 'jobs', 'poddisruptionbudgets', 'storageclasses'])(
    'is none when %s are not found, which every cluster has',
    async (resource) => {
      const { snapshot, asked } = holding((one) => (one === resource ? absent : undefined));
      await expect(snapshot()).rejects.toThrow(`listing ${resource}: 404`);
      expect(asked.every((path) => path.includes('limit='))).toBe(true);
    },
  );

  test('has nothing of a resource that answers with an empty object', async () => {
    const { snapshot } = holding((resource) => (resource === 'nodes' ? { status: 200, body: {} } : undefined));
    expect((await snapshot()).nodes).toEqual([]);
  });

  test.for([400, 404, 410, 422])(
    'is none when a list is refused halfway (%s): plans would count on half of it',
    async (status) => {
      const { snapshot } = holding((resource, from) => {
        if (resource !== 'nodes') return undefined;
        return from === '' ? page('a', 'n-1') : { status, body: null };
      });
      const failure = await snapshot().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(RetryableError);
      expect(failure).toMatchObject({ message: `listing nodes: ${status}` });
    },
  );

  test('is none when a list never ends', async () => {
    const { asked, snapshot } = holding((resource) => (resource === 'nodes' ? page('again', 'n') : undefined));
    await expect(snapshot()).rejects.toThrow('listing nodes: more than 1000 pages');
    expect(asked.filter((one) => one.includes('/nodes?'))).toHaveLength(1_000);
  });
});
