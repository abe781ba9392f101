import type { ContainerClient } from '@azure/storage-blob';
import type { Blobs } from '../../ports/blobs.ts';
import { RetryableError } from '../../ports/errors.ts';
import { once } from '../once.ts';

/** Wraps a real container; makes it when it is not there, once. */
export function createBlobs(connect: () => Promise<ContainerClient>): Blobs {
  const container = once(async () => {
    const client = await connect();
    await client.createIfNotExists();
    return client;
  });
  return {
    read: async (name) => {
      try {
        const blob = (await container()).getBlobClient(name);
        const answer = await blob.download();
        const bytes = await collect(answer.readableStreamBody);
        const writtenAtMs = answer.lastModified?.getTime();
        return { bytes, etag: answer.etag ?? '', ...(writtenAtMs === undefined ? {} : { writtenAtMs }) };
      } catch (error) {
        if (statusOf(error) === 404) return null;
        throw new RetryableError(`reading blob ${name}`, { cause: error });
      }
    },
    write: async (name, bytes, condition) => {
      try {
        const blob = (await container()).getBlockBlobClient(name);
        await blob.upload(bytes, bytes.byteLength, { conditions: toConditions(condition) });
        return true;
      } catch (error) {
        if ([409, 412].includes(statusOf(error))) return false;
        throw new RetryableError(`writing blob ${name}`, { cause: error });
      }
    },
  };
}

function toConditions(condition: { readonly etag: string } | 'absent' | 'any'): {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
} {
  if (condition === 'any') return {};
  return condition === 'absent' ? { ifNoneMatch: '*' } : { ifMatch: condition.etag };
}

function statusOf(error: unknown): number {
  return typeof error === 'object' && error !== null && 'statusCode' in error ? Number(error.statusCode) : 0;
}

async function collect(stream: NodeJS.ReadableStream | undefined): Promise<Uint8Array> {
  const chunks: Array<Buffer> = [];
  for await (const chunk of stream ?? []) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}
