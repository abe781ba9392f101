import { annotation } from '../../../shared/contract/names.ts';
import type { Connection } from '../../kubernetes/client/connection.ts';
import type { KubernetesObject } from '../../kubernetes/client/objects.ts';
import type { Manifest } from '../../world/apply-manifests.ts';
import { RefusedError } from './actions.ts';
import type { Progress } from '../screen/display.ts';

/** Disruption looks often enough to watch, and as often as Karpenter's does. */
export const WATCHABLE = { DISRUPT_SCHEDULE: '*/10 * * * * *' } as const;

/**
 * The manifests as they are applied at the start. The demo's own NodePools are paused until somebody wants to see them
 * shrink, so that nothing goes by surprise; who brings `files`, or orders DISRUPTION, decides alone.
 */
export function asStarted(
  manifests: ReadonlyArray<Manifest>,
  given: { readonly files: ReadonlyArray<string> | null; readonly settings: Readonly<Record<string, string>> },
): ReadonlyArray<Manifest> {
  const isDemo = given.files === null && given.settings['DISRUPTION'] === undefined;
  return isDemo ? withPausedPools(manifests) : manifests;
}

/** All NodePools that say nothing about it are paused. */
function withPausedPools(manifests: ReadonlyArray<Manifest>): ReadonlyArray<Manifest> {
  return manifests.map((manifest) => {
    const { object } = manifest;
    if (object.kind !== 'NodePool') return manifest;
    const metadata = object.metadata as Partial<KubernetesObject['metadata']> | undefined;
    const annotations = { [annotation.pauseDisruption]: 'true', ...metadata?.annotations };
    return { ...manifest, object: { ...object, metadata: { ...object.metadata, annotations } } as typeof object };
  });
}

/** Whether nodes that are not needed go. */
export function disruptionOf(
  pools: ReadonlyMap<string, KubernetesObject>,
  settings: Readonly<Record<string, string>>,
): Progress['disruption'] {
  if (settings['DISRUPTION'] === 'off') return 'off';
  const isPaused = ({ metadata }: KubernetesObject): boolean =>
    metadata.annotations?.[annotation.pauseDisruption] !== undefined;
  return [...pools.values()].some(isPaused) ? 'paused' : 'on';
}

const POOLS = '/apis/karpenter.sh/v1/nodepools';

/**
 * Lets nodes go of all pools, or of none any more where they go already. Answers what was done. Throws RefusedError.
 */
export async function switchDisruption(
  connection: Connection,
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  if (settings['DISRUPTION'] === 'off')
    throw new RefusedError('No node goes: this run was started with DISRUPTION=off.');
  const { items } = await connection.get<{ readonly items: ReadonlyArray<KubernetesObject> }>(POOLS);
  if (items.length === 0) throw new RefusedError('There is no NodePool yet.');
  const isPaused = items.some(({ metadata }) => metadata.annotations?.[annotation.pauseDisruption] !== undefined);
  const patch = { metadata: { annotations: { [annotation.pauseDisruption]: isPaused ? null : 'true' } } };
  await Promise.all(items.map(({ metadata }) => connection.patch(`${POOLS}/${metadata.name}`, 'merge', patch)));
  return isPaused
    ? 'Nodes that are not needed are removed from now on: scale down and watch.'
    : 'Disruption is paused: no node is removed, needed or not.';
}
