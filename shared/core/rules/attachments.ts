import type { Cluster, Pod, PodShape } from '../model/cluster.ts';
import type { PersistentVolume, PersistentVolumeClaimSpec } from '../../kubernetes/manifest.ts';
import { classOf } from './volumes.ts';

/** A volume that a CSI driver attaches to the pod's node. */
export interface Attachment {
  readonly driver: string;
  /** The claim, which pods on one node share; null for a volume of each pod's own, named `name` in the pod. */
  readonly claim: string | null;
  readonly name: string;
}

/** Volumes attached to one node, and how many each driver allows there. */
export interface AttachedVolumes {
  readonly limits: ReadonlyMap<string, number>;
  /** By driver: what tells the volumes apart. */
  readonly volumes: Map<string, Set<string>>;
}

/** The attachments that pods of a shape need. Volumes of no CSI driver have none. */
export function attachmentsOf(cluster: Cluster, shape: PodShape): ReadonlyArray<Attachment> {
  return (shape.spec.volumes ?? []).flatMap((volume): ReadonlyArray<Attachment> => {
    if (volume.ephemeral !== undefined) {
      const driver = driverOfClass(cluster, volume.ephemeral.volumeClaimTemplate?.spec ?? {});
      return driver === null ? [] : [{ driver, claim: null, name: volume.name }];
    }
    const name = volume.persistentVolumeClaim?.claimName;
    const claim = cluster.persistentVolumeClaims.find(
      ({ metadata }) => metadata.name === name && metadata.namespace === shape.namespace,
    );
    if (name === undefined || claim === undefined) return [];
    const bound = cluster.persistentVolumes.find(({ metadata }) => metadata.name === claim.spec?.volumeName);
    const driver = bound === undefined ? driverOfClass(cluster, claim.spec ?? {}) : driverOfVolume(bound);
    return driver === null ? [] : [{ driver, claim: `${shape.namespace}/${name}`, name }];
  });
}

/** What is attached to every node that has a CSINode with limits, by the node's name. */
export function attachedVolumes(cluster: Cluster): ReadonlyMap<string, AttachedVolumes> {
  const nodes = new Map(
    cluster.csiNodes.map(({ metadata, spec }): [string, AttachedVolumes] => {
      const limits = (spec?.drivers ?? []).flatMap(({ name, allocatable }): ReadonlyArray<[string, number]> =>
        allocatable?.count === undefined ? [] : [[name, allocatable.count]],
      );
      return [metadata.name, { limits: new Map(limits), volumes: new Map() }];
    }),
  );
  if (nodes.size === 0) return nodes;
  const byShape = cluster.shapes.map((shape) => attachmentsOf(cluster, shape));
  for (const pod of cluster.pods) {
    const attachments = byShape[pod.shape] ?? [];
    const there = attachments.length === 0 ? undefined : nodes.get(pod.nodeName ?? '');
    if (there !== undefined) attach(there, attachments, pod);
  }
  return nodes;
}

/** Does the node take the attachments of one more pod? */
export function canAttach({ limits, volumes }: AttachedVolumes, attachments: ReadonlyArray<Attachment>): boolean {
  for (const [driver, limit] of limits) {
    const there = volumes.get(driver) ?? new Set<string>();
    const more = attachments.filter((one) => one.driver === driver && (one.claim === null || !there.has(one.claim)));
    if (more.length > 0 && there.size + more.length > limit) return false;
  }
  return true;
}

/** Attaches a pod's volumes, in place. */
export function attach({ volumes }: AttachedVolumes, attachments: ReadonlyArray<Attachment>, pod: Pod): void {
  for (const { driver, claim, name } of attachments) {
    const there = volumes.get(driver) ?? new Set<string>();
    volumes.set(driver, there);
    there.add(claim ?? `${pod.uid}/${name}`);
  }
}

/** In-tree drivers of Azure, which Kubernetes has handed over to CSI drivers; attach limits count by the latter. */
const MIGRATED: Readonly<Record<string, string>> = {
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
  'kubernetes.io/azure-file': 'file.csi.azure.com',
};

function driverOfClass(cluster: Cluster, spec: PersistentVolumeClaimSpec): string | null {
  const provisioner = classOf(cluster, spec)?.provisioner ?? null;
  return provisioner === null ? null : (MIGRATED[provisioner] ?? provisioner);
}

function driverOfVolume({ spec }: PersistentVolume): string | null {
  if (spec?.azureDisk !== undefined) return 'disk.csi.azure.com';
  if (spec?.azureFile !== undefined) return 'file.csi.azure.com';
  return spec?.csi?.driver ?? null;
}
