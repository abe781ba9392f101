/**
 * Strict scenarios where we place fewer pods than Karpenter, looked at by hand. What it places in s0399 holds only if
 * kube-scheduler binds the pods in one order out of many: docs/decisions/0024.
 */
export const KNOWN_FEWER: ReadonlyArray<string> = ['s0399'];
