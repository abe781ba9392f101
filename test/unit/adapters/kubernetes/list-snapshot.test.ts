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

  test('has nothing of a kind that is not installed', async () => {
    const { snapshot } = holding((resource) => (resource === 'nodeclaims' ? { status: 404, body: null } : undefined));
    expect((await snapshot()).nodeClaims).toEqual([]);
  });

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
