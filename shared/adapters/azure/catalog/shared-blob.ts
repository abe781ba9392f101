import type { Blobs } from '../../../ports/blobs.ts';
import { RetryableError } from '../../../ports/errors.ts';

/** A blob that all instances share, as this one knows it: at most a second old. */
export interface SharedBlob<Value> {
  readonly read: () => Promise<Value>;
  /** What this instance has just written: it counts at once. */
  readonly put: (value: Value) => void;
}

/** Between reads by one instance. */
const KEPT_MS = 1_000;

/**
 * `parse` is given null where there is no blob. Many launches ask at once: one of them reads, and a failure is theirs
 * too.
 */
export function sharedBlob<Value>(
  { blobs, now }: { readonly blobs: Pick<Blobs, 'read'>; readonly now: () => number },
  name: string,
  parse: (bytes: Uint8Array | null) => Value,
): SharedBlob<Value> {
  let known: { readonly atMs: number; readonly value: Value } | null = null;
  let reading: Promise<Value> | null = null;
  const put = (value: Value): void => void (known = { atMs: now(), value });
  const readAnew = async (): Promise<Value> => {
    const before = known;
    try {
      const value = parse((await blobs.read(name))?.bytes ?? null);
      // What was put meanwhile may be newer than what was read.
      if (known !== before && known !== null) return known.value;
      put(value);
      return value;
    } finally {
      reading = null;
    }
  };
  return {
    put,
    read: () => {
      if (known !== null && now() - known.atMs < KEPT_MS) return Promise.resolve(known.value);
      reading ??= readAnew();
      return reading;
    },
  };
}

/** Writers race for a shared blob only when Azure refuses, or evicts, several VMs at the same time. */
const WRITES_MAX = 8;

/** Changes what all instances share, and again when another instance wrote in between. Returns what was written. */
export async function updateBlob<Value>(
  blobs: Pick<Blobs, 'read' | 'write'>,
  name: string,
  change: (bytes: Uint8Array | null) => Value,
  render: (value: Value) => Uint8Array,
): Promise<Value> {
  for (let attempt = 0; attempt < WRITES_MAX; attempt++) {
    // Each attempt depends on what the last one found.
    const blob = await blobs.read(name);
    const value = change(blob?.bytes ?? null);
    if (await blobs.write(name, render(value), blob === null ? 'absent' : { etag: blob.etag })) return value;
  }
  throw new RetryableError(`${name}: lost ${WRITES_MAX} races to other writers`);
}
