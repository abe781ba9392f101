import { Readable } from 'node:stream';
import type { ContainerClient } from '@azure/storage-blob';
import { describe, expect, test } from 'vitest';
import { createBlobs } from '../../../../shared/adapters/storage/blobs.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';

const failure = (statusCode: number): Error => Object.assign(new Error(`HTTP ${statusCode}`), { statusCode });

/** A container whose every request ends as the test says, and what it was asked. */
function containerOf(answer: () => object) {
  const asked: Array<string> = [];
  const ask = async (what: string): Promise<unknown> => {
    asked.push(what);
    return answer();
  };
  const client = {
    createIfNotExists: async () => void asked.push('make'),
    getBlobClient: (name: string) => ({ download: () => ask(`read ${name}`) }),
    getBlockBlobClient: (name: string) => ({
      upload: (bytes: Uint8Array, length: number, { conditions }: { readonly conditions: object }) =>
        ask(`write ${name} ${bytes.join(',')} of ${length} if ${JSON.stringify(conditions)}`),
    }),
  } as unknown as ContainerClient;
  return { asked, client, blobs: createBlobs(() => Promise.resolve(client)) };
}

const bytes = new Uint8Array([1, 2]);

describe('a container', () => {
  test('is made at the first request, once', async () => {
    const { asked, blobs } = containerOf(() => ({}));
    await Promise.all([blobs.write('a', bytes, 'any'), blobs.write('b', bytes, 'any')]);
    expect(asked.filter((what) => what === 'make')).toHaveLength(1);
    expect(asked[0]).toBe('make');
  });

  test('that cannot be connected to is tried again by the next request', async () => {
    const { client } = containerOf(() => ({}));
    let connects = 0;
    const blobs = createBlobs(() => {
      connects += 1;
      return connects === 1 ? Promise.reject(new Error('no token')) : Promise.resolve(client);
    });
    await expect(blobs.read('a')).rejects.toBeInstanceOf(RetryableError);
    expect(await blobs.write('a', bytes, 'any')).toBe(true);
  });
});

describe('a blob that is read', () => {
  test('is given whole, with what makes the next write conditional', async () => {
    const readableStreamBody = Readable.from([Buffer.from([1, 2]), Buffer.from([3])]);
    const { asked, blobs } = containerOf(() => ({ readableStreamBody, etag: '"5"' }));
    const blob = await blobs.read('c/x');
    expect([...(blob?.bytes ?? [])]).toEqual([1, 2, 3]);
    expect(blob?.etag).toBe('"5"');
    expect(asked).toEqual(['make', 'read c/x']);
  });

  test('is empty where it has no content and no ETag', async () => {
    const blob = await containerOf(() => ({})).blobs.read('x');
    expect([blob?.bytes.byteLength, blob?.etag]).toEqual([0, '']);
  });

  test('is null when it is not there, and at no other answer', async () => {
    const answering = (error: unknown) =>
      containerOf(() => {
        throw error;
      }).blobs.read('x');
    expect(await answering(failure(404))).toBeNull();
    for (const error of [failure(403), failure(500), new Error('reset'), 'odd', null]) {
      const thrown = await answering(error).catch((one: unknown) => one);
      expect(thrown).toBeInstanceOf(RetryableError);
      expect(thrown).toMatchObject({ message: 'reading blob x', cause: error });
    }
  });

  test('is an error when it ends in the middle', async () => {
    const readableStreamBody = Readable.from(
      (async function* cut() {
        yield Buffer.from([1]);
        throw new Error('reset');
      })(),
    );
    await expect(containerOf(() => ({ readableStreamBody })).blobs.read('x')).rejects.toBeInstanceOf(RetryableError);
  });
});

describe('a blob that is written', () => {
  test.for([
    ['any', '{}'],
    ['absent', '{"ifNoneMatch":"*"}'],
    [{ etag: '"5"' }, '{"ifMatch":"\\"5\\""}'],
  ] as const)('on condition %j is written on condition %s', async ([condition, conditions]) => {
    const { asked, blobs } = containerOf(() => ({}));
    expect(await blobs.write('x', bytes, condition)).toBe(true);
    expect(asked[1]).toBe(`write x 1,2 of 2 if ${conditions}`);
  });

  test.for([409, 412])('is not when another was first (%s)', async (status) => {
    const { blobs } = containerOf(() => {
      throw failure(status);
    });
    expect(await blobs.write('x', bytes, 'absent')).toBe(false);
  });

  test.for([404, 403, 500, 0])('is an error at any other answer (%s)', async (status) => {
    const { blobs } = containerOf(() => {
      throw failure(status);
    });
    const thrown = await blobs.write('x', bytes, 'any').catch((one: unknown) => one);
    expect(thrown).toBeInstanceOf(RetryableError);
    expect(thrown).toMatchObject({ message: 'writing blob x', cause: failure(status) });
  });
});
