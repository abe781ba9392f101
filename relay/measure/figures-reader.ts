import { container } from '../../shared/contract/names.ts';
import type { BlobClient } from '../azure/blob-client.ts';

/** Figures that the functions left. */
export interface FiguresReader<Record> {
  /** What was read last; null when nothing was found yet. */
  readonly known: () => Record | null;
  /** Reads them again, unless that was done a moment ago. Never rejects, nor waits for long: what was known stays. */
  readonly refresh: () => Promise<void>;
}

/** Several may scrape; a second of age is nothing to a graph. */
const FRESH_MS = 1_000;

/** How long a scrape waits. Prometheus gives up after 10 s, and all other metrics wait for these. */
export const SCRAPE_WAIT_MS = 2_000;

/** How a read went: there is nothing before the first plan. */
export type ReadOutcome = 'read' | 'absent' | 'malformed' | 'failed';

interface FiguresReaderOptions<Record> {
  /** The blob's name in the cluster's folder. */
  readonly blob: string;
  /** Null for what is no such record. */
  readonly parse: (text: string) => Record | null;
  readonly onRead: (outcome: ReadOutcome) => void;
  /** How long `refresh` may take. */
  readonly longestMs: number;
}

/** Makes a reader of one cluster's figures. Nothing is sent before the first `refresh`. */
export function createFiguresReader<Record>(
  blobs: BlobClient,
  cluster: string,
  { blob, parse, onRead, longestMs }: FiguresReaderOptions<Record>,
): FiguresReader<Record> {
  const path = `/${container.snapshots}/${cluster.split('/').map(encodeURIComponent).join('/')}/${blob}`;
  let known: Record | null = null;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;

  async function read(): Promise<ReadOutcome> {
    const answer = await blobs.request('GET', path, {}, new Uint8Array());
    if (answer.status === 404) {
      known = null;
      return 'absent';
    }
    if (answer.status !== 200) return 'failed';
    const parsed = parse(new TextDecoder().decode(answer.body));
    if (parsed === null) return 'malformed';
    known = parsed;
    return 'read';
  }

  async function readOnce(): Promise<void> {
    const outcome = await read().catch((): ReadOutcome => 'failed');
    onRead(outcome);
    if (outcome !== 'failed') readAtMs = performance.now();
    reading = null;
  }

  return {
    known: () => known,
    async refresh() {
      if (performance.now() - readAtMs < FRESH_MS) return;
      reading ??= readOnce();
      let timer: NodeJS.Timeout | undefined;
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, longestMs);
      });
      await Promise.race([reading, tooLong]);
      clearTimeout(timer);
    },
  };
}
