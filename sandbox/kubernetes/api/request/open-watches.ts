/** The open watches, for admin use and for closing the server. */
export interface OpenWatches {
  /**
   * Ends every watch of a resource's plural ('' for all); answers how many. With `expire`, an ERROR 410 goes before.
   */
  drop(plural: string, expire: boolean): number;
  count(): number;
  readonly add: (plural: string, end: (expire: boolean) => void) => () => void;
}
