import type { Ports } from './ports.ts';

/**
 * Asks for another look at the pods that wait, at `atMs` or later. Asked twice for one time and reason, it is one look.
 */
export async function wake(ports: Ports, atMs: number, reason: string): Promise<void> {
  const hint = { kind: 'pods', version: 1, cluster: ports.cluster, snapshot: null, reason } as const;
  await ports.hints.send([{ hint, atMs, key: `${reason}/${atMs}` }]);
}
