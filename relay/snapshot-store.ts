import { BlobServiceClient, RestError, type BlockBlobClient } from '@azure/storage-blob';
import { container } from '../shared/contract/names.ts';

/** Which publication this is: terms order leaders, sequences order the snapshots of one leader. */
export interface Publication {
  readonly version: string;
  readonly term: number;
  readonly takenAtMs: number;
}

/** `superseded`: what is stored is of a later term; nothing was written. */
export type PublishOutcome = { readonly kind: 'published' } | { readonly kind: 'superseded'; readonly term: number };

/** Where snapshots are published. */
export interface SnapshotStore {
  /** Replaces the cluster's snapshot, unless a later term has. Rejects when it is not known whether it was written. */
  readonly publish: (bytes: Uint8Array, publication: Publication) => Promise<PublishOutcome>;
  /** Says that the snapshot published last still holds. */
  readonly beat: (heartbeat: {
    readonly term: number;
    readonly version: string;
    readonly atMs: number;
  }) => Promise<void>;
}

/** Where the storage account is and how to be let in. */
export type StorageSettings =
  | { readonly kind: 'connectionString'; readonly connectionString: string }
  | { readonly kind: 'identity'; readonly blobServiceUri: string };

/** How often a write that lost to another is tried again after looking at what is there. Two writers cannot lose in turns for longer. */
const mostConflicts = 3;

/** Longest that one attempt of a storage request may take; a snapshot is some MB. */
const tryTimeoutMs = 15_000;

/** Opens the store of one cluster. Nothing is sent before the first call. */
export async function openSnapshotStore(settings: StorageSettings, cluster: string): Promise<SnapshotStore> {
  const service = await openService(settings);
  const snapshots = service.getContainerClient(container.snapshots);
  const latest = snapshots.getBlockBlobClient(`${cluster}/latest`);
  const heartbeat = snapshots.getBlockBlobClient(`${cluster}/heartbeat`);
  /** The ETag of what is stored, as we last knew it; undefined before the first look, null when there is nothing. */
  let etag: string | null | undefined;

  async function look(): Promise<{ readonly term: number; readonly etag: string | null }> {
    try {
      const properties = await latest.getProperties();
      return { term: Number(properties.metadata?.['term'] ?? 0) || 0, etag: properties.etag ?? null };
    } catch (error) {
      if (error instanceof RestError && error.statusCode === 404) return { term: 0, etag: null };
      throw error;
    }
  }

  async function write(bytes: Uint8Array, publication: Publication): Promise<boolean> {
    try {
      const { etag: written } = await latest.uploadData(bytes, {
        conditions: etag === null || etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: etag },
        metadata: {
          version: publication.version,
          term: String(publication.term),
          takenAt: new Date(publication.takenAtMs).toISOString(),
        },
        blobHTTPHeaders: { blobContentType: 'application/zstd' },
        // One request, so that a snapshot is never half old and half new.
        maxSingleShotSize: 256 * 1024 * 1024,
      } as Parameters<BlockBlobClient['uploadData']>[1]);
      etag = written;
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      if (error instanceof RestError && error.code === 'ContainerNotFound') {
        await snapshots.createIfNotExists();
        return false;
      }
      // Not known whether it was written: look before the next.
      etag = undefined;
      throw error;
    }
  }

  return {
    async publish(bytes, publication) {
      for (let attempt = 0; attempt < mostConflicts; attempt++) {
        if (etag === undefined || attempt > 0) {
          const stored = await look();
          if (stored.term > publication.term) return { kind: 'superseded', term: stored.term };
          ({ etag } = stored);
        }
        if (await write(bytes, publication)) return { kind: 'published' };
      }
      etag = undefined;
      throw new Error(`the snapshot of ${cluster} was replaced by others ${mostConflicts} times in a row`);
    },
    async beat(content) {
      const body = JSON.stringify(content);
      await heartbeat.upload(body, Buffer.byteLength(body), {
        blobHTTPHeaders: { blobContentType: 'application/json' },
      });
    },
  };
}

function isConflict(error: unknown): boolean {
  return error instanceof RestError && (error.statusCode === 409 || error.statusCode === 412);
}

async function openService(settings: StorageSettings): Promise<BlobServiceClient> {
  const options = { retryOptions: { maxTries: 2, tryTimeoutInMs: tryTimeoutMs } };
  if (settings.kind === 'connectionString') {
    return BlobServiceClient.fromConnectionString(settings.connectionString, options);
  }
  const { WorkloadIdentityCredential } = await import('@azure/identity');
  return new BlobServiceClient(settings.blobServiceUri, new WorkloadIdentityCredential(), options);
}
