import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { UnreadableError } from '../../ports/errors.ts';
import { alone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';

/** A relay that has not been heard of for this long may be dead: the snapshot is then read from the API server. */
export const RELAY_SILENCE_MS = 45_000;

/**
 * The newest image of the cluster. With `mayList` from the API server itself when the relay is silent, or what it has
 * published cannot be read; without it, what cannot be read is thrown, and of a silent relay there is none: what a dead
 * relay saw last may be an hour old, and hints for later still come. The sweep lists within a minute.
 */
export async function readSnapshot(ports: Ports, mayList: boolean): Promise<Snapshot | null> {
  const [published, heartbeatMs] = await Promise.all([
    alone(() => ports.snapshots.latest()),
    ports.snapshots.heartbeatMs(),
  ]);
  if (published.kind === 'failed' && !(mayList && published.error instanceof UnreadableError)) throw published.error;
  const snapshot = published.kind === 'done' ? published.answer : null;
  if (snapshot === null && !mayList) return null;
  if (published.kind === 'failed') {
    ports.log('snapshot-unreadable', { why: published.error.message });
    return ports.snapshots.list();
  }
  // A relay that has just begun publishes and sends hints before its first heartbeat.
  const heardMs = Math.max(...[heartbeatMs, snapshot?.takenAtMs].map((told) => heardAtMs(told ?? 0, ports.now())));
  if (snapshot !== null && ports.now() - heardMs <= RELAY_SILENCE_MS) return snapshot;
  ports.log('relay-silent', { lastHeardMs: heardMs === 0 ? null : heardMs });
  return mayList ? ports.snapshots.list() : null;
}

/**
 * A sign of life of the relay, milliseconds since the epoch; 0 where nobody can say. By the relay's own clock, or the
 * storage's: one that is ahead would keep us from listing for as long after its death.
 */
function heardAtMs(toldMs: number, nowMs: number): number {
  return toldMs > nowMs + RELAY_SILENCE_MS ? 0 : toldMs;
}

/** What the relay has published; null where that is nothing, or cannot be read: for who can do without. */
export async function latestReadable({ snapshots }: Pick<Ports, 'snapshots'>): Promise<Snapshot | null> {
  try {
    return await snapshots.latest();
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return null;
  }
}
