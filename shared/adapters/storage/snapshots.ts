import { parseSnapshot } from '../../contract/snapshot/parse.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Snapshots } from '../../ports/store.ts';
import type { Blob, Blobs } from '../../ports/blobs.ts';

/**
 * The relay's snapshots. The newest that was read is kept, for unpacking it is most of a look's work and looks come more
 * often than snapshots. `list` builds one from the API server, for when the relay is silent.
 */
export function createSnapshots(blobs: Blobs, cluster: string, list: () => Promise<Snapshot>): Snapshots {
  let kept: { readonly etag: string; readonly snapshot: Snapshot } | null = null;
  const parse = ({ bytes, etag }: Blob): Snapshot => {
    if (kept?.etag === etag) return kept.snapshot;
    // Let go of before the next is unpacked: of a large cluster, two need not fit beside each other.
    kept = null;
    const snapshot = parseSnapshot(bytes);
    if (etag !== '') kept = { etag, snapshot };
    return snapshot;
  };
  return {
    latest: async () => {
      const blob = await blobs.read(`${cluster}/latest`);
      return blob === null ? null : parse(blob);
    },
    heartbeatMs: async () => {
      const blob = await blobs.read(`${cluster}/heartbeat`);
      return blob === null ? null : readHeartbeat(blob.bytes);
    },
    list,
  };
}

function readHeartbeat(bytes: Uint8Array): number | null {
  try {
    const { atMs } = JSON.parse(new TextDecoder().decode(bytes)) as { readonly atMs?: unknown };
    return typeof atMs === 'number' ? atMs : null;
  } catch {
    return null;
  }
}
