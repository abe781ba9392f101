/** The kubelet's waits: the first restart comes at once, each further one after twice as long, up to five minutes. */
const FIRST_BACK_OFF_MS = 10_000;
const BACK_OFF_MAX_MS = 300_000;

/**
 * Milliseconds that a kubelet waits before it starts a container again that has ended `restarts` times before, in a
 * row.
 */
export function kubeletDelayMs(restarts: number): number {
  return restarts === 0 ? 0 : Math.min(BACK_OFF_MAX_MS, FIRST_BACK_OFF_MS * 2 ** (restarts - 1));
}

/**
 * Milliseconds until Azure has another instance of what it runs for us. How long it really takes no double can know.
 */
export function azureDelayMs(): number {
  return 1_000;
}
