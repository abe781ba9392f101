import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BlobServiceClient } from '@azure/storage-blob';
import { createBlobClient, type BlobClient } from '../../../relay/azure/blob-client.ts';
import { openSnapshotStore } from '../../../relay/publish/snapshot-store.ts';
import { startAzurite, type StorageAccount } from './azurite.ts';

describe('the snapshot store', () => {
  let storage: StorageAccount;
  let blobs: BlobClient;
  let clusterNumber = 0;
  let cluster = '';

  beforeAll(async () => {
    storage = await startAzurite();
    blobs = createBlobClient({ kind: 'connectionString', connectionString: storage.connectionString });
  });
  afterAll(async () => {
    blobs?.close();
    await storage?.close();
  });
  beforeEach(() => {
    clusterNumber += 1;
    cluster = `group/cluster ${clusterNumber}`;
  });

  const bytes = (text: string): Uint8Array => Buffer.from(text);
  const of = (term: number, sequence: number) => ({ version: `${term}-${sequence}`, term, takenAtMs: 0 });

  async function stored(name = 'latest') {
    const client = BlobServiceClient.fromConnectionString(storage.connectionString);
    const answer = await client.getContainerClient('snapshots').getBlobClient(`${cluster}/${name}`).download();
    const chunks: Array<Buffer> = [];
    for await (const chunk of answer.readableStreamBody ?? []) chunks.push(Buffer.from(chunk));
    return { text: Buffer.concat(chunks).toString('utf8'), metadata: answer.metadata };
  }

  test('the first snapshot makes what it needs, and carries its version, term and time', async () => {
    const store = openSnapshotStore(blobs, cluster);
    expect(await store.publish(bytes('one'), of(1, 1))).toEqual({ kind: 'published' });
    expect(await stored()).toEqual({
      text: 'one',
      metadata: { version: '1-1', term: '1', takenat: '1970-01-01T00:00:00.000Z' },
    });
    expect(await store.publish(bytes('two'), of(1, 2))).toEqual({ kind: 'published' });
    expect((await stored()).text).toBe('two');
  });

  test('a leader that was paused never overwrites what its successor published', async () => {
    const paused = openSnapshotStore(blobs, cluster);
    await paused.publish(bytes('old'), of(1, 1));
    const successor = openSnapshotStore(blobs, cluster);
    expect(await successor.publish(bytes('new'), of(2, 1))).toEqual({ kind: 'published' });
    expect(await paused.publish(bytes('late'), of(1, 2))).toEqual({ kind: 'superseded', term: 2 });
    expect((await stored()).text).toBe('new');
  });

  test('a successor overwrites what a leader of an earlier term still managed to publish', async () => {
    const paused = openSnapshotStore(blobs, cluster);
    const successor = openSnapshotStore(blobs, cluster);
    await successor.publish(bytes('new'), of(2, 1));
    const other = openSnapshotStore(blobs, `${cluster} b`);
    await other.publish(bytes('x'), of(9, 1));
    expect(await paused.publish(bytes('late'), of(1, 1))).toEqual({ kind: 'superseded', term: 2 });
    expect(await successor.publish(bytes('newer'), of(2, 2))).toEqual({ kind: 'published' });
    expect((await stored()).text).toBe('newer');
  });

  test('of two that publish at once in different terms the later term is what stays', async () => {
    const older = openSnapshotStore(blobs, cluster);
    const newer = openSnapshotStore(blobs, cluster);
    await Promise.all([older.publish(bytes('older'), of(1, 1)), newer.publish(bytes('newer'), of(2, 1))]);
    expect((await stored()).text).toBe('newer');
  });

  test('a heartbeat is written beside the snapshot', async () => {
    await openSnapshotStore(blobs, cluster).beat({ term: 3, version: '3-4', atMs: 5, holdsAtMs: 4 });
    expect(JSON.parse((await stored('heartbeat')).text)).toEqual({ term: 3, version: '3-4', atMs: 5, holdsAtMs: 4 });
  });

  test('a storage account that is away is an error, and the next attempt looks again', async () => {
    const away = createBlobClient({
      kind: 'connectionString',
      connectionString: storage.connectionString.replace(
        /BlobEndpoint=[^;]+/,
        'BlobEndpoint=http://127.0.0.1:1/devstoreaccount1',
      ),
    });
    await expect(openSnapshotStore(away, cluster).publish(bytes('x'), of(1, 1))).rejects.toThrow(/ECONNREFUSED/);
    away.close();
  });

  test('a signature that is wrong is refused with what the service says', async () => {
    const wrong = createBlobClient({
      kind: 'connectionString',
      connectionString: storage.connectionString.replace(/sig=[^&;]+/, 'sig=d3Jvbmc%3D'),
    });
    await expect(
      openSnapshotStore(wrong, cluster).beat({ term: 1, version: '', atMs: 0, holdsAtMs: 0 }),
    ).rejects.toThrow(/answered 403/);
    wrong.close();
  });
});
