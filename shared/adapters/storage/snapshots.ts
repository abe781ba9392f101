import { parseSnapshot } from '../../contract/snapshot/parse.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Snapshots } from '../../ports/store.ts';
import type { Blobs } from '../../ports/blobs.ts';

/** The relay's snapshots. `list` builds one from the API server, for when the relay is silent. */
export function createSnapshots(blobs: Blobs, cluster: string, list: () => Promise<Snapshot>): Snapshots {
  return {
    latest: async () => {
      const blob = await blobs.read(`${cluster}/latest`);
      return blob === null ? null : parseSnapshot(blob.bytes);
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
