import { container } from '../../shared/contract/names.ts';
import type { BlobAnswer, BlobClient } from '../azure/blob-client.ts';

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
    /** All that had changed by then is in it; before `atMs` where changes wait to be published. */
    readonly holdsAtMs: number;
  }) => Promise<void>;
}

/**
 * How often a write that lost to another is tried again after looking at what is there. Two writers cannot lose in
 * turns for longer.
 */
const MOST_CONFLICTS = 3;

const noBody = new Uint8Array();

/** Opens the store of one cluster. Nothing is sent before the first call. */
export function openSnapshotStore(blobs: BlobClient, cluster: string): SnapshotStore {
  const folder = `/${container.snapshots}/${cluster.split('/').map(encodeURIComponent).join('/')}`;
  /** The ETag of what is stored, as we last knew it; undefined before the first look, null when there is nothing. */
  let etag: string | null | undefined;

  async function look(): Promise<{ readonly term: number; readonly etag: string | null }> {
    const answer = await blobs.request('HEAD', `${folder}/latest`, {}, noBody);
    if (answer.status === 404) return { term: 0, etag: null };
    if (answer.status !== 200) throw refused('look at the snapshot', answer);
    return { term: Number(headerOf(answer, 'x-ms-meta-term') ?? 0) || 0, etag: headerOf(answer, 'etag') };
  }

  async function put(name: string, type: string, headers: Readonly<Record<string, string>>, body: Uint8Array) {
    const all = { ...headers, 'x-ms-blob-type': 'BlockBlob', 'content-type': type };
    const answer = await blobs.request('PUT', `${folder}/${name}`, all, body);
    if (answer.status !== 404 || headerOf(answer, 'x-ms-error-code') !== 'ContainerNotFound') return answer;
    // Deployments make the container; a laptop's storage starts empty.
    await blobs.request('PUT', `/${container.snapshots}?restype=container`, {}, noBody);
    return blobs.request('PUT', `${folder}/${name}`, all, body);
  }

  async function write(bytes: Uint8Array, publication: Publication): Promise<boolean> {
    const condition: Record<string, string> =
      etag === null || etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag };
    const known = etag;
    // Until an answer says otherwise it is not known what is stored: look before the next.
    etag = undefined;
    const answer = await put(
      'latest',
      'application/zstd',
      {
        ...condition,
        'x-ms-meta-version': publication.version,
        'x-ms-meta-term': String(publication.term),
        'x-ms-meta-takenat': new Date(publication.takenAtMs).toISOString(),
      },
      bytes,
    );
    if (answer.status === 201) {
      etag = headerOf(answer, 'etag') ?? undefined;
      return true;
    }
    if (answer.status === 409 || answer.status === 412) return false;
    etag = known;
    throw refused('write the snapshot', answer);
  }

  return {
    async publish(bytes, publication) {
      for (let attempt = 0; attempt < MOST_CONFLICTS; attempt++) {
        if (etag === undefined) {
          const stored = await look();
          if (stored.term > publication.term) return { kind: 'superseded', term: stored.term };
          ({ etag } = stored);
        }
        if (await write(bytes, publication)) return { kind: 'published' };
      }
      throw new Error(`the snapshot of ${cluster} was replaced by others ${MOST_CONFLICTS} times in a row`);
    },
    async beat(content) {
      const answer = await put('heartbeat', 'application/json', {}, Buffer.from(JSON.stringify(content)));
      if (answer.status !== 201) throw refused('write the heartbeat', answer);
    },
  };
}

function headerOf(answer: BlobAnswer, name: string): string | null {
  const value = answer.headers[name];
  return typeof value === 'string' ? value : null;
}

function refused(what: string, answer: BlobAnswer): Error {
  return new Error(`cannot ${what}: answered ${answer.status} ${headerOf(answer, 'x-ms-error-code') ?? ''}`.trim());
}
