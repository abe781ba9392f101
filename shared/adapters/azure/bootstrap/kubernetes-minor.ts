/** `34` of `1.34.3` and of `v1.34.3-aks`. */
export function minorOf(kubernetesVersion: string): number {
  return Number(/^v?\d+\.(\d+)/.exec(kubernetesVersion)?.[1] ?? 0);
}
