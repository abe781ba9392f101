/**
 * Makes something at the first call and returns the same to all calls, also to those that come while it is being made.
 * A failure is not kept: every waiting caller gets it, and the next call tries again, so that a transient one does not
 * last as long as the process.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}
