import { describe, expect, test } from 'vitest';
import { type ApiUnderTest, eventually } from './api-under-test.ts';

/** Garbage collection and the end of namespaces, which the real cluster leaves to its controller manager. */
export function lifecycleCases(api: () => ApiUnderTest): void {
  const family = async (path: string, blocks: boolean): Promise<void> => {
    const owner = await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'owner' } } });
    const reference = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'owner',
      uid: owner.body.metadata.uid,
      blockOwnerDeletion: blocks,
    };
    await api().send('POST', `${path}/configmaps`, {
      body: { metadata: { name: 'child', ownerReferences: [reference] } },
    });
  };
  const statusOf = async (path: string): Promise<number> => (await api().send('GET', path)).status;

  describe('owners and namespaces', () => {
    test('in the background a dependent goes after its owner', async () => {
      const path = `/api/v1/namespaces/${await api().namespace()}`;
      await family(path, false);
      await api().send('DELETE', `${path}/configmaps/owner?propagationPolicy=Background`);
      expect(await statusOf(`${path}/configmaps/owner`)).toBe(404);
      await eventually(
        () => statusOf(`${path}/configmaps/child`),
        (status) => status === 404,
      );
    });

    test('in the foreground the owner waits for its dependents', async () => {
      const path = `/api/v1/namespaces/${await api().namespace()}`;
      await family(path, true);
      const marked = await api().send('DELETE', `${path}/configmaps/owner?propagationPolicy=Foreground`);
      expect(marked.body.metadata.finalizers).toEqual(['foregroundDeletion']);
      await eventually(
        () => statusOf(`${path}/configmaps/owner`),
        (status) => status === 404,
      );
      expect(await statusOf(`${path}/configmaps/child`)).toBe(404);
    });

    test('orphans lose their owner and stay', async () => {
      const path = `/api/v1/namespaces/${await api().namespace()}`;
      await family(path, true);
      await api().send('DELETE', `${path}/configmaps/owner?propagationPolicy=Orphan`);
      await eventually(
        () => statusOf(`${path}/configmaps/owner`),
        (status) => status === 404,
      );
      const { body } = await api().send('GET', `${path}/configmaps/child`);
      expect(body.metadata.ownerReferences).toBeUndefined();
    });

    test('an object whose owner never was is collected', async () => {
      const path = `/api/v1/namespaces/${await api().namespace()}`;
      const uid = '00000000-0000-0000-0000-000000000001';
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid }];
      await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'lost', ownerReferences } } });
      await eventually(
        () => statusOf(`${path}/configmaps/lost`),
        (status) => status === 404,
      );
    });

    test('a namespace is emptied before it goes, and takes nothing new meanwhile', async () => {
      const namespace = await api().namespace();
      const path = `/api/v1/namespaces/${namespace}`;
      const held = { metadata: { name: 'held', finalizers: ['example.com/hold'] } };
      await api().send('POST', `${path}/configmaps`, { body: held });
      await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'free' } } });
      const deleted = await api().send('DELETE', path);
      expect(deleted.body.status.phase).toBe('Terminating');
      await eventually(
        () => statusOf(`${path}/configmaps/free`),
        (status) => status === 404,
      );
      const refused = await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'late' } } });
      expect(refused.body).toMatchObject({ code: 403, reason: 'Forbidden' });
      expect(refused.body.message).toContain('because it is being terminated');
      const body = { metadata: { finalizers: null } };
      await eventually(
        () => api().send('PATCH', `${path}/configmaps/held`, { type: 'application/merge-patch+json', body }),
        ({ status }) => status !== 409,
      );
      await eventually(
        () => statusOf(path),
        (status) => status === 404,
      );
    });
  });
}
