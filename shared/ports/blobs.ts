/** A blob's content and the mark that makes a later write conditional on it. */
export interface Blob {
  readonly bytes: Uint8Array;
  readonly etag: string;
  /**
   * When it was written by the clock of the storage, milliseconds since the epoch, to the second. Absent where it does
   * not say.
   */
  readonly writtenAtMs?: number;
}

/** One container, reduced to what we do with it. All throw RetryableError when storage cannot be used. */
export interface Blobs {
  read(name: string): Promise<Blob | null>;
  /** Writes over any content. `false` when `condition` does not hold. */
  write(name: string, bytes: Uint8Array, condition: { readonly etag: string } | 'absent' | 'any'): Promise<boolean>;
}
