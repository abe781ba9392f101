import type { Workspace } from './workspace.ts';

/** `namespace/name`. */
export function podName({ input }: Workspace, pod: { readonly name: string; readonly shape: number }): string {
  return `${input.cluster.shapes[pod.shape]?.namespace ?? 'default'}/${pod.name}`;
}
