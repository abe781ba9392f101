import { annotation } from '../../shared/contract/names.ts';
import type { Connection } from '../kubernetes/client/connection.ts';
import type { KubernetesObject } from '../kubernetes/client/objects.ts';
import type { Manifest } from '../world/apply-manifests.ts';
import { RefusedError } from './actions.ts';

/**
 * Disruption is on from the start, and looks often enough to watch; but the NodePools are paused until somebody wants to see it, so
 * that nothing goes by surprise. Who orders DISRUPTION decides alone.
 */
export const WATCHABLE = { DISRUPTION: 'on', DISRUPT_SCHEDULE: '*/10 * * * * *' } as const;

/** The manifests with all NodePools paused that say nothing about it. */
export function withPausedPools(manifests: ReadonlyArray<Manifest>): ReadonlyArray<Manifest> {
  return manifests.map((manifest) => {
    const { object } = manifest;
    if (object.kind !== 'NodePool') return manifest;
    const metadata = object.metadata as Partial<KubernetesObject['metadata']> | undefined;
    const annotations = { [annotation.pauseDisruption]: 'true', ...metadata?.annotations };
    return { ...manifest, object: { ...object, metadata: { ...object.metadata, annotations } } as typeof object };
  });
}

const POOLS = '/apis/karpenter.sh/v1/nodepools';

/** Lets nodes go of all pools, or of none any more where they go already. Answers what was done. Throws RefusedError. */
export async function switchDisruption(connection: Connection): Promise<string> {
  const { items } = await connection.get<{ readonly items: ReadonlyArray<KubernetesObject> }>(POOLS);
  if (items.length === 0) throw new RefusedError('There is no NodePool yet.');
  const isPaused = items.some(({ metadata }) => metadata.annotations?.[annotation.pauseDisruption] !== undefined);
  const patch = { metadata: { annotations: { [annotation.pauseDisruption]: isPaused ? null : 'true' } } };
  await Promise.all(items.map(({ metadata }) => connection.patch(`${POOLS}/${metadata.name}`, 'merge', patch)));
  return isPaused
    ? 'Nodes that are not needed go from now on: scale down and watch.'
    : 'Disruption is paused: nodes stay, needed or not.';
}
