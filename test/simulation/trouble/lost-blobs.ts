import type { Rng } from '../../../sandbox/base/rng.ts';
import type { Events } from '../world/faults.ts';
import type { MemoryBlobs } from '../world/memory-blobs.ts';

interface Parts {
  readonly cluster: string;
  readonly blobs: MemoryBlobs;
  /** Reads a decision for the laws before it is lost. */
  readonly decisionLost: (name: string) => void;
  /** What is kept of refusals and spot evictions is gone. */
  readonly forgetCatalog: () => void;
  readonly note: (text: string) => void;
}

const RECORD = /^[^/]+\/(?<name>\d{9}-[^/]+)\.json\.gz$/;

/** Ten seconds in which blobs may be lost or damaged. `perMinute` draws. */
export function loseBlobs(parts: Parts, events: Events, perMinute: (percent: number) => boolean, rng: Rng): void {
  const { cluster, blobs, note } = parts;
  const lose = (name: string): void => {
    note(`blob ${name} is lost`);
    blobs.lose(name);
  };
  if (perMinute(events.snapshotLost)) lose(`${cluster}/latest`);
  if (perMinute(events.snapshotDamaged)) {
    note('the snapshot is damaged');
    blobs.writeNow(`${cluster}/latest`, new TextEncoder().encode('damaged'), 'any');
  }
  if (perMinute(events.heartbeatLost)) lose(`${cluster}/heartbeat`);
  if (perMinute(events.catalogLost)) {
    note('what is kept of refusals and evictions is lost');
    parts.forgetCatalog();
  }
  if (!perMinute(events.decisionLost)) return;
  const records = blobs.names().filter((name) => RECORD.test(name));
  // Mostly a late one: of those, claims are on their way.
  const name = records[records.length - 1 - rng.below(Math.min(3, records.length))];
  if (name === undefined) return;
  parts.decisionLost(RECORD.exec(name)?.groups?.['name'] ?? '');
  lose(name);
}
