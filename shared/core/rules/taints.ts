import type { Taint, Toleration } from '../../kubernetes/manifest.ts';

/**
 * Does one toleration cover the taint? Source: Kubernetes core/v1 Toleration.ToleratesTaint, with its numeric
 * operators.
 */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', operator = 'Equal', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (key === '' && operator !== 'Exists') return false;
  return operator === 'Exists' || (operator === 'Equal' && value === (taint.value ?? ''));
}

/** The first taint that keeps a pod off, or null. PreferNoSchedule keeps off only when `soft` says so. */
export function untolerated(
  tolerations: ReadonlyArray<Toleration>,
  taints: ReadonlyArray<Taint>,
  soft: boolean,
): Taint | null {
  if (taints.length === 0) return null;
  for (const taint of taints) {
    if (taint.effect === 'PreferNoSchedule' && !soft) continue;
    if (!tolerations.some((toleration) => tolerates(toleration, taint))) return taint;
  }
  return null;
}

/** Taints of a node that is starting, which go by themselves. Source: Karpenter's known ephemeral taints, and ours. */
export const EPHEMERAL_TAINTS: ReadonlySet<string> = new Set([
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'karpenter.sh/unregistered',
  'nodewright.dev/reserved',
]);

export function renderTaint(taint: Taint): string {
  return `${taint.key}${taint.value === undefined || taint.value === '' ? '' : `=${taint.value}`}:${taint.effect}`;
}
