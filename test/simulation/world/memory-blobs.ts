import type { Blob, Blobs } from '../../../shared/ports/blobs.ts';

/** A container in memory. The `Now` forms are for callers that add their own waiting. */
export class MemoryBlobs implements Blobs {
  readonly #blobs = new Map<string, Blob>();
  readonly #now: (() => number) | null;
  #etags = 0;

  /**
   * `now`: the clock of the storage, milliseconds since the epoch; without it blobs do not say when they were written.
   */
  constructor(now: (() => number) | null = null) {
    this.#now = now;
  }

  /** Of all that are there. */
  names(): ReadonlyArray<string> {
    return [...this.#blobs.keys()];
  }

  /** Takes a blob away, as somebody or a life-cycle rule does. */
  lose(name: string): void {
    this.#blobs.delete(name);
  }

  readNow(name: string): Blob | null {
    return this.#blobs.get(name) ?? null;
  }

  writeNow(name: string, bytes: Uint8Array, condition: { readonly etag: string } | 'absent' | 'any'): boolean {
    const known = this.#blobs.get(name);
    if (condition === 'absent' && known !== undefined) return false;
    if (typeof condition === 'object' && known?.etag !== condition.etag) return false;
    this.#etags += 1;
    const written = this.#now === null ? {} : { writtenAtMs: 1000 * Math.floor(this.#now() / 1000) };
    this.#blobs.set(name, { bytes, etag: String(this.#etags), ...written });
    return true;
  }

  read(name: string): Promise<Blob | null> {
    return Promise.resolve(this.readNow(name));
  }

  write(name: string, bytes: Uint8Array, condition: { readonly etag: string } | 'absent' | 'any'): Promise<boolean> {
    return Promise.resolve(this.writeNow(name, bytes, condition));
  }
}
