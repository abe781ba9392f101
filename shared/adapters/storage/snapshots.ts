import { parseSnapshot } from '../../contract/snapshot/parse.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Snapshots } from '../../ports/store.ts';
import type { Blob, Blobs } from '../../ports/blobs.ts';
import { UnreadableError } from '../../ports/errors.ts';

/**
 * The relay's snapshots. The newest that was read is kept, for unpacking it is most of a look's work and looks come
 * more often than snapshots. `list` builds one from the API server, for when the relay is silent.
 */
export function createSnapshots(blobs: Blobs, cluster: string, list: () => Promise<Snapshot>): Snapshots {
  let kept: { readonly etag: string; readonly snapshot: Snapshot } | null = null;
  const parse = ({ bytes, etag, writtenAtMs }: Blob): Snapshot => {
    if (kept?.etag === etag) return kept.snapshot;
    // Let go of before the next is unpacked: of a large cluster, two need not fit beside each other.
    kept = null;
    const read = readable(bytes);
    // A relay whose clock is ahead took it no later than the storage has it: what came after is not in it.
    const snapshot = { ...read, takenAtMs: Math.min(read.takenAtMs, latestOf(writtenAtMs)) };
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
      // The storage's clock is one for all relays; a relay's own may be wrong by more than it may be silent.
      return blob === null ? null : (blob.writtenAtMs ?? readHeartbeat(blob.bytes)?.atMs ?? null);
    },
    heldMs: async (version) => {
      const blob = await blobs.read(`${cluster}/heartbeat`);
      const beat = blob === null ? null : readHeartbeat(blob.bytes);
      if (beat?.version !== version) return null;
      return beat.holdsAtMs - Math.max(0, beat.atMs - latestOf(blob?.writtenAtMs));
    },
    list,
  };
}

/** The storage says to the second when something was written: no later than this, milliseconds since the epoch. */
function latestOf(writtenAtMs: number | undefined): number {
  return writtenAtMs === undefined ? Number.POSITIVE_INFINITY : writtenAtMs + 999;
}

function readable(bytes: Uint8Array): Snapshot {
  try {
    return parseSnapshot(bytes);
  } catch (cause) {
    throw new UnreadableError(
      `the snapshot cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
      },
    );
  }
}

interface Heartbeat {
  readonly atMs: number;
  /** The snapshot that was the newest then. */
  readonly version: string | null;
  /** What the relay had seen by then is in it. */
  readonly holdsAtMs: number;
}

/** What a relay of an earlier version says, which had no `holdsAtMs`, holds some seconds before it. */
const UNPUBLISHED_MS = 10_000;

function readHeartbeat(bytes: Uint8Array): Heartbeat | null {
  try {
    const beat = JSON.parse(new TextDecoder().decode(bytes)) as Readonly<Record<string, unknown>>;
    const { atMs, version, holdsAtMs } = beat;
    if (typeof atMs !== 'number') return null;
    return {
      atMs,
      version: typeof version === 'string' ? version : null,
      holdsAtMs: typeof holdsAtMs === 'number' ? holdsAtMs : atMs - UNPUBLISHED_MS,
    };
  } catch {
    return null;
  }
}
