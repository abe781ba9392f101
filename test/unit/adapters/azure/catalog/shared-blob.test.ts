import { describe, expect, test } from 'vitest';
import { sharedBlob } from '../../../../../shared/adapters/azure/catalog/shared-blob.ts';

/** A store whose reads are answered when the test says so. */
function slowStore() {
  const waiting: Array<{ readonly answer: (text: string) => void; readonly fail: () => void }> = [];
  const blobs = {
    read: () =>
      new Promise<{ readonly bytes: Uint8Array; readonly etag: string }>((resolve, reject) => {
        waiting.push({
          answer: (text) => resolve({ bytes: new TextEncoder().encode(text), etag: text }),
          fail: () => reject(new Error('the store is away')),
        });
      }),
  };
  return { blobs, waiting };
}

function openShared() {
  const store = slowStore();
  const clock = { nowMs: 0 };
  const blob = sharedBlob({ blobs: store.blobs, now: () => clock.nowMs }, 'refused.json', (bytes) =>
    bytes === null ? '' : new TextDecoder().decode(bytes),
  );
  return { ...store, clock, blob };
}

describe('a blob that all instances share', () => {
  test('is read once for all who ask at the same time', async () => {
    const { blob, waiting } = openShared();
    const answers = [blob.read(), blob.read(), blob.read()];
    expect(waiting).toHaveLength(1);
    waiting[0]?.answer('one');
    expect(await Promise.all(answers)).toEqual(['one', 'one', 'one']);
  });

  test('is read again when what is known is a second old', async () => {
    const { blob, waiting, clock } = openShared();
    const first = blob.read();
    waiting[0]?.answer('one');
    await first;
    clock.nowMs = 999;
    expect(await blob.read()).toBe('one');
    clock.nowMs = 1_000;
    const second = blob.read();
    waiting[1]?.answer('two');
    expect(await second).toBe('two');
  });

  test('what this instance has put is not replaced by a read that began before', async () => {
    const { blob, waiting } = openShared();
    const reading = blob.read();
    blob.put('mine');
    waiting[0]?.answer('old');
    expect(await reading).toBe('mine');
    expect(await blob.read()).toBe('mine');
  });

  test('a failure is not kept', async () => {
    const { blob, waiting } = openShared();
    const failing = blob.read();
    waiting[0]?.fail();
    await expect(failing).rejects.toThrow('the store is away');
    const next = blob.read();
    waiting[1]?.answer('there');
    expect(await next).toBe('there');
  });
});
