import type { Blob, Blobs } from '../../../shared/ports/blobs.ts';

/** A container in memory. The `Now` forms are for callers that add their own waiting. */
export class MemoryBlobs implements Blobs {
  readonly #blobs = new Map<string, Blob>();
  #etags = 0;

  readNow(name: string): Blob | null {
    return this.#blobs.get(name) ?? null;
  }

  writeNow(name: string, bytes: Uint8Array, condition: { readonly etag: string } | 'absent' | 'any'): boolean {
    const known = this.#blobs.get(name);
    if (condition === 'absent' && known !== undefined) return false;
    if (typeof condition === 'object' && known?.etag !== condition.etag) return false;
    this.#etags += 1;
    this.#blobs.set(name, { bytes, etag: String(this.#etags) });
    return true;
  }

  read(name: string): Promise<Blob | null> {
    return Promise.resolve(this.readNow(name));
  }

  write(name: string, bytes: Uint8Array, condition: { readonly etag: string } | 'absent' | 'any'): Promise<boolean> {
    return Promise.resolve(this.writeNow(name, bytes, condition));
  }
}
