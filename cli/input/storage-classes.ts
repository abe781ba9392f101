import type { CheckedObject } from './check-objects.ts';
import { listAt, mapAt, textAt } from './json-fields.ts';

/**
 * The storage classes that AKS creates. Disks are made where their pod goes. A file share is made at once, and can be
 * reached from any zone: for a plan that is the same as waiting for the pod. Source: AKS's documentation, 2026-08.
 */
const AKS_CLASSES: ReadonlyArray<readonly [string, string]> = [
  ['default', 'disk.csi.azure.com'],
  ['managed', 'disk.csi.azure.com'],
  ['managed-premium', 'disk.csi.azure.com'],
  ['managed-csi', 'disk.csi.azure.com'],
  ['managed-csi-premium', 'disk.csi.azure.com'],
  ['azurefile', 'file.csi.azure.com'],
  ['azurefile-premium', 'file.csi.azure.com'],
  ['azurefile-csi', 'file.csi.azure.com'],
  ['azurefile-csi-premium', 'file.csi.azure.com'],
];

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

/** AKS's own storage classes, where no StorageClass was given and something claims a volume that does not exist yet. */
export function assumedStorageClasses(objects: ReadonlyArray<CheckedObject>): ReadonlyArray<CheckedObject> {
  if (objects.some(({ kind }) => kind === 'StorageClass') || !objects.some(claimsNewVolume)) return [];
  return AKS_CLASSES.map(([name, provisioner]) => ({
    origin: 'assumed',
    kind: 'StorageClass',
    use: { use: 'cluster', resource: 'storageclasses' },
    namespace: null,
    name,
    isLive: false,
    value: {
      metadata: { name, ...(name === 'default' ? { annotations: { [DEFAULT_CLASS]: 'true' } } : {}) },
      provisioner,
      volumeBindingMode: 'WaitForFirstConsumer',
    },
  }));
}

function claimsNewVolume({ kind, value }: CheckedObject): boolean {
  if (kind === 'PersistentVolumeClaim') return textAt(value, 'spec', 'volumeName') === '';
  if (kind !== 'Pod') return false;
  return listAt(value, 'spec', 'volumes').some((volume) => Object.keys(mapAt(volume, 'ephemeral')).length > 0);
}
