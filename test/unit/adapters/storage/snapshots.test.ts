import { expect, test } from 'vitest';
import { createSnapshots } from '../../../../shared/adapters/storage/snapshots.ts';
import { createSnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';
import type { Blob, Blobs } from '../../../../shared/ports/blobs.ts';

function bytesOf(version: string): Uint8Array {
  return createSnapshotBuilder('c').encode({ version, takenAtMs: 0, source: 'relay' });
}

/** A container with one blob, which the test replaces. */
function holding(first: Blob | null): { readonly blobs: Blobs; put(blob: Blob | null): void } {
  let held = first;
  return {
    blobs: { read: () => Promise.resolve(held), write: () => Promise.resolve(false) },
    put: (blob) => void (held = blob),
  };
}

function openSnapshots(blobs: Blobs): ReturnType<typeof createSnapshots> {
  return createSnapshots(blobs, 'c', () => Promise.reject(new Error('nobody asked for a list')));
}

test('a snapshot that has not changed is unpacked once, and one that has is read anew', async () => {
  const { blobs, put } = holding({ bytes: bytesOf('1-1'), etag: 'a' });
  const snapshots = openSnapshots(blobs);
  const first = await snapshots.latest();
  expect(first?.version).toBe('1-1');
  expect(await snapshots.latest()).toBe(first);
  put({ bytes: bytesOf('1-2'), etag: 'b' });
  expect((await snapshots.latest())?.version).toBe('1-2');
});

test('a snapshot that is gone, or cannot be read, is not answered from memory', async () => {
  const { blobs, put } = holding({ bytes: bytesOf('1-1'), etag: 'a' });
  const snapshots = openSnapshots(blobs);
  await snapshots.latest();
  put(null);
  expect(await snapshots.latest()).toBeNull();
  put({ bytes: new Uint8Array([1, 2, 3]), etag: 'b' });
  await expect(snapshots.latest()).rejects.toThrow(/not a snapshot/);
  put({ bytes: bytesOf('1-3'), etag: 'c' });
  expect((await snapshots.latest())?.version).toBe('1-3');
});

test('without an ETag nothing says that a snapshot is the same, so it is read each time', async () => {
  const { blobs, put } = holding({ bytes: bytesOf('1-1'), etag: '' });
  const snapshots = openSnapshots(blobs);
  await snapshots.latest();
  put({ bytes: bytesOf('1-2'), etag: '' });
  expect((await snapshots.latest())?.version).toBe('1-2');
});

test('a heartbeat is a time, or none: what cannot be read says nothing', async () => {
  const asked: Array<string> = [];
  const beatOf = async (text: string | null): Promise<number | null> => {
    const blob = text === null ? null : { bytes: new TextEncoder().encode(text), etag: 'a' };
    const read = (name: string): Promise<Blob | null> => Promise.resolve(void asked.push(name)).then(() => blob);
    return openSnapshots({ read, write: () => Promise.resolve(false) }).heartbeatMs();
  };
  expect(await beatOf('{"term":1,"atMs":5}')).toBe(5);
  for (const text of [null, '{"atMs":"5"}', '{}', 'null', '{', '']) expect(await beatOf(text)).toBeNull();
  expect(new Set(asked)).toEqual(new Set(['c/heartbeat']));
});

test('the newest snapshot is the cluster’s own, and a list is made when it is asked for', async () => {
  const asked: Array<string> = [];
  const read = (name: string): Promise<Blob | null> => Promise.resolve(void asked.push(name)).then(() => null);
  const snapshots = openSnapshots({ read, write: () => Promise.resolve(false) });
  expect(await snapshots.latest()).toBeNull();
  expect(asked).toEqual(['c/latest']);
  await expect(snapshots.list()).rejects.toThrow('nobody asked for a list');
});
