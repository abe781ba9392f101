import { expect, test } from 'vitest';
import { createSnapshots } from '../../../../shared/adapters/storage/snapshots.ts';
import { createSnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';
import type { Blob, Blobs } from '../../../../shared/ports/blobs.ts';
import { UnreadableError } from '../../../../shared/ports/errors.ts';

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
  await expect(snapshots.latest()).rejects.toBeInstanceOf(UnreadableError);
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

test('a heartbeat is as old as the storage says, whose clock is one for all relays', async () => {
  const blob = { bytes: new TextEncoder().encode('{"term":1,"atMs":5}'), etag: 'a', writtenAtMs: 9 };
  expect(await openSnapshots(holding(blob).blobs).heartbeatMs()).toBe(9);
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

test('a heartbeat says up to when a snapshot holds, of the one that it is about', async () => {
  const heldOf = (text: string | null, version = '1-2'): Promise<number | null> => {
    const blob = text === null ? null : { bytes: new TextEncoder().encode(text), etag: 'a' };
    const read = (): Promise<Blob | null> => Promise.resolve(blob);
    return openSnapshots({ read, write: () => Promise.resolve(false) }).heldMs(version);
  };
  const beat = '{"term":1,"version":"1-2","atMs":50000,"holdsAtMs":49000}';
  expect([await heldOf(beat), await heldOf(beat, '1-1')]).toEqual([49_000, null]);
  // A relay of an earlier version may not have published what it saw in the last seconds.
  expect(await heldOf('{"term":1,"version":"1-2","atMs":50000}')).toBe(40_000);
  for (const text of [null, '{"version":"1-2"}', '{"atMs":5}', '{']) expect(await heldOf(text)).toBeNull();
});

test('a relay whose clock is ahead has seen no more than there was when the storage got it', async () => {
  const [aheadMs, writtenAtMs] = [90_000, 60_000];
  const bytes = createSnapshotBuilder('c').encode({
    version: '1-2',
    takenAtMs: 59_800 + aheadMs,
    source: 'relay',
  });
  const taken = await openSnapshots(holding({ bytes, etag: 'a', writtenAtMs }).blobs).latest();
  // The storage says the second.
  expect(taken?.takenAtMs).toBe(60_999);
  const text = `{"term":1,"version":"1-2","atMs":${60_500 + aheadMs},"holdsAtMs":${40_500 + aheadMs}}`;
  const beat = { bytes: new TextEncoder().encode(text), etag: 'a', writtenAtMs };
  expect(await openSnapshots(holding(beat).blobs).heldMs('1-2')).toBe(40_999);
});

test('a relay whose clock is right, or behind, is taken at its word', async () => {
  const writtenAtMs = 60_000;
  const snapshotOf = async (takenAtMs: number): Promise<number | undefined> => {
    const bytes = createSnapshotBuilder('c').encode({ version: '1-2', takenAtMs, source: 'relay' });
    return (await openSnapshots(holding({ bytes, etag: 'a', writtenAtMs }).blobs).latest())?.takenAtMs;
  };
  expect([await snapshotOf(60_700), await snapshotOf(1_000)]).toEqual([60_700, 1_000]);
  const text = '{"term":1,"version":"1-2","atMs":60700,"holdsAtMs":60100}';
  const beat = { bytes: new TextEncoder().encode(text), etag: 'a', writtenAtMs };
  expect(await openSnapshots(holding(beat).blobs).heldMs('1-2')).toBe(60_100);
});
