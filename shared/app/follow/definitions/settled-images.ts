import type { NodeImage } from '../../../ports/cloud.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { conditionOf } from '../../facts/conditions.ts';
import { windowAt } from './maintenance-window.ts';
import type { Ports } from '../../ports/ports.ts';

/** The images of a class, and what a reader of its condition has to know about them; empty when there is nothing. */
export interface SettledImages {
  readonly images: ReadonlyArray<NodeImage>;
  readonly note: string;
}

/**
 * The images that nodes of a class should run on. Newer versions of those it has make its nodes drift, so they wait for
 * a maintenance window of AKS's, where there are such; a class that is new or changed, and a new version of Kubernetes,
 * do not wait. As Karpenter's Azure provider (§1.4 there), which reads the next window from a ConfigMap that AKS writes
 * for it alone.
 */
export async function settledImages(
  ports: Ports,
  nodeClass: NodeClass,
  kubernetesVersion: string,
): Promise<SettledImages> {
  const newest = await ports.nodeClassFacts.images(nodeClass, kubernetesVersion);
  const kept = keptImages(nodeClass, newest, kubernetesVersion);
  if (kept.every(({ id }, index) => id === newest[index]?.id)) return { images: newest, note: '' };
  const maintenance = await ports.nodeClassFacts.maintenance();
  if (maintenance.kind === 'any-time') return { images: newest, note: '' };
  if (maintenance.kind === 'unknown')
    return {
      images: kept,
      note: `newer images are held back because the maintenance windows cannot be read: ${maintenance.message}`,
    };
  const state = windowAt(maintenance.schedule, ports.now());
  if (state.isOpen) return { images: newest, note: '' };
  const opens =
    state.opensAtMs === null ? 'has no upcoming window' : `opens at ${new Date(state.opensAtMs).toISOString()}`;
  return { images: kept, note: `newer images wait for a maintenance window: ${maintenance.schedule.name} ${opens}` };
}

/** The newest images, each in the version that the class has of it. */
function keptImages(
  { metadata, status }: NodeClass,
  newest: ReadonlyArray<NodeImage>,
  kubernetesVersion: string,
): ReadonlyArray<NodeImage> {
  const ready = conditionOf(status?.conditions, 'ImagesReady');
  const isSettled =
    ready?.status === 'True' &&
    ready.observedGeneration === metadata.generation &&
    status?.kubernetesVersion === kubernetesVersion;
  if (!isSettled) return newest;
  const current = new Map((status?.images ?? []).map(({ id }) => [withoutVersion(id), id]));
  return newest.map((image) => ({ ...image, id: current.get(withoutVersion(image.id)) ?? image.id }));
}

function withoutVersion(id: string): string {
  return id.toLowerCase().split('/versions/')[0] ?? '';
}
