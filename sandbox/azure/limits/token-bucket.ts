/** How many requests fit at once, and how fast room for more comes back. */
export interface BucketSize {
  readonly capacity: number;
  readonly perSecond: number;
}

/** What Azure counts requests with: buckets of tokens by name, full at first, that fill up again over time. */
export class TokenBuckets {
  readonly #now: () => number;
  readonly #spent = new Map<string, { readonly tokens: number; readonly at: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whole tokens left now. */
  left(name: string, size: BucketSize): number {
    return Math.floor(this.#tokens(name, size));
  }

  /** Takes one where there is one. */
  take(name: string, size: BucketSize): void {
    const tokens = this.#tokens(name, size);
    this.#spent.set(name, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: this.#now() });
  }

  /** Whole seconds until there is a token again, 0 where there is one. */
  wait(name: string, size: BucketSize): number {
    return Math.ceil(Math.max(0, 1 - this.#tokens(name, size)) / size.perSecond);
  }

  #tokens(name: string, { capacity, perSecond }: BucketSize): number {
    const bucket = this.#spent.get(name);
    if (bucket === undefined) return capacity;
    return Math.min(capacity, bucket.tokens + ((this.#now() - bucket.at) / 1_000) * perSecond);
  }
}
