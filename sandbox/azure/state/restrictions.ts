/** A size that the subscription may not use: nowhere in the region, or not in some zones. */
export interface Restriction {
  readonly size: string;
  /** Logical zones; empty means the whole region. */
  readonly zones: ReadonlyArray<string>;
}

/** Sizes withheld from the subscription. They stay on the list, with a `restrictions` entry. */
export class Restrictions {
  #entries: ReadonlyArray<Restriction> = [];

  restrict(restriction: Restriction): void {
    this.#entries = [...this.#entries, restriction];
  }

  clear(): void {
    this.#entries = [];
  }

  forbids(size: string, zone: string | null): boolean {
    return this.#entries.some(
      (entry) =>
        entry.size.toLowerCase() === size.toLowerCase() &&
        (entry.zones.length === 0 || (zone !== null && entry.zones.includes(zone))),
    );
  }

  /** The `restrictions` of a size on the SKU list. */
  of(size: string, region: string): ReadonlyArray<object> {
    return this.#entries
      .filter((entry) => entry.size.toLowerCase() === size.toLowerCase())
      .map(({ zones }) => ({
        type: zones.length === 0 ? 'Location' : 'Zone',
        values: [region],
        restrictionInfo: { locations: [region], ...(zones.length === 0 ? {} : { zones }) },
        reasonCode: 'NotAvailableForSubscription',
      }));
  }
}
