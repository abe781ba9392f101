import { describe, expect, test } from 'vitest';
import type { Kubernetes } from '../../../../shared/ports/kubernetes.ts';

const NAMESPACE = 'default';

/** What our port answers to deletions that have a condition: the use cases rely on each of these words. */
export function portCases(port: () => Kubernetes | Promise<Kubernetes>): void {
  let serial = 0;
  /** A Lease that nobody else knows, as it was created. */
  const made = async () => {
    const kubernetes = await port();
    serial += 1;
    const key = { name: `port-${serial}-${Date.now().toString(36)}`, namespace: NAMESPACE };
    const object = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: key,
      spec: { holderIdentity: 'a' },
    };
    const created = await kubernetes.create('Lease', object);
    if (created.kind !== 'created') throw new Error(`the Lease was not created: ${JSON.stringify(created)}`);
    const { uid = '', resourceVersion = '' } = created.object.metadata;
    const isThere = async (): Promise<boolean> => (await kubernetes.get('Lease', key)) !== null;
    return { kubernetes, key, uid, resourceVersion, isThere };
  };

  describe('a deletion through our port', () => {
    test('of the version that was read is done', async () => {
      const { kubernetes, key, uid, resourceVersion, isThere } = await made();
      expect(await kubernetes.delete('Lease', key, { uid, resourceVersion })).toBe('deleted');
      expect(await isThere()).toBe(false);
    });

    test('that is only tried answers as the deletion would, and the object stays as it is', async () => {
      const { kubernetes, key, uid, resourceVersion, isThere } = await made();
      expect(await kubernetes.delete('Lease', key, { uid, isTrial: true })).toBe('deleted');
      expect(await kubernetes.delete('Lease', key, { resourceVersion: '1', isTrial: true })).toBe('conflict');
      expect(await isThere()).toBe(true);
      expect(await kubernetes.delete('Lease', key, { uid, resourceVersion })).toBe('deleted');
      expect(await kubernetes.delete('Lease', key, { uid, isTrial: true })).toBe('not-found');
    });

    test('of a version that has changed since is a conflict, and the object stays', async () => {
      const { kubernetes, key, uid, resourceVersion, isThere } = await made();
      expect(await kubernetes.patch('Lease', key, { spec: { holderIdentity: 'b' } })).toMatchObject({
        kind: 'written',
      });
      expect(await kubernetes.delete('Lease', key, { resourceVersion })).toBe('conflict');
      expect(await kubernetes.delete('Lease', key, { uid, resourceVersion })).toBe('conflict');
      expect(await isThere()).toBe(true);
    });

    test('of another object that has taken the name is none', async () => {
      const { kubernetes, key, isThere } = await made();
      const uid = '00000000-0000-4000-8000-ffffffffffff';
      expect(await kubernetes.delete('Lease', key, { uid })).toBe('not-found');
      expect(await isThere()).toBe(true);
    });

    test('of what is gone is none, whatever version was read', async () => {
      const { kubernetes, key, uid, resourceVersion } = await made();
      await kubernetes.delete('Lease', key);
      expect(await kubernetes.delete('Lease', key, { uid, resourceVersion })).toBe('not-found');
    });
  });
}
