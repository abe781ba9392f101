/**
 * Strict scenarios where we place fewer pods than Karpenter, looked at by hand. In s0399 Karpenter does not count pods on a claim
 * whose zone is still open for the spread of pods placed after them: docs/decisions/0024.
 */
export const KNOWN_FEWER: ReadonlyArray<string> = ['s0399'];
