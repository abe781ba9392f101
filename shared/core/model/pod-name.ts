import type { Cluster } from './cluster.ts';

/** `namespace/name`, as plans name a pod. */
export function podName(
  { shapes }: Pick<Cluster, 'shapes'>,
  pod: { readonly name: string; readonly shape: number },
): string {
  return `${shapes[pod.shape]?.namespace ?? 'default'}/${pod.name}`;
}
